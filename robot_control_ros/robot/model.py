"""The robot's kinematics and dynamics: the only module that knows Pinocchio's models.

Pinocchio stores a continuous joint as (cos, sin) and orders joints by its own traversal. Neither
leaves this module: outside, q is one angle per joint in the order of ``RobotConfig.joints``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..core.compiled import compiled
from ..core.errors import ModelError, refused, unknown
from ..core.spatial import wrap
from ..core.types import Array
from .arm_description import (
    LEAST,
    arm_description,
    inertia_problem,
    massless_description,
    moving_bodies,
)
from .configuration import RobotConfig
from .description import LinkMass, link_masses, links_beyond, parse_description
from .joint_chain import BASE, JointChain
from .joint_units import TURNING, JointUnits, joint_units
from .payload import Payload

IMPOSSIBLE_SPEED = 10.0  # times a joint's speed limit
FARTHEST = 1e4  # rad (m) from zero
SMOOTHING = 0.01  # rad/s over which Coulomb friction changes sign
ACCELERATION = 100.0  # rad/s² or m/s², of joints whose inertia isn't known
POSTURES = 5  # at random, of which one at least must have an inertia at each joint
_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


@compiled
def configuration_into(
    q: Array, places: NDArray[np.int64], turns: NDArray[np.bool_], result: Array
) -> None:
    """Write joint angles q (n,), in the form that Pinocchio takes, into result.

    Args:
        q: Joint angles (n,) [rad].
        places: Places in the result where each joint's numbers begin (n,).
        turns: (n,) True where a joint turns without end: it has its cosine and its sine.
        result: (nq,) configuration of Pinocchio.
    """
    for joint in range(len(q)):
        place = places[joint]
        if turns[joint]:
            result[place] = math.cos(q[joint])
            result[place + 1] = math.sin(q[joint])
        else:
            result[place] = q[joint]


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits from the robot description, each (n,): N·m, rad/s, rad. A continuous joint has
    infinite positions.

    Attributes:
        units: Units of each joint; where there are none, all joints turn.
    """

    effort: Array
    velocity: Array
    lower: Array
    upper: Array
    units: tuple[JointUnits, ...] = ()

    def unit(self, joint: int) -> JointUnits:
        """Units of a joint, by its number."""
        return self.units[joint] if self.units else TURNING

    def check(self, joints: Sequence[str], q: Array, where: str) -> None:
        """Refuse joint angles q (n,) [rad] beyond the limits; `where` is the text before the
        joint's name.

        Raises:
            ConfigError: names the joint, its value and the bounds.
        """
        for joint, value in enumerate(q.tolist()):
            low = float(self.lower[joint])
            high = float(self.upper[joint])
            if not low <= value <= high:
                rule = f"must be within [{low:g}, {high:g}]"
                unit = self.unit(joint).position
                raise refused(joints[joint], value, rule, (low, high), where=where, unit=unit)

    def check_ranges(self, joints: Sequence[str]) -> None:
        """Refuse joints that can't move: a URDF whose `limit` lacks `lower` and `upper` says 0 for
        both.

        Raises:
            ModelError: names the joint and its limits.
        """
        for name, low, high in zip(joints, self.lower.tolist(), self.upper.tolist(), strict=True):
            if not low < high:
                rule = "lower must be below upper; a joint that turns without end has the type continuous"
                raise ModelError(
                    f"joint {name}: lower = {low:g}, upper = {high:g} in the URDF: {rule}",
                    name=name,
                    value=(low, high),
                )

    @cached_property
    def possible(self) -> tuple[Array, Array, Array]:
        """Lowest and highest positions, and largest speeds (n,) each, that a joint can have, fault
        or no fault.

        They are half of a joint's range beyond its limits, and ten times its speed limit. A
        continuous joint may have turned some thousand times.
        """
        margin = 0.5 * np.minimum(self.upper - self.lower, FARTHEST)
        lowest = np.maximum(self.lower - margin, -FARTHEST)
        highest = np.minimum(self.upper + margin, FARTHEST)
        return lowest, highest, IMPOSSIBLE_SPEED * self.velocity

    def check_sample(self, q: Array, v: Array) -> None:
        """Refuse a sample of q [rad] and v [rad/s] (n,) that no joint can have; see
        :attr:`possible`.

        Raises:
            ConfigError: gives all positions or velocities, and the bounds.
        """
        lowest, highest, fastest = self.possible
        if not ((lowest <= q) & (q <= highest)).all():
            bound = lowest.tolist(), highest.tolist()
            raise refused(
                "position",
                q,
                f"must be within {bound[0]} and {bound[1]}",
                bound,
                where="joint state: ",
            )
        if not (np.abs(v) <= fastest).all():
            most = fastest.tolist()
            raise refused("velocity", v, f"must be at most {most}", most, where="joint state: ")

    def tightened(self, limits: Mapping[str, Sequence[float]]) -> JointLimits:
        """Limits with those of ``effort`` or ``velocity`` that are tighter, or that the description
        doesn't tell.

        A description whose limit is 0, negative or infinite tells none.
        """
        tighter: dict[str, Any] = {}
        for name, values in limits.items():
            told = getattr(self, name)
            tells = np.isfinite(told) & (told > 0.0)
            tighter[name] = np.where(tells, np.minimum(told, values), values)
        return replace(self, **tighter)


class CarriedMass(NamedTuple):
    """A mass [kg], and its centre of gravity (3,) in the frame of what carries it [m]."""

    mass: float
    center: Array


class CarriedBody(NamedTuple):
    """Body that a frame carries: mass [kg], centre of gravity (3,) [m] and inertia (3, 3) [kg·m²].

    The inertia is about the centre of gravity; both are in the axes of the frame.
    """

    mass: float
    center: Array
    inertia: Array


@dataclass(eq=False, slots=True)
class RobotDynamics:
    """Kinematics and dynamics at one state; the expensive parts are computed when first used.

    Attributes (base axes, tip origin; see :mod:`robot_control_ros.core.spatial`):
        model: the :class:`RobotModel` it came from.
        q, v: (n,) the state.
        pose: (4, 4) tip in base.
        jacobian: (6, n).
        gravity: (n,) torques that hold the robot at rest [N·m].
        twist: (6,) J v.
        coriolis: (n,) C(q, v) v [N·m].
        mass: (n, n) joint-space inertia [kg·m²].
        jdot_v: (6,) J̇ v [m/s², rad/s²].
        friction: (n,) torques that the modelled friction takes from the joints [N·m].
    """

    model: RobotModel
    q: Array
    v: Array
    pose: Array
    jacobian: Array
    gravity: Array

    _coriolis: Array | None = field(default=None, init=False)
    _mass: Array | None = field(default=None, init=False)
    _jdot_v: Array | None = field(default=None, init=False)

    @property
    def twist(self) -> Array:
        return np.asarray(self.jacobian.dot(self.v))

    @property
    def coriolis(self) -> Array:
        if self._coriolis is None:
            self._coriolis = self.model.bias(self.q, self.v) - self.gravity
        return self._coriolis

    @property
    def mass(self) -> Array:
        if self._mass is None:  # functools.cached_property takes a lock: 0.8 us for each tick
            self._mass = self.model.mass(self.q)
        return self._mass

    @property
    def jdot_v(self) -> Array:
        if self._jdot_v is None:
            self._jdot_v = self.model.jdot_v(self.q, self.v)
        return self._jdot_v

    @property
    def payload_regressor(self) -> Array:
        """(n, 4): times mass [kg] and first moment (3,) in the tip [kg·m] it is the torque that
        holds a payload [N·m].

        That is -Jᵀ (m g, R (m c) × g), with the rotation R of the tip.
        """
        gravity = self.model.gravity
        turned = np.cross(gravity, self.jacobian[3:], axisb=0)  # (n, 3): gravity × axis
        return -np.column_stack((self.jacobian[:3].T @ gravity, turned @ self.pose[:3, :3]))

    @property
    def gravity_regressor(self) -> Array:
        """(n, 3): times the acceleration of gravity (3,) in base axes [m/s²] it is `gravity`.

        That is -m J_cᵀ, with the mass m of all that moves and the Jacobian J_c of its centre.
        """
        return self.model.gravity_regressor(self.q)

    @property
    def friction(self) -> Array:
        return friction_torque(self.v, self.model.viscous_friction, self.model.dry_friction)


class RobotModel:
    """A serial arm from `base` to `tip`, with n chosen joints; every other joint of the description
    is locked at 0.

    Args:
        urdf: Text of the robot description.
        joints: Names of the n joints, revolute, continuous or prismatic, in the order of all joint
            arrays.
        base: Frame in which poses are given; fixed in the world.
        tip: Frame whose pose is controlled.
        rotor_inertia: (n,) of the motors behind their gears [kg·m²], added to the inertia's
            diagonal; 0 by default.
        gravity: (3,) [m/s²] in the axes of the description's root, so that a robot mounted on a
            wall (by the fixed joint above its base) is right without any setting.
        payload: Payload that the tip carries besides the description; nothing by default.

    Attributes:
        urdf, rotor_inertia: Text of the description, and (n,) inertia of the motors [kg·m²], as
            given above.
        description: Text of the description as its maker wrote it, see :meth:`of`.
        limits: Limits of the joints, see :class:`JointLimits`.
        frames: Names of the description's links, which are the frames of ROS.
        gravity: (3,) [m/s²] in base axes.
        cyclic: (n,) bool: joints that turn without end (`continuous`).
        slides: (n,) bool: joints that slide (`prismatic`).
        viscous_friction, dry_friction: (n,) as in the description's <dynamics> [N·m·s/rad, N·m].
        has_friction: True where a friction is above 0.
        links: Names of the links that the joints move, in the order of the joints.
        root: (4, 4) pose of the description's root in the base.

    Raises:
        ModelError: an unreadable description, an unknown joint or frame (lists the valid ones).
    """

    def __init__(
        self,
        urdf: str,
        joints: Sequence[str],
        base: str,
        tip: str,
        rotor_inertia: Sequence[float] | None = None,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        payload: Payload | None = None,
    ) -> None:
        self.urdf = urdf
        self.description = urdf
        self.rotor_inertia = rotor_inertia
        self.joints = tuple(joints)
        self.n = len(self.joints)
        self.base = base
        self.tip = tip
        model = pin.Model(_read_model(urdf, self.joints))
        self._frame_ids = {
            f.name: i for i, f in enumerate(model.frames) if f.type == pin.FrameType.BODY
        }
        self.frames = tuple(self._frame_ids)
        for frame in (base, tip):
            if frame not in self._frame_ids:
                raise unknown("frame", frame, self._frame_ids, ModelError)
        self._tip_id = self._frame_ids[tip]
        self.root = _move_origin(model, self._frame_ids[base], np.asarray(gravity, dtype=float))
        self._model = model
        self.gravity: Array = np.array(model.gravity.linear)
        self._index_joints()
        self.slides = np.array(_sliding(urdf, self.joints))
        if rotor_inertia is not None:
            model.armature = self._velocity(np.asarray(rotor_inertia, dtype=float))
        self._weightless = pin.Model(model)
        self._weightless.gravity = pin.Motion.Zero()
        self._tip_frame = model.frames[self._tip_id]
        self._bare_inertia = pin.Inertia(model.inertias[self._tip_frame.parentJoint])
        # by frame, of the description and the payload
        self._bodies_beyond: dict[str, CarriedBody] = {}
        self.payload = payload or Payload()
        self._data = model.createData()
        self._aside = model.createData()  # for questions about other states than the current one
        self._updated: Array | None = None  # q of the current one
        self.limits = self._limits()
        self.viscous_friction = self._per_joint(model.damping)
        self.dry_friction = self._per_joint(model.upperDryFrictionLimit)
        self.has_friction = bool(self.viscous_friction.any() or self.dry_friction.any())
        self.links = self._links()

    @classmethod
    def of(cls, robot: RobotConfig, urdf: str | None = None) -> RobotModel:
        """The model of a robot configuration, from its own description or from a given one.

        Where torques can't be computed, see :attr:`dynamics_problem`, the kinematics are right all
        the same. Then the links have no inertia here, and each joint one that its effort limit can
        accelerate by 100 rad/s² or m/s².

        Raises ConfigError where home is beyond the joint limits, ModelError as the class does and
        where a joint can't move.
        """
        text = robot.urdf() if urdf is None else urdf
        model = cls(
            text, robot.joints, robot.base, robot.tip, robot.rotor_inertia, payload=robot.payload
        )
        model.limits = model.limits.tightened(robot.profile.limits)
        if model.dynamics_problem != "":
            model = model._for_kinematics()
        model.limits.check_ranges(robot.joints)
        model.limits.check(robot.joints, np.array(robot.home), f"robot {robot.name}: home of ")
        return model

    def _for_kinematics(self) -> RobotModel:
        """A model of the same arm with other inertias, see :meth:`of`."""
        effort = self.limits.effort
        usable = np.isfinite(effort) & (effort > 0.0)
        rotors = np.zeros(self.n) if self.rotor_inertia is None else np.array(self.rotor_inertia)
        known = np.where(usable, effort / ACCELERATION, 1.0)
        model = type(self)(
            massless_description(self.urdf, self.joints),
            self.joints,
            self.base,
            self.tip,
            np.maximum(rotors, known).tolist(),
            payload=self.payload,
        )
        model.limits = self.limits
        model.description = self.urdf
        model.dynamics_problem = self.dynamics_problem
        return model

    @property
    def payload(self) -> Payload:
        """Payload that the tip carries.

        Another one counts from the next call on: set it between two cycles.
        """
        return self._payload

    @payload.setter
    def payload(self, payload: Payload) -> None:
        carried = pin.Inertia(payload.mass, payload.center, payload.tensor)
        inertia = self._bare_inertia + self._tip_frame.placement.act(carried)
        for model in (self._model, self._weightless):
            model.inertias[self._tip_frame.parentJoint] = inertia
        self._payload = payload
        self._bodies_beyond.clear()

    def body_beyond(self, frame: str) -> CarriedBody:
        """Body that a sensor at a frame carries: links of the description beyond it, and payload.

        The link of the frame itself counts. Where the frame is on no link that leads to the tip, as
        UR's `ft_frame`, these are the links from the branch on. Links that move against the frame
        are left out.

        Raises:
            ModelError: the frame is unknown.
        """
        known = self._bodies_beyond.get(frame)
        if known is None:
            if frame not in self._frame_ids:
                raise unknown("frame", frame, self._frame_ids, ModelError)
            known = self._sum_beyond(frame, self._payload)
            self._bodies_beyond[frame] = known
        return known

    def moves_with_tip(self, frame: str) -> bool:
        """True where a frame is fixed to the tip: no joint is between them."""
        return bool(
            self._model.frames[self._frame_ids[frame]].parentJoint == self._tip_frame.parentJoint
        )

    def payload_beyond(self, frame: str, mass: float, center: Array) -> CarriedMass:
        """The payload's part of what a sensor at a frame carries; its centre is in the tip's frame.

        Args:
            frame: Frame of the sensor.
            mass, center: Mass of all that it carries [kg], and its centre of gravity (3,) in that
                frame [m].

        Raises:
            ModelError: the frame is unknown, or doesn't move with the tip.
        """
        described = self._sum_beyond(frame, Payload())
        sensor = self._model.frames[self._frame_ids[frame]]
        if not self.moves_with_tip(frame):
            raise ModelError(f"frame {frame!r} doesn't move with the tip {self.tip!r}", name=frame)
        left = mass - described.mass
        moment = mass * center - described.mass * described.center
        to_tip = self._tip_frame.placement.actInv(sensor.placement)
        return CarriedMass(left, to_tip.act(moment / left) if left > 0.0 else np.zeros(3))

    def _sum_beyond(self, frame: str, payload: Payload) -> CarriedBody:
        sensor = self._model.frames[self._frame_ids[frame]]
        masses = link_masses(self.urdf)
        parts = [
            (link, masses[link])
            for link in links_beyond(self.urdf, frame, self.tip)
            if link in self._frame_ids
        ]
        parts.append((self.tip, LinkMass(payload.mass, payload.center, payload.tensor)))
        total = pin.Inertia.Zero()
        for link, part in parts:
            carrier = self._model.frames[self._frame_ids[link]]
            if carrier.parentJoint == sensor.parentJoint:
                total += sensor.placement.actInv(carrier.placement).act(pin.Inertia(*part))
        return CarriedBody(float(total.mass), np.array(total.lever), np.array(total.inertia))

    def holding_torque(self, kin: RobotDynamics, payload: Payload) -> Array:
        """Torques (n,) that would hold the robot at rest with another payload [N·m].

        Args:
            kin: Dynamics at the posture, with the present payload.
            payload: Payload that would be carried instead.
        """
        change = first_moments(payload) - first_moments(self._payload)
        return np.asarray(kin.gravity + kin.payload_regressor @ change)

    def update(self, q: Array, v: Array) -> RobotDynamics:
        """RobotDynamics at the current state: joint angles q (n,) [rad] and
        velocities v (n,) [rad/s].
        """
        self._updated = q
        return self._kinematics(self._data, q, v)

    def at(self, q: Array, v: Array | None = None) -> RobotDynamics:
        """RobotDynamics at another state (at rest if v is None); :meth:`frame_pose` stays
        with the current one.
        """
        return self._kinematics(self._aside, q, np.zeros(self.n) if v is None else v)

    def frame_pose(self, frame: str) -> Array:
        """Pose (4, 4) of a frame in the base, at the last :meth:`update`; ModelError where
        the frame is unknown.
        """
        if frame not in self._frame_ids:
            raise unknown("frame", frame, self._frame_ids, ModelError)
        placement = pin.updateFramePlacement(self._model, self._data, self._frame_ids[frame])
        return np.asarray(placement.homogeneous)

    def link(self, frame: str, q: Array) -> tuple[Array, Array]:
        """Pose (4, 4) of a frame at q (n,), and its Jacobian (6, n) in base axes about its origin.

        The q of the last :meth:`update`, the same array, takes half the time.

        Raises:
            ModelError: the frame is unknown.
        """
        if frame not in self._frame_ids:
            raise unknown("frame", frame, self._frame_ids, ModelError)
        data = self._data
        if q is not self._updated:
            data = self._aside
            pin.computeJointJacobians(self._model, data, self._configuration(q))
        placement = pin.updateFramePlacement(self._model, data, self._frame_ids[frame])
        jacobian = pin.getFrameJacobian(self._model, data, self._frame_ids[frame], _AXES).reshape(
            6, self.n
        )
        return placement.homogeneous, jacobian if self._order is None else jacobian[:, self._order]

    @cached_property
    def chain(self) -> JointChain:
        """Poses and axes of the joints, for compiled code."""
        model = self._model
        ids = [model.getJointId(name) for name in self.joints]
        numbers = {joint: number for number, joint in enumerate(ids)}
        data = model.createData()
        pin.computeJointJacobians(model, data, pin.neutral(model))
        axes = np.empty((self.n, 3))
        turns = np.empty(self.n, dtype=np.bool_)
        for number, joint in enumerate(ids):
            screw = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL).reshape(
                6, self.n
            )
            column = screw[:, model.idx_vs[joint]]
            turns[number] = column[3:].any()
            axes[number] = column[3:] if turns[number] else column[:3]
        parents = [numbers.get(model.parents[joint], BASE) for joint in ids]
        # Pinocchio numbers parents first
        order = sorted(range(self.n), key=lambda number: ids[number])
        placements = np.array([model.jointPlacements[joint].homogeneous for joint in ids])
        return JointChain(np.array(order), np.array(parents), placements, axes, turns)

    @cached_property
    def reach(self) -> float:
        """Distance from the base that the tip can't exceed [m]; infinite behind a slide without end.

        It is the length of the chain of joints, with the way of each joint that slides.
        """
        chain = self.chain
        joint, offset = self.carrier(self.tip)
        length = float(np.linalg.norm(offset[:3, 3]))
        while joint != BASE:
            length += float(np.linalg.norm(chain.placement[joint][:3, 3]))
            if self.slides[joint]:
                ends = self.limits.lower[joint], self.limits.upper[joint]
                length += float(np.abs(ends).max())
            joint = int(chain.parent[joint])
        return length

    @cached_property
    def dynamics_problem(self) -> str:
        """Reason why torques can't be computed for this arm, in words; empty where they can.

        A body that moves has an inertia that no body has, or a joint moves nothing that has one.
        Kinematics are right all the same.
        """
        if problem := _inertia_problem(self.urdf, self.joints):
            return problem
        rng = np.random.default_rng(0)
        modes = [np.linalg.eigh(self.mass(q)) for q in rng.uniform(-1.0, 1.0, (POSTURES, self.n))]
        smallest, vectors = max(modes, key=lambda mode: float(mode[0][0]))
        if smallest[0] > LEAST:
            return ""
        joint = int(np.abs(vectors[:, 0]).argmax())
        rule = "it moves nothing that has an inertia: give its links an <inertial>, or the robot a rotor_inertia"
        return f"joint {self.joints[joint]}: {rule}"

    def carrier(self, frame: str) -> tuple[int, Array]:
        """Number of the joint that moves a frame, or BASE, and pose (4, 4) of the frame in that
        joint's frame.

        Raises:
            ModelError: the frame is unknown.
        """
        if frame not in self._frame_ids:
            raise unknown("frame", frame, self._frame_ids, ModelError)
        found = self._model.frames[self._frame_ids[frame]]
        name = self._model.names[found.parentJoint]
        return self.joints.index(name) if name in self.joints else BASE, np.array(
            found.placement.homogeneous
        )

    def wrap(self, angles: Array) -> Array:
        """Angles (n,) [rad], those of cyclic joints by the short way round:
        ((angle + π) mod 2π) - π.
        """
        return wrap(angles, self.cyclic) if self._turns else angles

    def bias(self, q: Array, v: Array) -> Array:
        """C(q, v) v + g(q), (n,) [N·m]."""
        x = self._configuration(q)
        w = self._velocity(v)
        return self._per_joint(pin.nonLinearEffects(self._model, self._aside, x, w))

    def mass(self, q: Array) -> Array:
        """Joint-space inertia (n, n)."""
        m = pin.crba(self._model, self._aside, self._configuration(q))
        return np.array(m if self._order is None else m[np.ix_(self._order, self._order)])

    def gravity_regressor(self, q: Array) -> Array:
        """Torques (n, 3) [N·m] that hold the robot at q (n,), per m/s² of gravity along each base
        axis.
        """
        center = pin.jacobianCenterOfMass(self._model, self._aside, self._configuration(q))
        per_joint = center if self._order is None else center[:, self._order]
        return np.asarray(-self._aside.mass[0] * per_joint.reshape(3, self.n).T)

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """M(q) a + C(q, v) v + g(q), (n,) [N·m]: the torques of a motion, without friction."""
        if self._plain:
            torque: Array = pin.rnea(self._model, self._aside, q, v, a)  # new, each time
            return torque
        return self._torque(self._model, q, v, a)

    def motion_torque(self, q: Array, v: Array, a: Array) -> Array:
        """M(q) a + C(q, v) v, (n,) [N·m]: the torques of a motion without weight,
        and without friction.
        """
        return self._torque(self._weightless, q, v, a)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """M(q)⁻¹ (tau - C(q, v) v - g(q)), (n,) [rad/s²]: the acceleration under
        torques, without friction.
        """
        x = self._configuration(q)
        w = self._velocity(v)
        t = self._velocity(tau)
        return self._per_joint(pin.aba(self._model, self._aside, x, w, t))

    def jdot_v(self, q: Array, v: Array) -> Array:
        """J̇ v (6,): the tip's acceleration at zero joint acceleration."""
        x = self._configuration(q)
        w = self._velocity(v)
        pin.forwardKinematics(self._model, self._aside, x, w, np.zeros(self.n))
        acceleration = pin.getFrameClassicalAcceleration(
            self._model, self._aside, self._tip_id, _AXES
        )
        return np.asarray(acceleration.vector)

    def _kinematics(self, data: Any, q: Array, v: Array) -> RobotDynamics:
        x = q if self._plain else self._configuration(q)
        pin.computeJointJacobians(self._model, data, x)
        placement = pin.updateFramePlacement(self._model, data, self._tip_id)
        jacobian = pin.getFrameJacobian(self._model, data, self._tip_id, _AXES)
        gravity = pin.computeGeneralizedGravity(self._model, data, x)
        if self._order is not None:
            jacobian = np.ascontiguousarray(jacobian[:, self._order])
            gravity = gravity[self._order]
        if self.n == 1:  # Pinocchio gives the Jacobian of a single joint as a vector
            jacobian = jacobian.reshape(6, 1)
        return RobotDynamics(self, q, v, placement.homogeneous, jacobian, gravity)

    def _torque(self, model: Any, q: Array, v: Array, a: Array) -> Array:
        torque: Array  # new, each time
        if self._plain:
            torque = pin.rnea(model, self._aside, q, v, a)
            return torque
        x = self._configuration(q)
        w = self._velocity(v)
        b = self._velocity(a)
        torque = pin.rnea(model, self._aside, x, w, b)
        return torque if self._order is None else torque[self._order]

    def _index_joints(self) -> None:
        ids = [self._model.getJointId(name) for name in self.joints]
        order = np.array([self._model.idx_vs[i] for i in ids])
        self._order = None if np.array_equal(order, np.arange(self.n)) else order
        self._scalar = np.array([self._model.nqs[i] == 1 for i in ids])
        self._q_index = np.array([self._model.idx_qs[i] for i in ids], dtype=np.int64)
        self._nq = int(self._model.nq)
        self._turns = not self._scalar.all()
        self._plain = self._order is None and not self._turns
        self.cyclic = ~self._scalar

    def _links(self) -> tuple[str, ...]:
        moved: dict[int, str] = {}
        for frame in self._model.frames:  # parents come first
            if frame.type == pin.FrameType.BODY:
                moved.setdefault(frame.parentJoint, frame.name)
        return tuple(moved[self._model.getJointId(name)] for name in self.joints)

    def _configuration(self, q: Array) -> Array:
        if self._plain:
            return q
        x = np.empty(self._nq)
        configuration_into(np.ascontiguousarray(q, dtype=float), self._q_index, self.cyclic, x)
        return x

    def _velocity(self, v: Array) -> Array:
        if self._order is None:
            return v
        w = np.empty(self.n)
        w[self._order] = v
        return w

    def _per_joint(self, values: Any) -> Array:
        array = np.array(values, dtype=float)
        return array if self._order is None else array[self._order]

    def _limits(self) -> JointLimits:
        lower = np.full(self.n, -np.inf)
        upper = np.full(self.n, np.inf)
        at = self._q_index[self._scalar]
        lower[self._scalar] = np.array(self._model.lowerPositionLimit)[at]
        upper[self._scalar] = np.array(self._model.upperPositionLimit)[at]
        effort, velocity = (
            self._per_joint(x)
            for x in (self._model.upperEffortLimit, self._model.upperVelocityLimit)
        )
        units = tuple(joint_units(bool(slides)) for slides in self.slides)
        return JointLimits(effort, velocity, lower, upper, units)


def first_moments(payload: Payload) -> Array:
    """Mass and mass times centre (4,) of a payload [kg, kg·m]."""
    return np.concatenate(((payload.mass,), payload.mass * payload.center))


def friction_torque(v: Array, viscous: Array, dry: Array) -> Array:
    """Torque (n,) [N·m] that friction takes from the joints: b v + f tanh(v / 0.01 rad/s).

    Args:
        v: (n,) joint velocities [rad/s].
        viscous, dry: (n,) b [N·m·s/rad] and f [N·m], as in the description's <dynamics>.
    """
    return np.asarray(viscous * v + dry * np.tanh(v / SMOOTHING))


@lru_cache(maxsize=16)
def _read_model(urdf: str, joints: tuple[str, ...]) -> Any:
    """Pinocchio's model of a description; all other joints are locked. It is shared:
    change only a copy.
    """
    root = parse_description(urdf)  # a chain of 30,000 links would end the process in urdfdom
    if root.tag != "robot" or root.find("link") is None:
        message = "the robot description can't be read: it must be a <robot> with links (URDF)"
        raise ModelError(message, name="urdf", value=root.tag)
    moving = [joint for joint in root.findall("joint") if joint.get("type") != "fixed"]
    names = [joint.get("name", "") for joint in moving]
    missing = [name for name in joints if name not in names]
    if missing:
        text = f"joints {missing} are not in the robot description; joints: {', '.join(names)}"
        raise ModelError(text, name=missing[0], bound=tuple(names))
    try:
        model = pin.buildModelFromXML(arm_description(urdf, joints))
    except Exception as error:  # Pinocchio raises several kinds, C++ ones among them
        raise ModelError(f"the robot description can't be read: {error}") from error
    if model.nv != len(joints):
        raise ModelError(
            f"the {len(joints)} joints {list(joints)} have {model.nv} degrees of freedom"
        )
    return model


@lru_cache(maxsize=16)
def _inertia_problem(urdf: str, joints: tuple[str, ...]) -> str:
    """The first link that moves and has an inertia that no body has, in words; empty for none."""
    for link, body in moving_bodies(urdf, joints).items():
        if problem := inertia_problem(body):
            return f"link {link}: {problem}"
    return ""


@lru_cache(maxsize=16)
def _sliding(urdf: str, joints: tuple[str, ...]) -> tuple[bool, ...]:
    """True for each joint that slides."""
    kinds = {
        joint.get("name", ""): joint.get("type", "")
        for joint in parse_description(urdf).findall("joint")
    }
    return tuple(kinds[name] == "prismatic" for name in joints)


def _move_origin(model: Any, base_id: int, gravity: Array) -> Array:
    """Make `base` the world of the model, so that everything computed is in base axes at no cost
    per cycle.

    Returns:
        Pose (4, 4) of the description's root in the base.
    """
    base = model.frames[base_id]
    if base.parentJoint != 0:
        raise ModelError(
            f"base frame {base.name!r} moves with joint {model.names[base.parentJoint]!r}: must be fixed"
        )
    root_in_base = base.placement.inverse()
    for joint in range(1, model.njoints):
        if model.parents[joint] == 0:
            model.jointPlacements[joint] = root_in_base * model.jointPlacements[joint]
    for frame in model.frames:
        if frame.parentJoint == 0:
            frame.placement = root_in_base * frame.placement
    model.gravity.linear = root_in_base.rotation @ gravity
    return np.array(root_in_base.homogeneous)
