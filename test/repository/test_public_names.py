"""The public names: each is there, documented, known to editors, and used as
the docstring shows.
"""

import ast
import inspect
import re
from pathlib import Path

import pytest

import robot_control_ros

ROOT = Path(__file__).resolve().parents[2]
STUB = ast.parse((ROOT / "robot_control_ros" / "__init__.pyi").read_text(encoding="utf-8"))
PAGE = robot_control_ros.__doc__
DEEP = re.compile(r"^\s*from robot_control_ros\.([\w.]+) import (.+)$", re.MULTILINE)


@pytest.mark.parametrize("name", robot_control_ros.__all__)
def test_a_public_name_resolves_and_stands_on_the_help_page(name):
    assert getattr(robot_control_ros, name) is vars(robot_control_ros)[name]
    assert name in dir(robot_control_ros)
    assert re.search(rf"\b{name}\b", PAGE)


def test_editors_and_type_checkers_know_the_same_names():
    """They take what a stub imports under its own name for public, and nothing else."""
    imports = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]
    public = [alias.name for node in imports for alias in node.names if alias.asname == alias.name]
    assert sorted(public) == sorted(robot_control_ros.__all__)
    assert len(public) == sum(len(node.names) for node in imports)


@pytest.mark.parametrize("name", robot_control_ros.__all__)
def test_the_help_page_says_in_one_line_what_a_name_is(name):
    (line,) = re.findall(rf"^    (?:\w+, )*{name}(?:, \w+)* +([^,\n].+)$", PAGE, re.MULTILINE)
    assert line


def test_a_star_import_brings_the_public_names_alone():
    names = {}
    exec("from robot_control_ros import *", names)
    assert sorted(set(names) - {"__builtins__"}) == robot_control_ros.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"robot_control_ros.*no_such_name"):
        _ = robot_control_ros.no_such_name


def test_simulate_is_the_function_also_after_its_module_was_imported():
    from robot_control_ros import simulate
    from robot_control_ros.simulation import in_process

    assert robot_control_ros.simulate is simulate is in_process.simulate


@pytest.mark.sim
def test_the_first_example_of_the_help_page_runs(capsys):
    example = re.search(r"^    from (?:.|\n)*?(?=\n\n\w)", PAGE, re.MULTILINE).group()
    exec(compile(inspect.cleandoc("\n" + example), "the help page", "exec"), {})
    assert float(capsys.readouterr().out) == pytest.approx(-0.04, abs=1e-3)


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "docs", "examples"])
def test_docs_and_examples_import_public_names_from_the_package(path):
    """Where a public name exists, nothing that a user reads imports it from deeper."""
    path = ROOT / path
    files = [path] if path.is_file() else sorted([*path.rglob("*.md"), *path.rglob("*.py")])
    deep = [
        f"{file.name}: {module}.{name}"
        for file in files
        for module, names in DEEP.findall(file.read_text(encoding="utf-8"))
        for name in re.split(r",\s*", names)
        if name in robot_control_ros.__all__
    ]
    assert deep == []
