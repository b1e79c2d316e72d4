"""Docs that are made from declarations: docs/laws.md, tables of files' entries, JSON Schemas."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import get_args, get_origin

from ..core.cycle import CYCLE
from ..core.gains import MATRIX, SCALAR, TASK, TENSOR, VECTOR, GainSpec, gain_specs
from ..core.output_files import write_text
from ..core.record import Field
from ..fieldbus.can.can_arm import CanArm
from ..fieldbus.can.motors import MotorFamily
from ..fieldbus.ethercat.drives import DriveConfig
from ..fieldbus.ethercat.topology import Topology
from ..laws import law_class, law_names
from ..robot.configuration import RobotConfig
from ..robot.gripper import GripperConfig
from ..robot.json_schema import json_schema
from ..robot.profile import HardwareProfile
from ..robot.schema import REQUIRED, EntrySpec, file_entries
from ..robot.workcell import Workcell
from ..sensing.wrench import WrenchPipeline, WrenchSettings
from ..simulation.imperfect.imperfections import Imperfections
from ..simulation.scene import Scene
from .listing import command_modes

_SIZES = {
    SCALAR: "1",
    TASK: "6 (x y z rx ry rz)",
    VECTOR: "3 (x y z)",
    TENSOR: "6 (xx yy zz xy xz yz)",
    MATRIX: "6x6 (or its diagonal)",
}

FILES = {
    "robot": RobotConfig,
    "workcell": Workcell,
    "gripper": GripperConfig,
    "scene": Scene,
    "imperfections": Imperfections,
    "drive": DriveConfig,
    "topology": Topology,
    "motor": MotorFamily,
    "can": CanArm,
}
TABLES = {**FILES, "profile": HardwareProfile}


def schemas() -> dict[str, str]:
    """JSON Schema of each kind of YAML file, by the name of the schema's file."""
    return {
        f"{kind}.schema.json": json.dumps(json_schema(cls, kind), ensure_ascii=False, indent=2)
        + "\n"
        for kind, cls in FILES.items()
    }


def write_schemas(folder: Path) -> None:
    """Write :func:`schemas` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        write_text(folder / name, text)


def entries_table(kind: str) -> str:
    """Markdown table of the entries of one kind of TABLES."""
    rows = _entry_rows(TABLES[kind])
    return "\n".join(["| entry | default | unit | range | |", "|---|---|---|---|---|", *rows, ""])


def cycle_table() -> str:
    """Markdown table of the fields that are recorded of a control cycle."""
    rows = [_cycle_row(field) for field in CYCLE.kept]
    return "\n".join(["| field | size | unit | |", "|---|---|---|---|", *rows, ""])


def _cycle_row(field: Field) -> str:
    size = " x ".join(str(each) for each in field.shape) or "1"
    frame = f" {field.frame[0].upper()}{field.frame[1:]}." if field.frame else ""
    return f"| `{field.name}` | {size} | {field.unit} | {field.meaning}{frame} |"


def _entry_rows(cls: type, group: str = "") -> Iterator[str]:
    """A row for each entry; those of a mapping within the file follow it as `group.entry`."""
    for spec in file_entries(cls):
        yield _entry_row(replace(spec, key=group + spec.key))
        if is_dataclass(spec.of) and isinstance(spec.of, type):
            yield from _entry_rows(spec.of, f"{group}{spec.key}.")


def _entry_row(spec: EntrySpec) -> str:
    hint = get_args(spec.of)[0] if get_origin(spec.of) is tuple else spec.of
    bounds = ", ".join(str(each) for each in spec.valid(hint)) or spec.span()
    return f"| `{spec.key}` | {_entry_default(spec)} | {spec.unit} | {bounds} | {spec.doc} |"


def _entry_default(spec: EntrySpec) -> str:
    if spec.only_with:
        return f"with {spec.only_with[0]} {', '.join(spec.only_with[1])}"
    if spec.default is REQUIRED:
        return "required"
    if isinstance(spec.default, bool):
        return str(spec.default).lower()
    if isinstance(spec.default, (float, int)) or (isinstance(spec.default, tuple) and spec.default):
        return _default(spec.default)
    return spec.default if isinstance(spec.default, str) and spec.default else ""


def laws_page() -> str:
    """Text of docs/laws.md: docstring and gains of each law, and of the wrench's pipeline."""
    wrench = "What happens to the wrench before a law sees it. A setting is the ROS parameter `wrench.<setting>`."
    lines = [
        "# Laws",
        "",
        "This page is for you if you choose a law or set its gains. After it you know its equation, units and gains.",
        "",
        "Made by `robot_control docs` from the laws themselves. A gain is the ROS parameter `<law>.<gain>`.",
        *(line for name in law_names(plugins=False) for line in _law(name)),
        *_section("The wrench", wrench, WrenchPipeline, WrenchSettings),
        "",
    ]
    return "\n".join(lines)


def law_section(name: str) -> str:
    """Section of one law in the form of docs/laws.md; it may be a user's own law.

    Raises:
        ConfigError: The law can't be found, see :func:`robot_control_ros.laws.law_class`.
    """
    return "\n".join([*_law(name), ""]).lstrip()


def _law(name: str) -> Iterator[str]:
    law = law_class(name)
    return _section(name, f"Commands {', '.join(command_modes(law))}.", law, law.Gains)


def _section(title: str, lead: str, documented: type, gains: type) -> Iterator[str]:
    yield from (
        "",
        f"## {title}",
        "",
        lead,
        "",
        "```text",
        inspect.cleandoc(documented.__doc__ or ""),
        "```",
        "",
    )
    yield "| gain | default | size | unit | range | |"
    yield "|---|---|---|---|---|---|"
    for spec in gain_specs(gains):
        yield _row(spec)


def _row(spec: GainSpec) -> str:
    if spec.switch:
        default = "on" if spec.default else "off"
        bounds = "on, off"
    elif spec.choices:
        default = str(spec.default)
        bounds = ", ".join((*spec.choices, *["a link"] * spec.links))
    else:
        default = _default(spec.default)
        bounds = f"{spec.lower:g} … {spec.upper:g}"
    size = _SIZES.get(spec.size, "one per joint")
    return f"| `{spec.name}` | {default} | {size} | {spec.unit} | {bounds} | {spec.doc} |"


def _default(value: float | str | tuple[float, ...]) -> str:
    return " ".join(f"{x:g}" for x in value) if isinstance(value, tuple) else f"{value:g}"
