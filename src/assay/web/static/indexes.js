// Show the value of a floor while it is dragged, and take typed ones; htmx asks for the new choice.
const shown = (input) => {
  if (input.value === input.dataset.off) return "any";
  const value = Number(input.value);
  if ("share" in input.dataset) return value.toFixed(4);
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
};
const floorsForm = document.getElementById("floors");
for (const typed of floorsForm?.querySelectorAll("[data-typed]") ?? []) {
  const range = floorsForm.elements[typed.dataset.typed];
  const step = range.step;
  const showValue = () => { typed.value = shown(range) === "any" ? "any" : range.value; };
  typed.hidden = false;
  typed.previousElementSibling.classList.add("vh");
  // Dragging goes in steps; a typed value is taken as it is.
  for (const type of ["pointerdown", "keydown"]) {
    range.addEventListener(type, () => { range.step = step; });
  }
  range.addEventListener("input", () => {
    typed.previousElementSibling.textContent = shown(range);
    if (document.activeElement !== typed) showValue();
  });
  typed.addEventListener("input", (event) => event.stopPropagation());
  typed.addEventListener("change", (event) => {
    event.stopPropagation();
    const text = typed.value.trim().replaceAll(",", "");
    const isAny = text === "" || text === "any";
    const problem = !isAny && !Number.isFinite(Number(text)) ? "expected a number, or any" : "";
    typed.setCustomValidity(problem);
    typed.reportValidity();
    if (problem) return;
    range.step = "any";
    range.value = isAny ? range.dataset.off : text;
    showValue();
    range.dispatchEvent(new Event("input", { bubbles: true }));
  });
  typed.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); typed.blur(); }
  });
}
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-reload]")) event.target.form.submit();
});
