// Show the value of a floor while it is dragged; htmx asks for the new choice.
const shown = (input) => {
  if (input.value === input.dataset.off) return "any";
  const value = Number(input.value);
  if ("share" in input.dataset) return value.toFixed(4);
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
};
document.addEventListener("input", (event) => {
  const output = event.target.closest(".floors label")?.querySelector("output");
  if (output) output.textContent = shown(event.target);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-reload]")) event.target.form.submit();
});
