"""Tests use the public attributes of a package's objects only.

``python lint/tests.py`` prints each violation as ``file:line: message``.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("robot_control_ros", "robot_control_learning", "ethercat_emulator", "can_emulator"),
    "evidence",
)
TESTS = sorted(
    path
    for folder in ("test", "ethercat_emulator/test", "can_emulator/test")
    for path in (ROOT / folder).rglob("*.py")
)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# functions, and methods of pytest's monkeypatch
BY_NAME = ("getattr", "setattr", "hasattr", "delattr")


def is_private(name: str) -> bool:
    """Whether a name begins with an underscore, and is none of Python's own."""
    return name.startswith("_") and not name.endswith("__")


def is_own(node: ast.expr) -> bool:
    """Whether an object is the one whose method this is."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def private_names() -> set[str]:
    """Private names that the packages define: attributes, methods, functions,
    classes, variables.
    """
    found: set[str] = set()
    for path in (
        path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path not in TESTS
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, DEFINITIONS):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and is_own(node.value):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return {name for name in found if is_private(name)}


def used(node: ast.AST) -> list[str]:
    """Names that an expression or an import reads of another object."""
    if isinstance(node, ast.Attribute) and not is_own(node.value):
        return [node.attr]
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
        return [alias.name for alias in node.names]
    if (
        isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in BY_NAME
    ):
        texts = [
            each.value
            for each in node.args
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        return [text.rpartition(".")[2] for text in texts]
    return []


def main() -> int:
    """Print what is wrong; returns the exit status."""
    private, count = private_names(), 0
    for path in TESTS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in (name for name in used(node) if name in private):
                line = getattr(node, "lineno", 1)
                print(
                    f"{path.relative_to(ROOT)}:{line}: a test uses the private name {name} of a package"
                )
                count += 1
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
