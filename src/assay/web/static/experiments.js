// The columns that were chosen are remembered in this browser; an address with columns goes first.
{
  const KEY = "experiment-columns";
  const address = new URL(location.href);
  const saved = JSON.parse(localStorage.getItem(KEY) ?? "[]");
  if (address.pathname === "/experiments" && !address.searchParams.has("column") && saved.length) {
    saved.forEach((name) => address.searchParams.append("column", name));
    location.replace(address);
  }
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-columns]")) return;
    localStorage.setItem(KEY, JSON.stringify(new FormData(event.target).getAll("column")));
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-reset-columns]")) localStorage.removeItem(KEY);
  });
  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-find-column]")) return;
    const text = event.target.value.trim().toLowerCase();
    document.querySelectorAll("label[data-column]").forEach((label) => {
      label.hidden = !label.dataset.column.includes(text);
    });
  });
}
