"""Progress of the demonstration on EtherCAT: each setting is simulated twice, then runs on the bus."""

from __future__ import annotations

from robot_control_ros.cli.progress import Progress

STEPS = 3  # of each setting: lockstep, lockstep with drives, bus


class ContourSteps:
    """Progress of steps that each follow the contour once.

    Args:
        shown: Progress that is shown; its total is the time of all steps.
        duration: Time of a step [s].
    """

    def __init__(self, shown: Progress, duration: float) -> None:
        self._shown = shown
        self._duration = duration
        self._name = ""
        self._ended = 0

    def begin(self, name: str) -> None:
        """Name the step, or the preparation, that begins."""
        self._name = name
        self.show(0.0)

    def show(self, seconds: float) -> None:
        """Show that a part of the step is done [s]."""
        within = min(max(seconds, 0.0), self._duration)
        self._shown.show(self._ended * self._duration + within, self._name)

    def end(self) -> None:
        """Count the step as done."""
        self._ended += 1
        self.show(0.0)
