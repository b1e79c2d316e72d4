// The page of one joint: its step, computed again whenever something changes, beside a line of the source's table.
"use strict";

const PID = "PID";
const BRAKING = "P, square-root braking";
const TRAPEZOIDAL = "trapezoidal velocity";
const OWN = "your own";
const NO_LINE = "none";
const MAX_ERROR = 3; // steps from the target, up to which a run is drawn
const EXAMPLE = `// called at each step of the physics; gives rad/s
const fastest = Math.sqrt(2 * 20 * Math.abs(joint.error));
return Math.sign(joint.error) *
  Math.min(fastest, Math.abs(joint.error) / joint.step_size);`;
const HEADS = [
  "10 % reached [s]", "90 % reached [s]", "95 % reached [s]", "overshoot [%]", "settled to 5 % [s]", "settled to 2 % [s]",
  "peak [deg/s]",
];

const stage = document.querySelector(".stage");
const panel = document.querySelector(".panel");
const angles = new TimeChart(stage, "angle [deg]", "large");
const commands = new TimeChart(stage, "command [deg/s]");
const report = make("table");
const remarks = make("p", { className: "note" });
panel.append(report, remarks);

const law = addChoice(panel, "Law", { value: PID, names: [PID, BRAKING, TRAPEZOIDAL, OWN] }, compute);
const controls = {
  variant: addChoice(panel, "Variant", { value: PID_GAINS.variant, names: ["legacy", "current"], title: "legacy: D on the change of the error. current: D on the velocity." }, compute),
  p: slider("P", PID_GAINS.p, 0, 2, 0.01, "Part of the error that is corrected per step."),
  i: slider("I [1/s]", PID_GAINS.i, 0, 20, 0.1, "On the sum of all errors times T."),
  d: slider("D [s]", PID_GAINS.d, 0, 0.01, 0.00005, "On the rate of the error."),
  acceleration: slider("Acceleration [deg/s²]", 1000, 100, 5000, 100, "Acceleration of braking and starting."),
};
const own = make("textarea", { value: EXAMPLE, spellcheck: false, ariaLabel: "Body of your law, in JavaScript" });
own.addEventListener("input", compute);
panel.append(own);
const limited = addCheckbox(panel, "Limit the velocity", { title: "Off: the servo reaches any velocity." }, compute);
const limit = slider("Limit [deg/s]", 90, 10, 720, 10, "Limit of the servo.");
const antiWindup = addCheckbox(panel, "Anti-windup", { title: "The sum stops at the limit." }, compute);
panel.append(make("h2", { textContent: "Step" }));
const start = slider("Start [deg]", STEP_SETTINGS.start, -360, 360, 1, "Where the joint is before the step.");
const target = slider("Target [deg]", STEP_SETTINGS.target, -360, 360, 1, "Where the joint goes.");
const cyclic = addCheckbox(panel, "Cyclic joint", { title: "It turns endlessly and goes the short way." }, compute);
const duration = slider("Duration [s]", STEP_SETTINGS.duration, 0.1, 3, 0.1, "Duration of the simulation.");
const dt = addChoice(panel, "Time step [ms]", { value: "5", names: ["1", "2", "5", "10"], title: "The law is called once in each." }, compute);
panel.append(make("h2", { textContent: "Source" }));
const line = addChoice(panel, "Reference", { value: lineName(LINES[0]), names: [NO_LINE, ...LINES.map(lineName)], title: "(P, I, D), velocity limit: a line of the source's table." }, compute);
addButtons(panel, { "As the reference": copyLine });
panel.append(make(
  "p", { className: "note" }, "The curve of the reference comes from its difference equation. Dots are what the source prints. There is also ",
  make("a", { href: "planar.html", textContent: "a planar arm" }), ".",
));

function slider(label, value, min, max, step, title) {
  return addSlider(panel, label, { value, min, max, step, title }, compute);
}

function chosenLine() { return LINES.find(each => lineName(each) === line.value) ?? null; }

function readGains() {
  return { variant: controls.variant.value, p: controls.p.value, i: controls.i.value, d: controls.d.value, anti_windup: antiWindup.value };
}

function readStep() {
  return {
    start: start.value, target: target.value, cyclic: cyclic.value, duration: duration.value, dt: Number(dt.value) / 1e3,
    velocity_limit: limited.value ? limit.value : Infinity,
  };
}

// The law, as a function of the joint; a text that is no JavaScript throws an error.
function chosenLaw() {
  const acceleration = controls.acceleration.value * DEGREE;
  if (law.value === BRAKING) return brakingLaw({ p: controls.p.value, acceleration });
  if (law.value === TRAPEZOIDAL) return trapezoidalLaw({ acceleration });
  if (law.value === OWN) return new Function("joint", own.value);
  return pidLaw(readGains());
}

function copyLine() {
  const chosen = chosenLine();
  if (chosen === null) return;
  law.set(PID);
  controls.variant.set("legacy");
  ["p", "i", "d"].forEach((name, k) => controls[name].set(chosen.pid[k]));
  limited.set(chosen.limit !== null);
  if (chosen.limit !== null) limit.set(chosen.limit);
  antiWindup.set(false);
  start.set(STEP_SETTINGS.start);
  target.set(STEP_SETTINGS.target);
  cyclic.set(false);
  duration.set(STEP_SETTINGS.duration);
  dt.set("5");
  compute();
}

function compute() {
  const step = readStep();
  showUsed();
  let run = { time: [0], angle: [0], command: [], size: wayOf(step.target - step.start, 360, step.cyclic), problem: "" };
  try {
    run = respond(chosenLaw(), step);
  } catch (error) {
    run.problem = `${error}`;
  }
  show(run, step);
}

function showUsed() {
  const used = { [PID]: ["variant", "p", "i", "d"], [BRAKING]: ["p", "acceleration"], [TRAPEZOIDAL]: ["acceleration"], [OWN]: [] };
  for (const [name, { row }] of Object.entries(controls)) row.hidden = !used[law.value].includes(name);
  own.hidden = law.value !== OWN;
  limit.row.hidden = !limited.value;
  antiWindup.row.hidden = !(law.value === PID && limited.value);
}

function show(run, step) {
  const chosen = chosenLine();
  const far = run.angle.findIndex(each => Math.abs(each - run.size) > MAX_ERROR * Math.abs(run.size));
  const count = far === -1 ? run.angle.length : far;
  const goal = step.start + run.size;
  const drawn = [
    { name: "this joint", time: run.time.slice(0, count), values: run.angle.slice(0, count).map(each => step.start + each), colour: "var(--blue)" },
    { name: "target", time: [0, step.duration], values: [goal, goal], colour: "var(--grey)", dashed: true },
  ];
  const asked = [{ name: "this joint", time: run.time.slice(0, count - 1), values: run.command.slice(0, count - 1), colour: "var(--blue)", held: true }];
  if (chosen !== null) {
    const reference = referenceAngles(chosen, run.size, step.duration);
    const time = reference.map((_, k) => PERIOD * k);
    drawn.push({ name: "source", time, values: reference.map(each => step.start + each), colour: "var(--orange)", dashed: true });
    const changes = reference.slice(1).map((each, k) => (each - reference[k]) / PERIOD);
    asked.push({ name: "source", time: time.slice(0, -1), values: changes, colour: "var(--orange)", dashed: true, held: true });
    const samples = run.size === STEP ? chosen.samples.filter(([each]) => each <= step.duration) : [];
    drawn.push({ name: "as printed there", time: samples.map(([each]) => each), values: samples.map(([, each]) => step.start + each), colour: "var(--orange)", dots: true });
  }
  angles.show(drawn, step.duration);
  commands.show(asked, step.duration);
  const columns = [];
  if (run.size !== 0) columns.push(["this joint", ...cells(figures(run), count < run.angle.length)]);
  if (chosen !== null) columns.push(["source", ...cells(chosen, false)]);
  fillTable(report, ["", ...HEADS].map((head, row) => [head, ...columns.map(column => column[row])]));
  report.rows[0].querySelectorAll("td").forEach(cell => {
    cell.style.color = cell.textContent === "source" ? "var(--orange)" : "var(--blue)";
  });
  const head = document.querySelector("#head");
  head.textContent = run.problem || `${law.value}: drag a slider, and the step is computed again.`;
  head.className = run.problem ? "problem" : "note";
  remarks.textContent = law.value === PID ? verdict(stability(readGains(), step.dt), step.dt) : "";
}

const seconds = each => (each === null ? "" : Number.isFinite(each) ? each.toFixed(3) : "not yet");

function cells({ rise, t95, overshoot: [most], settled, peak }, diverges) {
  return [
    ...rise.map(seconds), seconds(t95), diverges ? "diverges" : most.toFixed(2), ...settled.map(seconds),
    diverges ? "diverges" : peak.toFixed(0),
  ];
}

function verdict({ roots, growth, dLimit }, step) {
  const root = ([re, im]) => (Math.abs(im) < 1e-9 ? re.toPrecision(4) : `${re.toPrecision(4)} ± ${Math.abs(im).toPrecision(4)} i`);
  const names = [...new Set(roots.map(root))].join(", ");
  let text = `Stable: the error falls to 1/e in ${(-1e3 * step / Math.log(growth)).toPrecision(3)} ms`;
  if (growth < 1e-6) text = "Stable: there in one step";
  else if (growth > 1 + 1e-9) text = `Unstable: the error grows ${growth.toPrecision(4)}-fold per step`;
  else if (growth > 1 - 1e-9) text = "At the limit of stability: the error stays";
  const turn = Math.abs(Math.atan2(roots[0][1], roots[0][0]));
  if (turn > 1e-6 && growth >= 1e-6) text += `, oscillating at ${(turn / (2 * Math.PI * step)).toPrecision(3)} Hz`;
  const bound = dLimit > 0 ? `D must stay below ${dLimit.toPrecision(4)} s` : "no D makes it stable";
  return `${text}. Roots z = ${names}; ${bound}.`;
}

compute();
