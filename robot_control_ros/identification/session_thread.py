"""Identifications in a thread of their own, for a page that must not wait."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.errors import ConfigError, RobotControlError, refused
from .dialog import Dialog, IdentificationStep, StopRequested

if TYPE_CHECKING:
    from ..robot.configuration import RobotConfig
    from .motion_plan import MotionPlan

PLANNED = "planned"


class IdentificationThread:
    """Makes one identification at a time; each begins a thread. Every method but :meth:`close`
    returns at once.

    Args:
        identify: Makes an identification with the dialog that it gets; called in the thread.

    Attributes:
        step: Last step, another object after each; None before the first.
    """

    def __init__(self, identify: Callable[[Dialog], object]) -> None:
        self.step: IdentificationStep | None = None
        self._identify = identify
        self._dialog = _ThreadDialog(self._show)
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """True until an identification is at its end."""
        return self._thread is not None and self._thread.is_alive()

    def plan(self) -> None:
        """Begin an identification, which shows its bounds and then waits for :meth:`agree`.

        Raises:
            ConfigError: An identification runs.
        """
        if self.running and self.step is not None:
            state = self.step.state
            raise ConfigError(
                f"an identification is {state}: stop it first", name="identification", value=state
            )
        dialog = _ThreadDialog(self._show)
        self._dialog = dialog
        self._show(IdentificationStep("planning", "planning"))
        self._thread = threading.Thread(
            target=self._run, args=(dialog,), name="identification", daemon=True
        )
        self._thread.start()

    def agree(self) -> None:
        """Let the arm move within the bounds that were shown.

        Raises:
            ConfigError: No bounds were shown.
        """
        state = "none" if self.step is None else self.step.state
        if state != PLANNED or not self.running:
            raise refused(
                "identification", state, "must be planned, so that you know its bounds", PLANNED
            )
        self._show(IdentificationStep("moving", "moving: 0 %", progress=0.0))
        self._dialog.answer()

    def stop(self) -> None:
        """Ask the identification for its end; the arm holds then. Further calls
        ask for nothing more.
        """
        self._dialog.stop()

    def close(self, timeout: float) -> None:
        """Stop, and wait for the end.

        Args:
            timeout: Longest wait [s].
        """
        self.stop()
        if self._thread is not None:
            self._thread.join(timeout)

    def _show(self, step: IdentificationStep) -> None:
        self.step = step

    def _run(self, dialog: _ThreadDialog) -> None:
        """Make one identification; its last step says how it has ended."""
        try:
            self._identify(dialog)
        except StopRequested:
            self._end(dialog, IdentificationStep("stopped", "stopped"))
        except RobotControlError as error:
            self._end(
                dialog, IdentificationStep("stopped" if dialog.stopped else "failed", str(error))
            )
        except Exception as error:
            logging.getLogger(__name__).exception("the identification")
            self._end(dialog, IdentificationStep("failed", f"{type(error).__name__}: {error}"))

    def _end(self, dialog: _ThreadDialog, step: IdentificationStep) -> None:
        self._show(replace(step, text="\n".join((step.text, *dialog.warnings))))


class _ThreadDialog:
    """A person who answers from another thread; see :class:`~.dialog.Dialog`.

    Args:
        show: Shows a step.

    Attributes:
        stopped: True after the stop was asked for.
        warnings: All warnings.
    """

    def __init__(self, show: Callable[[IdentificationStep], None]) -> None:
        self.report = show
        self.stopped = False
        self.warnings: list[str] = []
        self._stop_waits = False
        self._answered = threading.Event()

    def answer(self) -> None:
        """Agree to the bounds."""
        self._answered.set()

    def stop(self) -> None:
        """Ask for the stop, once: a second request would disturb the end, which
        leaves the arm holding.
        """
        if not self.stopped:
            self._stop_waits = True
            self.stopped = True
            self._answered.set()

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def agrees(self, robot: RobotConfig, plan: MotionPlan) -> bool:
        self.report(IdentificationStep(PLANNED, plan.describe(robot.joints)))
        self._answered.wait()
        self.check_stop()
        return True

    def check_stop(self) -> None:
        if self._stop_waits:
            self._stop_waits = False
            raise StopRequested
