// Drop zones, the progress of sending, and the problems of a file line by line.
const form = document.querySelector("form[data-upload]");
const problem = document.getElementById("problem");
const sent = document.getElementById("sent");

const showProblem = (message) => {
  problem.querySelector("ol").replaceChildren(...message.split("\n").filter((line) => line.trim()).map((line) => {
    const item = document.createElement("li");
    item.textContent = line.trim();
    return item;
  }));
  problem.hidden = false;
  problem.scrollIntoView({ block: "nearest" });
};

document.querySelectorAll("[data-drop]").forEach((zone) => {
  const input = zone.querySelector("input[type=file]");
  const show = () => {
    const file = input.files[0];
    zone.querySelector("[data-file-name]").textContent = file ? `${file.name}, ${(file.size / 1024).toFixed(1)} KB` : "no file yet";
    const name = form.elements.name;
    if (file && input.name === "run" && !name.value) name.value = file.name.replace(/\.[a-z]+(\.gz|\.zst)?$/i, "");
  };
  input.addEventListener("change", show);
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    input.files = event.dataTransfer.files;
    show();
  });
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  problem.hidden = true;
  const most = Number(form.dataset.most);
  const large = [...form.querySelectorAll("input[type=file]")].map((input) => input.files[0]).find((file) => file && file.size > most);
  if (large) { showProblem(`${large.name}: expected at most ${most >> 20} MB, found more; score it with assay eval`); return; }
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.setRequestHeader("accept", "application/json");
  for (const [name, value] of Object.entries(JSON.parse(document.body.getAttribute("hx-headers")))) request.setRequestHeader(name, value);
  request.upload.addEventListener("progress", (state) => { sent.hidden = false; sent.max = state.total; sent.value = state.loaded; });
  request.addEventListener("load", () => {
    sent.hidden = true;
    let answer = {};
    try { answer = JSON.parse(request.responseText); } catch { /* the server did not answer with data */ }
    if (request.status < 400 && answer.location) location.href = answer.location;
    else showProblem(answer.error ?? `the server answered ${request.status}`);
  });
  request.addEventListener("error", () => { sent.hidden = true; showProblem("the server does not answer; nothing was saved"); });
  request.send(new FormData(form));
});
