"""Position-domain PD: one joint leads, and the others follow its position instead of the time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.gains import JOINT, choice, gain
from ..core.types import Array, Command, CommandMode, JointPathFunction, JointSpaceReference, Reference, RobotState
from ..robot.model import RobotDynamics, RobotModel, friction_torque
from .law import register
from .terms import damping_gain, damping_ratio_gain, gravity_torque, joint_damping, joint_stiffness_gain, limited, total

RAMP = 0.05  # s, with which the slaves go over to a new master
LAG_FILTER = 4.0  # time constant of the measured lags, as a multiple of the slowest joint's M_ii / D
SMALL_LAG = 5e-4  # s: lags well below it aren't matched
HYSTERESIS = 1.2  # times faster than the master a joint must move to replace it
BACK, AHEAD = 0.2, 0.05  # s, from now, within which the look-up stays
MAX_STEP = 0.02  # s, of one Newton step
SLOWEST = 1e-3  # rad/s, of the master's reference, below which no Newton step is taken
SLOW = 0.05  # rad/s, well below which a joint has no lag that could be measured


class MasterAxis:
    """The joint that leads, chosen by the largest commanded displacement per cycle, and the look-up of its position.

    The choice has hysteresis while the reference moves. Once it has rested, the fastest joint becomes the master.

    Attributes:
        index: of the master; 0 until the reference moves, which makes the fastest joint the first master.
        age: since the last change of the master [s]; infinite where there was none.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """No master was chosen, and nothing was looked up."""
        self.index, self.age = 0, np.inf
        self._chosen, self._rested = False, True
        self._s: float | None = None

    def choose(self, v_ref: Array, rest_speed: float, dt: float) -> bool:
        """Choose the master for this cycle, dt [s] after the last one; True where it is another one.

        v_ref (n,) are the reference's velocities [rad/s]; it rests where none is above rest_speed [rad/s].
        """
        speeds = np.abs(v_ref)
        fastest = int(speeds.argmax())
        self.age += dt
        if speeds[fastest] < rest_speed:
            self._rested = True
            return False
        if not self._chosen:
            self.index, self._chosen, self._rested = fastest, True, False
            return False
        margin = 1.0 if self._rested else HYSTERESIS
        self._rested = False
        if speeds[fastest] <= margin * speeds[self.index]:
            return False
        self.index, self.age = fastest, 0.0
        self.forget()
        return True

    def forget(self) -> None:
        """The next look-up begins at the present time."""
        self._s = None

    def look_up(
        self, path: JointPathFunction, q_master: float, model: RobotModel, t: float, dt: float
    ) -> tuple[Array, Array]:
        """Reference (n,) [rad] and its velocity (n,) [rad/s] at the time s where its master is where the master is.

        One Newton step for q_md(s) = q_m [rad] from the last s + dt, so two evaluations of the path; now is t [s].
        """
        master = self.index
        s = t if self._s is None else self._s + dt
        q, v, _ = path(s)
        if abs(v[master]) > SLOWEST:
            ahead = model.wrap(q_master - q)[master] / v[master]
            s += min(max(ahead, -MAX_STEP), MAX_STEP)
        self._s = s = min(max(s, t - BACK), t + AHEAD)
        q, v, _ = path(s)
        return q, v


@register("position_domain_pd")
class PositionDomainPD:
    """PD in each joint, but the slaves' references are looked up by where the master axis is, not by the time.

    Law:
        tau = K (q_r - q) + D (q̇_r - q̇) + s_ff [M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + friction(q̇_d)] + s_g g(q), within
        ±min(torque_limit, the description's effort limit). D = D_0 + 2 ζ √(K M_ii(q)). What s_ff scales is taken at
        t + feedforward_lead.
        Master m, the joint with the largest commanded displacement per cycle (hysteresis 1.2): q_r = q_d(t).
        Slave i: q_r = (1 - w_i) q_d(t) + w_i q_d(s), q̇_r = (1 - w_i) q̇_d(t) + w_i q_d'(s) q̇_m, where s solves
        q_md(s) = q_m (Newton, within t - 0.2 s … t + 0.05 s) and q_d' = dq_d/dq_md = q̇_d(s) / q̇_md(s) is the slope.
        So the damping of a slave is D, whatever the master does: the velocity form, as in electronic camming. (With
        D' (q_d' - q̇_s/q̇_m) it would be D'/q̇_m: unbounded at rest, negative as the master goes backwards.)
        Domain `position`, the source's form: w = (|q̇_md| - rest_speed) / (full_speed - rest_speed) within 0 … 1, with
        the lower |q̇_md| of t and s; from 0 again over 50 ms after a change of master. w = 0 where q̇_md has the other
        sign at s, that is, beyond a point at which the master turns back.
        Domain `matched`: that times (1 - l_i l_m / (l_m² + (0.5 ms)²)) within 0 … 1. The lag of a joint behind its own
        reference, l = e q̇_d / (q̇_d² + (0.05 rad/s)²) with e = q_r - q, is measured and low-passed (T = 4 max M_ii/D): a
        slave is held back only by what the master lags more than it does, so that all are late by the same time. What
        would jump at a change of master fades out over 50 ms.
        Domain `time`: w = 0, the usual PD.
        Output `position`: q_r with q̇_r, for the drive's own PD, and the rest as the torque offset (CiA 402: 0x607A and
        0x60B2). A drive that takes currents gets i = tau / (Kt N η): motor constant, ratio and efficiency of the gear.
    Closed loop:
        M ë + (D + C) ė + K e = what isn't fed forward, about q_r. Quasi-statically a slave that lags by l_s while the
        master lags by l_m is off the path by |l_m - l_s| in the time domain, by |l_s| in the position domain, and by
        max(l_s - l_m, 0) where lags are matched (l_m > 0). So, when to use it: where the master lags (soft, disturbed,
        at its torque limit, without feed-forward) and the slaves are stiff, `position` gains several times. Where a
        slave lags more than the master, `position` loses, and `matched` is the time domain. Where feed-forward is exact
        there is nothing to gain, and where all lag by inertia while they speed up, a little to lose. Timing isn't kept:
        the slaves wait for the master.
        As q_r contains the slave's own lag, lag matching is an integrator with the time T, within the bounds of w: a
        joint alone is stable for T > M/D, a quarter of what it is.
    Frames and units:
        Joint space. K [N·m/rad], D [N·m·s/rad]; joints that turn, since speeds of joints are compared.
    Assumptions:
        References that are smooth in time. Without a path of the reference, or at rest, it is PD in the time domain. A
        master that is held fast keeps its slaves back by no more than 0.2 s. |e| below half a turn in cyclic joints.
    Source:
        Position-domain PD of a six-joint arm under LinuxCNC and EtherCAT: choice of the active axis, compensation,
        dynamic feed-forward with friction, current limit. Idea: P. R. Ouyang, T. Dam, J. Huang, W. J. Zhang, Contour
        tracking control in position domain, Mechatronics 22(7), 2012. Lag matching: this package.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        domain: str = choice(
            "matched",
            ("matched", "position", "time"),
            doc="matched: slaves wait for the master as far as it lags more; position: always; time: they never do.",
        )
        output: str = choice(
            "effort",
            ("effort", "position"),
            doc="effort: torques; position: the looked-up joint positions, with feed-forward as a torque offset.",
        )
        stiffness: Array = joint_stiffness_gain(400.0)
        damping_ratio: Array = damping_ratio_gain(JOINT)
        damping: Array = damping_gain(JOINT)
        feedforward: float = gain(
            1.0, doc="Fraction of the reference's inertial, Coriolis and friction torques that is fed forward; 0 none."
        )
        feedforward_lead: float = gain(
            0.0,
            unit="s",
            upper=0.02,
            doc="Dead time of the drives: what is fed forward is that of so much later. 0 where torques act at once.",
        )
        gravity: float = gain(True, doc="Compensate gravity; off where the robot or its drives do it themselves.")
        torque_limit: Array = gain(
            1000.0,
            size=JOINT,
            unit="N·m",
            upper=1000.0,
            doc="Largest torque, where it is below the description's: Kt N η times the largest current; 0 lets go.",
        )
        rest_speed: float = gain(
            0.05,
            unit="rad/s",
            lower=0.001,
            upper=1.0,
            doc="Speed of the master's reference up to which the time domain holds.",
        )
        full_speed: float = gain(
            0.25,
            unit="rad/s",
            lower=0.001,
            upper=5.0,
            doc="Speed of the master's reference from which the position domain holds in full.",
        )

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    reference: ClassVar[type[Reference]] = JointSpaceReference
    reads_path: ClassVar[bool] = True

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self.master = MasterAxis()
        self._forget(0)

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """No lag, no shift of the references; the first joint is the master."""
        self.master.reset()
        self._forget(kin.model.n)

    def _forget(self, n: int) -> None:
        self.path_velocity: Array | None = None  # see ControlLaw
        self._domain = ""
        self._lag = np.zeros(n)
        self._shift = np.zeros((2, n))  # of the reference's position and velocity, as last used
        self._fading = np.zeros((2, n))

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: JointSpaceReference, gains: Gains, dt: float
    ) -> Command:
        q_ref, v_ref, a_ref = reference.q, reference.v, reference.a
        model, inertia = kin.model, kin.mass.diagonal()
        damping = joint_damping(gains, inertia)
        lag_filter = LAG_FILTER * float((inertia / np.maximum(damping, 1e-6)).max())
        error = model.wrap(q_ref + self._shift[0] - state.q)
        lag = error * v_ref / (v_ref * v_ref + SLOW**2)  # [s], of each joint behind its own reference
        self._lag += dt / (lag_filter + dt) * (lag - self._lag)
        q_shift, v_shift = self._compensation(state, reference, model, gains, dt)
        q, v = q_ref + q_shift, v_ref + v_shift
        ahead = (q_ref, v_ref, a_ref)
        if gains.feedforward_lead > 0.0 and reference.path is not None:
            ahead = reference.path(state.time + gains.feedforward_lead)
        self.terms = terms = {
            "feedforward": gains.feedforward * _motion_torque(model, *ahead),
            "gravity": gravity_torque(gains, kin),
        }
        limit = np.minimum(gains.torque_limit, model.limits.effort)
        # The slaves' positions repeat each step of the measured master; the law itself can only shake its reference.
        self.path_velocity = v_ref if gains.output == "position" else None
        if gains.output == "position":
            return Command(CommandMode.POSITION, q, feedforward=limited(terms, total(terms), limit), velocity=v)
        terms["stiffness"] = gains.stiffness * model.wrap(q - state.q)
        terms["damping"] = damping * (v - state.v)
        return Command(CommandMode.EFFORT, limited(terms, total(terms), limit))

    def _compensation(
        self, state: RobotState, reference: JointSpaceReference, model: RobotModel, gains: Gains, dt: float
    ) -> Array:
        """What the slaves' reference positions and velocities are shifted by from those of the present time, (2, n)."""
        q_ref, v_ref, path = reference.q, reference.v, reference.path
        changed = self.master.choose(v_ref, gains.rest_speed, dt)
        m = self.master.index
        shift = np.zeros_like(self._shift)
        weight = 0.0
        if path is not None and gains.domain != "time" and abs(v_ref[m]) > gains.rest_speed:
            q_s, v_s = self.master.look_up(path, state.q[m], model, state.time, dt)
            # negative where s is beyond a point at which the master turns back
            speed = min(abs(v_ref[m]), math.copysign(v_s[m], v_s[m] * v_ref[m]))
            weight = min((speed - gains.rest_speed) / max(gains.full_speed - gains.rest_speed, 1e-3), 1.0)
        if weight > 0.0:
            fraction = weight * self._follow(gains.domain)
            shift[0] = fraction * model.wrap(q_s - q_ref)
            shift[1] = fraction * (v_s * (state.v[m] / v_s[m]) - v_ref)
        else:
            self.master.forget()
        if (changed and gains.domain == "matched") or gains.domain != self._domain != "":
            self._fading = self._shift - shift
        self._domain = gains.domain
        shift += self._fading
        self._fading *= math.exp(-dt / RAMP)
        self._shift = shift
        return shift

    def _follow(self, domain: str) -> Array:
        """How far the joints follow the master while it moves, 0 … 1 each, (n,); 0 for itself."""
        m, lag = self.master.index, self._lag
        if domain == "matched":
            later = 1.0 - lag * (lag[m] / (lag[m] ** 2 + SMALL_LAG**2))
            fraction = np.minimum(np.maximum(later, 0.0), 1.0)
        else:
            fraction = np.full_like(lag, min(self.master.age / RAMP, 1.0))
        fraction[m] = 0.0
        return np.asarray(fraction)


def _motion_torque(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """Torques (n,) of a motion, friction included, without gravity."""
    rest = np.zeros_like(v)
    if not (v.any() or a.any()):
        return rest
    motion = model.inverse_dynamics(q, v, a) - model.inverse_dynamics(q, rest, rest)
    return np.asarray(motion + friction_torque(v, model.viscous_friction, model.dry_friction))
