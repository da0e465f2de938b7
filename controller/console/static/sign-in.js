// Signs in with a name and a PIN, or with what a card reader types: digits and letters, then Enter.
"use strict";
(() => {
  const said = document.getElementById("said");
  const pad = document.getElementById("pad");
  const pin = document.getElementById("pin");
  let card = "";

  async function enter(body) {
    said.textContent = "…";
    try {
      const response = await fetch("/sign-in", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      const answer = await response.json();
      if (answer.ok) { location.replace("/"); return; }
      said.textContent = answer.says;
    } catch {
      said.textContent = "The console did not respond. Try again.";
    }
    if (pin) { pin.value = ""; pin.focus(); }
  }

  function ask() {
    pad.hidden = false;
    pin.value = "";
    pin.focus();
  }

  document.addEventListener("change", (event) => { if (event.target.name === "person") ask(); });
  document.body.inert = false; // the page is inert until this script can handle touches, so that none is lost
  if (document.querySelector('[name="person"]:checked')) ask(); // the browser kept a choice when the page was reloaded
  document.addEventListener("click", (event) => {
    const digit = event.target.closest("[data-digit]")?.dataset.digit;
    if (digit === undefined) return;
    pin.value = digit ? pin.value + digit : "";
  });
  pad?.addEventListener("submit", (event) => {
    event.preventDefault();
    const person = document.querySelector('[name="person"]:checked')?.value;
    if (person && pin.value) enter({ person, typed: pin.value });
  });
  document.addEventListener("keydown", (event) => {
    if (event.target === pin) return;
    if (event.key === "Enter" && card) { event.preventDefault(); enter({ person: null, typed: card }); card = ""; }
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) card = (card + event.key).slice(-64);
  });
})();
