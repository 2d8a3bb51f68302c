// Send a form as a change, then open the page that it leads to; what went wrong is said beside it.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-send]");
  if (!form) return;
  event.preventDefault();
  const button = form.querySelector("button");
  const problem = document.getElementById(form.dataset.problem);
  button.disabled = true;
  problem.hidden = true;
  const headers = { ...JSON.parse(document.body.getAttribute("hx-headers")), Accept: "application/json" };
  try {
    const response = await fetch(form.action, { method: "POST", headers, body: new URLSearchParams(new FormData(form)) });
    const answer = await response.json();
    if (response.ok) { location.assign(answer.location); return; }
    problem.textContent = answer.error;
  } catch {
    problem.textContent = "the server did not answer; try again";
  }
  problem.hidden = false;
  button.disabled = false;
});
