// viser's controls that a screen reader or the keyboard doesn't reach get names and places in the order of Tab. A group of
// buttons is one place in it: arrow keys move within the group.
"use strict";
(() => {
  const PERIOD = 500; // ms
  const INTERACTIVE = "button, input, a, [role=button], [role=slider], [tabindex]";
  let changed = true;

  function label(control) {
    let row = control;
    while (row && !row.querySelector("label")) row = row.parentElement;
    return row ? row.querySelector("label").textContent : "";
  }

  function named(control) {
    return control.getAttribute("aria-label") || control.textContent.trim() || (control.labels ?? []).length;
  }

  function name(control) {
    const close = control.matches(".mantine-CloseButton-root") ? "Close" : "Settings";
    control.setAttribute("aria-label", control.matches("button") ? close : label(control));
  }

  function reach(place) {
    place.tabIndex = 0;
    place.setAttribute("role", "button");
    place.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      place.click();
    });
  }

  const pointer = element => getComputedStyle(element).cursor === "pointer";
  const clickable = each => !("sheetHandle" in each.dataset) && pointer(each) && !pointer(each.parentElement) && !each.closest(INTERACTIVE)
    && !each.querySelector("[role=slider]");
  const bearsText = each => each.textContent.trim() && !each.querySelector(INTERACTIVE) && !each.closest(INTERACTIVE);

  const BUTTON = ".mantine-Button-root[data-variant=outline][data-size=compact-xs]";
  const buttons = group => [...group.children].filter(each => each.matches(BUTTON) && !each.disabled);

  function enter(group, chosen) { // Tab comes to one button of a group
    for (const each of buttons(group)) each.tabIndex = each === chosen ? 0 : -1;
  }

  function onArrow(event) {
    const group = event.currentTarget;
    const all = buttons(group);
    const at = all.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const places = { Home: 0, End: all.length - 1 };
    const next = step ? (at + step + all.length) % all.length : places[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // viser turns its camera with them
    enter(group, all[next]);
    all[next].focus();
  }

  function join(group) {
    if (group.getAttribute("role") !== "group") {
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", label(group));
      group.addEventListener("keydown", onArrow);
      group.addEventListener("focusin", event => enter(group, event.target));
    }
    const all = buttons(group);
    if (all.filter(each => each.tabIndex === 0).length !== 1) enter(group, all[0]);
  }

  function improve() {
    if (!changed) return;
    changed = false;
    for (const each of document.querySelectorAll("#root button, #root input"))
      if (!named(each)) name(each);
    for (const each of document.querySelectorAll("#root [role=slider]"))
      if (!each.getAttribute("aria-label")) name(each);
    for (const each of new Set([...document.querySelectorAll(`#root ${BUTTON}`)].map(each => each.parentElement))) join(each);
    for (const each of [...document.querySelectorAll("#root div, #root .u-series th")].filter(clickable)) {
      const places = [each, ...each.querySelectorAll("*")].filter(place => !place.matches("th"));
      const place = places.find(bearsText); // not around another control
      if (place) reach(place);
    }
  }

  new MutationObserver(() => { changed = true; }).observe(document.body, { childList: true, subtree: true });
  setInterval(improve, PERIOD);
})();
