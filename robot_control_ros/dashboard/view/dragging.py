"""Who holds a gizmo, and where."""

from __future__ import annotations

from typing import Any

from .placing import place, pose_of


class Drag:
    """The drag of one of viser's transform controls, as it is when one looks.

    Only one browser holds it at a time: what others do to it meanwhile is undone.

    Args:
        gizmo: that is dragged.

    Attributes:
        held: whether it is; a browser that dies lets go.
        pose: (4, 4) where its holder has it, or had it last.
    """

    def __init__(self, gizmo: Any) -> None:
        self.held = self._let_go = self._disturbed = False
        self.pose = pose_of(gizmo)
        self._gizmo = gizmo
        self._holder: int | None = None  # viser's number of the browser
        gizmo.on_update(self._on_update)

    def moved(self) -> bool:
        """Whether it is held, or has been since the last look: where it was let go counts, too."""
        let_go, self._let_go = self._let_go, False
        if self.held and self._disturbed:
            self._disturbed = False
            place(self._gizmo, self.pose)
        return self.held or let_go

    def drop(self) -> None:
        """Take it away from its holder: nothing counts until it is grasped anew."""
        self._holder = None
        self.held = self._let_go = False

    async def _on_update(self, event: Any) -> None:
        """In viser's own thread, so that the end of a drag never overtakes what came before."""
        if event.phase == "start" and self._holder is None:
            self._holder = event.client_id
        if event.client_id != self._holder:
            self._disturbed = True
            return
        self.pose = pose_of(self._gizmo)
        self.held = event.phase != "end"
        if not self.held:
            self._holder, self._let_go = None, True
