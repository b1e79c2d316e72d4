"""A handle to drag in three dimensions."""

from __future__ import annotations

import threading
from typing import Any

from .placing import place, pose_of

MOVES_ONLY = {"disable_sliders": True, "disable_rotations": True}


class Drag:
    """A handle to drag, one of viser's transform controls.

    Only one browser holds it at a time: moves of others are undone.

    Args:
        scene: Scene of viser.
        name: Name of the node.
        settings: Settings of viser's `add_transform_controls`.

    Attributes:
        gizmo: Node of the handle in the scene.
        held: True where a browser holds the handle; one that dies releases it.
        pose: (4, 4) pose of the last move.
    """

    def __init__(self, scene: Any, name: str, **settings: Any) -> None:
        self.held = False
        self._let_go = False
        self._disturbed = False
        # viser's thread grasps and moves, the page's thread reads and drops
        self._lock = threading.Lock()
        self.gizmo = scene.add_transform_controls(
            name, line_width=4.0, depth_test=False, **settings
        )
        self.pose = pose_of(self.gizmo)
        self._holder: int | None = None  # viser's number of the browser
        self.gizmo.on_update(self._on_update)

    def moved(self) -> bool:
        """True where the handle is held, or was since the last call: the last pose counts, too."""
        with self._lock:
            held = self.held
            let_go = self._let_go
            disturbed = self._disturbed
            self._let_go = False
            self._disturbed = disturbed and not held
        if held and disturbed:
            place(self.gizmo, self.pose)
        return held or let_go

    def drop(self) -> None:
        """End the drag: moves are ignored until it is grasped anew."""
        with self._lock:
            self._holder = None
            self.held = False
            self._let_go = False

    async def _on_update(self, event: Any) -> None:
        """Runs in viser's own thread, so that the events keep their order."""
        pose = pose_of(self.gizmo)
        with self._lock:
            if event.phase == "start" and self._holder is None:
                self._holder = event.client_id
            if event.client_id != self._holder:
                self._disturbed = True
                return
            self.pose = pose
            self.held = event.phase != "end"
            if not self.held:
                self._holder = None
                self._let_go = True
