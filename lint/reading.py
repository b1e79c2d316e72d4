"""What makes code hard to read at first sight: packed statements, long lines, docstrings that lean on something else.

``python lint/reading.py`` prints each violation as ``file:line: message``, and the figures of each package.
``--figures`` prints the figures alone.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("robot_control_ros", "robot_control_learning", "evidence")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# A summary that begins with one of these says what something is only to a reader of the lines around it.
LEANING = "Of That Whether How It Its He She They Their This These Those Which Who Whose Where The_same".split()
SECTION = re.compile(r"^ *(Args|Attributes|Returns|Raises|Yields):$")
ENTRY = re.compile(r"^ {4}(\*{0,2}[a-zA-Z_][\w, *]*): (.*)$")
LONG = 100  # characters of a line

Finding = tuple[int, str, str]  # line, kind, message


def packed(node: ast.AST) -> Iterator[Finding]:
    """Statements that do several things at once."""
    if isinstance(node, ast.Assign) and len(node.targets) > 1:
        yield node.lineno, "chained assignment", "one statement for each name: a = b = x"
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and not _is_swap(target, node.value):
                yield node.lineno, "tuple assignment", "one statement for each value: a, b = x, y"
    if isinstance(node, ast.IfExp) and any(isinstance(part, ast.IfExp) for part in (node.body, node.orelse)):
        yield node.lineno, "chained conditional", "an if statement, or a function, instead of a if b else c if d else e"


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
        yield first, "leaning docstring", f"it begins with {word}: say what it returns or does, in full"
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
    """Print what is wrong; returns the exit status."""
    only = [Path(each).resolve() for each in sys.argv[1:] if not each.startswith("--")]
    figures: Counter[str] = Counter()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if only and not any(path.is_relative_to(each) for each in only):
                continue
            figures["lines"] += len(path.read_text(encoding="utf-8").splitlines())
            for line, kind, message in sorted(findings(path)):
                figures[kind] += 1
                if "--figures" not in sys.argv:
                    print(f"{path.relative_to(ROOT)}:{line}: {kind}: {message}")
    for kind, count in figures.items():
        print(f"{kind}: {count}, {1e3 * count / figures['lines']:.1f} per 1000 lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
