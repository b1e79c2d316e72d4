"""The pages of docs/ that are made from the code: laws and wrench with their gains, from their declarations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from .gains import MATRIX, SCALAR, TASK, VECTOR, GainSpec, gain_specs
from .laws import law_class, law_names
from .wrench import WrenchPipeline, WrenchSettings

_SIZES = {SCALAR: "1", TASK: "6 (x y z rx ry rz)", VECTOR: "3 (x y z)", MATRIX: "6x6 (or its diagonal)"}


def laws_page() -> str:
    """docs/laws.md: the docstring of each law, and of the wrench's pipeline, with the table of its gains."""
    wrench = "What happens to the wrench before a law sees it. A setting is the ROS parameter `wrench.<setting>`."
    lines = [
        "# Laws",
        "",
        "Made by `robot_control docs` from the laws themselves. A gain is the ROS parameter `<law>.<gain>`.",
        *(line for name in law_names(plugins=False) for line in _law(name)),
        *_section("The wrench", wrench, WrenchPipeline, WrenchSettings),
        "",
    ]
    return "\n".join(lines)


def law_section(name: str) -> str:
    """The same of one law, which may be a user's own.

    Raises:
        ConfigError: see :func:`robot_control_ros.laws.law_class`.
    """
    return "\n".join([*_law(name), ""]).lstrip()


def _law(name: str) -> Iterator[str]:
    law = law_class(name)
    return _section(name, f"Commands {', '.join(_outputs(law))}.", law, law.Gains)


def _section(title: str, lead: str, documented: type, gains: type) -> Iterator[str]:
    yield from ("", f"## {title}", "", lead, "", "```text", inspect.cleandoc(documented.__doc__ or ""), "```", "")
    yield "| gain | default | size | unit | range | |"
    yield "|---|---|---|---|---|---|"
    for spec in gain_specs(gains):
        yield _row(spec)


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
