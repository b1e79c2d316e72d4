"""The robot's state in the few words that the bar has room for."""

from __future__ import annotations

from ..link import Health
from .status_bar import BarState


def summarize(health: Health, law: str, lost: str, refusal: str) -> BarState:
    """The state of a robot under a law; `lost` is a sentence, `refusal` the message of a recent one."""
    state = f"refused: {refusal}" if refusal else health.obstacle or "active"
    rate = health.diagnosis.get("rate [Hz]", "") if health.commands and not lost else ""
    level = "error" if refusal or not health.answers else "warning" if health.obstacle else "good"
    return BarState(state, law, rate and f"{float(rate):.0f} Hz", level, lost)
