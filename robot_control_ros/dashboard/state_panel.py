"""What must always be in sight: STOP, how the controller is, and what was refused last."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Sequence
from typing import Any

from .colours import AMBER, GREEN, GREY, RED
from .link import Health, RobotLink
from .turns import Turns

REFUSAL_SHOWN = 12.0  # s
FULL_SPEED = 0.95  # times real time, from which on a simulation is not called slow
TRANSITIONS = {  # of the lifecycle, by state
    "unconfigured": {"Configure": "configure"},
    "inactive": {"Activate": "activate", "Clean up": "cleanup"},
    "active": {"Deactivate": "deactivate"},
}
NONE = ("…",)  # a group of buttons can be neither empty nor disabled
WIDTH = 330  # px
HEIGHT = 6.2  # em, of the text: STOP never moves


class StatePanel:
    """A window of its own that nothing scrolls away.

    Args:
        gui: of viser.
        link: of the robot.
        turns: of the page.
        title: of the window.
        stopped: called in the page's thread after STOP.
    """

    def __init__(self, gui: Any, link: RobotLink, turns: Turns, title: str, stopped: Callable[[], None]) -> None:
        self._link, self._turns = link, turns
        self._refusal, self._refused_at = "", -REFUSAL_SHOWN
        panel = gui.add_panel()
        with panel.add_tab(title):
            self._stop = gui.add_button(
                "STOP", color="red", icon="hand-stop", hint="Safe output, then no more commands; drives are braked."
            )
            self._stop.on_click(lambda event: link.stop(turns.reply()))
            self._stop.on_click(turns.callback(stopped))
            self._text = gui.add_html("")
            self._lifecycle = gui.add_button_group(
                "Controller", NONE, hint="Lifecycle: activate lets it command the robot."
            )
            self._lifecycle.on_click(turns.choice(self._change_state))
        panel.float(x=15, y=-15, width=WIDTH)  # viser's own notes come at the top left

    def refuse(self, words: str) -> None:
        """Show words of a refusal for some seconds."""
        self._refusal, self._refused_at = words, time.monotonic()

    def draw(self, health: Health, warnings: Sequence[str] = ()) -> None:
        """As it is now, with what else there is to say."""
        refusal = self._refusal if time.monotonic() - self._refused_at < REFUSAL_SHOWN else ""
        content = self._content(health, warnings, refusal)
        if content != self._text.content:
            self._text.content = content
        options = tuple(TRANSITIONS.get(health.lifecycle, NONE)) if health.answers else NONE
        if options != tuple(self._lifecycle.options):
            self._lifecycle.options = options

    def _content(self, health: Health, warnings: Sequence[str], refusal: str) -> str:
        """In the order in which it matters, as only four lines are in sight."""
        colour, head = headline(health)
        lines = [f'<span style="color:{colour};font-weight:700">● {html.escape(head)}</span>']
        if refusal:
            lines.append(_line(f"refused: {refusal}", RED))
        if health.problem and health.commands:
            lines.append(_line(health.problem, AMBER))
        if not health.answers and (start := self._link.robot.profile.start):
            lines.append(_line(f"is it running? {start}", GREY))
        lines += [_line(words, AMBER) for words in warnings]
        lines += [_line(words, GREY) for words in details(health)]
        style = f"height:{HEIGHT}em;overflow-y:auto;font-size:0.85em;line-height:1.45;padding:0.2em 0.8em"
        return f'<div style="{style}">{"<br>".join(lines)}</div>'

    def _change_state(self, label: str) -> None:
        for transitions in TRANSITIONS.values():
            if label in transitions:
                self._link.change_state(transitions[label], self._turns.reply())


def _line(words: str, colour: str) -> str:
    return f'<span style="color:{colour}">{html.escape(words)}</span>'


def headline(health: Health) -> tuple[str, str]:
    """Colour and words for how the controller is."""
    if not health.answers:
        since = f" for {health.silence:.0f} s" if health.silence >= 1.0 else ""
        return RED, f"the controller doesn't answer{since}"
    if health.lifecycle != "active":
        return AMBER, f"controller {health.lifecycle or 'found'}: the robot isn't commanded"
    if health.executing is False:
        return AMBER, "active, but the robot executes no commands"
    return GREEN, "active"


def details(health: Health) -> list[str]:
    """Rate, response, refusals and drives, in lines."""
    said = health.diagnosis
    parts = []
    if health.answers and health.lifecycle == "active" and "rate [Hz]" in said:
        parts.append(f"{float(said['rate [Hz]']):.0f} Hz")
        if (speed := float(said.get("real time factor", 1.0))) < FULL_SPEED:
            parts.append(f"simulation at {speed:.2f} times real time")
        if "response p99 [us]" in said:
            parts.append(f"response p99 {float(said['response p99 [us]']) / 1e3:.2f} ms")
        parts.append(f"{said.get('refusals', '0')} refusals")
    lines = [" · ".join(parts)] if parts else []
    if health.executing is not None:
        lines.append("robot executes commands" if health.executing else "robot stands still")
    if health.drives:
        lines.append(f"drives: {health.drives}")
    return lines
