"""Whether somebody holds a gizmo."""

from __future__ import annotations

from typing import Any


class Drag:
    """The drag of one of viser's transform controls, as it is when one looks.

    Args:
        gizmo: that is dragged.

    Attributes:
        held: whether it is; a browser that dies lets go.
    """

    def __init__(self, gizmo: Any) -> None:
        self.held = self._let_go = False
        gizmo.on_update(self._on_update)

    def moved(self) -> bool:
        """Whether it is held, or has been since the last look: where it was let go counts, too."""
        let_go, self._let_go = self._let_go, False
        return self.held or let_go

    async def _on_update(self, event: Any) -> None:
        """In viser's own thread, so that the end of a drag never overtakes what came before."""
        self.held = event.phase != "end"
        self._let_go = self._let_go or not self.held
