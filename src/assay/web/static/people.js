// A new token is shown once, on the page that asked for it; it is never part of an address.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-secret]");
  if (!form) return;
  event.preventDefault();
  const token = JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRF-Token"];
  const response = await fetch(form.action, {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
    headers: { Accept: "application/json", "X-CSRF-Token": token },
  });
  const answer = await response.json();
  const result = form.parentElement.querySelector("[data-secret-result]");
  result.hidden = false;
  result.querySelector("code").textContent = answer.token ?? answer.error;
});
