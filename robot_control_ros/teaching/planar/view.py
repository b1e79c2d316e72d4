"""The drawing of the planar arm: links, joints, target, wall and force, seen
from straight above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.types import Array
from ...dashboard.page_thread import PageThread
from ...dashboard.theme import (
    GRID_CELL,
    GRID_SECTION,
    PLANAR_BASE,
    PLANAR_CONTACT,
    PLANAR_ELBOW,
    PLANAR_LINK,
    PLANAR_TARGET,
    PLANAR_TIP,
    PLANAR_WALL,
)
from ...dashboard.view.arrows import ForceArrow
from ...dashboard.view.trail import Trail
from ..planar_arm import PlanarArm
from ..two_link import Pair

FIELD = 0.1  # rad, of view: nearly parallel
HEIGHT = 4.7  # m, that are seen
# m, to the eye
PAPER = -0.2
LINES = -0.1
WALL = 0.0
LINK = 0.02
JOINT = 0.04
TRAIL = 0.07
TARGET = 0.09
FORCE = 0.12
THIN = 0.01  # m
WALL_DEPTH = 0.4  # m that are drawn
FULL = 50.0  # N, of the longest arrow
FLAT = {"cast_shadow": False, "receive_shadow": False}


class PlanarView:
    """Draws the arm, and passes on what is dragged.

    Attributes:
        trail: Trail of the tip.
    """

    def __init__(self, server: Any, arm: PlanarArm, thread: PageThread) -> None:
        self._arm = arm
        self._thread = thread
        self._draggable: bool | None = None  # the target, not the joints
        scene = server.scene
        self._scene = scene
        scene.set_up_direction("+y")
        scene.configure_default_lights(True, cast_shadow=False)
        camera = server.initial_camera
        camera.fov = FIELD
        camera.near = 1.0
        camera.look_at = np.zeros(3)
        camera.position = np.array([0.0, 0.0, HEIGHT / 2.0 / math.tan(FIELD / 2.0)])
        self._add_paper()
        self._add_lines(arm.reach)
        self._links = [self._add_link(name) for name in ("/AB", "/BE")]
        self._add_joint("A", PLANAR_BASE)
        self._elbow = self._add_joint("B", PLANAR_ELBOW)
        self._tip = self._add_joint("E", PLANAR_TIP)
        self._target = self._add_target()
        self._wall = scene.add_box(
            "/wall",
            PLANAR_WALL,
            dimensions=(WALL_DEPTH, HEIGHT, THIN),
            opacity=0.6,
            visible=False,
            **FLAT,
        )
        self._contact = ForceArrow(
            scene,
            "/contact",
            PLANAR_CONTACT,
            "contact",
            arm.reach,
            anchor="center-right",
            full=FULL,
        )
        self.trail = Trail(scene)

    def trace(self) -> None:
        self.trail.draw(_at(self._arm.tip, TRAIL))

    def draw(self) -> None:
        arm = self._arm
        elbow = arm.elbow
        tip = arm.tip
        for link, start, angle in zip(
            self._links, (np.zeros(2), elbow), np.cumsum(arm.q), strict=True
        ):
            link.position = _at(start, LINK)
            link.wxyz = np.array([math.cos(angle / 2.0), 0.0, 0.0, math.sin(angle / 2.0)])
        self._elbow.position = _at(elbow, JOINT)
        self._tip.position = _at(tip, JOINT)
        self._target.position = _at(arm.target, TARGET)
        self._contact.draw(_at(tip, FORCE), _at(arm.contact, 0.0))
        self._wall.position = np.array([arm.settings.wall_x + WALL_DEPTH / 2.0, 0.0, WALL])
        self._wall.visible = arm.settings.wall
        if self._draggable != arm.driven:
            self._draggable = arm.driven
            self._set_drags()

    # --- dragging ---

    def _set_drags(self) -> None:
        """Let the joints be dragged in kinematics mode, else the target."""
        arm = self._arm
        moves = (
            (self._elbow, arm.lead_elbow),
            (self._tip, arm.set_target_pose),
            (self._target, arm.lead_target),
        )
        for node, move in moves:
            node.remove_drag_callback()
            if arm.driven == (node is self._target):
                node.on_drag(self._on_drag(move))

    def _on_drag(self, move: Callable[[Pair], None]) -> Any:
        async def post(event: Any) -> None:
            """Runs in viser's own thread, so that the events keep their order."""
            self._thread.post(lambda: move(event.end_position[:2]))

        return post

    # --- what is drawn ---

    def _add_paper(self) -> None:
        """Add a background that takes drags beside the arm: else they would turn the view."""
        white = np.full((1, 1, 3), 255, np.uint8)
        size = 10.0 * HEIGHT
        paper = self._scene.add_image(
            "/paper",
            white,
            size,
            size,
            format="png",
            position=(0.0, 0.0, PAPER),
            wxyz=(0.0, 1.0, 0.0, 0.0),
            **FLAT,
        )

        @paper.on_drag
        async def nothing(event: Any) -> None:
            pass

    def _add_lines(self, reach: float) -> None:
        """Add a grid, numbers, and the border of the arm's reach."""
        scene = self._scene
        scene.add_grid(
            "/grid",
            plane="xy",
            infinite_grid=True,
            cell_size=0.1,
            section_size=1.0,
            cell_color=GRID_CELL,
            section_color=GRID_SECTION,
            fade_distance=1000.0,
            shadow_opacity=0.0,
            position=(0.0, 0.0, LINES),
        )
        around = np.linspace(0.0, 2.0 * math.pi, 181)
        rim = np.stack(
            (reach * np.cos(around), reach * np.sin(around), np.full(around.size, LINES)), axis=1
        )
        dashes = np.stack((rim[:-1], rim[1:]), axis=1)[::2]
        scene.add_line_segments(
            "/reach", dashes, PLANAR_LINK, thickness=1.0, thickness_units="screen"
        )
        for number in (-2, -1, 1, 2):
            for axis, at, anchor in (
                ("x", (number, -0.05), "top-center"),
                ("y", (-0.1, number), "center-right"),
            ):
                text = f"{axis} {number} m".replace("-", "−")
                scene.add_label(
                    f"/{axis}{number}",
                    text,
                    position=_at(at, LINES),
                    font_screen_scale=0.7,
                    anchor=anchor,
                )

    def _add_link(self, name: str) -> Any:
        length = self._arm.reach / 2.0
        frame = self._scene.add_frame(name, show_axes=False)
        middle = (length / 2.0, 0.0, 0.0)
        self._scene.add_box(
            f"{name}/bar", PLANAR_LINK, dimensions=(length, 0.07, THIN), position=middle, **FLAT
        )
        return frame

    def _add_joint(self, name: str, colour: tuple[int, int, int]) -> Any:
        disc = self._scene.add_cylinder(
            f"/{name}", 0.07, THIN, colour, position=(0.0, 0.0, JOINT), **FLAT
        )
        self._scene.add_label(
            f"/{name}/name", name, position=(0.08, 0.08, 0.0), anchor="bottom-left"
        )
        return disc

    def _add_target(self) -> Any:
        disc = self._scene.add_cylinder("/target", 0.12, THIN, PLANAR_TARGET, opacity=0.35, **FLAT)
        cross = 0.12 * np.array(
            [[[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]]
        )
        self._scene.add_line_segments(
            "/target/cross", cross, PLANAR_TARGET, thickness=2.0, thickness_units="screen"
        )
        return disc


def _at(point: Pair, height: float) -> Array:
    """Point (3,) at a height above a point of the plane."""
    return np.array([point[0], point[1], height])
