"""Every error that this package raises on purpose.

Each one also inherits from the standard library's nearest type, so that callers who know nothing of
this package still catch what they expect.
"""


class RobotControlError(Exception):
    """Base of all errors of this package."""


class ConfigError(RobotControlError, ValueError):
    """A gain, a parameter or a configuration file holds a value that can't be used."""


class ModelError(RobotControlError, ValueError):
    """The robot description doesn't hold what was asked of it (a joint, a frame)."""


class StaleStateError(RobotControlError, TimeoutError):
    """No fresh robot state arrived within the limit."""


class HardwareFault(RobotControlError, RuntimeError):
    """A robot, drive or simulator can't go on."""
