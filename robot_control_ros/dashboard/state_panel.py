"""The controller's state, at length and in the few words that the bar has room for, and the last refusal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from .bar.status_bar import BarState
from .link import Health, RobotLink
from .markup import AMBER, GREEN, GREY, RED, block, span
from .page_thread import PageThread

REFUSAL_SHOWN = 12.0  # s
FRESH = "fresh"  # the controller's word for a wrench that is there
QUIET = "100%"  # the controller's margin where nothing rings
FULL_SPEED = 0.95  # times real time, from which on a simulation is not called slow
TRANSITIONS = {  # of the lifecycle, by state
    "unconfigured": ("Configure",),
    "inactive": ("Activate", "Clean up"),
    "active": ("Deactivate",),
}
NONE = ("…",)  # a group of buttons can be neither empty nor disabled
WIDTH = 330  # px
HEIGHT = 6.2  # em, of the text: the buttons never move


class StatePanel:
    """A window of its own, which never scrolls out of view."""

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread, title: str) -> None:
        self._link, self._thread = link, thread
        self._refusal, self._refused_at = "", -REFUSAL_SHOWN
        panel = gui.add_panel()
        with panel.add_tab(title):
            self._text = gui.add_html("")
            self._lifecycle = gui.add_button_group(
                "Controller", NONE, hint="Lifecycle: an active controller commands the robot."
            )
            thread.connect(self._lifecycle, self._change_state)
        panel.float(x=15, y=-15, width=WIDTH)  # viser's own notes come at the top left

    @property
    def refusal(self) -> str:
        """The last one, for some seconds; then empty."""
        return self._refusal if time.monotonic() - self._refused_at < REFUSAL_SHOWN else ""

    def refuse(self, message: str) -> None:
        """Show a refusal for some seconds."""
        self._refusal, self._refused_at = message, time.monotonic()

    def draw(self, health: Health, warnings: Sequence[str]) -> None:
        """Show the state and the warnings; the most important first, as only four lines are visible."""
        colour = GREEN if not health.obstacle else AMBER if health.answers else RED
        lines = [span(f"● {health.obstacle or 'active'}", colour, 700)]
        if self.refusal:
            lines.append(span(f"refused: {self.refusal}", RED))
        if health.problem and health.commands:
            lines.append(span(health.problem, AMBER))
        if not health.answers and (start := self._link.robot.profile.start):
            lines.append(span(f"is it running? {start}", GREY))
        lines += [span(warning, AMBER) for warning in warnings]
        lines += [span(detail, GREY) for detail in details(health)]
        self._text.content = block("<br>".join(lines), f"height:{HEIGHT}em;overflow-y:auto")
        self._lifecycle.options = TRANSITIONS.get(health.lifecycle, NONE) if health.answers else NONE

    def _change_state(self, label: str) -> None:
        if label not in NONE:
            self._link.change_state(label.replace(" ", "").lower(), self._thread.reply())


def details(health: Health) -> list[str]:
    """Rate, response, refusals and drives, in lines."""
    values, lines = health.diagnosis, []
    if health.commands and "rate [Hz]" in values:
        parts = [f"{float(values['rate [Hz]']):.0f} Hz"]
        if (speed := float(values.get("real time factor", 1.0))) < FULL_SPEED:
            parts.append(f"simulation at {speed:.2f} times real time")
        if "response p99 [us]" in values:
            parts.append(f"response p99 {float(values['response p99 [us]']) / 1e3:.2f} ms")
        lines.append(" · ".join([*parts, f"{values.get('refusals', '0')} refusals"]))
    if "spring load" in values:
        lines.append(f"spring at {values['spring load']} of its bound")
    if "contact" in values:
        lines.append(values["contact"])
    if values.get("ringing margin", QUIET) != QUIET:
        lines.append(f"margin to ringing: {values['ringing margin']}")
    if "softened by ringing" in values:
        lines.append(f"softened by ringing: {values['softened by ringing']}")
    if values.get("wrench", FRESH) != FRESH:
        lines.append(f"no sensor: {values['wrench']}")
    if health.executing is not None:
        lines.append("robot executes commands" if health.executing else "robot stands still")
    if health.drives:
        lines.append(f"drives: {health.drives}")
    return lines


def summarize(health: Health, law: str, lost: str, refusal: str) -> BarState:
    """The state of a robot under a law; `lost` is a sentence, `refusal` the message of a recent one."""
    state = f"refused: {refusal}" if refusal else health.obstacle or "active"
    rate = health.diagnosis.get("rate [Hz]", "") if health.commands and not lost else ""
    level = "error" if refusal or not health.answers else "warning" if health.obstacle else "good"
    return BarState(state, law, rate and f"{float(rate):.0f} Hz", level, lost)
