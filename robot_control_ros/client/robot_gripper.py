"""The gripper of a robot that is led."""

from __future__ import annotations

import time

from ..core.errors import ConfigError, StaleStateError
from ..robot.gripper import Fingers, Grip, GripperConfig
from .backend import RobotBackend
from .snapshot import Snapshot
from .waiting import held_on_interrupt, wait_for

FOUND = 5.0  # s within which somebody takes commands


class Gripper:
    """Opens and closes the fingers::

        robot.gripper.close(force=40.0)
        if robot.gripper.state.holding:
            robot.move_to(above)

    The fingers keep the last command: when a program ends, or loses the robot, they go on holding.
    A wait ends when they rest: at the target, or at something between them. It ends with the arm's
    fault, too.
    """

    def __init__(self, backend: RobotBackend, fingers: Fingers) -> None:
        self._backend = backend
        self._fingers = fingers

    @property
    def config(self) -> GripperConfig:
        """Range of widths and forces."""
        return self._fingers.config

    @property
    def state(self) -> Grip:
        """Width, force, and whether it holds something; fingers count as moving for the first 0.3
        s.

        Raises:
            StaleStateError: The joint states have not had the gripper's joint within 5 s.
        """
        end = time.monotonic() + FOUND
        while (grip := self._fingers.grip) is None:
            self._wait(end, f"no joint state of {self.config.joint}")
        return grip

    def open(self, force: float | None = None, *, wait: bool = True, timeout: float = 10.0) -> Grip:
        """Open the fingers; see :meth:`move`."""
        return self._command(self.config.positions[0], force, wait, timeout)

    def close(
        self, force: float | None = None, *, wait: bool = True, timeout: float = 10.0
    ) -> Grip:
        """Close the fingers; see :meth:`move`."""
        return self._command(self.config.positions[1], force, wait, timeout)

    def move(
        self, width: float, force: float | None = None, *, wait: bool = True, timeout: float = 10.0
    ) -> Grip:
        """Move the fingers to a width between them.

        Args:
            width: Width between the fingers [m].
            force: Force of each finger, at most [N]; None takes the gripper's default.
            wait: False returns at once.
            timeout: Time after which the wait ends [s].

        Raises:
            ConfigError: A width or force out of range, or the gripper's controller refuses it.
            StaleStateError: Nobody takes commands of the gripper.
            NotReached: The fingers still move after the time-out.
        """
        return self._command(self.config.position(width), force, wait, timeout)

    def _command(self, position: float, force: float | None, wait: bool, timeout: float) -> Grip:
        fingers = self._fingers
        force = self.config.check_force(force)
        end = time.monotonic() + FOUND
        while not fingers.ready:
            self._wait(end, f"nobody takes commands of {self.config.controller}")
        fingers.command(position, force)
        if wait:
            with held_on_interrupt(self._backend):
                wait_for(self._backend, self._rests, timeout, what="a gripper at rest")
        return self.state

    def _rests(self, state: Snapshot) -> bool:
        if self._fingers.refusal:
            raise ConfigError(self._fingers.refusal, name="gripper")
        return self._fingers.grip is not None and self._fingers.grip.rests

    def _wait(self, end: float, problem: str) -> None:
        if time.monotonic() > end:
            raise StaleStateError(
                f"{problem} within {FOUND:g} s", name=self.config.joint, bound=FOUND
            )
        time.sleep(0.01)
