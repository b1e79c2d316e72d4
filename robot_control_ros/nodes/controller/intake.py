"""Refuses messages and requests that come while the law doesn't run, or can't be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.errors import ConfigError, RobotControlError
from .answers import INACTIVE

Reply = Callable[[Any, RobotControlError | None], None]


class Intake:
    """Makes callbacks that refuse what comes while the law doesn't run.

    Args:
        is_active: Function that returns True while the controller is active.
        rest: Function that returns why the law rests; an empty text while it doesn't.
        refuse: Function that reports a refusal.
    """

    def __init__(
        self,
        is_active: Callable[[], bool],
        rest: Callable[[], str],
        refuse: Callable[[Exception], None],
    ) -> None:
        self._is_active = is_active
        self._rest = rest
        self._refuse = refuse

    def check_active(self) -> None:
        """Raise ConfigError where the controller isn't active."""
        if not self._is_active():
            raise ConfigError(INACTIVE)

    def when_ready(self, action: Callable[..., Any]) -> Callable[..., Any]:
        """Return the action behind a check, which raises ConfigError where the law doesn't run."""

        def checked(*arguments: Any) -> Any:
            self.check_active()
            if reason := self._rest():
                raise ConfigError(reason)
            return action(*arguments)

        return checked

    def messages(
        self, callback: Callable[[Any], None], reply: Reply = lambda *_: None
    ) -> Callable[[Any], None]:
        """Return a callback that calls this one while the controller is active.

        A message that can't be used is reported. `reply` gets each message with its error or None.
        """

        def reporting(message: Any) -> None:
            error: RobotControlError | None = None
            try:
                self.check_active()
                callback(message)
            except RobotControlError as refusal:
                error = refusal
                if self._is_active():
                    self._refuse(error)
            reply(message, error)

        return reporting
