"""The panel of numbers: units to choose, tables, and a button that copies each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.types import Array
from ...robot.model import RobotModel
from ..browser_script import copy_buttons
from ..link import Health, RobotLink
from ..markup import note
from ..page_thread import PageThread
from .readings import JOINTS, TIP, TWIST, WRENCH, Readings, line_id
from .units import ANGLES, LENGTHS, ORIENTATIONS, Units

EVERY = 6  # drawings: a person reads no faster
AXES = (
    "Poses, velocities, forces and torques: axes of the base, at the tip. Forces act on the robot."
)


class NumbersPanel:
    """Shows the numbers of a robot.

    Attributes:
        units: Units that are chosen.
        readings: Readings that are shown; None before the first joint angles.
    """

    def __init__(
        self,
        gui: Any,
        link: RobotLink,
        thread: PageThread,
        model: RobotModel,
        joint_units: Sequence[str],
    ) -> None:
        self._link = link
        self._model = model
        self._joint_units = joint_units
        self.units = Units()
        self.readings: Readings | None = None
        self._drawings = 0
        choices = (
            ("Length", LENGTHS, "Of positions, also of those typed below."),
            ("Angle", ANGLES, "Of joints and orientations, also of those typed below."),
            (
                "Orientation",
                ORIENTATIONS,
                "Roll, pitch, yaw: about the base's x, y, z. Quaternion: x, y, z, w.",
            ),
        )
        self._choices = [
            gui.add_dropdown(label, tuple(options), hint=hint) for label, options, hint in choices
        ]
        for handle in self._choices:
            thread.connect(handle, lambda value: self._choose())
        self._text = gui.add_html("")
        gui.add_html(copy_buttons({name: line_id(name) for name in (TIP, JOINTS, TWIST, WRENCH)}))
        gui.add_html(note(AXES))

    def joint_factors(self) -> Array:
        """(n,) numbers in the chosen units per radian or metre of each joint."""
        return self.units.factors(self._joint_units)

    def draw(self, health: Health) -> None:
        """Show the newest numbers, some times per second."""
        if self._drawings % EVERY == 0:
            self._show(health)
        self._drawings += 1

    def _choose(self) -> None:
        length, angle, orientation = (handle.value for handle in self._choices)
        self.units = Units(length, angle, ORIENTATIONS[orientation])
        self._show(self._link.health())

    def _show(self, health: Health) -> None:
        telemetry = self._link.telemetry()
        self.readings = Readings.of(
            telemetry, self._model, self._joint_units, self.units, fresh=health.commands
        )
        self._text.content = (
            note("no joint states yet") if self.readings is None else self.readings.content()
        )
