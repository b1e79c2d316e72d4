"""The pages of docs/ that are made from the code: laws with their gains, straight from their declarations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from .gains import MATRIX, SCALAR, TASK, VECTOR, GainSpec, gain_specs
from .laws import law_class, law_names

_SIZES = {SCALAR: "1", TASK: "6 (x y z rx ry rz)", VECTOR: "3 (x y z)", MATRIX: "6x6 (or its diagonal)"}


def laws_page() -> str:
    """docs/laws.md: each law's docstring and the table of its gains."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Laws"
    yield ""
    yield "Made by `robot_control docs` from the laws themselves. A gain is the ROS parameter `<law>.<gain>`."
    for name in law_names(plugins=False):
        law = law_class(name)
        yield ""
        yield f"## {name}"
        yield ""
        yield f"Commands {', '.join(_outputs(law))}."
        yield ""
        yield "```text"
        yield inspect.cleandoc(law.__doc__ or "")
        yield "```"
        yield ""
        yield "| gain | default | size | unit | range | |"
        yield "|---|---|---|---|---|---|"
        for spec in gain_specs(law.Gains):
            yield _row(spec)
    yield ""


def _outputs(law: Any) -> tuple[str, ...]:
    """The modes a law commands in, the default one first."""
    choices = next((spec.choices for spec in gain_specs(law.Gains) if spec.name == "output"), ())
    return (law.mode.value, *(word for word in choices if word != law.mode.value))


def _row(spec: GainSpec) -> str:
    if spec.switch:
        default, bounds = ("on" if spec.default else "off"), "on, off"
    elif spec.choices:
        default, bounds = str(spec.default), ", ".join(spec.choices)
    else:
        default, bounds = _default(spec.default), f"{spec.lower:g} … {spec.upper:g}"
    size = _SIZES.get(spec.size, "one per joint")
    return f"| `{spec.name}` | {default} | {size} | {spec.unit} | {bounds} | {spec.doc} |"


def _default(value: float | str | tuple[float, ...]) -> str:
    return " ".join(f"{x:g}" for x in value) if isinstance(value, tuple) else f"{value:g}"
