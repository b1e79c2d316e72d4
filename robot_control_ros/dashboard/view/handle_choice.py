"""Choice of the handle in the picture: the tip's, or that of a movable object.

Two of them would overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..page_thread import PageThread

TIP = "tip"


class HandleChoice:
    """A list of what can be dragged; hidden if that is the tip alone.

    Attributes:
        chosen: Name of what is dragged: TIP, the elbow, or an object.
    """

    def __init__(self, gui: Any, thread: PageThread) -> None:
        self.chosen = TIP
        hint = "What you drag: the target of the tip, the elbow, or an object of the scene."
        self._list = gui.add_dropdown("Drag", (TIP,), visible=False, hint=hint)
        thread.connect(self._list, self._choose)

    def draw(self, objects: Sequence[str]) -> None:
        """Offer the elbow and the movable objects that are there."""
        options = (TIP, *objects)
        if options != tuple(self._list.options):
            self._list.options = options
            self._list.visible = bool(objects)
            self.chosen = self.chosen if self.chosen in options else TIP
            self._list.value = self.chosen

    def _choose(self, name: str) -> None:
        self.chosen = name
