"""Goals that are typed: a pose of the tip, and joint angles. The controller
takes or refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...robot.inverse_kinematics import check_reach
from ...robot.model import RobotModel
from ..availability import Availability
from ..link import Health, RobotLink
from ..page_thread import PageThread
from .numbers_panel import NumbersPanel
from .readings import JOINTS, TIP
from .units import read_row

# in the controller's diagnosis
REFUSALS = "refusals"
LAST = "last refusal"


class GoalPanel:
    """Two lines of numbers and the buttons that send them. `started` is called in the page's thread
    before a motion.

    Attributes:
        available: Availability of the buttons that send, see :class:`~..availability.Availability`.
    """

    def __init__(
        self,
        gui: Any,
        link: RobotLink,
        thread: PageThread,
        numbers: NumbersPanel,
        started: Callable[[], None],
        model: RobotModel,
    ) -> None:
        self._link = link
        self._thread = thread
        self._numbers = numbers
        self._started = started
        self._model = model
        self._refusals: str | None = None  # before the last goal; None if its end isn't awaited
        hint = "x, y, z, then roll, pitch, yaw or a quaternion x, y, z, w. Axes of the base, units of above."
        self._pose = gui.add_text("Pose goal", "", hint=hint)
        hint = f"Units of above, in the order: {', '.join(link.robot.joints)}."
        self._joints = gui.add_text("Joint goal", "", hint=hint)
        hint = "Write the present pose and the present joint angles into both lines."
        fill = gui.add_button_group("Goals", ("Fill in present",), hint=hint)
        thread.connect(fill, lambda label: self._fill())
        hint = "The controller moves there within its limits, or says why not."
        self.available = Availability(
            thread.connect(gui.add_button_group("Go to", (TIP, JOINTS), hint=hint), self._go)
        )

    def draw(self, health: Health) -> None:
        """Show the controller's refusal of the last goal."""
        if self._refusals is not None and health.diagnosis.get(REFUSALS, "0") != self._refusals:
            self._refusals = None
            self._thread.refuse(health.diagnosis.get(LAST, "the goal"))

    def _fill(self) -> None:
        if self._numbers.readings is not None:
            lines = self._numbers.readings.lines()
            self._pose.value = lines[TIP]
            self._joints.value = lines[JOINTS]

    def _go(self, kind: str) -> None:
        health = self._link.health()
        try:
            if health.obstacle:
                raise ConfigError(health.obstacle, name="goal")
            send = self._pose_goal() if kind == TIP else self._joint_goal()
        except ConfigError as error:
            self._thread.refuse(str(error))
            return
        self._refusals = health.diagnosis.get(REFUSALS, "0")
        self._started()
        send()

    def _pose_goal(self) -> Callable[[], None]:
        pose = self._numbers.units.pose(read_row("pose goal", self._pose.value, (6, 7)))
        robot = self._link.robot
        q = self._link.telemetry().q
        check_reach(
            "pose goal",
            self._model,
            pose,
            np.array(robot.home if q is None else q),
            np.array(robot.axes),
        )
        return lambda: self._link.set_target_pose(pose)

    def _joint_goal(self) -> Callable[[], None]:
        row = read_row("joint goal", self._joints.value, (self._link.robot.n,))
        q = np.asarray(row / self._numbers.joint_factors())
        return lambda: self._link.set_target_joints(q)
