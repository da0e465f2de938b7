// Counts down the time in which a held call can still be stopped.
"use strict";
(() => {
  const EVERY_MS = 100;
  let ends = 0;

  function begin() {
    const left = document.querySelector(".hold")?.dataset.left;
    ends = left === undefined ? 0 : performance.now() + Number(left);
  }

  function show() {
    const hold = document.querySelector(".hold");
    if (!hold) return;
    const left = ends - performance.now();
    if (left > 0) {
      hold.querySelector("b").textContent = `${Math.ceil(left / 1000)} s`;
      hold.querySelector("progress").value = left;
    } else {
      hold.textContent = "The call is being made.";
    }
  }

  document.addEventListener("panel", (event) => { if (event.detail === "state") begin(); });
  begin();
  setInterval(() => { if (document.querySelector(".hold progress")) show(); }, EVERY_MS);
})();
