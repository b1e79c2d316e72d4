"""The pages that are made from the code are those in the repository."""

import json
from pathlib import Path

import pytest
import yaml

from robot_control_ros.cli.main import main
from robot_control_ros.cli.reference_docs import (
    cycle_table,
    entries_table,
    law_section,
    laws_page,
    schemas,
)
from robot_control_ros.core.gains import gain_specs
from robot_control_ros.laws import law_class, law_names

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "laws.md"
FILES = [
    path
    for folder in ("robots", "scenes", "imperfections", "ethercat", "can")
    for path in (ROOT / "config" / folder).rglob("*.yaml")
]


def test_the_page_of_the_laws_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == laws_page(), "run: robot_control docs > docs/laws.md"


def test_the_table_of_recorded_fields_is_up_to_date():
    page = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
    assert page.endswith(cycle_table()), (
        "its end must be what this prints: robot_control docs --cycle"
    )


def test_every_law_says_its_five_parts_and_every_gain_is_in_the_page():
    page = laws_page()
    for name in law_names(plugins=False):
        law = law_class(name)
        for part in ("Law:", "Closed loop:", "Frames and units:", "Assumptions:", "Source:"):
            assert part in law.__doc__, f"{name} lacks {part}"
        for spec in gain_specs(law.Gains):
            assert f"| `{spec.name}` |" in page


def test_a_law_of_the_users_own_gets_its_section(monkeypatch, capsys):
    monkeypatch.syspath_prepend(PAGE.parents[1] / "examples")
    assert main(["docs", "--law", "joint_callback_law:JointCallback"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("## joint_callback_law:JointCallback\n")
    for words in (
        "Commands effort.",
        "A spring and a damper in each joint",
        "| `spring` | 100 | one per joint | N·m/rad |",
    ):
        assert words in said


def test_every_section_of_the_page_is_what_its_law_alone_gives():
    page = laws_page()
    assert all(law_section(name).strip() in page for name in law_names(plugins=False))


# --- YAML files ---


def test_the_tables_of_entries_are_up_to_date():
    pages = {
        "robot": "adding_a_robot",
        "profile": "adding_a_robot",
        "imperfections": "imperfections",
        "gripper": "gripper",
    }
    for kind, name in pages.items():
        page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert entries_table(kind) in page, (
            f"run: robot_control docs --entries {kind}, and put it into {name}.md"
        )


def test_the_schemas_are_written_into_a_new_folder_or_over_those_that_are_there(tmp_path):
    for _ in range(2):
        assert main(["docs", "--schemas", str(tmp_path / "schemas")]) == 0
        written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*/*")}
        assert written == schemas()


def test_a_table_of_an_unknown_kind_lists_the_kinds(capsys):
    assert main(["docs", "--entries", "law"]) != 0
    choices = "robot, workcell, gripper, scene, imperfections, drive, topology, motor, can, profile"
    assert f"must be one of: {choices}" in capsys.readouterr().err


def problems(schema, value, root, where=""):
    """What a file has that its schema refuses: those words of JSON Schema that our schemas use."""
    if "$ref" in schema:
        return problems(root["definitions"][schema["$ref"].rsplit("/", 1)[1]], value, root, where)
    found = (
        []
        if is_of(schema, value)
        else [f"{where}: {value!r} is not {schema.get('type') or schema.get('enum')}"]
    )
    if "anyOf" in schema and all(problems(each, value, root, where) for each in schema["anyOf"]):
        found.append(f"{where}: nothing fits {value!r}")
    if isinstance(value, dict):
        entries, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [
            f"{where}: {key} is missing" for key in schema.get("required", ()) if key not in value
        ]
        for key, each in value.items():
            inner = entries.get(key, others)
            if inner is False or key not in schema.get("propertyNames", {}).get("enum", value):
                found.append(f"{where}: unknown {key}")
            elif inner is not True:
                found += problems(inner, each, root, f"{where}/{key}")
    if isinstance(value, list) and "items" in schema:
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} values")
        found += [
            line
            for i, each in enumerate(value)
            for line in problems(schema["items"], each, root, f"{where}/{i}")
        ]
    return found


def is_of(schema, value):
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "integer": int,
        "number": (int, float),
    }
    if "enum" in schema:
        return value in schema["enum"]
    if schema.get("type") == "null":
        return value is None
    if "type" in schema and (
        not isinstance(value, kinds[schema["type"]])
        or (isinstance(value, bool) and schema["type"] != "boolean")
    ):
        return False
    number = isinstance(value, (int, float))
    return not number or (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and value > schema.get("exclusiveMinimum", value - 1)
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_package_names_its_schema_and_fits_it(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    named = (path.parent / first.partition("=")[2]).resolve()
    assert named.parent == ROOT / "config" / "schemas"  # where make writes them
    schema = json.loads(schemas()[named.name])
    assert problems(schema, yaml.safe_load(path.read_text(encoding="utf-8")), schema) == []


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("robot", "extends: ur5\nhme: [0]", "unknown hme"),
        ("robot", "extends: ur5\naxes: [1, 1]", "2 values"),
        ("robot", "extends: ur5\nprofiles: { sim: { rate: 0 } }", "profiles/sim"),
        ("robot", "name: mine", "nothing fits"),
        ("scene", "objects: { a: { shape: cube } }", "'cube' is not"),
        ("imperfections", "states: { late: 1 }", "unknown late"),
        ("topology", "slaves: []", "0 values"),
        ("topology", "slaves: [{ joint: a, drive: cia402 }]", "nothing fits"),
        ("drive", "description: none", "rx is missing"),
    ],
)
def test_a_schema_refuses_what_the_reader_refuses(kind, text, words):
    schema = json.loads(schemas()[f"{kind}.schema.json"])
    assert any(words in problem for problem in problems(schema, yaml.safe_load(text), schema))
