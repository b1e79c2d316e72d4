// The bar's own connection: it takes the state a few times per second, and sends STOP.
"use strict";
(() => {
  const LATE = 600, CHECK = 100, RETRY = 500, PATIENCE = 2000, MOST_PATIENCE = 32000, REST = 2000; // ms
  const SERVER = "No connection to the page's server. STOP doesn't work here. Connecting again; "
    + "reload the page if this stays.";
  const ONLY_LOOKS = "This address is for looking on: only STOP works.";
  const [bar, stop, stopText, stopOne, activate, state, details, lost] =
    ["status-bar", "stop", "stop-text", "stop-one", "activate", "bar-state", "bar-details", "lost"]
      .map(id => document.getElementById(id));
  const address = `${location.protocol.replace("http", "ws")}//${location.host}/bar${location.search}`;
  let socket, opened, several = false, measured = "";
  let silence = 0, checked = performance.now(), patience = PATIENCE; // ms

  const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  function fit() { // a message that is longer than its line is shown below the bar
    const now = `${innerWidth} ${state.textContent}`;
    if (now === measured) return;
    measured = now;
    bar.classList.remove("long");
    bar.classList.toggle("long", state.scrollWidth > state.clientWidth + 1);
  }

  // The view draws with all that the browser can. It rests while there is no link, so that the browser can make one.
  const drawFrame = window.requestAnimationFrame.bind(window), dropFrame = window.cancelAnimationFrame.bind(window);
  let resting = true;
  window.requestAnimationFrame = draw => resting ? -setTimeout(() => draw(performance.now()), REST) : drawFrame(draw);
  window.cancelAnimationFrame = number => number < 0 ? clearTimeout(-number) : dropFrame(number);

  function open() {
    opened = performance.now();
    socket = new WebSocket(address);
    socket.onopen = () => { silence = 0; };
    socket.onmessage = message => { silence = 0; patience = PATIENCE; show(JSON.parse(message.data)); };
    socket.onclose = () => { silence = Infinity; check(); };
  }

  function show(shown) {
    resting = false;
    several = shown.others.length > 0;
    bar.dataset.state = shown.lost && shown.level !== "starting" ? "lost" : shown.level;
    bar.title = shown.state;
    write(state, shown.state);
    const looks = shown.controls ? "" : "looking on";
    fit();
    const names = several ? [shown.arm, shown.law, shown.rate] : [shown.law, shown.rate, shown.arm];
    write(details, [...names, looks].filter(Boolean).join(" · "));
    stop.hidden = !shown.stops;
    stop.disabled = stopOne.disabled = false;
    write(stopText, several ? "STOP ALL" : "STOP");
    stop.title = several ? `Stop this arm and ${shown.others.join(", ")}: safe output, then no more commands.`
      : "Safe output, then no more commands; drives brake. The key is Escape, everywhere on the page.";
    stopOne.hidden = !shown.stops || !several;
    stopOne.title = `Stop ${shown.arm} alone.`;
    activate.hidden = !shown.activates;
    activate.disabled = !shown.controls;
    activate.title = shown.controls ? "End STOP, and let the controller command the robot again." : ONLY_LOOKS;
    document.body.classList.toggle("looks-on", !shown.controls);
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
    const now = performance.now();
    silence += Math.min(now - checked, 2 * CHECK); // while the browser itself stood still, nobody was silent
    checked = now;
    if (silence > LATE) showLost();
    if (socket.readyState === WebSocket.CLOSED) {
      if (now - opened > RETRY) open();
    } else if (socket.readyState === WebSocket.OPEN && silence > patience) {
      patience = Math.min(2 * patience, MOST_PATIENCE);
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
      open();
    } // a slow browser takes seconds to connect, and longer each time that it begins anew
  }

  function showLost() {
    resting = true;
    bar.dataset.state = "lost";
    write(state, "server lost");
    fit();
    write(details, "");
    stop.disabled = stopOne.disabled = activate.disabled = true;
    stop.title = SERVER;
    cover(SERVER, true);
  }

  function send(text) {
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
  }

  function press() {
    if (!stop.hidden) send(several ? "stop all" : "stop");
  }

  document.addEventListener("bar-send", event => send(event.detail));
  stop.addEventListener("click", press);
  stopOne.addEventListener("click", () => send("stop"));
  activate.addEventListener("click", () => send("activate"));
  addEventListener("keydown", event => { if (event.key === "Escape" && !event.repeat) press(); }, true);
  open();
  setInterval(check, CHECK);
})();
