"""What makes code hard to read at first sight: packed statements, long lines, docstrings that lean
on something else.

``python lint/reading.py`` prints the number of each kind. Where there are too many of one, it
prints each as ``file:line: message``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("robot_control_ros", "robot_control_learning", "evidence", "release")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# A summary that begins with one of these says what something is only to a reader of the lines
# around it.
LEANING = (
    *("Of", "That", "Whether", "How", "Which", "Who", "Whose", "Where"),
    *("It", "Its", "He", "She", "They", "Their", "This", "These", "Those"),
)
SECTION = re.compile(r"^ *(Args|Attributes|Returns|Raises|Yields):$")
ENTRY = re.compile(r"^ {4}(\*{0,2}[a-zA-Z_][\w, *]*): (.*)$")
LONG = 100  # characters of a line
# of each kind, in 1000 lines
MOST = {
    "tuple assignment": 3.0,
    "chained assignment": 0.0,
    "chained conditional": 0.0,
    "leaning docstring": 0.0,
    "fragment": 0.0,
    "long line": 10.0,
}

Finding = tuple[int, str, str]  # line, kind, message


def packed(node: ast.AST) -> Iterator[Finding]:
    """Statements that do several things at once."""
    if isinstance(node, ast.Assign) and len(node.targets) > 1:
        yield node.lineno, "chained assignment", "one statement for each name: a = b = x"
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and not _is_swap(target, node.value):
                yield node.lineno, "tuple assignment", "one statement for each value: a, b = x, y"
    if isinstance(node, ast.IfExp) and any(
        isinstance(part, ast.IfExp) for part in (node.body, node.orelse)
    ):
        yield (
            node.lineno,
            "chained conditional",
            "an if statement, or a function, instead of a if b else c if d else e",
        )


def _is_swap(target: ast.Tuple, value: ast.Tuple) -> bool:
    """Whether the same values change their places."""
    return {ast.unparse(each) for each in target.elts} == {ast.unparse(each) for each in value.elts}


def leaning(node: ast.AST) -> Iterator[Finding]:
    """Docstrings and entries of their sections without a subject."""
    text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
    if text is None:
        return
    first = getattr(node, "lineno", 1)
    word = re.split(r"[\s,.:;]", text, maxsplit=1)[0]
    if word in LEANING or text.startswith("The same"):
        yield (
            first,
            "leaning docstring",
            f"it begins with {word}: say what it returns or does, in full",
        )
    for name, entry in entries(text):
        if not re.match(r"[A-Z0-9`:(\"'Α-Ωα-ω|‖]", entry) or entry.split(" ")[0] in LEANING:
            yield first, "fragment", f"{name}: {entry[:40]}: begin with a subject"


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the entries of Args and Attributes in a docstring."""
    section = ""
    for line in text.splitlines():
        if heading := SECTION.match(line):
            section = heading[1]
        elif section in ("Args", "Attributes") and (entry := ENTRY.match(line)):
            yield entry[1], entry[2]


def findings(path: Path) -> Iterator[Finding]:
    """All findings of a file."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        yield from packed(node)
        yield from leaning(node)
    for number, line in enumerate(source.splitlines(), start=1):
        if len(line) > LONG:
            yield number, "long line", f"{len(line)} characters, at most {LONG}"


def main() -> int:
    """Print what is wrong; returns the exit status, 1 where a kind is found more
    often than its bound.
    """
    found: dict[str, list[str]] = {kind: [] for kind in MOST}
    lines = 0
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            lines += len(path.read_text(encoding="utf-8").splitlines())
            for line, kind, message in sorted(findings(path)):
                found[kind].append(f"{path.relative_to(ROOT)}:{line}: {kind}: {message}")
    wrong = {kind: each for kind, each in found.items() if 1e3 * len(each) > MOST[kind] * lines}
    for each in wrong.values():
        print(*each, sep="\n")
    for kind, each in found.items():
        print(f"{kind}: {len(each)} in {lines} lines, at most {MOST[kind]:g} per 1000")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
