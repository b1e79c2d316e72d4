"""The payload, identified from joint torques at rest: for arms without a wrist sensor."""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import refused
from ..core.types import Array, RobotState, is_finite
from ..robot.model import RobotDynamics, RobotModel
from ..robot.payload import Payload
from .sensor_drift import AT_REST
from .sensor_load import SMALLEST_MASS, IdentifiedPayload

FEWEST_POSES = 8
MAX_UNCERTAINTY = 0.2  # of the mass: its standard deviation
MAX_RESIDUAL = 3.0  # N·m, rms


class TorqueIdentification:
    """Collects joint torques at rest, and finds the payload whose weight explains them.

    Law:
        tau - g(q) = -Jᵀ (m g, R (m c) × g), for the tip's Jacobian J and rotation R: linear in m and m c.
    Assumptions:
        Dry friction has another sign in each pose and joint: it averages out. Come to the poses
        from several sides. Offsets of the torque sensors are taken for payload. So are errors of
        the links' masses.
    Source:
        C. G. Atkeson, C. H. An, J. M. Hollerbach, Estimation of inertial parameters of manipulator
        loads and links, Int. J. Robotics Research 5(3), 1986, at rest.
    """

    def __init__(self) -> None:
        self._regressors: list[Array] = []  # (n, 4) of each pose
        self._torques: list[Array] = []  # (n,) that the payload takes, of each pose

    def __len__(self) -> int:
        """Number of poses."""
        return len(self._torques)

    def add(self, state: RobotState, kin: RobotDynamics) -> None:
        """Take the present pose; `kin` is that of the state.

        Raises:
            ConfigError: the efforts aren't finite, or the arm moves.
        """
        if state.effort.shape != state.v.shape or not is_finite(state.effort):
            rule = f"must be {state.v.size} finite numbers"
            raise refused(
                "effort", state.effort, rule, state.v.size, where="payload: joint ", unit="N·m"
            )
        speed = float(np.abs(state.v).max())
        if not speed <= AT_REST:
            rule = f"must be at most {AT_REST} rad/s"
            raise refused(
                "velocity", speed, rule, AT_REST, where="payload: a joint's ", unit="rad/s"
            )
        self._regressors.append(kin.payload_regressor)
        self._torques.append(state.effort - kin.model.holding_torque(kin, Payload()))

    def identified(self, model: RobotModel) -> IdentifiedPayload:
        """The payload, with the inertia that the model has now: at rest it has no effect.

        Raises:
            ConfigError: too few poses, poses too alike, or torques that no payload explains.
        """
        count = len(self)
        if count < FEWEST_POSES:
            raise refused(
                "poses", count, f"must be at least {FEWEST_POSES}", FEWEST_POSES, where="payload: "
            )
        regressors = np.concatenate(self._regressors)
        torques = np.concatenate(self._torques)
        figures, _, rank, _ = np.linalg.lstsq(regressors, torques, rcond=None)
        if rank < 4:
            raise refused(
                "rank",
                int(rank),
                "must be 4: tilt the tip to several sides",
                4,
                where="payload: poses: ",
            )
        left = torques - regressors @ figures
        residual = math.sqrt(left @ left / (torques.size - 4))
        if residual > MAX_RESIDUAL:
            rule = f"must be at most {MAX_RESIDUAL:g} N·m; did anything touch the robot, or are efforts no torques?"
            raise refused(
                "torque",
                residual,
                rule,
                MAX_RESIDUAL,
                where="payload: unexplained rms of ",
                unit="N·m",
            )
        deviation = residual * math.sqrt(float(np.linalg.inv(regressors.T @ regressors)[0, 0]))
        mass = float(figures[0])
        if mass < SMALLEST_MASS and abs(mass) <= 3.0 * deviation + SMALLEST_MASS:
            return IdentifiedPayload(Payload(), np.zeros(6), f"unexplained: {residual:.3f} N·m rms")
        if deviation > MAX_UNCERTAINTY * mass:
            bound = MAX_UNCERTAINTY * abs(mass)
            rule = f"must be at most {bound:.3f} kg: take more poses, with more leverage"
            raise refused(
                "mass", deviation, rule, bound, where="payload: standard deviation of ", unit="kg"
            )
        payload = Payload(mass, np.asarray(figures[1:] / mass, dtype=float), model.payload.inertia)
        said = f"mass within +-{2.0 * deviation:.2f} kg; unexplained: {residual:.3f} N·m rms"
        return IdentifiedPayload(payload, np.zeros(6), said)
