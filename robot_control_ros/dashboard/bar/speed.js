// The speed of moves: sent while it is dragged, ten times a second at most; what the controller has is shown.
"use strict";
(() => {
  const PERIOD = 100, OWN = 1500; // ms; after a change, what comes from the server doesn't move the slider
  const [row, slider, text] = ["speed", "speed-value", "speed-text"].map(id => document.getElementById(id));
  let changed = -Infinity, waiting;

  function show() {
    const words = `${slider.value} %`;
    if (text.textContent !== words) text.textContent = words;
    slider.setAttribute("aria-valuetext", words);
  }

  function send() {
    waiting = undefined;
    document.dispatchEvent(new CustomEvent("bar-send", { detail: `speed ${slider.value / 100}` }));
  }

  slider.addEventListener("input", () => {
    changed = performance.now();
    show();
    waiting ??= setTimeout(send, PERIOD);
  });
  document.addEventListener("bar-state", event => {
    const { speed, controls } = event.detail;
    row.hidden = speed === null;
    slider.disabled = !controls;
    if (speed === null || performance.now() - changed < OWN) return;
    slider.value = Math.max(1, Math.round(100 * speed));
    show();
  });
})();
