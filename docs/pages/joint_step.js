// The step of one joint with an ideal velocity servo, as robot_control_ros/teaching/joint_step has it.
// A law is a function from what it is told of the joint to a velocity command [rad/s]. Nothing here knows the browser.
"use strict";

const STEP = 10; // deg
const PERIOD = 0.005; // s, of the source's physics
const SIMULATION_STEP = 0.05; // s
const DEGREE = Math.PI / 180;
const STEP_SETTINGS = { start: 0, target: STEP, cyclic: false, velocity_limit: Infinity, duration: 1, dt: PERIOD };
const PID_GAINS = { variant: "legacy", p: 0.1, i: 2, d: 0, anti_windup: false };

// The source's table: a step of 10 deg; times in s, overshoot in %, velocities in deg/s.
const LINES = [
  {
    pid: [0.1, 2, 0], limit: null, rise: [0.005, 0.05], t95: 0.055, overshoot: [30.72, 0.115], settled: [0.215, 0.365],
    peak: 220, samples: [[0.005, 1.1], [0.05, 9.2453], [0.1, 12.9199], [0.3, 9.5349], [1, 9.9997]],
  },
  {
    pid: [0.1, 2, 0], limit: 90, rise: [0.015, 0.1], t95: 0.11, overshoot: [59.51, null], settled: [0.43, 0.465],
    peak: 90, samples: [],
  },
  {
    pid: [0.1, 0, 0], limit: null, rise: [0.005, 0.11], t95: 0.145, overshoot: [0, null], settled: [0.145, 0.19],
    peak: 200, samples: [[0.05, 6.5132], [0.1, 8.7842]],
  },
  {
    pid: [0.1, 0, 0], limit: 90, rise: [0.015, 0.135], t95: 0.17, overshoot: [0, null], settled: [0.17, 0.21],
    peak: 90, samples: [],
  },
  {
    pid: [1, 0, 0], limit: null, rise: [0.005, 0.005], t95: 0.005, overshoot: [0, null], settled: [0.005, 0.005],
    peak: 2000, samples: [],
  },
  {
    pid: [1, 0, 0], limit: 360, rise: [null, 0.025], t95: 0.03, overshoot: [0, null], settled: [0.03, 0.03],
    peak: 360, samples: [],
  },
];

const lineName = ({ pid, limit }) => `(${pid.join(", ")}), ${limit === null ? "no limit" : `${limit} deg/s`}`;
const modulo = (a, b) => a - b * Math.floor(a / b);
const wayOf = (error, turn, cyclic) => (cyclic ? modulo(error + turn / 2, turn) - turn / 2 : error);
const shortWay = (angle, cyclic) => (cyclic ? angle - 2 * Math.PI * Math.floor((angle + Math.PI) / (2 * Math.PI)) : angle);
const within = (value, bound) => Math.min(Math.max(value, -bound), bound);

// The law `joint_pid` of one joint; its velocity limit is the joint's.
function pidLaw({ variant, p, i, d, anti_windup }) {
  const byError = variant === "legacy";
  let integral = 0;
  let lastError = null;
  let lastPosition = 0;
  return joint => {
    const { step_size: dt, cyclic, position } = joint;
    if (joint.init) {
      integral = 0;
      lastError = null;
      lastPosition = position;
    }
    const speed = (position - lastPosition) / dt;
    lastPosition = position;
    const perSecond = byError ? 1 / dt : 1 / PERIOD;
    const error = shortWay(joint.target - position, cyclic);
    let rate = -speed;
    if (byError) rate = lastError === null ? 0 : shortWay(error - lastError, cyclic) / dt;
    lastError = error;
    const others = perSecond * p * error + perSecond * d * rate;
    let added = dt * error;
    const wanted = others + perSecond * i * (integral + added);
    if (anti_windup && Math.abs(wanted) > joint.velocity_limit && wanted * error > 0) added = 0;
    integral = i > 0 ? integral + added : 0;
    return within(others + perSecond * i * integral, joint.velocity_limit);
  };
}

// P, but never faster than what can still be braked; the acceleration is in rad/s².
function brakingLaw({ p, acceleration }) {
  return joint => {
    const size = Math.abs(joint.error);
    return Math.sign(joint.error) * Math.min(p * size / joint.step_size, Math.sqrt(2 * acceleration * size));
  };
}

// The velocity rises to its limit, stays there and falls to zero at the target, by no more than a T per step.
function trapezoidalLaw({ acceleration }) {
  let v = 0;
  return joint => {
    if (joint.init) v = 0;
    const change = acceleration * joint.step_size;
    const way = Math.abs(joint.error) / (change * joint.step_size);
    const n = Math.floor((Math.sqrt(1 + 8 * way) - 1) / 2);
    const fastest = (n + (way - n * (n + 1) / 2) / (n + 1)) * change;
    const wanted = Math.sign(joint.error) * Math.min(fastest, joint.velocity_limit);
    v = Math.min(Math.max(wanted, v - change), v + change);
    return v;
  };
}

// The step of a joint whose servo has the commanded velocity, within its limit, from the call on.
// Gives time [s], angle from the start [deg], command [deg/s], the step's size [deg] and what ended it early, or "".
function respond(law, settings) {
  const step = { ...STEP_SETTINGS, ...settings };
  const limit = step.velocity_limit * DEGREE;
  const target = step.target * DEGREE;
  const passes = Math.max(1, Math.round(SIMULATION_STEP / step.dt));
  const angle = [step.start * DEGREE];
  const command = [];
  let v = 0;
  let effort = 0;
  let problem = "";
  for (let k = 0; k < Math.round(step.duration / step.dt); k += 1) {
    const position = angle[k];
    const joint = {
      init: k === 0, revolute: true, cyclic: step.cyclic, pass_count: k % passes + 1, position, target,
      error: wayOf(target - position, 2 * Math.PI, step.cyclic), effort, step_size: step.dt, lower: -Infinity,
      upper: Infinity, target_velocity: 0, max_effort: Infinity, velocity_limit: limit,
    };
    let wanted = NaN;
    try {
      wanted = law(joint);
      if (typeof wanted !== "number" || !Number.isFinite(wanted)) problem = `it gave ${wanted}: must be a finite velocity [rad/s]`;
    } catch (error) {
      problem = `${error}`;
    }
    if (problem) {
      problem += ` (call ${k + 1}, at ${(k * step.dt).toPrecision(3)} s)`;
      break;
    }
    const last = v;
    v = within(wanted, limit);
    effort = (v - last) / step.dt;
    angle.push(position + step.dt * v);
    command.push(v);
  }
  return {
    time: angle.map((_, k) => step.dt * k),
    angle: angle.map(each => each / DEGREE - step.start),
    command: command.map(each => each / DEGREE),
    size: wayOf(step.target - step.start, 360, step.cyclic),
    problem,
  };
}

// Figures of a run: when it reaches and settles [s], overshoot [%] and its time [s], largest command [deg/s].
function figures({ time, angle, command, size }) {
  const share = angle.map(each => each / size);
  const reached = percent => time[share.findIndex(each => each >= percent / 100 - 1e-10)] ?? Infinity;
  const settled = percent => time[share.findLastIndex(each => Math.abs(each - 1) > percent / 100 + 1e-10) + 1] ?? Infinity;
  const largest = share.reduce((best, each, k) => (each > share[best] ? k : best), 0);
  return {
    rise: [reached(10), reached(90)],
    t95: reached(95),
    overshoot: [Math.max(share[largest] - 1, 0) * 100, time[largest]],
    settled: [settled(5), settled(2)],
    peak: command.reduce((most, each) => Math.max(most, Math.abs(each)), 0),
  };
}

// Angles [deg] of a line of the source's table, for a step of this size [deg], each 5 ms.
function referenceAngles({ pid: [p, i], limit }, size, duration) {
  const largest = limit === null ? Infinity : limit * PERIOD;
  const angles = [0];
  let total = 0;
  for (let k = 0; k < Math.round(duration / PERIOD); k += 1) {
    const error = size - angles[k];
    total += error;
    angles.push(angles[k] + within(p * error + i * PERIOD * total, largest));
  }
  return angles;
}

// The error's difference equation: its roots as [real, imaginary], the largest first, and the D with a root at -1 [s].
function stability({ variant, p, i, d }, dt) {
  const s = variant === "legacy" ? 1 : dt / PERIOD;
  const [sp, si, sd] = [s * p, s * i * dt, s * d / dt];
  let coefficients = [sp + si + sd - 2, 1 - sp - 2 * sd, sd]; // of z², z and 1; z³ has 1
  if (i === 0) coefficients = [sp + sd - 1, -sd];
  if (d === 0) coefficients.pop();
  const roots = rootsOf(coefficients).sort((a, b) => Math.hypot(...b) - Math.hypot(...a));
  return { roots, growth: Math.hypot(...roots[0]), dLimit: dt * (4 - 2 * sp - si) / 4 / s };
}

// Roots of a polynomial of degree 1 to 3 that begins with 1.
function rootsOf(coefficients) {
  if (coefficients.length === 1) return [[-coefficients[0], 0]];
  if (coefficients.length === 2) return quadraticRoots(...coefficients);
  const [a, b, c] = coefficients;
  const value = z => ((z + a) * z + b) * z + c;
  let low = -1 - Math.max(Math.abs(a), Math.abs(b), Math.abs(c)); // Cauchy's bound: all roots are within
  let high = -low;
  for (let k = 0; k < 200; k += 1) {
    const middle = (low + high) / 2;
    if (value(middle) < 0) low = middle;
    else high = middle;
  }
  const root = (low + high) / 2;
  return [[root, 0], ...quadraticRoots(a + root, b + root * (a + root))];
}

function quadraticRoots(b, c) {
  const discriminant = b * b / 4 - c;
  if (discriminant < 0) return [[-b / 2, Math.sqrt(-discriminant)], [-b / 2, -Math.sqrt(-discriminant)]];
  const far = -b / 2 - (b < 0 ? -1 : 1) * Math.sqrt(discriminant); // of both the farther one from 0
  return [[far, 0], [far === 0 ? 0 : c / far, 0]];
}
