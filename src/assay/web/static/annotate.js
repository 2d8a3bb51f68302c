// Of the documents of one query one is current: the keys of grades act on it, J and K move it.
const documents = () => [...document.querySelectorAll(".bulk > li")];
const currentDocument = () => document.querySelector(".bulk > li[aria-current]");
const makeCurrent = (row) => {
  for (const one of documents()) {
    if (one === row) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
    for (const button of one.querySelectorAll("[data-row-key]")) {
      if (one === row) button.dataset.key = button.dataset.rowKey;
      else delete button.dataset.key;
    }
  }
  const isJudged = row.classList.contains("judged");
  for (const input of document.querySelectorAll(".dock input[name=pair], #reasons input[name=pair]")) input.value = row.dataset.pair;
  for (const button of document.querySelectorAll(".dock [data-unjudged]")) button.disabled = isJudged;
  document.getElementById("current").textContent = row.querySelector("h3").firstChild.textContent.trim();
};
const moveCurrent = (step) => {
  const list = documents();
  const place = list.indexOf(currentDocument()) + step;
  const row = list[Math.max(0, Math.min(list.length - 1, place))];
  makeCurrent(row);
  row.scrollIntoView({ block: "nearest" });
  const pressed = row.querySelector("[aria-pressed=true] b")?.textContent ?? "not graded";
  document.getElementById("status").textContent = `${row.querySelector("h3").textContent}, ${pressed}`;
};
const openText = () => {
  const text = currentDocument().querySelector("details");
  if (text) text.open = !text.open;
};
const bulkKeys = { j: () => moveCurrent(1), k: () => moveCurrent(-1), Enter: openText };
document.addEventListener("assay:key", (event) => {
  if (!currentDocument() || !(event.detail in bulkKeys)) return;
  event.preventDefault();
  bulkKeys[event.detail]();
});
// What is pressed or focused is of its own document.
for (const kind of ["pointerdown", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const row = event.target.closest?.(".bulk > li");
    if (row && row !== currentDocument()) makeCurrent(row);
  });
}
document.addEventListener("htmx:afterSettle", () => currentDocument()?.scrollIntoView({ block: "nearest" }));
