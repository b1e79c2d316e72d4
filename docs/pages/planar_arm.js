// The planar two-link arm and its laws, as robot_control_ros/teaching/planar_arm.py and two_link.py have them.
// Angles in rad, lengths in m; arrays of two numbers. Nothing here knows the browser.
"use strict";

const UPRIGHT = [Math.PI / 2, 0];
const DT = 0.01; // s
const FASTEST = 1e3; // rad/s, beyond which nothing is simulated any more
const LENGTH = 1; // m
const CENTER = 0.5; // m, from a joint to its link's centre of mass
const MASS = 1; // kg
const GRAVITY = 9.8; // m/s²
const REACH = 2 * LENGTH;
const SETTINGS = {
  stiffness: 50, // Kp [N/m]
  damping: 5, // Kd [N·s/m]
  inertia: 0, // M [kg]
  joint_pd: false,
  joint_stiffness: 50, // Kq [N·m/rad]
  joint_damping: 5, // Dq [N·m·s/rad]
  link_inertia: 1 / 48, // kg·m²
  taylor: false, // positions get a dt²/2, too
  wall: false,
  wall_x: 1, // m
  wall_stiffness: 500, // N/m
};

const add = (a, b) => [a[0] + b[0], a[1] + b[1]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1]];
const scale = (factor, a) => [factor * a[0], factor * a[1]];
const norm = a => Math.sqrt(a[0] * a[0] + a[1] * a[1]);
const times = (m, a) => [m[0][0] * a[0] + m[0][1] * a[1], m[1][0] * a[0] + m[1][1] * a[1]];
const transposed = m => [[m[0][0], m[1][0]], [m[0][1], m[1][1]]];
const product = (a, b) => transposed(transposed(b).map(column => times(a, column)));
const solve = (m, b) => {
  const determinant = m[0][0] * m[1][1] - m[0][1] * m[1][0];
  return [(m[1][1] * b[0] - m[0][1] * b[1]) / determinant, (m[0][0] * b[1] - m[1][0] * b[0]) / determinant];
};

function tipOf([t1, t2]) {
  return [LENGTH * (Math.cos(t1) + Math.cos(t1 + t2)), LENGTH * (Math.sin(t1) + Math.sin(t1 + t2))];
}

function jacobianOf([t1, t2]) {
  const x = LENGTH * Math.cos(t1 + t2);
  const y = LENGTH * Math.sin(t1 + t2);
  return [[-LENGTH * Math.sin(t1) - y, -y], [LENGTH * Math.cos(t1) + x, x]];
}

// J̇ q̇: the tip's acceleration where the joints have none.
function driftOf([t1, t2], [w1, w2]) {
  const first = w1 ** 2;
  const second = (w1 + w2) ** 2;
  return [
    -LENGTH * (first * Math.cos(t1) + second * Math.cos(t1 + t2)),
    -LENGTH * (first * Math.sin(t1) + second * Math.sin(t1 + t2)),
  ];
}

function massMatrixOf(t2, inertia) {
  const link = inertia + MASS * CENTER * CENTER;
  const coupling = MASS * LENGTH * CENTER * Math.cos(t2);
  const h12 = link + coupling;
  return [[2 * link + MASS * LENGTH * LENGTH + 2 * coupling, h12], [h12, link]];
}

// C(q, q̇) q̇
function coriolisOf([, t2], [w1, w2]) {
  const h = MASS * LENGTH * CENTER * Math.sin(t2);
  return [-h * w2 * (2 * w1 + w2), h * w1 * w1];
}

function gravityOf([t1, t2]) {
  const outer = MASS * GRAVITY * CENTER * Math.cos(t1 + t2);
  return [MASS * GRAVITY * (LENGTH + CENTER) * Math.cos(t1) + outer, outer];
}

// The posture with the tip at a point within reach, with t2 >= 0.
function postureAt([x, y]) {
  const t2 = Math.acos((x * x + y * y) / (2 * LENGTH * LENGTH) - 1);
  return [Math.atan2(y, x) - Math.atan2(Math.sin(t2), 1 + Math.cos(t2)), t2];
}

// From what time on the distance to the target stays within a bound. The bounds are parts of the first distance, or m.
class Settling {
  constructor(distance) {
    this.start = distance;
    this.bounds = [0.05 * distance, 0.02 * distance, 1e-3];
    this.inside = this.bounds.map(bound => distance <= bound);
    this.times = this.inside.map(inside => (inside ? 0 : DT)); // s
    this.samples = 0;
  }

  follow(distance) {
    this.samples += 1;
    this.bounds.forEach((bound, i) => {
      this.inside[i] = distance <= bound;
      if (!this.inside[i]) this.times[i] = DT * (this.samples + 1);
    });
  }
}

// The arm with its base at the origin, stepped by 10 ms; it begins upright, and is led by hand until a law drives it.
class PlanarArm {
  constructor() {
    this.settings = { ...SETTINGS };
    this.driven = false;
    this.q = UPRIGHT;
    this.rest();
  }

  get elbow() { return [LENGTH * Math.cos(this.q[0]), LENGTH * Math.sin(this.q[0])]; }

  get tip() { return tipOf(this.q); }

  get distance() { return norm(subtract(this.target, this.tip)); }

  // Force of the wall on the tip [N].
  get contact() {
    const { wall, wall_x, wall_stiffness } = this.settings;
    const depth = this.tip[0] - wall_x;
    return this.driven && wall && depth > 0 ? [-wall_stiffness * depth, 0] : [0, 0];
  }

  // Parts of the torque by their names [N·m].
  get terms() {
    const { settings, q, v } = this;
    const gravity = gravityOf(q);
    if (settings.joint_pd) {
      return {
        stiffness: scale(settings.joint_stiffness, subtract(this.goal, q)),
        damping: scale(settings.joint_damping, scale(-1, v)),
        gravity,
      };
    }
    const jacobian = jacobianOf(q);
    const back = transposed(jacobian);
    const spring = scale(settings.stiffness, subtract(this.target, this.tip));
    const damper = scale(-settings.damping, times(jacobian, v));
    const terms = { stiffness: times(back, spring), damping: times(back, damper), gravity };
    if (settings.inertia > 0) {
      const acceleration = this.acceleration(jacobian, add(spring, damper));
      terms.inertia = times(back, scale(-settings.inertia, acceleration));
    }
    return terms;
  }

  // (1 + W M) a = W (f + w_ext) + J̇ q̇ - J H⁻¹ C q̇, with W = J H⁻¹ Jᵀ: the tip's acceleration under the law's force f.
  acceleration(jacobian, force) {
    const { q, v, settings } = this;
    const mass = massMatrixOf(q[1], settings.link_inertia);
    const columns = jacobian.map(row => solve(mass, row)); // of H⁻¹ Jᵀ
    const mobility = product(jacobian, transposed(columns));
    const free = subtract(driftOf(q, v), times(jacobian, solve(mass, coriolisOf(q, v))));
    const right = add(times(mobility, add(force, this.contact)), free);
    const matrix = mobility.map((row, i) => row.map((each, j) => (i === j ? 1 : 0) + each * settings.inertia));
    return solve(matrix, right);
  }

  get torque() {
    return this.driven ? Object.values(this.terms).reduce(add) : [0, 0];
  }

  // Least and largest stiffness of the tip over all directions, at rest in this posture [N/m].
  get tipStiffness() {
    const { settings } = this;
    if (!settings.joint_pd) return [settings.stiffness, settings.stiffness];
    const jacobian = jacobianOf(this.q);
    const [[a, b], [, d]] = product(jacobian, transposed(jacobian));
    const middle = (a + d) / 2;
    const away = Math.sqrt(((a - d) / 2) ** 2 + b * b);
    const stiffness = part => (part > 1e-9 ? settings.joint_stiffness / part : Infinity);
    return [stiffness(middle + away), stiffness(middle - away)];
  }

  change(settings) { Object.assign(this.settings, settings); }

  drive(driven) {
    if (driven !== this.driven) {
      this.driven = driven;
      this.rest();
    }
  }

  reset() {
    this.q = UPRIGHT;
    this.rest();
  }

  leadElbow([x, y]) {
    if (this.driven || (x === 0 && y === 0)) return;
    this.q = [Math.atan2(y, x), this.q[1]];
    this.rest();
  }

  leadTip(point) {
    const [x, y] = subtract(point, this.elbow);
    if (this.driven || (x === 0 && y === 0)) return;
    const angle = Math.atan2(y, x) - this.q[0];
    this.q = [this.q[0], angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI))];
    this.rest();
  }

  leadTarget(point) {
    if (!this.driven) return;
    this.target = scale(Math.min(1, REACH / Math.max(norm(point), 1e-12)), point);
    this.goal = this.postureWithElbowAsNow(this.target);
    this.begin();
  }

  // The next 10 ms. Returns why the simulation ended, or "".
  step() {
    if (!this.driven) return "";
    const { q, v, settings } = this;
    const push = times(transposed(jacobianOf(q)), this.contact);
    const mass = massMatrixOf(q[1], settings.link_inertia);
    const moving = subtract(add(this.torque, push), add(coriolisOf(q, v), gravityOf(q)));
    const a = solve(mass, moving);
    const part = settings.taylor ? 0.5 : 1;
    this.q = add(q, scale(DT, add(v, scale(part * DT, a))));
    this.v = add(v, scale(DT, a));
    this.time += DT;
    const fastest = Math.max(...this.v.map(Math.abs));
    if (!(fastest <= FASTEST)) {
      this.reset();
      return `A joint reached ${fastest.toFixed(0)} rad/s. 10 ms are too long a step for these settings. The arm was reset.`;
    }
    this.settling.follow(this.distance);
    return "";
  }

  rest() {
    this.v = [0, 0];
    this.time = 0;
    if (!this.driven) {
      this.target = this.tip;
      this.goal = this.q;
    }
    this.begin();
  }

  begin() { this.settling = new Settling(this.distance); }

  postureWithElbowAsNow(point) {
    let q = postureAt(scale(1 - 1e-12, point));
    if (this.q[1] < 0) q = [q[0] + q[1], -q[1]]; // the two links form a rhombus
    return q.map((each, i) => each + 2 * Math.PI * Math.round((this.q[i] - each) / (2 * Math.PI)));
  }
}
