"""The page: viser's server, the view in three dimensions, and the panels."""

from __future__ import annotations

import html
import logging
from typing import Any

import numpy as np

from ..core.types import Array
from ..robot.model import RobotModel
from .colours import AMBER, GREY
from .gains.gains_panel import GainsPanel
from .link import RobotLink
from .plots.plots_panel import Plots
from .response.response_panel import ResponsePanel
from .server import open_server
from .state_panel import StatePanel
from .turns import Turns
from .view.arrows import ForceArrow
from .view.objects import SceneObjects
from .view.pushing import PushHandle
from .view.robot_view import RobotView
from .view.shapes import Description
from .view.target import Target
from .view.trail import Trail
from .view.workspace_box import WorkspaceBox

WRENCH, CONTACT = (0.12, 0.55, 0.25), (0.85, 0.33, 0.1)
POSES = 2000  # at random, to find how far the arm reaches
ACTIONS = {
    "Hold here": "controller/hold",
    "Go home": "controller/go_home",
    "Zero wrench": "controller/zero_wrench",
}
DRIVES = {
    "Enable": "ethercat/enable",
    "Disable": "ethercat/disable",
    "Quick stop": "ethercat/quick_stop",
    "Reset fault": "ethercat/reset_fault",
}
HINT = "Drag the arrows and rings at the tip: the arm follows. Point at a name to see what it means."


class Page:
    """A robot in the browser, until it is closed.

    Args:
        link: of the robot.
        host: address to listen on.
        port: the first to try; where it is taken, the next free one is.

    Attributes:
        port: that it listens on.
        server: viser's, for what else shall be on the page.
    """

    def __init__(self, link: RobotLink, host: str = "127.0.0.1", port: int = 8080) -> None:
        self._link, robot = link, link.robot
        self._model = RobotModel.of(robot, link.urdf)
        self.server = open_server(robot.description or robot.name, host, port)
        self.port = self.server.get_port()
        self._turns = Turns(self._draw, self._refuse)
        self._description = Description(link.urdf, robot.urdf_path.parent)
        self._model.update(np.array(robot.home), np.zeros(robot.n))
        self._shoulder = self._model.frame_pose(self._description.joints[robot.joints[0]].link)[:3, 3]
        self._reach = _reach(self._model, self._shoulder)
        self._make_view()
        self._make_panels()
        self._turns.start()

    def close(self) -> None:
        """End it."""
        self._turns.close()
        self._response.close()
        self.server.stop()

    def _refuse(self, message: str) -> None:
        self._state.refuse(message)

    # --- the view ---

    def _make_view(self) -> None:
        scene, robot, reach = self.server.scene, self._link.robot, self._reach
        scene.set_up_direction("+z")
        scene.configure_default_lights(True, cast_shadow=True)
        flat = not any(robot.axes[2:5])
        scene.add_grid(
            "/ground",
            position=(0.0, 0.0, -0.1 * reach if flat else 0.0),
            infinite_grid=True,
            cell_size=0.1,
            section_size=0.5,
            fade_distance=6.0 * reach,
            cell_color=(225, 228, 232),
            section_color=(185, 190, 198),
            shadow_opacity=0.3,
        )
        camera = self.server.initial_camera
        camera.look_at = reach * np.array([-0.1, 0.0, 0.0] if flat else [0.3, 0.0, 0.32])
        camera.position = reach * np.array([-0.1, -0.01, 3.0] if flat else [1.5, -1.45, 1.0])
        camera.fov = 0.75
        self._robot = RobotView(scene, self._model, self._description, reach)
        self._box = WorkspaceBox(scene, reach)
        self._target = Target(scene, self._link, reach, robot.axes, self._box.inside)
        self._wrench = ForceArrow(scene, "/wrench", WRENCH, "wrench", reach, anchor="center-right")
        self._contact = ForceArrow(scene, "/contact", CONTACT, "contact", reach, anchor="center-left")
        self._trail = Trail(scene)
        self._objects = SceneObjects(scene, self._link, self._robot)
        self._push = PushHandle(scene, self._link, self._model, reach)
        self._ball = self._make_reach(flat)

    def _make_reach(self, flat: bool) -> Any:
        """What the tip can't leave: a ball, or a disc."""
        looks: dict[str, Any] = {"opacity": 0.15, "side": "back", "cast_shadow": False, "receive_shadow": False}
        looks |= {"color": (90, 140, 200), "position": self._shoulder, "visible": False}
        scene, reach = self.server.scene, self._reach
        if flat:
            return scene.add_cylinder("/reach", reach, 0.002 * reach, radial_segments=96, **looks)
        return scene.add_icosphere("/reach", reach, subdivisions=5, **looks)

    # --- the panels ---

    def _make_panels(self) -> None:
        gui, turns = self.server.gui, self._turns
        self._state = StatePanel(gui, self._link, turns, self._link.robot.name, self._target.stop)
        gui.add_html(_note(HINT, GREY))
        self._actions = self._group("Robot", ACTIONS, "Make the present pose the target; move the joints home; tare.")
        self._gains = GainsPanel(gui, self._link, turns, self._refuse)
        self._response = ResponsePanel(gui, self._link, turns, self._model)
        self._plots = Plots(gui, self._link, turns, self._refuse, self._model.limits)
        self._simulation = gui.add_folder("Simulation", visible=False)
        with self._simulation:
            self._make_simulation_panel(gui)
        with gui.add_folder("View"):
            self._make_view_panel(gui)
            for problem in self._description.problems:
                logging.getLogger(__name__).warning(problem)
                gui.add_html(_note(problem, AMBER))
        self._drives = gui.add_folder("Drives", visible=False)
        with self._drives:
            self._group("Drives", DRIVES, "EtherCAT: power on and off, brake, and acknowledge a fault.")

    def _group(self, label: str, actions: dict[str, str], hint: str) -> Any:
        group = self.server.gui.add_button_group(label, tuple(actions), hint=hint)

        def ask(label: str) -> None:
            self._target.release()
            self._link.request(actions[label], self._turns.reply())

        group.on_click(self._turns.choice(ask))
        return group

    def _make_view_panel(self, gui: Any) -> None:
        turns = self._turns
        trail = gui.add_checkbox("Show trajectory", False, hint="Draw where the tip goes.")
        trail.on_update(turns.callback(lambda: setattr(self._trail, "shown", trail.value)))
        clear = gui.add_button_group("Trajectory", ("Clear",), hint="Forget the line drawn so far.")
        clear.on_click(turns.callback(self._trail.clear))
        frames = gui.add_checkbox("Link frames", False, hint="x red, y green, z blue.")
        frames.on_update(turns.callback(lambda: self._robot.show_frames(frames.value)))
        limits = gui.add_checkbox("Joint limits", False, hint="A ring for each joint: amber near a limit, red at it.")
        limits.on_update(turns.callback(lambda: self._robot.show_limits(limits.value)))
        box = gui.add_checkbox(
            "Workspace box", False, hint="Targets stay in it: workspace.lower, workspace.upper of the controller."
        )
        box.on_update(turns.callback(lambda: setattr(self._box, "shown", box.value)))
        reach = gui.add_checkbox(f"Reach ({self._reach:.2f} m)", False, hint="The sphere that the tip stays in.")
        reach.on_update(turns.callback(lambda: setattr(self._ball, "visible", reach.value)))

    def _make_simulation_panel(self, gui: Any) -> None:
        turns, link = self._turns, self._link
        push = gui.add_checkbox(
            "Push mode", False, hint="Drag the arrows on the link: 2 N per centimetre. The target hides meanwhile."
        )
        where = gui.add_dropdown(
            "Push on", self._robot.links, initial_value=link.robot.tip, hint="The link that is pushed."
        )
        for handle in (push, where):
            handle.on_update(turns.callback(lambda: self._push.choose(push.value, where.value)))
        paused = gui.add_checkbox("Pause", False, hint="Simulated time stands still.")
        paused.on_update(turns.callback(lambda: link.pause(paused.value, turns.reply())))
        reset = gui.add_button_group("Simulation", ("Reset",), hint="Time 0, the arm at home.")
        reset.on_click(turns.callback(lambda: link.request("simulator/reset", turns.reply())))

    # --- every drawing ---

    def _draw(self) -> None:
        telemetry, requests, health = self._link.telemetry(), self._link.requests(), self._link.health()
        with self.server.atomic():
            self._state.draw(health, self._robot.near)
            self._gains.draw(health.answers)
            self._box.draw(self._link.parameters())
            self._response.draw()
            self._plots.draw()
            for folder, there in (
                (self._actions, "controller/hold" in requests),
                (self._simulation, self._link.can_push()),
                (self._drives, "ethercat/enable" in requests),
            ):
                if folder.visible != there:
                    folder.visible = there
            self._objects.draw(telemetry.objects)
            reference = telemetry.reference if health.commands else None
            self._target.draw(reference, shown=not self._push.on)  # the two would overlap
            if telemetry.q is None:
                return
            self._robot.draw(telemetry.q)
            tip = self._model.frame_pose(self._link.robot.tip)[:3, 3]
            self._wrench.draw(tip, None if telemetry.wrench is None else telemetry.wrench[:3])
            self._contact.draw(tip, None if telemetry.contact is None else telemetry.contact[:3])
            self._trail.draw(tip)
            self._push.draw()


def _note(message: str, colour: str) -> str:
    style = f"color:{colour};font-size:0.85em;line-height:1.4;padding:0 0.9em 0.6em"
    return f'<div style="{style}">{html.escape(message)}</div>'


def _reach(model: RobotModel, shoulder: Array) -> float:
    """How far the tip gets from the shoulder (3,) [m], nearly."""
    lower, upper = np.maximum(model.limits.lower, -np.pi), np.minimum(model.limits.upper, np.pi)
    chosen = np.random.default_rng(0).uniform(lower, upper, (POSES, model.n))
    return max(float(np.linalg.norm(model.at(q).pose[:3, 3] - shoulder)) for q in chosen)
