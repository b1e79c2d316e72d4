"""What a person chooses of a cycle's record: a field, and which of its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.cycle import COMMAND
from .cycle_fields import FIELDS, Component, components

NO_FIELD = "–"


@dataclass(frozen=True)
class ChosenField:
    """A field, and what is shown of it."""

    name: str
    shown: tuple[Component, ...]


class FieldChoice:
    """Two dropdowns: a field of the cycle's record, and what of it.

    Args:
        gui: Controls of viser.
        label: Label of the field's dropdown; that of its components has it as well.
        initial: Name of the field; empty for none, which can be chosen then.
        joints: Names of the joints.
        single: True where one number is chosen, never several.
    """

    def __init__(
        self, gui: Any, label: str, initial: str, joints: tuple[str, ...], single: bool = False
    ) -> None:
        self._joints = joints
        self._single = single
        self._command_unit = COMMAND
        names = tuple(FIELDS) if initial else (NO_FIELD, *FIELDS)
        self.field = gui.add_dropdown(label, names, initial_value=initial or NO_FIELD)
        self.component = gui.add_dropdown(f"Of {label[0].lower()}{label[1:]}", (NO_FIELD,))
        self.update()

    @property
    def chosen(self) -> ChosenField | None:
        """The field and the numbers that are chosen; None for nothing."""
        field = FIELDS.get(self.field.value)
        if field is None:
            return None
        return ChosenField(field.name, self._components()[self.component.value])

    def show(self, shown: bool) -> None:
        """Show the dropdowns, or hide them; there is nothing to choose of one number."""
        self.field.visible = shown
        self.component.visible = shown and len(self.component.options) > 1

    def update(self, command_unit: str = "") -> None:
        """Offer what the field has; another unit may be that of commands from now on."""
        self._command_unit = command_unit or self._command_unit
        field = FIELDS.get(self.field.value)
        options = (NO_FIELD,) if field is None else tuple(self._components())
        if tuple(self.component.options) != options:
            self.component.options = options
            self.component.value = options[0]
        self.field.hint = (
            "No field." if field is None else " ".join(filter(None, (field.meaning, field.frame)))
        )

    def _components(self) -> dict[str, tuple[Component, ...]]:
        offered = components(FIELDS[self.field.value], self._joints, self._command_unit)
        return {
            name: shown for name, shown in offered.items() if len(shown) == 1 or not self._single
        }
