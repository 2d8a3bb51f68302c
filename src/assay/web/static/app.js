// What keys do, the theme, rows that are moved through, and what is ticked. Every page is readable without it.
const root = document.documentElement;
const byId = (id) => document.getElementById(id);

byId("theme").addEventListener("click", () => {
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});

const announce = (text) => { byId("status").textContent = text; };

const rows = () => [...document.querySelectorAll("tr[data-href], li[data-href]")];
let current = -1;
const select = (index) => {
  const list = rows();
  if (!list.length) return;
  current = Math.max(0, Math.min(list.length - 1, index));
  list.forEach((row, i) => row.setAttribute("aria-selected", i === current));
  list[current].scrollIntoView({ block: "nearest" });
  announce(list[current].innerText.replace(/\s+/g, " ").slice(0, 120));
};

const ticked = () => [...document.querySelectorAll("input[data-tick]:checked")].map((box) => box.value);
const showTicked = () => {
  const link = byId("compare");
  if (!link) return;
  const names = ticked();
  link.hidden = names.length < 2;
  const [baseline, ...candidates] = names.reverse();
  const query = new URLSearchParams([["baseline", baseline ?? ""], ...candidates.map((id) => ["candidate", id])]);
  link.href = `/compare?${query}`;
  byId("ticked").textContent = names.length;
};
document.addEventListener("change", (event) => {
  if (event.target.matches("input[data-tick]")) showTicked();
  const form = event.target.closest("form[data-submit-on-change]");
  if (form) form.requestSubmit();
});
document.addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-href]");
  if (row && !event.target.closest("a, button, input, label, select")) location.href = row.dataset.href;
});
showTicked();

// Each table of the page can be exported; the link of the frame is that of the first.
const exportAddress = (place) => {
  const link = new URL(byId("export").href);
  link.searchParams.set("table", place);
  return link.href;
};
const showExports = () => {
  const frame = byId("export");
  const tables = [...document.querySelectorAll("main table")];
  if (!frame) return;
  frame.hidden = !tables.length;
  tables.forEach((table, index) => {
    const header = table.closest(".card")?.querySelector(":scope > header");
    if (!header || header.querySelector("a[data-export]") || tables.length === 1) return;
    const link = document.createElement("a");
    Object.assign(link, { href: "exportAll" in table.dataset ? frame.href : exportAddress(index + 1), textContent: "Export", className: "small faint" });
    link.dataset.export = "";
    link.setAttribute("aria-label", `Export ${header.querySelector("h2")?.textContent ?? "the table"}`);
    link.download = "";
    if (!header.querySelector(".grow")) header.append(Object.assign(document.createElement("span"), { className: "grow" }));
    header.append(link);
  });
};
showExports();
document.addEventListener("htmx:afterSettle", showExports);

// A key can be pressed before htmx has prepared what it has just put on the page: a form, or a button of one.
document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  const sender = [submitter, form].find((element) => element?.hasAttribute("hx-post"));
  if (event.defaultPrevented || !sender) return;
  event.preventDefault();
  htmx.process(form);
  setTimeout(() => (sender === form ? form.requestSubmit(submitter) : submitter.click())); // not while submit is handled
});

let isGoing = false;
const actions = {
  "/": () => document.querySelector(".find input").focus(),
  "?": () => byId("keys").showModal(),
  j: () => select(current + 1),
  k: () => select(current - 1),
  Enter: () => { const row = rows()[current]; if (row) location.href = row.dataset.href; },
  x: () => rows()[current]?.querySelector("input[data-tick]")?.click(),
  c: () => { const link = byId("compare"); if (link && !link.hidden) link.click(); },
  f: () => document.querySelector(".filter input")?.focus(),
};

document.addEventListener("keydown", (event) => {
  if (isTyping(event) || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isGoing) {
    isGoing = false;
    document.querySelector(`nav a[data-go="${CSS.escape(event.key.toLowerCase())}"]`)?.click();
    return;
  }
  const name = nameOf(event.key.length === 1 ? event.key.toLowerCase() : event.key);
  const own = document.querySelector(`[data-key="${CSS.escape(name)}"]`);
  if (own) {
    event.preventDefault();
    if (!event.repeat) own.click();
    return;
  }
  const isControl = event.key === "Enter" && event.target.matches("a, button, summary");
  const press = new CustomEvent("assay:key", { detail: name, cancelable: true });
  if (!isControl && !document.dispatchEvent(press)) { event.preventDefault(); return; }
  if (name === "g" && !document.querySelector("[data-own-keys]")) { isGoing = true; return; }
  const action = actions[name];
  if (action && !isControl) { event.preventDefault(); action(); }
});

// A part that scrolls sideways can be reached and scrolled by keyboard.
const reachScrolling = () => {
  for (const part of document.querySelectorAll(".scroll")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
};
addEventListener("resize", reachScrolling);
document.addEventListener("htmx:afterSettle", reachScrolling);
reachScrolling();

// What the server refused is said where the person acted; the page stays as it is.
document.addEventListener("htmx:responseError", (event) => {
  const { xhr } = event.detail;
  const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
  const words = page.querySelector("main p")?.textContent ?? JSON.parse(xhr.responseText || "{}").error ?? "";
  byId("refused")?.remove();
  const note = document.createElement("p");
  note.id = "refused";
  note.className = "note";
  note.setAttribute("role", "alert");
  note.textContent = words || "The server did not answer as expected: reload the page";
  byId("main").prepend(note);
  note.scrollIntoView({ block: "nearest" });
});
