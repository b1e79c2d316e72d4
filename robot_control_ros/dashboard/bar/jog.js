// Keys and gamepad: how far they are deflected, twenty times per second while one is held, and zeros when none is.
"use strict";
(() => {
  const PERIOD = 50, SHOULDER = 4, DEAD_BAND = 0.1; // ms; the button that must be held; of a stick
  const KEYS = { // of a keyboard, by place: axis of x, y, z, rx, ry, rz, and sign
    KeyW: [0, 1], KeyS: [0, -1], KeyA: [1, 1], KeyD: [1, -1], KeyE: [2, 1], KeyQ: [2, -1],
    KeyU: [3, 1], KeyO: [3, -1], KeyI: [4, 1], KeyK: [4, -1], KeyJ: [5, 1], KeyL: [5, -1],
  };
  const held = new Set();
  let on = false, moves = false;

  function onKey(event) {
    if (!on || !(event.code in KEYS)) return;
    if (event.type === "keyup") held.delete(event.code);
    else if (event.target.matches(":read-write") || event.ctrlKey || event.altKey || event.metaKey) return;
    else if (!event.repeat) held.add(event.code);
    event.stopPropagation(); // viser moves its camera with some of them
  }

  function release() {
    held.clear();
    send();
  }

  function gamepad() { // of the standard layout; sticks are positive to the right and back
    for (const pad of navigator.getGamepads()) {
      if (!pad || pad.mapping !== "standard" || !pad.buttons[SHOULDER].pressed) continue;
      const [x, y, turn, tilt] = pad.axes.map(each => Math.abs(each) < DEAD_BAND ? 0 : -each);
      return [y, x, pad.buttons[7].value - pad.buttons[6].value, 0, tilt, turn];
    }
    return [0, 0, 0, 0, 0, 0];
  }

  function send() {
    const active = on && document.hasFocus() && document.visibilityState === "visible";
    if (!active) held.clear();
    const deflection = active ? gamepad() : [0, 0, 0, 0, 0, 0];
    for (const code of held) deflection[KEYS[code][0]] += KEYS[code][1];
    const moved = deflection.some(each => each !== 0);
    if (moved || moves) document.dispatchEvent(new CustomEvent("bar-send", { detail: `jog ${deflection.join(" ")}` }));
    moves = moved;
  }

  document.addEventListener("bar-state", event => { on = event.detail.jogs; });
  document.addEventListener("visibilitychange", release);
  addEventListener("keydown", onKey, true);
  addEventListener("keyup", onKey, true);
  addEventListener("blur", release);
  setInterval(send, PERIOD);
})();
