"""Identification by services of the controller: plan and show the bounds, move, stop."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from std_msgs.msg import String

from ...core.errors import ConfigError, refused
from ...core.output_paths import state_folder
from ...robot.configuration import RobotConfig
from ...ros.entities import Entities
from ...ros.qos import LATCHED_QOS
from .identification_process import IdentificationProcess

PERIOD = 0.1  # s between two looks for a step
PLANNED = "planned"


class IdentificationServices:
    """`~/plan_identification`, `~/identify` and `~/stop_identification`; each step is JSON on `~/identification`.

    Args:
        entities: where services and topic belong.
        robot: under the controller.
        when_ready: lets an action run only while the controller commands the robot.
    """

    def __init__(
        self, entities: Entities, robot: RobotConfig, when_ready: Callable[[Callable[[], str]], Callable[[], Any]]
    ) -> None:
        self._robot = robot
        self._name = entities.node.get_fully_qualified_name()
        self._process: IdentificationProcess | None = None
        self._state = ""
        self._publisher = entities.publisher(String, "~/identification", LATCHED_QOS)
        entities.trigger("~/plan_identification", when_ready(self._plan))
        entities.trigger("~/identify", when_ready(self._move))
        entities.trigger("~/stop_identification", self._stop)
        entities.timer(PERIOD, self._poll)
        entities.on_close(self._end)

    def _plan(self) -> str:
        if self._process is not None and self._process.running:
            raise ConfigError(f"an identification is {self._state}: ~/stop_identification ends it", value=self._state)
        try:
            folder = state_folder()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, RuntimeError) as error:
            raise ConfigError(f"nowhere to write: {error}; set XDG_STATE_HOME") from error
        path = folder / f"{self._robot.name}_{datetime.now():%Y%m%d_%H%M%S}"
        files = f"--out={path}.yaml", f"--plot={path}.png"
        self._process = IdentificationProcess([f"--controller={self._name}", *files])
        self._show({"state": "planning", "text": "planning"})
        return "planning; the bounds come on ~/identification, then ~/identify moves the arm"

    def _move(self) -> str:
        if self._process is None or self._state != PLANNED:
            rule = "must be planned: call ~/plan_identification, and read the bounds on ~/identification"
            raise refused("state", self._state or "none", rule, PLANNED)
        self._process.agree()
        self._show({"state": "moving", "text": "moving: 0 %", "progress": 0.0})
        return "moving; ~/stop_identification ends it"

    def _stop(self) -> str:
        if self._process is None or not self._process.running:
            return "no identification runs"
        self._end()
        return "stopping; then the arm holds"

    def _end(self) -> None:
        if self._process is not None:
            self._process.stop()

    def _poll(self) -> None:
        if self._process is not None:
            for step in self._process.steps():
                self._show(step)

    def _show(self, step: dict[str, Any]) -> None:
        self._state = step["state"]
        self._publisher.publish(String(data=json.dumps(step)))
