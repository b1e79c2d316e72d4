"""The running law in its own words: equation, frames, assumptions, source, and
the gains in force.
"""

from __future__ import annotations

import html
import inspect
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ...control.requests import Parameter, Value
from ...core.errors import ConfigError
from ...laws.law import law_class
from ..markup import block, table

WRAPPED = 85  # characters of a line of a docstring, from which on the next line continues it
STYLE = "white-space:pre-wrap;overflow-wrap:anywhere"


class LawPanel:
    """A folded panel; it is written anew when the law or a gain in force changes."""

    def __init__(self, gui: Any) -> None:
        self._shown: object = None
        with gui.add_folder("Equation and gains in force", expand_by_default=False):
            self._text = gui.add_html("")

    def draw(self, law: str, parameters: Mapping[str, Parameter]) -> None:
        """Show a law and its gains, as the controller has them."""
        if self._shown != (law, parameters):
            self._shown = law, parameters
            rows = (
                (html.escape(each.name), _value(each.value), each.unit)
                for each in parameters.values()
            )
            self._text.content = block(table(rows)) + block(html.escape(equation(law)), STYLE)


def equation(law: str) -> str:
    """The docstring of a law; a sentence if there is none here."""
    try:
        lines = (inspect.getdoc(law_class(law)) or f"{law} has no description.").splitlines()
    except ConfigError:
        return f"The description of {law!r} is not on this machine."
    text = lines[0]
    for before, line in pairwise(lines):
        text += f" {line.strip()}" if len(before) > WRAPPED and line.strip() else f"\n{line}"
    return text


def _value(value: Value) -> str:
    if not isinstance(value, tuple):
        return html.escape(str(value) if isinstance(value, (bool, str)) else f"{value:g}")
    return (
        f"{value[0]:g} each" if len(set(value)) == 1 else "<br>".join(f"{each:g}" for each in value)
    )
