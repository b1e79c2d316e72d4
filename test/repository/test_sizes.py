"""The sizes that keep the tree readable: one test each, over every module of both packages."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import ethercat_emulator
import robot_control_ros

PACKAGES = [Path(each.__file__).resolve().parent for each in (robot_control_ros, ethercat_emulator)]
FILES = [path for package in PACKAGES for path in sorted(package.rglob("*.py")) if "test" not in path.parts[-3:-1]]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

each_package = pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)


@cache
def trees():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def name(path):
    return str(path.relative_to(PACKAGES[0].parent))


def lines(node):
    return node.end_lineno - node.lineno + 1


def nodes(kinds):
    return [(path, node) for path, tree in trees().items() for node in ast.walk(tree) if isinstance(node, kinds)]


def methods(node):
    return [each for each in node.body if isinstance(each, FUNCTIONS)]


def twice(names):
    return sorted(each for each, count in Counter(names).items() if count > 1)


def too_large(sizes, limit):
    return {what: size for what, size in sizes.items() if size > limit}


@each_package
def test_the_package_has_at_most_14_entries(package):
    entries = [
        path for path in package.iterdir() if path.name not in ("__init__.py", "py.typed", "__pycache__", "test")
    ]
    assert len(entries) <= 14


def test_modules_have_at_most_400_lines():
    assert too_large({name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}, 400) == {}


def test_classes_have_at_most_250_lines():
    assert too_large({f"{name(path)}: {node.name}": lines(node) for path, node in nodes(ast.ClassDef)}, 250) == {}


def test_classes_have_at_most_20_methods():
    assert too_large({f"{name(path)}: {node.name}": len(methods(node)) for path, node in nodes(ast.ClassDef)}, 20) == {}


def test_functions_have_at_most_50_lines():
    assert too_large({f"{name(path)}: {node.name}": lines(node) for path, node in nodes(FUNCTIONS)}, 50) == {}


def test_folders_have_at_most_15_modules():
    folders = Counter(path.parent for path in FILES if path.name not in ("__init__.py", "__main__.py"))
    assert too_large({name(folder): count for folder, count in folders.items()}, 15) == {}


@each_package
def test_no_module_has_the_name_of_another(package):
    modules = [
        path
        for path in FILES
        if path.is_relative_to(package) and path.name not in ("__init__.py", "__main__.py", "node.py")
    ]
    assert twice(path.stem for path in modules) == []


@each_package
def test_no_public_class_has_the_name_of_another(package):
    own = [tree for path, tree in trees().items() if path.is_relative_to(package)]
    public = [node.name for tree in own for node in tree.body if isinstance(node, ast.ClassDef)]
    assert twice(each for each in public if not each.startswith("_") and each != "Gains") == []


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(trees()[path])
