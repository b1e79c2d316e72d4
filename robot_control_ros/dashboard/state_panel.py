"""The controller's state, at length and in the few words that the bar has room for,
and the last refusal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .availability import Availability
from .bar.status_bar import BarState
from .last_refusal import LastRefusal
from .link import Health, RobotLink
from .markup import block, span
from .page_thread import PageThread
from .theme import AMBER, GREEN, GREY, RED

FRESH = "fresh"  # the controller's word for a wrench that is there
NEARLY_RINGS = 50.0  # %: a controller's margin below which oscillations are told
FULL_SPEED = 0.95  # times real time, from which on a simulation is not called slow
TRANSITIONS = {  # of the lifecycle, by state
    "unconfigured": ("Configure",),
    "inactive": ("Activate", "Clean up"),
    "active": ("Deactivate",),
}
NONE = ("…",)  # a group of buttons can't be empty
SILENT = "the controller doesn't answer"
WIDTH = 330  # px
HEIGHT = 6.2  # em, of the text: the buttons never move


class StatePanel:
    """A window of its own, which never scrolls out of view."""

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread, title: str) -> None:
        self._link = link
        self._thread = thread
        self._refusal = LastRefusal()
        panel = gui.add_panel()
        with panel.add_tab(title):
            self._text = gui.add_html("")
            self._lifecycle = gui.add_button_group(
                "Controller", NONE, hint="Lifecycle: an active controller commands the robot."
            )
            thread.connect(self._lifecycle, self._change_state)
            self._available = Availability(self._lifecycle)
        panel.float(x=15, y=-15, width=WIDTH)  # viser's own notes come at the top left

    @property
    def refusal(self) -> str:
        """The last refusal, for some seconds; then empty."""
        return self._refusal.message

    def refuse(self, message: str) -> None:
        """Show a refusal for some seconds."""
        self._refusal.show(message)

    def draw(self, health: Health, warnings: Sequence[str]) -> None:
        """Show the state and the warnings; the most important first, as only
        four lines are visible.
        """
        colour = GREEN
        if health.obstacle:
            colour = AMBER if health.answers or health.starting else RED
        lines = [span(f"● {health.obstacle or 'active'}", colour, 700)]
        if self.refusal:
            lines.append(span(f"refused: {self.refusal}", RED))
        self._refusal.look(health.diagnosis)
        if health.problem and health.commands:
            lines.append(span(health.problem, AMBER))
        if not (health.answers or health.starting) and (start := self._link.robot.profile.start):
            lines.append(span(f"is it running? {start}", GREY))
        lines += [span(warning, AMBER) for warning in warnings]
        lines += [span(detail, GREY) for detail in details(health)]
        if self._refusal.listed:
            lines.append(span("Refused lately, the newest first:", GREY))
            lines += [span(each, GREY) for each in self._refusal.listed]
        self._text.content = block("<br>".join(lines), f"height:{HEIGHT}em;overflow-y:auto")
        self._lifecycle.options = (
            TRANSITIONS.get(health.lifecycle, NONE) if health.answers else NONE
        )
        self._available.draw("" if health.answers else SILENT)

    def _change_state(self, label: str) -> None:
        if label not in NONE:
            self._link.change_state(label.replace(" ", "").lower(), self._thread.reply())


def details(health: Health) -> list[str]:
    """Rate, response, contact and drives, in lines."""
    values = health.diagnosis
    lines = []
    rate, speed, response = (
        _number(values, name) for name in ("rate [Hz]", "real time factor", "response p99 [us]")
    )
    if health.commands and rate is not None:
        parts = [f"{rate:.0f} Hz"]
        if speed is not None and speed < FULL_SPEED:
            parts.append(f"simulation at {speed:.2f} times real time")
        if response is not None:
            parts.append(f"99 of 100 commands within {response / 1e3:.2f} ms")
        lines.append(" · ".join(parts))
    if "spring load" in values:
        lines.append(f"spring at {values['spring load']} of its bound")
    if "contact" in values:
        lines.append(values["contact"])
    margin = _number({"": values.get("ringing margin", "").removesuffix("%")}, "")
    if margin is not None and margin < NEARLY_RINGS:
        strength = f"{100.0 - margin:.0f} % of the strength at which it softens itself"
        lines.append(f"the arm oscillates, with {strength}")
    if "softened by ringing" in values:
        lines.append(f"softened, as the arm oscillated: {values['softened by ringing']}")
    if values.get("wrench", FRESH) != FRESH:
        lines.append(f"no sensor: {values['wrench']}")
    if health.executing is not None:
        lines.append("robot executes commands" if health.executing else "robot stands still")
    if health.drives:
        lines.append(f"drives: {health.drives}")
    return lines


def describe_loss(health: Health, start: str) -> str:
    """Text of what is lost and what to do next; empty where nothing is.

    Args:
        health: State of the controller.
        start: Command that starts robot and controller; empty if unknown.
    """
    if not health.lost:
        return ""
    if health.starting:
        return f"{health.lost}\nThe first time it compiles its laws, for some minutes."
    command = f": {start}" if start else ""
    if not health.answers:
        again = f"Start it again{command}. The page finds it by itself; then press Activate."
    else:
        again = f"Is its driver running, and the network there? Start it again{command}."
    return f"{health.lost}\n{again}"


def summarize(health: Health, law: str, lost: str, refusal: str) -> BarState:
    """The state of a robot under a law, for the bar.

    Args:
        health: State of the controller.
        law: Name of the law that runs.
        lost: Sentence about what sends nothing any more; empty if all do.
        refusal: Message of a recent refusal; empty for none.
    """
    alarm = health.problem if health.alarm and health.commands else ""
    state = (
        f"refused: {refusal}"
        if refusal
        else health.obstacle or (f"active, but: {alarm}" if alarm else "active")
    )
    rate = _number(health.diagnosis, "rate [Hz]") if health.commands and not lost else None
    level = "good"
    if refusal:
        level = "error"
    elif health.starting:
        level = "starting"
    elif not health.answers:
        level = "error"
    elif health.obstacle or alarm:
        level = "warning"
    activates = health.answers and health.lifecycle == "inactive"
    return BarState(
        state, law, "" if rate is None else f"{rate:.0f} Hz", level, lost, activates=activates
    )


def _number(values: Mapping[str, str], name: str) -> float | None:
    """A number of the diagnosis, which anybody may have published; None where there is none."""
    with suppress(ValueError):
        return float(values[name]) if name in values else None
    return None
