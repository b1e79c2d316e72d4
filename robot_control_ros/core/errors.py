"""Every error that this package raises on purpose.

Each one also inherits from the standard library's nearest type, so that callers who know nothing of
this package still catch what they expect.
"""

from typing import Any


class RobotControlError(Exception):
    """Base of all errors of this package.

    The message says what is wrong and what to do; the same is there as data, where the raiser knows it.

    Attributes:
        name: of the gain, parameter, key, joint or frame that is wrong; "" where it is none of these.
        value: that it has; None where it has none.
        bound: that the value breaks: a number, a pair (lower, upper), or the valid choices; None where there is none.
    """

    def __init__(self, message: str = "", *, name: str = "", value: Any = None, bound: Any = None):
        super().__init__(message)
        self.name, self.value, self.bound = name, value, bound


class ConfigError(RobotControlError, ValueError):
    """A gain, a parameter or a configuration file holds a value that can't be used."""


class ModelError(RobotControlError, ValueError):
    """The robot description can't be read, or lacks a joint or a frame."""


class StaleStateError(RobotControlError, TimeoutError):
    """No fresh robot state arrived within the limit."""


class HardwareFault(RobotControlError, RuntimeError):
    """A robot, a drive or a simulator can't go on."""
