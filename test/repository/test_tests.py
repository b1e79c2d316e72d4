"""What the tests themselves keep to: they use a package object's public attributes only."""

import ast
from pathlib import Path

import pytest

import ethercat_emulator
import robot_control_ros

TESTS = Path(__file__).parents[1]
PACKAGES = [Path(each.__file__).resolve().parent for each in (robot_control_ros, ethercat_emulator)]
FILES = sorted([*TESTS.rglob("*.py"), *(PACKAGES[1] / "test").rglob("*.py")])
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}  # functions, and methods of pytest's monkeypatch


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def is_own(node):
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def private_names():
    """Private names that the packages define: attributes, methods, functions, classes, variables."""
    found = set()
    for path in (path for package in PACKAGES for path in package.rglob("*.py") if path not in FILES):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, DEFINITIONS):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and is_own(node.value):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return {name for name in found if is_private(name)}


def used(node):
    """Names that an expression or an import reads of another object."""
    if isinstance(node, ast.Attribute) and not is_own(node.value):
        return [node.attr]
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in {p.name for p in PACKAGES}:
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in BY_NAME:
        texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return [text.rpartition(".")[2] for text in texts]
    return []


def private_uses(tree, private):
    return [(node.lineno, name) for node in ast.walk(tree) for name in used(node) if name in private]


def test_no_test_reaches_into_a_private_attribute():
    private = private_names()
    uses = {
        str(path.relative_to(TESTS.parent)): private_uses(ast.parse(path.read_text(encoding="utf-8")), private)
        for path in FILES
    }
    assert {name: found for name, found in uses.items() if found} == {}


@pytest.mark.parametrize(
    "code",
    [
        "body._tank",
        "loop.motion._tank = 1",
        "getattr(body, '_tank')",
        "monkeypatch.setattr(body, '_tank', 1)",
        "monkeypatch.setattr('robot_control_ros.laws._tank', 1)",
        "from robot_control_ros.laws import _tank",
    ],
)
def test_each_way_to_a_private_attribute_is_found(code):
    assert private_uses(ast.parse(code), {"_tank"}) == [(1, "_tank")]


@pytest.mark.parametrize("code", ["self._tank", "body.tank", "body.__class__", "scene._handle", "f('_tank')"])
def test_public_and_foreign_attributes_are_passed_over(code):
    assert private_uses(ast.parse(code), {"_tank"}) == []
