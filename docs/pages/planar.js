// The page of the planar arm: a drawing to drag in, and the laws' numbers beside it.
"use strict";

const MAX_LAG = 0.2; // s that simulated time may be late; more is skipped
const SCALE = 100; // units of the drawing per metre
const HALF = 235; // units that are seen on each side of A
const FULL = 50; // N, of an arrow of 1 m
const TRACE_POINTS = 3000;
const BY_HAND = "By hand";
const IMPEDANCE = "Impedance";
const JOINT_PD = "Joint PD";
const INERTIAS = { "1/48": 1 / 48, "1/12": 1 / 12 };
const INTEGRATORS = { "semi-implicit Euler": false, "with a dt²/2": true };
const PARTS = {
  stiffness: ["Jᵀ Kp (x_d - x)", "Kq (q_d - q)"], damping: ["-Jᵀ Kd v", "-Dq q̇"], inertia: ["-Jᵀ M a", ""], gravity: ["G", "G"],
};

const arm = new PlanarArm();
let paused = false;
let late = 0; // s
let before = performance.now();
let problem = "";
let trace = [];
let traced = false;

// --- the drawing ---

const shapes = {
  wall: svg("rect", { class: "wall", y: -HALF, height: 2 * HALF, width: 4 * HALF }),
  reach: svg("circle", { class: "reach", r: REACH * SCALE }),
  trace: svg("polyline", { class: "trace" }),
  inner: svg("line", { class: "link" }),
  outer: svg("line", { class: "link" }),
  base: svg("circle", { class: "joint", r: 9 }),
  elbow: svg("circle", { class: "joint", r: 9 }),
  tip: svg("circle", { class: "joint", r: 6 }),
  target: svg("path", { class: "target", d: "M-14 0H14M0-14V14M-9 0A9 9 0 1 1 9 0A9 9 0 1 1-9 0" }),
  force: svg("line", { class: "force" }),
  elbowHandle: svg("circle", { class: "handle", r: 26 }),
  tipHandle: svg("circle", { class: "handle", r: 26 }),
  targetHandle: svg("circle", { class: "handle", r: 30 }),
};
const drawing = svg(
  "svg", { id: "drawing", viewBox: `${-HALF} ${-HALF} ${2 * HALF} ${2 * HALF}`, role: "img", "aria-label": "Planar arm" },
  svg("defs", {}, svg("marker", { id: "arrow", orient: "auto", markerWidth: 4, markerHeight: 4, refX: 2, refY: 2 }, svg("path", { d: "M0 0L4 2L0 4Z" }))),
  svg("line", { class: "axis", x1: -HALF, x2: HALF }),
  svg("line", { class: "axis", y1: -HALF, y2: HALF }),
  ...Object.values(shapes),
);
document.querySelector(".stage").append(drawing);

const drawn = ([x, y]) => [SCALE * x, -SCALE * y];

function place(shape, point) {
  const [x, y] = drawn(point);
  shape.setAttribute("transform", `translate(${x} ${y})`);
}

function stretch(line, from, to) {
  const [x1, y1] = drawn(from);
  const [x2, y2] = drawn(to);
  setAttributes(line, { x1, y1, x2, y2 });
}

function pointOf(event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
  return [at.x / SCALE, -at.y / SCALE];
}

function makeDraggable(handle, lead) {
  handle.addEventListener("pointerdown", event => {
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  handle.addEventListener("pointermove", event => {
    if (handle.hasPointerCapture(event.pointerId)) lead(pointOf(event));
  });
}

makeDraggable(shapes.elbowHandle, point => arm.leadElbow(point));
makeDraggable(shapes.tipHandle, point => arm.leadTip(point));
makeDraggable(shapes.targetHandle, point => leadTarget(point));

function draw() {
  const { elbow, tip, target, contact, driven, settings } = arm;
  stretch(shapes.inner, [0, 0], elbow);
  stretch(shapes.outer, elbow, tip);
  for (const [name, point] of Object.entries({ elbow, tip, target, elbowHandle: elbow, tipHandle: tip, targetHandle: target })) {
    place(shapes[name], point);
  }
  for (const name of ["elbowHandle", "tipHandle"]) shapes[name].style.display = driven ? "none" : "";
  shapes.targetHandle.style.display = driven ? "" : "none";
  shapes.wall.setAttribute("x", SCALE * settings.wall_x);
  shapes.wall.style.display = settings.wall ? "" : "none";
  const pushes = norm(contact) > 0.5;
  shapes.force.style.display = pushes ? "" : "none";
  if (pushes) stretch(shapes.force, tip, add(tip, scale(1 / FULL, contact)));
  shapes.trace.setAttribute("points", traced ? trace.map(point => drawn(point).map(each => each.toFixed(1)).join(" ")).join(" ") : "");
  show();
}

// --- the controls ---

const panel = document.querySelector(".panel");
const modes = addModes(panel, "Mode", [BY_HAND, IMPEDANCE, JOINT_PD], choose);
const readings = panel.appendChild(make("table"));
const sliders = {
  impedance: [
    bind("Kp [N/m]", "stiffness", 0, 300, 5, "Spring between tip and target."),
    bind("Kd [N·s/m]", "damping", 0, 30, 1, "Damper of the tip."),
    bind("M [kg]", "inertia", 0, 10, 0.1, "Inertia that the law adds to the tip. 0 is PD."),
  ],
  joint: [
    bind("Kq [N·m/rad]", "joint_stiffness", 0, 300, 5, "Spring of each joint."),
    bind("Dq [N·m·s/rad]", "joint_damping", 0, 30, 1, "Damper of each joint."),
  ],
};
const typed = [0, 1].map(axis => make("input", {
  type: "number", min: -REACH, max: REACH, step: 0.01, ariaLabel: `Target ${"xy"[axis]} [m]`,
}));
typed.forEach(each => each.addEventListener("change", () => leadTarget(typed.map(input => Number(input.value)))));
const targetRow = addRow(panel, "Target x, y [m]", typed[0], "Within the arm's reach of 2 m.");
targetRow.append(make("div", { className: "pair" }, ...typed));
addButtons(panel, { Reset: reset, Pause: pause });
addCheckbox(panel, "Trace", { title: "Draw the path of the tip." }, value => {
  traced = value;
  trace = [];
});

panel.append(make("h2", { textContent: "Torques now, T1 and T2 [N·m]" }));
const parts = panel.appendChild(make("table"));

panel.append(make("h2", { textContent: "Wall" }));
const wallSwitch = addCheckbox(panel, "Wall", { title: "A spring without friction, on the right of its edge." }, value => change("wall", value));
const wallSliders = [
  bind("Wall at x [m]", "wall_x", -1.5, 1.5, 0.05, "Its edge."),
  bind("Stiffness [N/m]", "wall_stiffness", 100, 1000, 50, "Stiffness of the wall."),
];
panel.append(make("p", { className: "note", textContent: `The arrow is its force: 1 m for ${FULL} N.` }));

panel.append(make("h2", { textContent: "Model" }));
addChoice(panel, "Inertia [kg·m²]", { value: "1/48", names: Object.keys(INERTIAS), title: "Inertia of each link about its centre." }, name => change("link_inertia", INERTIAS[name]));
addChoice(panel, "Integrator", { value: "semi-implicit Euler", names: Object.keys(INTEGRATORS), title: "Steps of 10 ms." }, name => change("taylor", INTEGRATORS[name]));
panel.append(make(
  "p", { className: "note" }, "Two links of 1 m and 1 kg. The laws are those of the package. There is also ",
  make("a", { href: "joint.html", textContent: "one joint under PID" }), ".",
));

function bind(label, name, min, max, step, title) {
  return addSlider(panel, label, { value: SETTINGS[name], min, max, step, title }, value => change(name, value));
}

function change(name, value) {
  arm.change({ [name]: value });
  arm.begin();
}

function choose(mode) {
  problem = "";
  arm.drive(mode !== BY_HAND);
  arm.change({ joint_pd: mode === JOINT_PD });
  arm.leadTarget(arm.target); // the joints' goal, for the elbow as it is now
  draw();
}

function leadTarget(point) {
  if (point.every(Number.isFinite)) arm.leadTarget(point);
}

function reset() {
  problem = "";
  trace = [];
  arm.reset();
  if (arm.driven) arm.leadTarget(arm.target);
}

function pause(event) {
  paused = !paused;
  event.currentTarget.ariaPressed = String(paused);
}

const pair = values => values.map(each => (Math.round(100 * each) / 100 + 0).toFixed(2)).join(", ");

function show() {
  const { settings, driven, settling } = arm;
  const mode = driven ? (settings.joint_pd ? JOINT_PD : IMPEDANCE) : BY_HAND;
  modes.set(mode);
  const head = document.querySelector("#head");
  const text = problem || (driven ? "Drag the target. The arm follows." : "Drag the elbow or the tip.");
  if (head.textContent !== text) head.textContent = text;
  head.className = problem ? "problem" : "note";
  sliders.impedance.forEach(each => { each.row.hidden = mode !== IMPEDANCE; });
  sliders.joint.forEach(each => { each.row.hidden = mode !== JOINT_PD; });
  wallSliders.forEach(each => { each.row.hidden = !wallSwitch.value; });
  targetRow.hidden = !driven;
  typed.forEach((each, axis) => {
    if (document.activeElement !== each) each.value = (Math.round(1e3 * arm.target[axis]) / 1e3).toFixed(3);
  });
  const settled = i => (driven && settling.inside[i] ? settling.times[i].toFixed(2) : "–");
  fillTable(readings, [
    ["Tip x, y [m]", arm.tip.map(each => each.toFixed(3)).join(", ")],
    ["Distance to target [m]", arm.distance.toFixed(3)],
    ...["5 %", "2 %", "1 mm"].map((bound, i) => [`Settled to ${bound} [s]`, settled(i)]),
    ["Wall's force [N]", norm(arm.contact).toFixed(1)],
    ["Stiffness of the tip [N/m]", driven ? arm.tipStiffness.map(each => (Number.isFinite(each) ? each.toFixed(0) : "∞")).join(" to ") : "–"],
    ["Time [s]", arm.time.toFixed(2)],
  ]);
  const terms = driven ? Object.entries(arm.terms) : [];
  fillTable(parts, [
    ...terms.map(([name, values]) => [PARTS[name][Number(settings.joint_pd)], pair(values)]),
    ["T", pair(arm.torque)],
  ]);
}

// --- time ---

function advance(now) {
  late = paused ? 0 : Math.min(late + (now - before) / 1e3, MAX_LAG);
  before = now;
  while (late >= DT) {
    late -= DT;
    const ended = arm.step();
    if (ended) {
      problem = ended;
      trace = [];
    }
    if (arm.driven && traced) trace.push(arm.tip);
  }
  trace = trace.slice(-TRACE_POINTS);
  draw();
  requestAnimationFrame(advance);
}

requestAnimationFrame(advance);
