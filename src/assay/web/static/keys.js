// Keys can be changed: what is kept, in this browser and for this person, is the new key of each action.
// An action is named by the key that it has at first.
const KEYS_OF_USER = `keys:${document.body.dataset.user ?? ""}`;
const readKeys = () => {
  try {
    const kept = Object.entries(JSON.parse(localStorage.getItem(KEYS_OF_USER) ?? "{}"));
    return Object.fromEntries(kept.filter(([name, key]) => name !== key && typeof key === "string"));
  } catch {
    return {}; // not what this page wrote
  }
};
let changedKeys = readKeys();
const keyOf = (name) => changedKeys[name] ?? name;
// The action of a key; empty if the action that had it has another key now.
const nameOf = (key) => Object.keys(changedKeys).find((name) => changedKeys[name] === key) ?? (key in changedKeys ? "" : key);

const NOT_TYPED = ["range", "checkbox", "radio", "button", "submit", "reset", "file", "color"];
// Whether a key belongs to what the person types, chooses or moves; then it is no command.
const isTyping = (event) => {
  const { target } = event;
  if (event.isComposing || target.isContentEditable || target.matches?.("select, textarea")) return true;
  if (!target.matches?.("input")) return false;
  return !NOT_TYPED.includes(target.type) || event.key.length > 1 && event.key !== "Escape";
};

const showKeys = () => {
  for (const field of document.querySelectorAll("[data-change-key]")) field.value = keyOf(field.dataset.changeKey);
  for (const kbd of document.querySelectorAll("kbd")) {
    kbd.dataset.name ??= kbd.textContent;
    const { name } = kbd.dataset;
    const isPage = kbd.previousElementSibling?.dataset.name === "G"; // G and a letter go to a page
    const isOne = name.length === 1 && !isPage;
    kbd.textContent = isOne ? keyOf(name.toLowerCase()).toUpperCase() : name;
  }
  for (const button of document.querySelectorAll("[data-key][aria-keyshortcuts]")) {
    button.setAttribute("aria-keyshortcuts", keyOf(button.dataset.key).toUpperCase());
  }
  for (const link of document.querySelectorAll("nav a[data-go]")) {
    link.setAttribute("aria-keyshortcuts", `${keyOf("g").toUpperCase()} ${link.dataset.go.toUpperCase()}`);
  }
};
const keepKeys = (keys) => {
  changedKeys = Object.fromEntries(Object.entries(keys).filter(([name, key]) => name !== key));
  if (Object.keys(changedKeys).length) localStorage.setItem(KEYS_OF_USER, JSON.stringify(changedKeys));
  else localStorage.removeItem(KEYS_OF_USER);
  showKeys();
};
// Give an action a key; the action that had it gets the key that becomes free, so that none is without.
const changeKey = (name, key) => {
  const other = nameOf(key);
  keepKeys({ ...changedKeys, [other || key]: keyOf(name), [name]: key });
};

document.addEventListener("input", (event) => {
  const name = event.target.dataset?.changeKey;
  if (!name) return;
  const key = (event.data ?? "").slice(-1).toLowerCase();
  if (key.trim()) {
    changeKey(name, key);
    const words = event.target.parentElement.textContent.trim();
    document.getElementById("status").textContent = `${words}: ${key.toUpperCase()}`;
  } else showKeys();
});
document.addEventListener("focusin", (event) => {
  if (event.target.dataset?.changeKey) event.target.select();
});
document.getElementById("reset-keys").addEventListener("click", () => keepKeys({}));
addEventListener("storage", (event) => {
  if (event.key !== KEYS_OF_USER) return;
  changedKeys = readKeys();
  showKeys();
});
document.addEventListener("htmx:afterSettle", showKeys);
showKeys();
