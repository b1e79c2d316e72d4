// On a small window, of a phone or a tablet, the panel is a sheet at the edge. It starts closed, but on pages without a
// picture of their own.
"use strict";
(() => {
  const NARROW = "(max-width: 36em)"; // where viser's client makes a sheet of its panel
  const SMALL = "(max-width: 1024px), (max-height: 480px)";
  const SETTLED = 250; // ms without another size, after which the picture makes room for the sheet
  const page = document.documentElement;
  let settling;

  const match = window.matchMedia.bind(window);
  window.matchMedia = query => match(query === NARROW ? SMALL : query);

  function findSheet() {
    return [...document.querySelectorAll("#root [style*='position: fixed']")].find(each => each.style.bottom === "0px");
  }

  function makeRoom() { // so that the whole arm is seen beside, or above, an open sheet
    const sheet = document.querySelector("[data-sheet]");
    const upright = match("(orientation: portrait)").matches;
    const open = sheet?.dataset.sheet === "open";
    page.style.setProperty("--sheet-below", sheet && upright ? `${sheet.offsetHeight}px` : "0px");
    page.style.setProperty("--sheet-beside", open && !upright ? `${sheet.offsetWidth}px` : "0px");
  }

  function follow(sheet, handle) {
    const open = !handle.nextElementSibling.inert; // what is folded away
    sheet.dataset.sheet = open ? "open" : "closed";
    handle.querySelector("[role=button]")?.setAttribute("aria-expanded", open);
    clearTimeout(settling);
    settling = setTimeout(makeRoom, SETTLED);
  }

  function nameOf(handle) { // the part of the handle that keyboards and screen readers reach
    const name = [...handle.querySelectorAll("div")].find(each => each.textContent.trim() && !each.querySelector("button"));
    if (!name) return;
    name.tabIndex = 0;
    name.setAttribute("role", "button");
    name.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      handle.click();
    });
  }

  function look() {
    const sheet = findSheet();
    if (!sheet) {
      if (page.style.getPropertyValue("--sheet-below") !== "") makeRoom();
      return;
    }
    if (sheet.dataset.sheet) return;
    const handle = [...sheet.querySelectorAll("div")].find(each => each.style.cursor === "pointer");
    if (!handle) return;
    sheet.dataset.sheet = "new";
    handle.dataset.sheetHandle = "";
    nameOf(handle);
    if (document.getElementById("status-bar").dataset.sheetStarts === "closed") handle.click(); // it is open at first
    const observer = new ResizeObserver(() => follow(sheet, handle));
    observer.observe(sheet);
    setTimeout(() => follow(sheet, handle), SETTLED);
  }

  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  addEventListener("resize", () => { clearTimeout(settling); settling = setTimeout(makeRoom, SETTLED); });
})();
