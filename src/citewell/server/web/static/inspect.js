"use strict";
// Comforts; every page works without them. Nothing here makes HTML, asks the network or reads what a document says.
(() => {
  const THEMES = ["auto", "light", "dark"];
  const KEY = "citewell-theme";
  const root = document.documentElement;

  function stored() {
    try {
      const theme = localStorage.getItem(KEY);
      return THEMES.includes(theme) ? theme : "auto";
    } catch {
      return "auto"; // storage is switched off
    }
  }

  function show(theme) {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  }

  root.classList.add("scripted"); // only a script can unfold, so only then is anything folded
  show(stored()); // before the page is drawn, so that it doesn't flash

  function themeButton() {
    const button = document.getElementById("theme");
    let theme = stored();
    const name = () => { button.textContent = `Theme: ${theme}`; };
    name();
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      try { localStorage.setItem(KEY, theme); } catch { /* only this page then */ }
      show(theme);
      name();
    });
  }

  // A chunk that is pointed at, or has the focus, is lit wherever it stands.
  function light(key) {
    for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
    const figures = document.querySelectorAll("svg.ranking");
    for (const figure of figures) figure.classList.toggle("pointing", false);
    if (key === null) return;
    for (const element of document.querySelectorAll("[data-key]")) {
      if (element.dataset.key !== key) continue;
      element.classList.add("lit");
      const row = element.closest("tr, .item");
      if (row) row.classList.add("lit");
      const figure = element.closest("svg.ranking");
      if (!figure) continue;
      figure.classList.add("pointing");
      for (const line of figure.querySelectorAll("path.line")) {
        if (line.dataset.n === element.dataset.n) line.classList.add("lit");
      }
    }
  }

  function pointing() {
    const keyOf = (event) => event.target.closest?.("[data-key]")?.dataset.key ?? null;
    document.addEventListener("mouseover", (event) => light(keyOf(event)));
    document.addEventListener("focusin", (event) => light(keyOf(event)));
  }

  function step(by) {
    const steps = [...document.querySelectorAll("[data-step]")];
    const at = steps.findIndex((each) => each.contains(document.activeElement));
    const next = steps[at < 0 ? (by > 0 ? 0 : steps.length - 1) : at + by];
    const target = next?.querySelector("a[href]");
    if (target) {
      target.focus();
      next.scrollIntoView({ block: "nearest" });
    }
  }

  const shortcuts = {
    "/": () => document.getElementById("q")?.select(),
    j: () => step(1),
    k: () => step(-1),
    c: () => {
      const compare = document.querySelector('input[name="mode"][value="compare"]');
      if (!compare || !compare.form.q.value) return;
      compare.checked = true;
      compare.form.requestSubmit();
    },
  };

  function keys() {
    for (const hint of document.querySelectorAll(".keys")) hint.hidden = false;
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.preventDefault(); // a field for searches would empty itself
        document.activeElement?.blur();
        light(null);
        return;
      }
      const typing = event.target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select");
      const act = shortcuts[event.key];
      if (typing || !act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  }

  // Empty fields say nothing and are left out of the address.
  function tidyForm() {
    const form = document.querySelector("form.query");
    form?.addEventListener("submit", () => {
      const empty = [...form.elements].filter((field) => field.name && field.name !== "q" && !field.value);
      for (const field of empty) field.disabled = true;
      setTimeout(() => { for (const field of empty) field.disabled = false; });
    });
  }

  // A long passage is folded until it is asked for.
  function unfold() {
    for (const passage of document.querySelectorAll(".passage.folded")) {
      if (passage.scrollHeight <= passage.clientHeight + 4) { passage.classList.remove("folded"); continue; }
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet unfold";
      button.textContent = "Show all";
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => {
        const folded = passage.classList.toggle("folded");
        button.textContent = folded ? "Show all" : "Show less";
        button.setAttribute("aria-expanded", String(!folded));
      });
      passage.after(button);
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    pointing();
    keys();
    tidyForm();
    unfold();
    const marked = document.getElementById("marked");
    if (marked && !location.hash) marked.scrollIntoView({ block: "center" });
  });
})();
