"""Controls that can't act look so, and say why."""

from __future__ import annotations

from typing import Any

import viser


class Availability:
    """Some controls of viser, which act together or not at all.

    Args:
        handles: Handles of the controls; their hints are those while they act.
    """

    def __init__(self, *handles: Any) -> None:
        self._hints = [(handle, handle.hint) for handle in handles]
        self._drawn: str | None = None  # viser checks each assignment anew, at some cost

    def draw(self, obstacle: str) -> None:
        """Enable the controls, or disable them and say in their hints why.

        Args:
            obstacle: Reason why the controls can't act now; empty where they can.
        """
        if obstacle == self._drawn:
            return
        self._drawn = obstacle
        for handle, hint in self._hints:
            _disable(handle, bool(obstacle))
            handle.hint = f"Not now: {obstacle}." if obstacle else hint


def _disable(handle: Any, disabled: bool) -> None:
    """Disable a control; viser's browser side can disable a group of buttons, its
    Python class refuses to.
    """
    if not isinstance(handle, viser.GuiButtonGroupHandle):
        handle.disabled = disabled
        return
    props: Any = handle._impl.props
    if props.disabled != disabled:
        props.disabled = disabled
        handle._queue_update("disabled", disabled)
