// The bar's own connection: it takes the state a few times per second, and sends STOP.
"use strict";
(() => {
  const LATE = 600, CHECK = 100, RETRY = 500, PATIENCE = 2000; // ms
  const SERVER = "No connection to the page's server. STOP doesn't work here.";
  const [bar, stop, state, details, lost] =
    ["status-bar", "stop", "bar-state", "bar-details", "lost"].map(id => document.getElementById(id));
  const address = `${location.protocol.replace("http", "ws")}//${location.host}/bar${location.search}`;
  let socket, opened, heard = performance.now(), late = false;

  const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  function open() {
    opened = performance.now();
    socket = new WebSocket(address);
    socket.onmessage = message => { heard = performance.now(); show(JSON.parse(message.data)); };
    socket.onclose = () => { late = true; heard = -Infinity; check(); };
  }

  function show(shown) {
    bar.dataset.state = shown.lost ? "lost" : shown.level;
    bar.title = shown.state;
    write(state, shown.state);
    write(details, [shown.law, shown.rate].filter(Boolean).join(" · "));
    stop.hidden = !shown.stops;
    stop.disabled = false;
    cover(shown.lost, false);
    document.dispatchEvent(new CustomEvent("bar-state", { detail: shown }));
  }

  function cover(message, unusable) {
    write(lost, message);
    lost.hidden = !message;
    document.body.classList.toggle("stale", Boolean(message));
    document.getElementById("root").inert = unusable;
  }

  function check() {
    const now = performance.now(), before = late;
    late = now - heard > LATE;
    if (!late || !before) return; // twice, as messages may wait after a stall of the browser
    bar.dataset.state = "lost";
    write(state, "server lost");
    write(details, "");
    stop.disabled = true;
    cover(SERVER, true);
    const wait = socket.readyState === WebSocket.CLOSED ? RETRY : PATIENCE;
    if (now - Math.max(opened, heard) < wait) return;
    socket.onmessage = socket.onclose = null;
    socket.close();
    open();
  }

  function send(text) {
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
  }

  function press() {
    if (!stop.hidden) send("stop");
  }

  document.addEventListener("bar-send", event => send(event.detail));
  stop.addEventListener("click", press);
  addEventListener("keydown", event => { if (event.key === "Escape" && !event.repeat) press(); }, true);
  open();
  setInterval(check, CHECK);
})();
