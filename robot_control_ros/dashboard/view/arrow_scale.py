"""The scale of the force arrows: chosen, and told in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..markup import note
from ..page_thread import PageThread
from .arrows import FULL, LONGEST, ForceArrow

CHOICES = (10.0, 20.0, FULL, 200.0)  # N


class ArrowScale:
    """A list of forces, of which each is the longest arrow.

    Args:
        gui: of viser.
        thread: of the page.
        arrows: to scale.
        reach: of the arm [m].
    """

    def __init__(self, gui: Any, thread: PageThread, arrows: Sequence[ForceArrow], reach: float) -> None:
        self._arrows, self._length = arrows, LONGEST * reach
        names = tuple(f"{force:g}" for force in CHOICES)
        hint = "Larger forces have an arrow of the same length; its label has the newtons."
        scale = gui.add_dropdown("Longest arrow [N]", names, initial_value=f"{FULL:g}", hint=hint)
        self._text = gui.add_html("")
        thread.connect(scale, lambda name: self._choose(float(name)))
        self._choose(FULL)

    def _choose(self, force: float) -> None:
        for arrow in self._arrows:
            arrow.full = force
        self._text.content = note(f"Force arrows: 0.1 m is {0.1 * force / self._length:.1f} N.")
