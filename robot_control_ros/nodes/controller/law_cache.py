"""The laws of a controller, each with its gains as parameters."""

from __future__ import annotations

from ...core.errors import ConfigError, RobotControlError
from ...laws import law_names
from ...laws.running_law import RunningLaw
from ...robot.configuration import RobotConfig
from ...ros.ros_params import TunedParameters


class LawCache:
    """The laws whose gains are declared as parameters of the node.

    These are the registered laws that the robot takes, and others once they are used. Gains stay as
    they were set. A changed gain is taken over with the time constant [s].
    """

    def __init__(
        self, parameters: TunedParameters, robot: RobotConfig, time_constant: float
    ) -> None:
        self._parameters = parameters
        self._robot = robot
        self._time_constant = time_constant
        self._laws: dict[str, RunningLaw] = {}

    @property
    def names(self) -> list[str]:
        """Names of the laws whose parameters are declared."""
        return list(self._laws)

    def get(self, name: str) -> RunningLaw:
        """Return the law of this name, and declare its parameters the first time.

        Raises:
            ConfigError, ParameterException: The law, its use with the robot, or a value given for
                one of its parameters is refused; nothing is declared then.
        """
        if name not in self._laws:
            self._declare(name, self._make(name))
        return self._laws[name]

    def declare_registered(self) -> None:
        """Declare the parameters of all registered laws that the robot takes.

        Raises:
            ConfigError, ParameterException: A value given for one of their parameters is refused.
        """
        for name in law_names(plugins=False):
            if name not in self._laws:
                try:
                    law = self._make(name)
                except ConfigError:
                    continue
                self._declare(name, law)

    def _make(self, name: str) -> RunningLaw:
        try:
            return RunningLaw(self._robot, name, time_constant=self._time_constant)
        except RobotControlError:
            raise
        except Exception as error:  # whatever a user's class raises: the law that runs shall go on
            message = f"law {name!r} can't be made: {type(error).__name__}: {error}"
            raise ConfigError(message, name="law", value=name) from error

    def _declare(self, name: str, law: RunningLaw) -> None:
        self._parameters.add(name, law.gains, self._robot.joints)
        self._laws[name] = law

    def close(self) -> None:
        """Undeclare all parameters."""
        for name in self._laws:
            self._parameters.remove(name)
        self._laws.clear()
