"""The page: viser's server, the view in three dimensions, and the panels."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.types import Array
from ..robot.model import RobotModel
from .availability import Availability
from .bar.jog_panel import JogPanel
from .bar.speed_setting import SpeedSetting
from .browser_script import BrowserTab, picture_button
from .gains.gains_panel import GainsPanel
from .gripper_panel import GripperPanel
from .guarded_server import STALL
from .identification_panel import IdentificationPanel
from .link import RobotLink
from .markup import note
from .numbers.goal_panel import GoalPanel
from .numbers.numbers_panel import NumbersPanel
from .plots.plots_panel import PlotsPanel
from .records_panel import RecordsPanel
from .response.response_panel import ResponsePanel
from .scope.scope_panel import ScopePanel
from .state_panel import SILENT, StatePanel, describe_loss, summarize
from .theme import AMBER, CONTACT, GRID_CELL, GRID_SECTION, REACH, WRENCH
from .view.arrows import ArrowScale, ForceArrow
from .view.displacement import Displacement
from .view.elbow import ELBOW, ElbowHandle
from .view.handle_choice import TIP, HandleChoice
from .view.named_axes import NamedAxes
from .view.neighbours import Neighbours
from .view.objects import SceneObjects
from .view.pushing import PushHandle
from .view.robot_view import RobotView
from .view.shapes import Description
from .view.stiffness_ellipsoid import StiffnessEllipsoid
from .view.target import Target
from .view.trail import Trail
from .view.whole_arm import WholeArm, direction
from .view.workspace_box import WorkspaceBox
from .web_page import WebPage

DISTANCE = 2.0  # reaches from the camera to what it looks at
POSES = 2000  # at random, to find how far the arm reaches
ACTIONS = {
    "Hold here": "controller/hold",
    "Go home": "controller/go_home",
    "Zero wrench": "controller/zero_wrench",
    "Clear contact": "controller/clear_contact",
    "Reset ringing": "controller/reset_ringing",
}
DRIVES = {
    "Enable": "drives/enable",
    "Disable": "drives/disable",
    "Quick stop": "drives/quick_stop",
    "Reset fault": "drives/reset_fault",
}
HINT = (
    "Drag the arrows and rings at the tip: the arm follows. Point at a name to see what it means."
)


class Page(WebPage):
    """A robot in the browser.

    Args:
        link: Link to the robot.
        host, port, token: Address to listen on, first port to try, and True to ask for a token; see
            :class:`WebPage`.

    Attributes:
        description: Shapes and joints of the robot.
        reach: Distance that the tip gets from the first joint [m].
        robot: View of the robot as it is drawn.
        target: Target of the tip, to drag.
        response, plots, scope: Panels above the controls.
    """

    def __init__(
        self, link: RobotLink, host: str = "127.0.0.1", port: int = 8080, token: bool = True
    ) -> None:
        self._link = link
        robot = link.robot
        self._model = RobotModel.of(robot, link.urdf)
        self._name = " · ".join(filter(None, (link.arm, robot.name)))
        super().__init__(
            " · ".join(filter(None, (link.arm, robot.description or robot.name))), host, port, token
        )
        self.description = Description(link.urdf, robot.urdf_path.parent)
        self._model.update(np.array(robot.home), np.zeros(robot.n))
        self._shoulder = self._model.frame_pose(self.description.joints[robot.joints[0]].link)[
            :3, 3
        ]
        self.reach = _reach(self._model, self._shoulder)
        self._make_view()
        self._make_panels()
        self._drawn_at = time.monotonic()
        self.thread.start()

    def close(self) -> None:
        self.thread.close()
        self.response.close()
        super().close()

    def refuse(self, message: str) -> None:
        """Show a refusal in the bar, and in the state's window."""
        self._state.refuse(message)

    def _stop(self, everything: bool) -> None:
        """Stop this robot, or all.

        Runs in the server's thread, so that a page that is busy still stops.
        """
        stop = self._link.stop_all if everything else self._link.stop
        stop(self.thread.reply())
        self._jog.stop()
        self.thread.post(self.target.stop)

    def _activate(self) -> None:
        """Activate the controller, for the bar's button; runs in the server's thread."""
        self.thread.post(lambda: self._link.change_state("activate", self.thread.reply()))

    # --- the view ---

    def _make_view(self) -> None:
        scene = self.server.scene
        robot = self._link.robot
        reach = self.reach
        scene.set_up_direction("+z")
        scene.configure_default_lights(True, cast_shadow=True)
        flat = not any(robot.axes[2:5])
        floor = -0.1 * reach if flat else 0.0
        scene.add_grid(
            "/ground",
            position=(0.0, 0.0, floor),
            infinite_grid=True,
            cell_size=0.1,
            section_size=0.5,
            fade_distance=6.0 * reach,
            cell_color=GRID_CELL,
            section_color=GRID_SECTION,
            shadow_opacity=0.3,
        )
        camera = self.server.initial_camera  # until the browser has fitted it to its window
        look_at = reach * np.array([-0.1, 0.0, 0.0] if flat else [0.3, 0.0, 0.32])
        camera.look_at = look_at
        camera.position = look_at + DISTANCE * reach * direction(flat)
        camera.fov = 0.75
        self.robot = RobotView(scene, self._model, self.description, reach)
        self._whole_arm = WholeArm(self._model, [robot.base, *self.robot.links], reach, flat, floor)
        self._box = WorkspaceBox(scene, reach)
        self.target = Target(scene, self._link, reach, robot.axes, self._box.inside)
        self._elbow = self._add_elbow(reach)
        self._wrench = ForceArrow(scene, "/wrench", WRENCH, "wrench", reach)
        self._contact = ForceArrow(scene, "/contact", CONTACT, "contact", reach, anchor="top-left")
        self._neighbours = Neighbours(scene, self._model, self._name, reach)
        self._axes = NamedAxes(scene, (robot.base, robot.tip), reach)
        self._trail = Trail(scene)
        self._stiffness = StiffnessEllipsoid(scene, self._link, self._model, reach)
        self._objects = SceneObjects(scene, self._link, self.robot)
        self._push = PushHandle(scene, self._link, self._model, reach)
        self._displacement = Displacement(scene)
        self._ball = self._add_reach(flat)

    def _add_elbow(self, reach: float) -> ElbowHandle | None:
        """The handle of the elbow; None for an arm without a null space."""
        model = self._model
        if model.n <= sum(self._link.robot.axes):
            return None
        elbow = self.robot.links[model.n // 2]
        return ElbowHandle(self.server.scene, self._link, model, elbow, reach)

    def _add_reach(self, flat: bool) -> Any:
        """The border of the tip's reach: a ball, or a disc."""
        look: dict[str, Any] = {
            "opacity": 0.15,
            "side": "back",
            "cast_shadow": False,
            "receive_shadow": False,
        }
        look |= {"color": REACH, "position": self._shoulder, "visible": False}
        scene = self.server.scene
        reach = self.reach
        if flat:
            return scene.add_cylinder("/reach", reach, 0.002 * reach, radial_segments=96, **look)
        return scene.add_icosphere("/reach", reach, subdivisions=5, **look)

    # --- the panels ---

    def _make_panels(self) -> None:
        gui = self.server.gui
        thread = self.thread
        link = self._link
        self._tab = BrowserTab(gui, self._name)
        self._state = StatePanel(gui, link, thread, self._name)
        self.bar.on_stop = self._stop
        self.bar.on_activate = self._activate
        self._speed = SpeedSetting(link, thread)
        self.bar.on_speed = self._speed.take
        gui.add_html(note(HINT))
        self._handle = HandleChoice(gui, thread)
        self._actions = self._add_requests(
            "Robot", ACTIONS, "Set the target to the present pose; move home; tare; end a reaction."
        )
        self._movable = Availability(self._actions)
        self._gains = GainsPanel(gui, link, thread)
        with gui.add_folder("Move with keys", expand_by_default=False):
            self._jog = JogPanel(gui, link)
            self.bar.on_jog = self._jog.take
        with gui.add_folder("Numbers and goals", expand_by_default=False):
            units = [self.description.joints[name].unit for name in link.robot.joints]
            self._numbers = NumbersPanel(gui, link, thread, self._model, units)
            self._goals = GoalPanel(
                gui, link, thread, self._numbers, self.target.release, self._model
            )
        self._gripper = (
            None if link.gripper is None else GripperPanel(gui, link.gripper, thread, self.robot)
        )
        self.response = ResponsePanel(gui, link, thread, self._model)
        self.plots = PlotsPanel(gui, link, thread, self._model.limits)
        self.scope = ScopePanel(gui, link, thread)
        self._records = RecordsPanel(gui, link, thread)
        self._identification = IdentificationPanel(gui, link, thread)
        self._simulation = gui.add_folder("Simulation", visible=False)
        with self._simulation:
            self._make_simulation_panel()
        with gui.add_folder("View"):
            gui.add_html(picture_button(f"{link.robot.name}.png"))
            ArrowScale(gui, thread, (self._wrench, self._contact), self.reach)
            self._make_view_panel()
            for problem in self.description.problems:
                logging.getLogger(__name__).warning(problem)
                gui.add_html(note(problem, AMBER))
        self._drives = gui.add_folder("Drives", visible=False)
        with self._drives:
            self._add_requests(
                "Drives", DRIVES, "Power on and off, brake, and acknowledge a fault."
            )

    def _add_requests(self, label: str, requests: dict[str, str], hint: str) -> Any:
        def request(name: str) -> None:
            self.target.release()
            self._link.request(requests[name], self.thread.reply())

        group = self.server.gui.add_button_group(label, tuple(requests), hint=hint)
        return self.thread.connect(group, request)

    def _make_view_panel(self) -> None:
        gui = self.server.gui
        thread = self.thread

        def add_switch(label: str, hint: str, action: Any) -> None:
            thread.connect(gui.add_checkbox(label, False, hint=hint), action)

        add_switch("Show trajectory", "Draw the path of the tip.", self._trail.show)
        clear = gui.add_button_group("Trajectory", ("Clear",), hint="Remove the path drawn so far.")
        thread.connect(clear, lambda label: self._trail.clear())
        axes = gui.add_checkbox(
            "Base and tip axes", True, hint="x red, y green, z blue, with their names."
        )
        thread.connect(axes, self._axes.show)
        add_switch("Link frames", "x red, y green, z blue.", self.robot.show_frames)
        add_switch(
            "Joint limits",
            "A ring for each joint: amber near a limit, red at it.",
            self.robot.show_limits,
        )
        hint = "How stiff the tip's spring is along each direction, beside the stiffest one."
        add_switch("Stiffness ellipsoid", hint, self._stiffness.show)
        hint = "Targets stay in it: workspace.lower, workspace.upper of the controller."
        add_switch("Workspace box", hint, self._box.show)
        hint = "The sphere around the first joint that the tip stays in."
        add_switch(
            f"Reach ({self.reach:.2f} m)", hint, lambda shown: setattr(self._ball, "visible", shown)
        )

    def _make_simulation_panel(self) -> None:
        gui = self.server.gui
        thread = self.thread
        link = self._link
        hint = "Drag the arrows on the link: 2 N per centimetre. The target is hidden meanwhile."
        push = gui.add_checkbox("Push mode", False, hint=hint)
        hint = "The link to push."
        where = gui.add_dropdown(
            "Push on", self.robot.links, initial_value=link.robot.tip, hint=hint
        )
        for handle in (push, where):
            thread.connect(handle, lambda value: self._push.choose(push.value, where.value))
        self._paused = gui.add_checkbox("Pause", False, hint="Simulated time stands still.")
        thread.connect(self._paused, lambda value: link.pause(value, thread.reply()))
        reset = gui.add_button_group("Simulation", ("Reset",), hint="Time 0, the arm at home.")
        thread.connect(reset, lambda label: link.request("simulator/reset", thread.reply()))

    # --- every drawing ---

    def draw(self) -> None:
        telemetry = self._link.telemetry()
        requests = self._link.requests()
        health = self._link.health()
        before = self._drawn_at
        self._drawn_at = time.monotonic()
        if self._drawn_at - before > STALL:
            self.target.stop()  # what was dragged then is an old command
            self._jog.stop()
        paused = self._paused.value and health.answers
        lost = "" if paused else describe_loss(health, self._link.robot.profile.start)
        if self._jog.draw(health.commands and not lost):
            self.target.release()
        state = summarize(health, self._link.law(), lost, self._state.refusal)
        reference = telemetry.reference if health.commands and not lost else None
        self.bar.show(
            replace(
                state,
                jogs=self._jog.on,
                arm=self._name,
                others=self._link.others(),
                speed=self._speed.value,
                view=self._whole_arm.outlook(reference, self._neighbours.points),
            )
        )
        with self.server.atomic():
            self._state.draw(health, self.robot.near)
            if self._gripper is not None:
                self._gripper.draw()
            self._gains.draw("" if health.answers else SILENT)
            self._tab.show(f"{self._name}: {self._link.law() or 'no law'}")
            for available in (
                self._movable,
                self._jog.available,
                self._goals.available,
                self.response.available,
            ):
                available.draw(health.obstacle)
            self._identification.available.draw(health.obstacle)
            self._numbers.draw(health)
            self._goals.draw(health)
            self._box.draw(self._link.parameters())
            self.response.draw()
            self.plots.draw()
            self.scope.draw()
            self._records.draw(requests)
            self._identification.draw(requests)
            self._actions.visible = "controller/hold" in requests
            self._simulation.visible = "simulator/push" in requests
            self._drives.visible = "drives/enable" in requests
            elbow = [] if self._elbow is None else [ELBOW]
            self._handle.draw([*elbow, *(item.name for item in telemetry.objects if item.led)])
            self._objects.draw(telemetry.objects, self._handle.chosen)
            # they would overlap
            self.target.draw(reference, shown=not self._push.on and self._handle.chosen == TIP)
            self._neighbours.draw(self._link.neighbours())
            if telemetry.q is None:
                return
            self.robot.draw(telemetry.q)
            self.robot.show_contact(health.diagnosis.get("contact link", ""))
            pose = self._model.frame_pose(self._link.robot.tip)
            tip = pose[:3, 3]
            if self._elbow is not None:
                leads = reference is not None and not self._push.on
                self._elbow.draw(telemetry.q, shown=leads and self._handle.chosen == ELBOW)
            self._stiffness.draw(telemetry)
            self._axes.draw(pose)
            self._wrench.draw(tip, None if telemetry.wrench is None else telemetry.wrench[:3])
            self._contact.draw(tip, None if telemetry.contact is None else telemetry.contact[:3])
            self._trail.draw(tip)
            self._push.draw()
            self._displacement.draw(self._displaced(tip, reference))

    def _displaced(self, tip: Array, reference: Array | None) -> tuple[Array, Array] | None:
        """Ends of the way that the arm is pushed off its reference, or the target is ahead of it.

        None: nobody pushes or drags.
        """
        if self._push.pushes and reference is not None:
            return reference[:3, 3], tip
        if self.target.drag.held:
            return tip, self.target.drag.pose[:3, 3]
        return None


def _reach(model: RobotModel, shoulder: Array) -> float:
    """Distance that the tip gets from the shoulder (3,), nearly [m]."""
    lower = np.maximum(model.limits.lower, -np.pi)
    upper = np.minimum(model.limits.upper, np.pi)
    chosen = np.random.default_rng(0).uniform(lower, upper, (POSES, model.n))
    return max(float(np.linalg.norm(model.at(q).pose[:3, 3] - shoulder)) for q in chosen)
