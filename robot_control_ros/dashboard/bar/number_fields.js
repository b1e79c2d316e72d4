// A number that is typed counts at Enter, or when the field is left; viser would apply each keystroke.
// The text goes to the page's server, which takes the number or says why not. The field shows the value in force again.
"use strict";
(() => {
  const PERIOD = 500; // ms
  const FIELD = ".mantine-NumberInput-input", FIELDS = ".mantine-NumberInput-root", SLIDER = ".mantine-Slider-root";
  const write = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  const inForce = field => field._valueTracker.getValue(); // as viser's client, which React draws, wrote it last
  const isField = element => element instanceof Element && element.matches(FIELD);

  function place(field) { // the identifier of its control, and its number among the fields of this
    const beside = field.closest(FIELDS).parentElement;
    const fields = [...beside.querySelectorAll(FIELD)];
    const control = beside.querySelector(SLIDER) ?? fields[0];
    return { control: control.id, index: fields.indexOf(field) };
  }

  function restore(field) {
    write.call(field, inForce(field));
  }

  function enter(field) {
    const text = field.value;
    if (text === inForce(field)) return;
    const detail = `number ${JSON.stringify({ ...place(field), text })}`;
    restore(field);
    document.dispatchEvent(new CustomEvent("bar-send", { detail }));
  }

  for (const kind of ["input", "change"]) { // React, which draws viser's client, hears both
    addEventListener(kind, event => {
      if (isField(event.target)) event.stopImmediatePropagation();
    }, true);
  }
  addEventListener("keydown", event => {
    if (!isField(event.target)) return;
    if (event.key === "Escape") restore(event.target); // it is STOP, and nothing else
    if (["Enter", "ArrowUp", "ArrowDown"].includes(event.key)) enter(event.target);
  }, true);
  addEventListener("focusout", event => {
    if (isField(event.target)) enter(event.target);
  }, true);

  function follow() { // viser leaves the field of a slider enabled that is disabled itself
    for (const slider of document.querySelectorAll(SLIDER)) {
      const field = slider.parentElement.querySelector(FIELD);
      if (field) field.disabled = slider.querySelector("[role=slider][aria-disabled=true]") !== null;
    }
  }

  setInterval(follow, PERIOD);
})();
