// Updates the panels of a page. A panel is replaced only if it has changed. Open sections remain open, and
// a person's choices are kept if they are still offered for the same input and attempt.
"use strict";
(() => {
  const url = document.querySelector("[data-events]")?.dataset.events ?? "/events";
  const lost = document.getElementById("lost");
  const shown = new Map([...document.querySelectorAll("[data-panel]")].map((one) => [one.dataset.panel, one.innerHTML]));
  let source = null;

  // Return HTML as the browser serializes it, so that it can be compared with the page's HTML.
  function serialized(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.innerHTML;
  }

  function inputKey({ form, name, value }) {
    return JSON.stringify([form.dataset.word, form.dataset.what, name, value]);
  }

  function put(name, html) {
    const panel = document.querySelector(`[data-panel="${name}"]`);
    if (!panel) return;
    const fresh = serialized(html);
    if (shown.get(name) === fresh) return; // replacing a key with an identical one would lose a touch in progress
    shown.set(name, fresh);
    const open = new Map([...panel.querySelectorAll("details[data-keep]")].map((one) => [one.dataset.keep, one.open]));
    const chosen = [...panel.querySelectorAll("form.word input")].filter((one) => one.checked !== one.defaultChecked)
      .map((one) => [inputKey(one), one.checked]);
    panel.innerHTML = html;
    const inputs = new Map([...panel.querySelectorAll("form.word input")].map((one) => [inputKey(one), one]));
    for (const [at, checked] of chosen) {
      if (inputs.has(at)) inputs.get(at).checked = checked;
    }
    for (const one of panel.querySelectorAll("details[data-keep]")) {
      if (open.has(one.dataset.keep)) one.open = open.get(one.dataset.keep);
    }
    document.dispatchEvent(new CustomEvent("panel", { detail: name }));
  }

  function listen() {
    source = new EventSource(url);
    source.onopen = () => { lost.hidden = true; document.body.dataset.link = "up"; };
    source.onmessage = (event) => {
      const panels = JSON.parse(event.data);
      if ("" in panels) { source.close(); location.replace("/"); return; }
      for (const [name, html] of Object.entries(panels)) put(name, html);
      document.body.dataset.fed = String(Number(document.body.dataset.fed ?? 0) + 1);
    };
    source.onerror = () => {
      lost.hidden = false;
      document.body.dataset.link = "lost";
      if (source.readyState !== EventSource.CLOSED) return;
      fetch(location.pathname, { cache: "no-store" }).then(
        (answer) => (answer.ok && url === "/events" ? location.reload() : setTimeout(listen, 1000)),
        () => setTimeout(listen, 1000),
      );
    };
  }
  listen();
})();
