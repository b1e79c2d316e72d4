"""The running law and its gains: chosen, changed, preset, saved and loaded. The node accepts or
refuses each change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...control.requests import SETTINGS, Parameter, RequestResult, Value, split
from ...core.errors import ConfigError
from ...laws import law_names
from ..availability import Availability
from ..link import RobotLink
from ..markup import note
from ..page_thread import PageThread
from ..theme import GREEN, GREY, RED
from . import gains_file
from .law_panel import LawPanel
from .main_gains import in_order, main_gains
from .presets import SCALES, preset, preset_in_force
from .saved_view import apply_view, view_of
from .sliders import Control, changed, controls, describe_axes, shown
from .undo import Changes, defaults

# s after a person's last change of a control, in which the node's value doesn't change it
TOUCHED = 0.3
UNTOUCHED = 2.0  # s after which the controls may be replaced
FOLDERS = {
    "payload.": "Payload",
    "wrench.": "Measured wrench",
    "workspace.": "Workspace of targets",
    "clearance.": "Clearance of the arm",
    "stream.": "Stream of poses",
    "contact.": "Contacts",
    "ringing.": "Ringing",
    "integral.": "Integral action",
    "limits.": "Limits",
}  # by the prefix of settings
IN_FORCE = "✓ "  # before the name of the preset in force
UNDO = "Undo"
RESET = "Reset to defaults"


class GainsPanel:
    """The controls of the law and its gains."""

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread) -> None:
        self._gui = gui
        self._link = link
        self._thread = thread
        self._parameters: Mapping[str, Parameter] = {}
        self._controls: list[tuple[str, Control, Any]] = []
        self._available: list[Availability] = []  # of the controls
        # controls that were ever shown, see _control
        self._made: dict[Any, tuple[Any, Availability]] = {}
        self._built: object = None  # what the controls were made for
        self._edits: dict[str, Value] = {}  # not yet sent
        self._waiting = False  # for an answer
        self._laws = law_names()
        self._law = gui.add_dropdown("Law", ("…",), hint="The control law that runs.")
        thread.connect(self._law, self._choose_law)
        hint = "Stiffness as a multiple of the robot's own: 0.2, 1, 3, and 0 to guide it by hand."
        self._presets = thread.connect(
            gui.add_button_group("Preset", tuple(SCALES), hint=hint), self._apply_preset
        )
        self._judged: object = None  # law and parameters that the mark of a preset is for
        self._first = gui.add_folder(None)
        self._bounds = gui.add_html("")
        self._changes = Changes()
        hint = "Take back the last change of gains on this page; or give all gains their defaults."
        taking_back = gui.add_button_group("Gains", (UNDO, RESET), hint=hint)
        thread.connect(taking_back, self._take_back)
        self._equation = LawPanel(gui)
        with gui.add_folder("More gains, wrench, files", expand_by_default=False):
            self._per_axis = gui.add_checkbox(
                "Per axis", False, hint="A slider for each axis or joint."
            )
            self._rest = gui.add_folder(None)
            self._settings = {
                prefix: gui.add_folder(FOLDERS[prefix], expand_by_default=False)
                for prefix in SETTINGS
            }
            hint = "A ROS parameter file with the gains and this view. The controller starts with it: gains:=FILE"
            thread.offer_file(gui.add_button("Save gains and view", hint=hint), self._make_file)
            hint = "All of the file is taken over, or nothing."
            load = gui.add_upload_button("Load gains and view", hint=hint)
            thread.take_file(load, self._load)
            self._file = gui.add_html("")  # how the last loading ended
        self._always_shown = Availability(self._law, self._presets, taking_back, load)

    def draw(self, obstacle: str) -> None:
        """Show the node's values, except of controls that are being changed.

        Args:
            obstacle: Reason why no gain can be changed; empty where they can.
        """
        if self._waiting or self._edits:
            return
        law = self._link.law()
        per_axis = self._per_axis.value
        self._parameters = in_order(law, self._link.parameters())
        self._draw_law(law)
        self._equation.draw(law, self._link.parameters())
        self._mark_preset(law)
        built = law, tuple(self._parameters), per_axis
        wanted = [
            (name, each)
            for name, gain in self._parameters.items()
            for each in controls(gain, per_axis)
        ]
        touched = any(_touched(handle, UNTOUCHED) for _, _, handle in self._controls)
        if built != self._built or not (
            touched or wanted == [(name, control) for name, control, _ in self._controls]
        ):
            self._built = built
            self._build(wanted)
        for name, control, handle in self._controls:
            value = shown(self._parameters[name], control)
            if value != handle.value and not _touched(handle):
                handle.value = value
        for available in (self._always_shown, *self._available):
            available.draw(obstacle)
        self._bounds.content = describe_bounds(self._parameters, self._link.health().diagnosis)

    def _draw_law(self, law: str) -> None:
        options = tuple(dict.fromkeys((*self._laws, law))) if law else ("…",)
        if options != tuple(self._law.options):
            self._law.options = options
        if law and law != self._law.value and not _touched(self._law):
            self._law.value = law

    def _choose_law(self, law: str) -> None:
        self._waiting = True
        self._link.set_law(law, self._thread.reply(self._settle))

    def _build(self, wanted: list[tuple[str, Control]]) -> None:
        for _, _, handle in self._controls:
            handle.visible = False
        self._controls = []
        self._available = []
        for place, (name, control) in enumerate(wanted):
            handle, available = self._control(name, control)
            handle.order = float(place)
            handle.visible = True
            self._controls.append((name, control, handle))
            self._available.append(available)
        for prefix, folder in self._settings.items():
            folder.visible = any(name.startswith(prefix) for name in self._parameters)

    def _control(self, name: str, control: Control) -> tuple[Any, Availability]:
        """The control of a gain and what makes it available: one that was hidden, or a new one.

        None is removed: viser remembers for ever that it was, so a page would grow with each change
        of the law.
        """
        prefix = split(name)[0]
        parameter = self._parameters[name]
        law = "" if prefix in self._settings else self._link.law()
        kind = (law, name, control, parameter.text, parameter.choices)
        if kind not in self._made:
            is_first = name in main_gains(law, self._parameters)
            with self._settings.get(prefix, self._first if is_first else self._rest):
                handle = self._thread.connect(
                    self._make(name, control), partial(self._edit, name, control)
                )
            self._made[kind] = handle, Availability(handle)
        return self._made[kind]

    def _make(self, name: str, control: Control) -> Any:
        gui = self._gui
        parameter = self._parameters[name]
        value = shown(parameter, control)
        if isinstance(value, bool):
            return gui.add_checkbox(control.label, value, hint=parameter.text)
        if isinstance(value, str):
            options = (
                parameter.choices if value in parameter.choices else (*parameter.choices, value)
            )
            return gui.add_dropdown(
                control.label, options, initial_value=value, hint=parameter.text
            )
        hint = (
            f"{parameter.text} {parameter.lower:g} to {parameter.upper:g} {control.unit}".rstrip()
            + "."
        )
        hint = f"{hint} {describe_axes(parameter)}".rstrip()
        value = min(max(float(value), control.lower), control.upper)
        return gui.add_slider(
            control.label, control.lower, control.upper, control.step, value, hint=hint
        )

    # --- changes ---

    def _edit(self, name: str, control: Control, new: Any) -> None:
        if name in self._parameters:
            value = self._edits.get(name, self._parameters[name].value)
            self._edits[name] = changed(value, control, new)
            self._send()

    def _send(self) -> None:
        if self._edits and not self._waiting:
            edits = self._edits
            self._edits = {}
            self._waiting = True
            self._set(edits)

    def _set(self, values: dict[str, Value]) -> None:
        """Set gains; once they are accepted, those of before can come back by Undo."""
        law = self._link.law()
        known = self._link.parameters()
        before = {name: known[name].value for name in values if name in known}

        def settle(result: RequestResult) -> None:
            if result.accepted:
                self._changes.add(law, before)
            self._settle(result)

        self._link.set_gains(values, self._thread.reply(settle))

    def _settle(self, result: RequestResult) -> None:
        self._waiting = False
        if not result.accepted:
            self._edits = {}
        self._send()

    def _apply(self, changes: Callable[[], dict[str, Value]]) -> None:
        try:
            self._edits.update(changes())
        except ConfigError as error:
            self._thread.refuse(str(error))
        self._send()

    def _apply_preset(self, name: str) -> None:
        chosen = name.removeprefix(IN_FORCE)
        self._apply(lambda: preset(chosen, self._link.law(), self._parameters))

    def _mark_preset(self, law: str) -> None:
        """Mark the preset whose gains are in force."""
        parameters = self._link.parameters()
        if self._judged == (law, parameters):
            return
        self._judged = law, parameters
        found = preset_in_force(law, parameters)
        options = tuple(f"{IN_FORCE}{name}" if name == found else name for name in SCALES)
        if options != tuple(self._presets.options):
            self._presets.options = options

    def _take_back(self, what: str) -> None:
        """Undo the last change, or give all gains of the law their defaults."""
        law = self._link.law()
        if self._waiting:
            self._thread.refuse("another change is not finished: press it again")
            return
        if what == RESET:
            values = defaults(self._link.parameters())
            if not values:
                self._thread.refuse(f"nothing to reset: all gains of {law} have their defaults")
                return
            self._waiting = True
            self._set(values)
            return
        values = self._changes.take(law)
        if not values:
            self._thread.refuse(f"nothing to undo: no gain of {law} was changed on this page")
            return
        self._waiting = True
        self._link.set_gains(values, self._thread.reply(self._settle))

    def _make_file(self, clicked: bool, camera: Any) -> tuple[str, bytes]:
        law = self._link.law()
        content = gains_file.write(law, self._link.parameters(), view_of(camera)).encode()
        return f"{self._link.robot.name}_{law.rpartition(':')[2]}.yaml", content

    def _load(self, name: str, content: bytes, camera: Any) -> None:
        """Take over a whole file, or nothing of it."""
        law = self._link.law()

        def settle(result: RequestResult) -> None:
            if result.accepted:
                self._changes.add(law, before)
                self._file.content = note(f"{name}: {len(values)} gains taken over.", GREEN)
                if view:
                    apply_view(view, camera)
            else:
                self._refuse_file(name, result.message)
            self._settle(result)

        try:
            if self._waiting:
                raise ConfigError("another change is not finished: load it again", name="file")
            values = gains_file.read(content, law)
            view = gains_file.read_view(content)
        except ConfigError as error:
            self._thread.refuse(str(error))
            self._refuse_file(name, str(error))
            return
        known = self._link.parameters()
        before = {name: known[name].value for name in values if name in known}
        self._waiting = True
        self._link.set_gains(values, self._thread.reply(settle))

    def _refuse_file(self, name: str, message: str) -> None:
        """Show why a file was refused, beside the button, until the next file."""
        self._file.content = note(
            f"{name} is refused: {message}. Nothing of it was taken over.", RED
        )


def describe_bounds(parameters: Mapping[str, Parameter], diagnosis: Mapping[str, str]) -> str:
    """Text of the controller about gains that the arm bears at this posture, a line for each.

    It may be empty.
    """
    found = ((name, diagnosis.get(f"bound of {name}", "")) for name in parameters)
    return "".join(
        note(f"{name.replace('_', ' ').capitalize()} here: {text}.", GREY)
        for name, text in found
        if text
    )


def _touched(handle: Any, duration: float = TOUCHED) -> bool:
    return time.time() - handle.update_timestamp < duration
