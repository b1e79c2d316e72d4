"""The load of a force-torque sensor, and its bias, identified from poses at rest."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.errors import ConfigError, refused
from ..core.spatial import skew
from ..core.types import Array, RobotState
from ..robot.model import RobotDynamics, RobotModel
from ..robot.payload import Payload
from .sensor_drift import AT_REST
from .wrench import SIGNS, check_wrench

FEWEST_POSES = 6
# of the regressors: how much worse the worst-known unknown is than the best-known
MAX_CONDITION = 20.0
SMALLEST_MASS = 0.01  # kg
MAX_FORCE_RESIDUAL = 1.0  # N, rms
MAX_TORQUE_RESIDUAL = 0.1  # N·m, rms


@dataclass(frozen=True, eq=False)
class SensorLoad:
    """The rigid body that a sensor carries, and the sensor's bias.

    Attributes:
        mass: Mass of the body [kg].
        center: (3,) centre of mass in the sensor's frame [m].
        force_bias, torque_bias: (3,) force and torque that the sensor shows without a load, as
            exerted on the robot [N, N·m].
        force_residual, torque_residual: Rms of the components that are left unexplained [N, N·m].
    """

    mass: float
    center: Array
    force_bias: Array
    torque_bias: Array
    force_residual: float
    torque_residual: float

    @property
    def bias(self) -> Array:
        """Both biases (6,), which are the right WrenchPipeline.tare with this load."""
        return np.concatenate((self.force_bias, self.torque_bias))


@dataclass(frozen=True, eq=False)
class IdentifiedPayload:
    """A robot's payload, found from samples at rest.

    Attributes:
        payload: Payload that is to be set on the robot.
        tare: (6,) tare of the wrench that goes with it.
        quality: Words on how well it explains the samples.
    """

    payload: Payload
    tare: Array
    quality: str


def identify(rotations: Array, wrenches: Array, gravity: Array) -> SensorLoad:
    """Identify mass, centre of mass and bias by linear least squares.

    f = m u + f_0 and tau = (m c) × u + tau_0, with u = Rᵀ g gravity in the sensor's axes: linear in
    m, m c and the biases. Source: C. G. Atkeson, C. H. An, J. M. Hollerbach, Estimation of inertial
    parameters of manipulator loads and links, Int. J. Robotics Research 5(3), 1986, at rest.

    Args:
        rotations: (k, 3, 3) axes of the sensor in the base, at k >= 6 poses.
        wrenches: (k, 6) wrenches of the sensor at rest, in its frame, exerted on the robot
            [N, N·m].
        gravity: (3,) acceleration of gravity in base axes [m/s²].

    Raises:
        ConfigError: too few poses, numbers that aren't finite, orientations too alike, a mass below
            0.01 kg, or wrenches that no payload explains.
    """
    count = len(rotations)
    if rotations.shape != (count, 3, 3) or wrenches.shape != (count, 6):
        raise ConfigError(
            f"payload: rotations {rotations.shape}, wrenches {wrenches.shape}: must be (k, 3, 3), (k, 6)"
        )
    if count < FEWEST_POSES:
        raise refused(
            "poses", count, f"must be at least {FEWEST_POSES}", FEWEST_POSES, where="payload: "
        )
    if not (np.isfinite(rotations).all() and np.isfinite(wrenches).all()):
        raise ConfigError("payload: rotations and wrenches must be finite")
    size = float(np.linalg.norm(gravity))
    if not (math.isfinite(size) and size > 0.0):
        rule = "must be finite and not 0: nothing has a weight"
        raise refused("gravity", gravity, rule, where="payload: ", unit="m/s²")
    down = np.einsum("kji,j->ki", rotations, gravity / size)
    ones = np.tile(np.eye(3), (count, 1))
    of_force = np.hstack((down.reshape(-1, 1), ones))
    of_torque = np.hstack((-np.concatenate([skew(u) for u in down]), ones))
    _check_spread(of_force, of_torque)
    (weight, *force_bias), force_residual = _least_squares(of_force, wrenches[:, :3])
    moment, torque_residual = _least_squares(of_torque, wrenches[:, 3:])
    if weight < SMALLEST_MASS * size:
        rule = f"must be at least {SMALLEST_MASS} kg; is the convention (on_robot, by_robot) that of the sensor?"
        raise refused(
            "mass", float(weight / size), rule, SMALLEST_MASS, where="payload: ", unit="kg"
        )
    for name, unit, residual, bound in (
        ("force", "N", force_residual, MAX_FORCE_RESIDUAL),
        ("torque", "N·m", torque_residual, MAX_TORQUE_RESIDUAL),
    ):
        if residual > bound:
            rule = f"must be at most {bound:g} {unit}; did anything touch the robot, or wasn't it at rest?"
            raise refused(
                name, residual, rule, bound, where="payload: unexplained rms of ", unit=unit
            )
    center = moment[:3] / weight
    return SensorLoad(
        float(weight / size),
        center,
        np.array(force_bias),
        moment[3:],
        force_residual,
        torque_residual,
    )


def _check_spread(*regressors: Array) -> None:
    condition = max(float(np.linalg.cond(each)) for each in regressors)
    if not condition <= MAX_CONDITION:
        rule = f"must be at most {MAX_CONDITION:g}; tilt the sensor against gravity to several sides, by 30 degrees"
        raise refused(
            "condition", condition, rule, MAX_CONDITION, where="payload: poses too alike: "
        )


def _least_squares(regressors: Array, values: Array) -> tuple[Array, float]:
    """Unknowns of a least-squares problem, and the rms of its residuals."""
    solution = np.asarray(
        np.linalg.lstsq(regressors, values.ravel(), rcond=None)[0], dtype=np.float64
    )
    left = values.ravel() - regressors @ solution
    return solution, math.sqrt(left.dot(left) / left.size)


class PayloadIdentification:
    """Collects poses at rest for :func:`identify`.

    Args:
        convention: Sign of the sensor's wrench, `on_robot` or `by_robot`; see WrenchSettings.
    """

    def __init__(self, convention: str = "on_robot") -> None:
        self._sign = SIGNS[convention]
        self._frame = ""
        self._gravity = np.zeros(3)
        self._poses: list[tuple[Array, Array]] = []  # axes of the sensor (3, 3), wrench (6,)

    def __len__(self) -> int:
        """Number of poses."""
        return len(self._poses)

    def add(self, state: RobotState, kin: RobotDynamics) -> None:
        """Take the present pose; `kin` is that of the model's last update.

        Raises ConfigError where there is no usable wrench, the arm moves, or the frame is another
        than before; ModelError where the frame is unknown.
        """
        sample = state.wrench
        if sample is None:
            raise ConfigError("payload: no wrench has arrived")
        check_wrench(sample, kin.model)
        if self._poses and sample.frame != self._frame:
            rule = f"must be {self._frame!r} as in the poses before"
            raise refused("frame", sample.frame, rule, self._frame, where="payload: sensor ")
        speed = float(np.abs(state.v).max())
        if not speed <= AT_REST:
            rule = f"must be at most {AT_REST} rad/s"
            raise refused(
                "velocity", speed, rule, AT_REST, where="payload: a joint's ", unit="rad/s"
            )
        self._frame = sample.frame
        self._gravity = kin.model.gravity
        wrench = self._sign * np.concatenate((sample.force, sample.torque))
        self._poses.append((kin.model.frame_pose(sample.frame)[:3, :3], wrench))

    def identified(self, model: RobotModel) -> IdentifiedPayload:
        """The robot's payload: the load of :meth:`result`, less the description's links there.

        The inertia is the one that the model has now: at rest it has no effect.

        Raises:
            ConfigError: see :meth:`result`; or the description has more than the sensor carries, or
                no body has this mass with the model's inertia.
        """
        load = self.result()
        found = model.payload_beyond(self._frame, load.mass, load.center)
        if found.mass < -SMALLEST_MASS:
            least = load.mass - found.mass
            rule = (
                f"must be at least {least:.3f} kg, "
                "as the description's links beyond the sensor have"
            )
            raise refused(
                "mass", load.mass, rule, load.mass - found.mass, where="payload: ", unit="kg"
            )
        payload = Payload()
        if found.mass >= SMALLEST_MASS:
            payload = Payload(found.mass, found.center, model.payload.inertia)
        quality = f"unexplained: {load.force_residual:.3f} N, {load.torque_residual:.4f} N·m rms"
        return IdentifiedPayload(payload, load.bias, quality)

    def result(self) -> SensorLoad:
        """The whole load of the sensor, with its bias; for errors see :func:`identify`."""
        rotations, wrenches = (np.array([pose[part] for pose in self._poses]) for part in (0, 1))
        return identify(rotations.reshape(-1, 3, 3), wrenches.reshape(-1, 6), self._gravity)
