"""The public names: each is there, documented, known to editors, and used as the docstring shows."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import robot_control_ros

ROOT = Path(__file__).resolve().parents[2]
TREE = ast.parse(inspect.getsource(robot_control_ros))
PAGE = robot_control_ros.__doc__
DEEP = re.compile(r"^\s*from robot_control_ros\.([\w.]+) import (.+)$", re.MULTILINE)


@pytest.mark.parametrize("name", robot_control_ros.__all__)
def test_a_public_name_resolves_and_stands_on_the_help_page(name):
    assert getattr(robot_control_ros, name) is vars(robot_control_ros)[name]
    assert name in dir(robot_control_ros)
    assert re.search(rf"\b{name}\b", PAGE)


def test_editors_and_type_checkers_know_the_same_names():
    (known,) = [node for node in TREE.body if isinstance(node, ast.If)]
    imported = [alias.name for node in known.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(imported) == sorted(robot_control_ros.__all__)


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
