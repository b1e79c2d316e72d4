"""Profiles: what a system in front of a robot offers. One entry of `profiles` in
config/robots/<name>.yaml each.

A simulator, a vendor's driver, Gazebo: behind each the same arm has other rates, other command
interfaces that really work, and other topics; and not each compensates gravity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.bounded import Bounded
from ..core.errors import unknown
from ..core.gains import JOINT
from ..core.types import Array, CommandMode
from .files import extended
from .schema import SOME, entry

JOINT_EFFORTS = {
    "torque": 1.0,
    "reversed_torque": -1.0,
    "torque_without_gravity": 1.0,
    "current": 1.0,
    "none": math.nan,
}
# of a node or a launch file, which may take another rate than the profile's
JOINT_STATE_RATE = Bounded(
    default=0.0,
    lower=0.0,
    upper=4000.0,
    unit="Hz",
    doc="Joint states per second; 0 takes the profile's.",
)
EXPECTED_RATE = replace(
    JOINT_STATE_RATE, doc="Joint states per second that are expected; 0 takes the profile's."
)
CONTROLLERS = {mode: f"forward_{mode.value}_controller" for mode in CommandMode}


@dataclass(frozen=True)
class HardwareProfile:
    """What one hardware of the robot takes, offers and compensates: see `robot_control docs
    --entries profile`.
    """

    rate: float = entry(above=0.0, unit="Hz", doc="Joint states per second.")
    commands: tuple[CommandMode, ...] = entry(
        size=SOME,
        doc="The command interfaces that *work*. Some drivers offer effort and ignore it.",
    )
    gravity_by_robot: bool = entry(
        doc="True where 0 N·m holds the arm. The law's own compensation is then off and can't be switched on: twice "
        "compensated, the arm would rise."
    )
    delay: float = entry(
        0.0,
        lower=0.0,
        unit="s",
        doc="From a sample to the effect of its command; 0 stands for two periods. It bounds the stiffness.",
    )
    extends: str = entry("", doc="Another profile of the file; this one says only what differs.")
    friction_by_robot: bool = entry(False, doc="True where the robot compensates its friction.")
    description: str = entry("", doc="The system, for people.")
    start: str = entry("", doc="What people type to start the system.")
    described_rotors: bool = entry(
        False,
        doc="True where the links of the published description hold the rotors' inertia, as Gazebo needs it. The "
        "controller takes that description then, and no `rotor_inertia` besides.",
    )
    simulated_time: bool = entry(
        False, doc="True where stamps are those of a simulation's `/clock`."
    )
    joint_states: str = entry("joint_states", doc="Topic of the joint states.")
    wrench_topic: str = entry("", doc="Topic of the wrench; empty where nobody measures one.")
    joint_effort: str = entry(
        "torque",
        choices=JOINT_EFFORTS,
        doc="What the efforts of joint states are. A `current` [A] needs `torque_constant`, or else gives no torque.",
    )
    torque_constant: tuple[float, ...] = entry(
        (),
        size=JOINT,
        above=0.0,
        unit="N·m/A",
        doc="Joint torque per ampere, gear included, where `joint_effort` is `current`; empty where it is unknown.",
    )
    running_topic: str = entry(
        "",
        doc="Where the robot says by a latched std_msgs/Bool whether it executes commands; while it doesn't, the law "
        "rests.",
    )
    controllers: Mapping[CommandMode, str] = entry(
        CONTROLLERS,
        convert=lambda given: CONTROLLERS | given,
        doc="By mode, the controller that takes the commands, on `<controller>/commands` in its manager's namespace.",
    )
    joint_commands: str = entry(
        "",
        doc="Topic that takes all commands as JointState instead of the controllers' topics; velocity and torque go "
        "with a position there.",
    )
    controller_manager: str = entry(
        "", doc="The node that manages the controllers; empty where there is none."
    )
    fallback_controller: str = entry(
        "",
        doc="What takes the robot over when our controller has died, or gets no joint states. Empty leaves all as it "
        "is.",
    )
    stop_service: str = entry(
        "",
        doc="Service (std_srvs/Trigger) by which the robot stops by itself; called where its joint states have "
        "stopped. Empty where it has none.",
    )
    frozen_after: float = entry(
        0.0,
        lower=0.0,
        unit="s",
        doc="Joint states that stay the same to the last bit for so long count as lost. 0 turns this check off.",
    )
    wrench_frozen_after: float = entry(
        0.0,
        lower=0.0,
        unit="s",
        doc="A sensor's wrench that stays the same to the last bit for so long, under new stamps, counts as lost. 0 "
        "turns this check off. Wrenches without stamps must always change.",
    )
    velocity_filter: float = entry(
        0.0,
        lower=0.0,
        upper=0.2,
        unit="s",
        doc="Time constant with which velocities are derived from positions, for a driver that sends none; 0 takes the "
        "driver's. It delays them by as much, and the stiffness that is stable falls.",
    )
    wrench_frames: Mapping[str, str] = entry(
        {},
        doc="By `frame_id` that the sensor sends and the description lacks, the frame that it stands for.",
    )
    wrench: Mapping[str, Any] = entry(
        {},
        doc="Settings of the wrench by name. `source: joint_effort` for an arm without sensor; `convention: by_robot` "
        "for a sensor that reports the opposite sign.",
    )
    sensors: tuple[str, ...] = entry(
        (),
        doc="Further sensors, `package.module:Class` each. Their numbers are in the state that a law gets, and in the "
        "record.",
    )
    workspace: Mapping[str, Any] = entry(
        {},
        doc="Box that targets of the tip stay in: `lower` and `upper`, three coordinates each [m], in the base's axes.",
    )
    limits: Mapping[str, tuple[float, ...]] = entry(
        {},
        keys=("effort", "velocity"),
        size=JOINT,
        above=0.0,
        doc="Effort [N·m] and velocity [rad/s] of each joint, where they are tighter than the description's, or where "
        "that has none.",
    )
    law_gains: Mapping[str, Mapping[str, Any]] = entry(
        {}, doc="By law and gain, what differs here from the robot's own `law_gains`."
    )
    remedy: str = entry(
        "", doc="What to do instead, in the refusal of an interface that isn't there."
    )
    notes: tuple[str, ...] = entry((), doc="What a user has to know; the doctor prints them.")

    def command_topic(self, mode: CommandMode) -> str:
        """Topic of the commands of a mode; controllers are in the namespace of their manager."""
        namespace, slash, _ = self.controller_manager.rpartition("/")
        return self.joint_commands or f"{namespace}{slash}{self.controllers[mode]}/commands"

    @property
    def compensated_by_robot(self) -> tuple[str, ...]:
        """Names of what the robot compensates itself: ``gravity``, ``friction``."""
        by_robot = {"gravity": self.gravity_by_robot, "friction": self.friction_by_robot}
        return tuple(name for name, own in by_robot.items() if own)

    @property
    def wrench_settings(self) -> dict[str, Any]:
        """Settings of the wrench: a robot that compensates gravity itself takes the payload out
        of its wrench, too.
        """
        return {"payload_in_wrench": not self.gravity_by_robot, **self.wrench}

    @property
    def velocity_delay(self) -> float:
        """Delay of derived velocities [s]: the filter's time constant, half a period at least;
        0 without a filter.
        """
        if self.velocity_filter == 0.0:
            return 0.0
        period = 1.0 / self.rate
        return 0.5 * period + period / math.expm1(period / self.velocity_filter)

    @property
    def all_notes(self) -> list[str]:
        """The notes, and what derived velocities cost."""
        if self.velocity_filter == 0.0:
            return list(self.notes)
        cost = f"velocities are derived from positions, {self.velocity_delay * 1e3:.1f} ms late"
        return [*self.notes, f"{cost}: the stiffness that is stable is less for it"]

    @property
    def effort_factor(self) -> float | Array:
        """Factor from the efforts of joint states to torques: one or (n,).

        NaN says that they give no torque.
        """
        if self.joint_effort == "current":
            return np.array(self.torque_constant) if self.torque_constant else math.nan
        return JOINT_EFFORTS[self.joint_effort]

    @property
    def measures_torque(self) -> bool:
        """True where joint states give the joint torques."""
        return not np.isnan(self.effort_factor).any()


def extended_profile(profiles: Mapping[str, Any], name: str) -> Any:
    """The entry of a profile with those that it extends, of all entries by name.

    Raises:
        ConfigError: unknown profile (lists the profiles); profiles that extend each other.
    """

    def read(other: str, _: str | None) -> tuple[str, Any]:
        if other not in profiles:
            raise unknown("profile", other, profiles)
        return f"profiles: {other}", profiles[other]

    return extended(name, read)[1]
