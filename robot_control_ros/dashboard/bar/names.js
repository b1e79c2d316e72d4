// viser's controls that a screen reader or the keyboard doesn't reach get names and places in the order of Tab.
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
  const clickable = each => pointer(each) && !pointer(each.parentElement) && !each.closest(INTERACTIVE)
    && !each.querySelector("[role=slider]");
  const bearsText = each => each.textContent.trim() && !each.querySelector(INTERACTIVE) && !each.closest(INTERACTIVE);

  function improve() {
    if (!changed) return;
    changed = false;
    for (const each of document.querySelectorAll("#root button, #root input"))
      if (!named(each)) name(each);
    for (const each of document.querySelectorAll("#root [role=slider]"))
      if (!each.getAttribute("aria-label")) name(each);
    for (const each of [...document.querySelectorAll("#root div")].filter(clickable)) {
      const place = [each, ...each.querySelectorAll("*")].find(bearsText); // not around another control
      if (place) reach(place);
    }
  }

  new MutationObserver(() => { changed = true; }).observe(document.body, { childList: true, subtree: true });
  setInterval(improve, PERIOD);
})();
