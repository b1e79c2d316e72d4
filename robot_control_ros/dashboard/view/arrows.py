"""Forces as arrows with their size in newtons, and the scale of the arrows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.types import Array
from ..markup import note
from ..page_thread import PageThread

SHOWN_FROM = 1.0  # N
LONGEST = 0.5  # times the reach
FULL = 60.0  # N, of the longest arrow
CHOICES = (10.0, 20.0, FULL, 200.0)  # N, of the longest arrow
MOVED = 5e-4  # m: smaller moves are not drawn


class ForceArrow:
    """An arrow as long as its force is large, with a label at its head.

    Args:
        scene: Scene of viser.
        name: Name of the node.
        colour: (3,) red, green and blue, from 0 to 1.
        word: Text before the newtons in the label.
        reach: Reach of the arm [m].
        anchor: Side of the label that is at the arrow's head; arrows that may coincide have
            different ones.
        full: Force at which the arrow is longest [N], see the attribute.

    Attributes:
        full: Force from which the arrow is half as long as the reach [N]. A new one is taken over
            with the next drawing.
    """

    def __init__(
        self,
        scene: Any,
        name: str,
        colour: tuple[float, float, float],
        word: str,
        reach: float,
        anchor: str = "bottom-center",
        full: float = FULL,
    ) -> None:
        self._longest = LONGEST * reach
        self.full = full
        self._word = word
        self._points = np.zeros((1, 2, 3))
        look = {
            "shaft_radius": 0.008 * reach,
            "head_radius": 0.02 * reach,
            "head_length": 0.045 * reach,
        }
        self._arrow = scene.add_arrows(name, self._points, colour, visible=False, **look)
        self._label = scene.add_label(f"{name}/label", "", anchor=anchor, visible=False)

    def draw(self, origin: Array, force: Array | None) -> None:
        """Draw a force (3,) [N] at a point (3,), both in the base.

        None hides it, and so does a small one.
        """
        size = 0.0 if force is None else float(np.linalg.norm(force))
        shown = bool(size >= SHOWN_FROM)  # False for NaN as well
        if force is not None and shown:
            points = np.array([[origin, origin + self._longest / max(size, self.full) * force]])
            if np.abs(points - self._points).max() > MOVED:
                self._points = points
                self._arrow.points = points.astype(np.float32)
                self._label.position = points[0, 1]
            self._label.text = f"{self._word} {size:.0f} N"
        self._arrow.visible = shown
        self._label.visible = shown


class ArrowScale:
    """A list of forces, of which each is the longest arrow.

    Args:
        gui: Controls of viser.
        thread: Thread of the page.
        arrows: Arrows that are scaled.
        reach: Reach of the arm [m].
    """

    def __init__(
        self, gui: Any, thread: PageThread, arrows: Sequence[ForceArrow], reach: float
    ) -> None:
        self._arrows = arrows
        self._length = LONGEST * reach
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
