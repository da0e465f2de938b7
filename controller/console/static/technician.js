// The keys of the technician's pages: each posts its own request.
"use strict";
(() => {
  const page = document.querySelector('meta[name="console-page"]').content;
  const said = document.getElementById("said");

  async function post(path, body) {
    said.textContent = "…";
    try {
      const headers = { "Content-Type": "application/json", "X-Console-Page": page };
      const response = await fetch(path, { method: "POST", headers, body });
      const answer = await response.json();
      if (response.status === 401) { location.replace("/"); return; }
      said.textContent = answer.ok ? "" : `Refused: ${answer.says}`;
      said.className = answer.ok ? "good" : "bad";
      if (answer.ok && path === "/technician/begin" && location.pathname !== "/technician/work") location.assign("/technician/work");
    } catch {
      said.textContent = "The console did not respond. Check the table before you touch the key again.";
      said.className = "bad";
    }
  }

  document.addEventListener("click", (event) => {
    const key = event.target.closest("[data-post]");
    if (key) post(key.dataset.post, key.dataset.body);
  });
  document.body.inert = false; // the page is inert until this script can handle touches, so that none is lost
})();
