"""Contacts of a controlled arm: found, reported, reacted to until somebody clears them,
and thresholds learnt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.gains import ParameterSet
from ...core.types import Array, Command, CommandMode, RobotState
from ...laws.running_law import RunningLaw
from ...robot.configuration import RobotConfig
from ...robot.differential_kinematics import DifferentialKinematics
from ...robot.model import RobotDynamics, RobotModel
from ...sensing.contact_detector import (
    FOLLOWING,
    GUARD,
    NOTHING,
    SETTLES,
    TORQUE,
    ContactDetector,
    DetectedContact,
)
from ...sensing.contact_settings import ContactSettings
from ...sensing.contact_thresholds import ThresholdLearning
from ...sensing.force_guard import ForceGuard
from ...sensing.wrench import WrenchPipeline
from ..motion_commands import MotionCommands
from ..safety import Safety
from .contact_reaction import ContactReaction

SEPARATE = 0.5  # s without contact, after which the next one is another
_NOTHING = (None,) * 6
BLIND = (
    "contact.max_impact bounds the speed alone: nothing is measured here that shows a contact, so nothing ends the "
    "pressing; set thresholds of contact, or give a wrench"
)
# of the settings that are learnt
NAMES = {TORQUE: "collision_torque", FOLLOWING: "following_error"}


@dataclass(frozen=True, eq=False)
class ContactReport:
    """The report of a loop on its contacts.

    Attributes:
        contact: The last contact; None where there was none since the last clear.
        reaction: Reaction that goes on until it is cleared; empty for none.
        load: (n,) high-passed external torque, or else following error, of each joint over its
            threshold.
        learnt: Duration of the samples from which thresholds are learnt so far [s]; negative where
            none are learnt.
    """

    contact: DetectedContact | None
    reaction: str
    load: Array
    learnt: float

    @classmethod
    def of(cls, fields: dict[str, Any]) -> ContactReport:
        """Make a report from its fields by name; the contact is a dictionary of its own fields."""
        contact = fields["contact"]
        return cls(**fields | {"contact": contact and DetectedContact(**contact)})

    @property
    def message(self) -> str:
        """The contact and the reaction that hold the arm back, in words; else empty."""
        if not self.reaction:
            return ""
        return (
            f"{self.contact}; reaction {self.reaction}: call ~/clear_contact when the way is free"
        )


class ContactMonitor:
    """Detection of contacts in one control loop, and the reaction to them.

    With the reaction ``none`` a contact changes no command; see `reaction_in_force` of the
    settings. Every other reaction begins with the first sample of a contact and goes on until
    :meth:`clear`; the reference rests meanwhile. A guarded motion has a reaction of its own, see
    :class:`~...sensing.force_guard.ForceGuard`.

    Args:
        robot: Configuration of the robot, whose `contact` has the settings that differ from their
            defaults.
        model: Model of the robot.
        wrench: Wrench of the loop: another setting or tare of it freezes the detection.
        references: References of the loop: their motion widens the thresholds.

    Attributes:
        settings: Settings that may be changed at any time.
        found: The last contact; None where there was none since the last clear.
        reaction: Reaction that goes on until it is cleared; empty for none.

    Raises:
        ConfigError: a setting of the robot is refused.
    """

    def __init__(
        self,
        robot: RobotConfig,
        model: RobotModel,
        wrench: WrenchPipeline,
        references: MotionCommands,
    ) -> None:
        self.settings = ParameterSet(ContactSettings, robot.n, robot.contact)
        self._wrench = wrench
        self._references = references
        self._detector = ContactDetector(robot.joints, model.links, robot.tip)
        self._guard = ForceGuard(robot.tip)
        self._react = ContactReaction(robot, model.limits)
        self._differential = DifferentialKinematics(np.array(robot.axes))
        self.found: DetectedContact | None = None
        self.reaction = ""
        self._learning: ThresholdLearning | None = None
        self._v = np.zeros(robot.n)  # of the reference
        # of the reference, where a threshold depends on it
        self._motion: tuple[Array, Array] | None = None
        self._has_force = False  # whether the last sample had that of a wrist sensor
        self._watches = True  # whether anything was looked at in the last sample
        # law, its choices, settings of the wrench, tare, payload, settings
        self._normal: tuple[object, ...] = _NOTHING
        self._detector.adopt(self.settings.current)

    @property
    def message(self) -> str:
        """The contact and the reaction that hold the arm back, in words; else empty."""
        return self.report().message if self.reaction else ""

    @property
    def sees_force(self) -> bool:
        """True where the last sample had the force of a wrist sensor."""
        return self._has_force

    @property
    def warning(self) -> str:
        """Warning that nothing would end the pressing after a blow; empty where something would."""
        if self._watches or self.settings.current.max_impact <= 0.0:
            return ""
        return BLIND

    def report(self) -> ContactReport:
        """Report of the last contact, the reaction, the loads and the learning."""
        watch = self._detector.torque if self._detector.torque.watches else self._detector.following
        learnt = -1.0 if self._learning is None else self._learning.seconds
        return ContactReport(self.found, self.reaction, watch.load, learnt)

    # --- in the cycle ---

    def restart(self, time: float) -> None:
        """Begin anew with the sample of a time [s], as after a gap."""
        self._guard.restart()
        self._detector.restart()
        self._detector.freeze(time)

    @property
    def rows(self) -> Any:
        """Memory of the detector, for :func:`~...sensing.contact_detector.detect`."""
        return self._detector.rows

    def prepare(
        self,
        running: RunningLaw,
        state: RobotState,
        kin: RobotDynamics,
        last: Command | None,
        dt: float,
    ) -> tuple[int, float, float]:
        """Choose what is watched in a sample; see :meth:`ContactDetector.prepare`.

        Args:
            running: Law that runs; another one, or another variant of it, freezes the detection.
            state, kin: State of the sample, and the dynamics there.
            last: Command that was sent for the last sample; None for none.
            dt: Time since the last sample [s].
        """
        detector = self._detector
        settings = self.settings.current
        of_wrench = self._wrench.settings.current
        tare = self._wrench.tare
        choices = running.gains.choices
        payload = kin.model.payload
        law, law_choices, normal_wrench, normal_tare, normal_payload, known = self._normal
        is_normal = (
            running is law
            and choices == law_choices
            and of_wrench is normal_wrench
            and tare is normal_tare
            and payload is normal_payload
            and settings is known
        )
        if not is_normal:
            self._normal = running, choices, of_wrench, tare, payload, settings
            detector.adopt(settings)
            detector.freeze(state.time)
        learns = self._learning is not None
        self._motion = None
        if learns or (detector.may_adapt and detector.adapts(last)):
            self._motion = self._reference_motion(kin, dt)
        self._has_force = state.wrench_on_tip is not None and of_wrench.source == "sensor"
        prepared = detector.prepare(state, kin, last, self._has_force, self._motion, dt, learns)
        self._watches = prepared[0] & ~SETTLES != 0
        return prepared

    def observe(self, answer: int, state: RobotState, kin: RobotDynamics, dt: float) -> str:
        """Take up the detector's answer at a sample, and begin a reaction where one is due.

        Args:
            answer: Answer of :func:`~...sensing.contact_detector.detect`.
            state, kin, dt: State and dynamics of the sample, and the time since the last one [s].

        Returns:
            The contact and the reaction in words, where a reaction begins; else empty.
        """
        if self._learning is not None and self._motion is not None:
            self._learning.add(self._detector.deviations(), self._motion, dt)
        settings = self.settings.current
        if answer == NOTHING and settings.guard_force <= 0.0:
            if not self.reaction:
                self._react.remember(kin.q)
            return ""
        contact = self._detector.contact(answer, state.time)
        reaction = settings.reaction_in_force
        if settings.guard_force > 0.0:
            if state.wrench_on_tip is None:
                return self._unguarded()
            moving = self._references.is_moving()
            met = self._guard.look(settings.guard_force, moving, state, dt)
            if met is not None:
                contact = met
                reaction = settings.guard_reaction
        if contact is None:
            if not self.reaction:
                self._react.remember(kin.q)
            return ""
        self._take(contact)
        if self.reaction or reaction == "none":
            return ""
        self.reaction = reaction
        self._react.begin(self.reaction, self._torque(contact, state, kin))
        return self.message

    def _unguarded(self) -> str:
        """Reason to end a motion that would be guarded by a force that isn't measured; else empty."""
        self._guard.restart()
        if not self._references.is_moving():
            return ""
        limit = f"contact.guard_force = {self.settings.current.guard_force:g} N"
        return f"{limit}: no force is measured ({self._wrench.reason}), and a motion has ended"

    def command(
        self, mode: CommandMode, state: RobotState, kin: RobotDynamics, safety: Safety, dt: float
    ) -> Command | None:
        """Command in place of the law's, see :meth:`ContactReaction.command`; None for none."""
        return self._react.command(mode, state, kin, safety, dt) if self.reaction else None

    def explained(self, fault: str, time: float) -> str:
        """A fault in words, after the contact that has caused it.

        That is a contact within the half second before `time` [s].
        """
        contact = self.found
        if not fault or contact is None or time - contact.last > SEPARATE or str(contact) in fault:
            return fault
        return f"{contact}; then {fault}"

    def _take(self, found: DetectedContact) -> None:
        before = self.found
        if found.detector == GUARD:
            self.found = found
        elif before is not None and before.detector == GUARD and self.reaction:
            self.found = replace(before, last=found.last)
        elif before is None or (found.start - before.last > SEPARATE and not self.reaction):
            self.found = found
        else:
            larger = max(before, found, key=lambda each: each.size / each.limit)
            self.found = replace(larger, start=before.start, last=found.last)

    def _torque(self, found: DetectedContact, state: RobotState, kin: RobotDynamics) -> Array:
        """Torques (n,) that a contact exerts on the joints [N·m], as far as they are known."""
        if found.detector == TORQUE:
            return self._detector.residual if found.clamping else self._detector.torque.deviation
        known = self._has_force or found.detector == GUARD
        if not known or state.wrench_on_tip is None:
            return np.zeros(kin.v.size)
        return np.asarray(kin.jacobian[:3].T.dot(state.wrench_on_tip[:3]))

    def _reference_motion(self, kin: RobotDynamics, dt: float) -> tuple[Array, Array]:
        """Velocities and accelerations (n,) of the last reference [rad/s, rad/s²].

        Those of a tip's reference come from inverse kinematics and differences.
        """
        reference = self._references.reference
        before = self._v
        if reference.v is not None:
            self._v = reference.v
        else:
            twist = np.zeros(6) if reference.twist is None else reference.twist
            self._v = self._differential.velocities(kin, twist)
        return self._v, (self._v - before) / dt if reference.a is None else reference.a

    # --- services ---

    def clear(self) -> str:
        """End the reaction: the arm takes targets again. Returns the cleared contact in words."""
        contact = self.found
        self.found = None
        self.reaction = ""
        self._react.end()
        self._normal = _NOTHING  # what acts now is normal
        return "there was no contact" if contact is None else f"cleared: {contact}"

    def begin_learning(self) -> None:
        """Collect samples for thresholds from now on, for 10 min at most."""
        self._learning = ThresholdLearning()
        self._normal = _NOTHING

    def learned(self) -> dict[str, list[float]]:
        """End the collection, and return the settings that follow from it, by name.

        Raises:
            ConfigError: less than 30 s were collected, and the collection goes on; or nothing was
                measured that could be learnt from, and it has ended.
        """
        learning = self._learning
        found = {} if learning is None else learning.thresholds()
        self._learning = None
        if not found:
            raise ConfigError(
                "nothing was learnt: no joint torque is measured, and no position or velocity commanded"
            )
        return {
            f"{NAMES[detector]}{part}": values.tolist()
            for detector, thresholds in found.items()
            for part, values in zip(("", "_velocity", "_acceleration"), thresholds, strict=True)
        }
