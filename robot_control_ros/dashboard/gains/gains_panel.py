"""The running law and its gains: chosen, moved, preset, saved and loaded; the node has the last word on each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ...core.errors import ConfigError
from ..link import SETTINGS, Parameter, RequestResult, RobotLink, Value, split
from ..turns import Turns
from . import gains_file
from .presets import SCALES, preset
from .sliders import Control, can_show, changed, controls, shown

TOUCHED = 0.3  # s after a person's last move of a control in which it isn't moved by the node's value
LEFT_ALONE = 2.0  # s after which the controls may become others
FOLDERS = {"wrench.": "Measured wrench", "workspace.": "Workspace of targets"}  # by the prefix of settings
FIRST = 2  # gains that are always in sight; the others are in a folder


class GainsPanel:
    """See the module.

    Args:
        gui: of viser; the panel goes where it now puts things.
        link: of the robot.
        turns: of the page.
        refuse: called with the message of what this page refuses itself.
    """

    def __init__(self, gui: Any, link: RobotLink, turns: Turns, refuse: Any) -> None:
        self._gui, self._link, self._turns, self._refuse = gui, link, turns, refuse
        self._parameters: Mapping[str, Parameter] = {}
        self._controls: list[tuple[str, Control, Any]] = []
        self._chosen: object = None
        self._drawn: object = None  # of what the controls are as they must be
        self._edits: dict[str, Value] = {}  # not yet sent
        self._asking = False  # an answer is under way
        self._law = gui.add_dropdown("Law", ("…",), hint="The control law that runs; a refusal says why.")
        self._law.on_update(turns.choice(self._choose_law))
        self._presets = gui.add_button_group(
            "Preset",
            tuple(SCALES),
            hint="Stiffness as a multiple of the robot's own: 0.2, 1, 3, and 0 to lead it by hand.",
        )
        self._presets.on_click(turns.choice(self._apply_preset))
        self._first = gui.add_folder(None)
        with gui.add_folder("More gains, wrench, files", expand_by_default=False):
            self._per_axis = gui.add_checkbox("Per axis", False, hint="A slider for each axis or joint.")
            self._rest = gui.add_folder(None)
            self._settings = {prefix: gui.add_folder(FOLDERS[prefix], expand_by_default=False) for prefix in SETTINGS}
            save = gui.add_button("Save as a ROS parameter file", hint="The controller can start with it: gains:=FILE")
            save.on_click(self._save)
            load = gui.add_upload_button("Load a ROS parameter file")
            load.on_upload(turns.choice(lambda file: self._load(file.content)))

    def draw(self, answers: bool) -> None:
        """As the node has it now, but for what is being changed here; disabled where the node doesn't answer."""
        if self._asking or self._edits:
            return
        touched = any(_touched(handle, LEFT_ALONE) for handle in self._handles())
        state = (self._link.parameters(), self._link.law(), self._per_axis.value, answers)
        if state == self._drawn and not touched:
            return
        self._parameters, law, per_axis, _ = state
        self._draw_law()
        chosen = (law, tuple(self._parameters), per_axis)
        if chosen != self._chosen or not self._fits(touched):
            self._chosen = chosen
            self._build()
        for name, control, handle in self._controls:
            if not _touched(handle):
                handle.value = shown(self._parameters[name], control)
        for handle in self._handles():
            handle.disabled = not answers
        self._drawn = None if touched else state

    def _handles(self) -> list[Any]:
        return [self._law, *(handle for _, _, handle in self._controls)]

    def _fits(self, touched: bool) -> bool:
        """Whether the controls are those for the present values; while somebody moves one, they only must show them."""
        if touched:
            return all(can_show(self._parameters[name], control) for name, control, _ in self._controls)
        wanted = [c for each in self._parameters.values() for c in controls(each, self._per_axis.value)]
        return wanted == [control for _, control, _ in self._controls]

    def _draw_law(self) -> None:
        law = self._link.law()
        options = tuple(dict.fromkeys((*self._link.laws(), law))) if law else ("…",)
        if options != tuple(self._law.options):
            self._law.options = options
        if law and law != self._law.value and not _touched(self._law):
            self._law.value = law

    def _choose_law(self, law: str) -> None:
        self._asking = True
        self._link.set_law(law, self._turns.reply(self._settle))

    def _build(self) -> None:
        for _, _, handle in self._controls:
            handle.remove()
        self._controls = []
        for number, (name, parameter) in enumerate(self._parameters.items()):
            usual = self._first if number < FIRST else self._rest
            with self._settings.get(split(name)[0], usual):
                for control in controls(parameter, self._per_axis.value):
                    handle = self._make(parameter, control)
                    handle.on_update(self._turns.choice(self._edit(name, control)))
                    self._controls.append((name, control, handle))
        for prefix, folder in self._settings.items():
            folder.visible = any(name.startswith(prefix) for name in self._parameters)

    def _make(self, parameter: Parameter, control: Control) -> Any:
        gui, value = self._gui, shown(parameter, control)
        if isinstance(value, bool):
            return gui.add_checkbox(control.label, value, hint=parameter.text)
        if isinstance(value, str):
            return gui.add_dropdown(
                control.label, parameter.choices or (value,), initial_value=value, hint=parameter.text
            )
        bounds = f"{parameter.lower:g} to {parameter.upper:g} {control.label.partition('[')[2].rstrip(']')}".rstrip()
        return gui.add_slider(
            control.label,
            control.lower,
            control.upper,
            control.step,
            min(max(float(value), control.lower), control.upper),
            hint=f"{parameter.text} {bounds}.",
        )

    # --- changes ---

    def _edit(self, name: str, control: Control) -> Any:
        def edit(new: Any) -> None:
            if name in self._parameters:
                value = self._edits.get(name, self._parameters[name].value)
                self._edits[name] = changed(value, control, new)
                self._send()

        return edit

    def _send(self) -> None:
        if self._edits and not self._asking:
            edits, self._edits, self._asking = self._edits, {}, True
            self._link.set_gains(edits, self._turns.reply(self._settle))

    def _settle(self, answer: RequestResult) -> None:
        self._asking = False
        if not answer.accepted:
            self._edits = {}
        self._send()

    def _apply(self, make: Any) -> None:
        try:
            self._edits.update(make())
        except ConfigError as error:
            self._refuse(str(error))
        self._send()

    def _apply_preset(self, name: str) -> None:
        self._apply(lambda: preset(name, self._link.law(), self._parameters))

    def _save(self, event: Any) -> None:
        law = self._link.law()
        content = gains_file.write(law, self._link.parameters()).encode()
        event.client.send_file_download(f"{self._link.robot.name}_{law.rpartition(':')[2]}.yaml", content)

    def _load(self, content: bytes) -> None:
        self._apply(lambda: gains_file.read(content.decode("utf-8", "replace"), self._link.law()))


def _touched(handle: Any, lately: float = TOUCHED) -> bool:
    return time.time() - handle.update_timestamp < lately
