// Sends touches to the table as inputs. A key sends the input assigned to it, and a form sends the choices made in it.
"use strict";
(() => {
  const page = document.querySelector('meta[name="console-page"]').content;
  const said = document.getElementById("said");
  const dialog = document.getElementById("confirm");
  let asked = null;
  let shownAt = null;

  async function post(path, body) {
    const headers = { "Content-Type": "application/json", "X-Console-Page": page };
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    const answer = await response.json();
    if (response.status === 401) location.replace("/");
    return answer;
  }

  // If the answer only confirms the input ("no_more_bets: done"), show the label that was touched.
  function answerText(says, touched) {
    return /^[a-z_]+: done$/.test(says) ? `Done: ${touched}` : says;
  }

  function attempt() {
    return document.querySelector("#state .facts")?.dataset.number;
  }

  function show(words, ok) {
    said.textContent = words;
    said.className = ok ? "good" : "bad";
    shownAt = attempt();
    said.scrollIntoView({ block: "nearest" });
  }

  // The panel, and the form in it, may have been replaced in the meantime.
  function clear(form) {
    const same = form ? document.querySelectorAll(`form.word[data-word="${form.dataset.word}"]`) : [];
    for (const one of same) { one.reset(); refresh(one); }
  }

  async function sendInput({ word, touched, once, form }) {
    show("…", true);
    try {
      const answer = await post(word.approve ? "/approve" : "/say", word);
      const allowed = answer.allowed ? ` Allowed now: ${answer.allowed.join(", ").replaceAll("_", " ")}.` : "";
      if (answer.ok) clear(form); // so that the same choices can't be sent twice
      if (answer.ok && once) document.querySelector(`[data-keep="${once}"]`)?.removeAttribute("open");
      show(answer.ok ? answerText(answer.says, touched) : `Refused: ${answer.says}${answer.code === "not_now" ? allowed : ""}`, answer.ok);
    } catch {
      show("The console did not respond. Check the table's state before you repeat the input.", false);
    }
  }

  // Bind a ruling to its review. The table refuses the ruling if another person has ruled in the meantime.
  function bindToReview(word, touched, from) {
    const said = from.closest("[data-review]") ? { ...word, of_review: true } : word;
    return { word: said, touched, once: from.closest("[data-once]")?.dataset.keep, form: from.closest("form.word") };
  }

  // An input that names no attempt is still valid if its key now names one.
  function isStillOffered({ name, what, approve }) {
    const words = [...document.querySelectorAll("[data-say]")].map((key) => JSON.parse(key.dataset.say));
    return words.some((one) => one.name === name && one.approve === approve && (what === undefined || one.what === what));
  }

  const READ_MS = 400; // the second tap of a double tap comes within this time, before anybody can read the new key
  const FINGER_PX = 40;
  let touchedAt = { ms: -Infinity, x: 0, y: 0 };

  // When the second tap of a double tap arrives, another key may be in the same place: after No More Bets, the key
  // that opens bets again; after a question, the key that the question covered. The second tap would also close or
  // untick what the first tap opened or ticked.
  function isSecondTap({ timeStamp, clientX, clientY }) {
    const before = touchedAt;
    touchedAt = { ms: timeStamp, x: clientX, y: clientY };
    return timeStamp - before.ms < READ_MS && Math.hypot(clientX - before.x, clientY - before.y) < FINGER_PX;
  }

  document.addEventListener("click", (event) => {
    const second = isSecondTap(event);
    if (!second || !event.target.closest("button, summary, a.key, input[type=checkbox]")) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  function ask(bound, question, yes, look) {
    const answer = document.getElementById("yes");
    asked = bound;
    document.getElementById("question").textContent = question;
    answer.textContent = yes || "Yes";
    answer.className = look.contains("stop") ? "key stop" : "key go";
    answer.disabled = true;
    setTimeout(() => { answer.disabled = false; }, READ_MS);
    dialog.showModal();
  }

  function inputOf(form) {
    const data = new FormData(form);
    const word = { name: form.dataset.word };
    if (form.dataset.what) word.what = form.dataset.what;
    const shown = [];
    for (const fields of form.querySelectorAll("fieldset")) {
      const first = fields.querySelector("input");
      const chosen = data.getAll(first.name);
      if (!chosen.length) return null;
      const value = chosen[0];
      if (first.name === "die1") word.dice = [Number(value)];
      else if (first.name === "die2") word.dice.push(Number(value));
      else if (first.name === "rank") word.card = value;
      else if (first.name === "suit") word.card += value;
      else if (first.name === "seats") word.seats = chosen;
      else if (first.name === "count") word.count = Number(value);
      else if (first.name === "chips") { if (value) word.what = value; }
      else if (first.name === "wrong") {
        const [seat, card] = value.split(" ");
        word.seat = seat;
        word.what = `${word.what} ${card}`;
      } else word[first.name] = value;
      if (first.name === "wrong") shown.push(fields.querySelector(":checked").ariaLabel);
      else if (first.name === "seat") shown.push(/^\d+$/.test(value) ? `seat ${value}` : value);
      else if (first.name === "count") shown.push(value === "0" ? "pass" : `${value} card${value === "1" ? "" : "s"}`);
      else if (first.name === "chips") shown.push(value || "returned");
      else if (first.name !== "suit") shown.push(chosen.join(", "));
    }
    if (word.name === "set_card" && form.querySelector('[name="suit"]')) {
      const sign = { s: "♠", h: "♥", d: "♦", c: "♣" }[word.card.slice(-1)];
      const card = `${word.card.slice(0, -1).replace("T", "10")}${sign ?? ""}`;
      const wrong = shown.find((one) => one.includes(": "));
      const whose = /^\d+$/.test(word.seat) ? `seat ${word.seat}` : word.seat;
      return { word, shown: wrong ? `${wrong} is ${card}` : `${whose}, ${card}` };
    }
    return { word, shown: word.dice ? word.dice.join("-") : shown.join(", ") };
  }

  function refresh(form) {
    const submit = form.querySelector(".submit");
    const made = inputOf(form);
    submit.disabled = made === null;
    submit.textContent = made ? form.dataset.label.replace("{}", made.shown) : submit.dataset.prompt;
  }

  document.addEventListener("change", (event) => {
    if (event.target.id === "role") post("/role", { role: event.target.value }).then((answer) => answer.ok || show(answer.says, false));
    const form = event.target.closest("form.word");
    if (!form) return;
    refresh(form);
    if (!form.querySelector(".submit").disabled) form.querySelector(".submit").scrollIntoView({ block: "nearest" });
  });
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    const made = inputOf(event.target);
    if (made) sendInput(bindToReview(made.word, `${event.target.ariaLabel}: ${made.shown}`, event.target));
  });
  document.addEventListener("click", (event) => {
    const opens = event.target.closest(".side summary")?.parentElement;
    if (opens) requestAnimationFrame(() => opens.scrollIntoView({ block: "nearest" }));
    const key = event.target.closest("button");
    if (!key) return;
    if (key.id === "sign-out") post("/sign-out", {}).then(() => location.replace("/"));
    else if (key.id === "no") dialog.close();
    else if (key.id === "yes") { dialog.close(); if (asked) sendInput(asked); asked = null; }
    else if (key.dataset.say) {
      const entry = bindToReview(JSON.parse(key.dataset.say), key.ariaLabel ?? key.textContent, key);
      if (key.dataset.confirm) ask(entry, key.dataset.confirm, key.dataset.yes, key.classList);
      else sendInput(entry);
    }
  });
  // When a section of the Keys panel is opened, scroll as much of it as possible into view.
  document.addEventListener("toggle", (event) => {
    if (event.target.matches("#now details[open]")) event.target.scrollIntoView({ block: "nearest" });
  }, true);
  // When the call-back form is opened, scroll all of it into view, even on a small screen.
  document.addEventListener("toggle", (event) => {
    if (event.target.matches(".callback[open]")) document.getElementById("ruling").scrollIntoView();
  }, true);
  document.addEventListener("panel", (event) => {
    // Withdraw a question whose key is gone, for example because somebody else has ruled on the attempt.
    if (dialog.open && !isStillOffered(asked?.word ?? {})) { dialog.close(); asked = null; }
    // Clear the last answer when the next attempt begins.
    if (event.detail === "state" && said.textContent && attempt() !== shownAt) said.textContent = "";
    for (const form of document.querySelectorAll(`[data-panel="${event.detail}"] form.word`)) refresh(form);
  });
  for (const form of document.querySelectorAll("form.word")) refresh(form);
  document.body.inert = false; // the page is inert until this script can handle touches, so that none is lost
})();
