"""What a newcomer reads: short sentences, pages that say whom they are for, and files that exist.

``python lint/docs.py`` prints each violation as ``file:line: message``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "evidence"
DOCS = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(EVIDENCE.rglob("README.md"))]
PAGES = [
    ROOT / name
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "QUALITY_DECLARATION.md",
        "ethercat_emulator/README.md",
        "can_emulator/README.md",
    )
]
PAGES += [*sorted((ROOT / "robot_control_learning").rglob("README.md")), *DOCS]
MAX_WORDS = 20  # in a sentence
# the tables on these pages consist of messages
MESSAGES = (EVIDENCE / "ethercat_faults" / "README.md", EVIDENCE / "faults" / "README.md")
INDEX = ROOT / "docs" / "index.md"
FOLDERS = (
    "can_emulator|config|docs|ethercat_emulator|evidence|examples|launch|lint|"
    "robot_control_learning|robot_control_ros|test|urdf"
)

CODE = re.compile(r"^[ ]*```.*?^[ ]*```[ ]*$", re.MULTILINE | re.DOTALL)
LISTED = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[\"')*]*\s+")

Finding = tuple[int, str]  # a line, and what is wrong there


def without_code(page: str) -> str:
    """Leave code blocks out, and every line at its number."""
    return CODE.sub(lambda code: "\n" * code[0].count("\n"), page)


def line_of(page: str, part: re.Match[str]) -> int:
    """The number of the line in which a match begins."""
    return page.count("\n", 0, part.start()) + 1


def blocks(page: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, list items and table cells of a page, each as one text with its line,
    without code blocks.
    """
    block: list[str] = []
    first = 1
    for number, line in enumerate(without_code(page).splitlines(), start=1):
        cells = line.strip().strip("|").split("|") if line.lstrip().startswith("|") else None
        if cells or not line.strip() or line.startswith(("#", "    ")) or LISTED.match(line):
            yield first, " ".join(block)
            block = []
        if cells:
            yield from ((number, cell) for cell in cells)
        elif line.startswith("#") or (line.startswith("    ") and not LISTED.match(line)):
            continue
        else:
            first = first if block else number
            block.append(LISTED.sub("", line).strip())
    yield first, " ".join(block)


def sentences(page: str) -> Iterator[tuple[int, str]]:
    """Each with the line where its paragraph begins. Code counts as one word,
    a link as its text.
    """
    for line, block in blocks(page):
        if block.strip().startswith("Sources:"):  # a list of files
            continue
        text = re.sub(r"`[^`]*`", "code", block)
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
        yield from ((line, sentence) for sentence in END.split(text) if sentence.strip())


def long_sentences(path: Path, page: str) -> Iterator[Finding]:
    """Sentences of more than 20 words."""
    if path in MESSAGES:
        page = re.sub(r"^\|.*", "", page, flags=re.MULTILINE)
    for line, sentence in sentences(page):
        count = sum(bool(re.search(r"\w", word)) for word in sentence.split())
        if count > MAX_WORDS:
            yield line, f"{count} words in a sentence, at most {MAX_WORDS}: {sentence.strip()}"


def beginning(path: Path, page: str) -> Iterator[Finding]:
    """A page of docs or evidence begins with whom it is for, and what they can do after it."""
    parts = END.split(page.split("\n\n")[1].replace("\n", " ")) if path in DOCS else []
    if parts and not (
        parts[0].startswith("This page is for you if ")
        and "".join(parts[1:2]).startswith("After it ")
    ):
        yield 3, "a page begins with 'This page is for you if …' and 'After it …'"


def names(path: Path, page: str) -> Iterator[Finding]:
    """Files and headings that a page names, and which don't exist."""
    for found in re.finditer(rf"`((?:{FOLDERS})/[\w./-]*\.\w+)`", page):
        if not (ROOT / found[1]).exists():
            yield line_of(page, found), f"no file {found[1]}"
    for found in re.finditer(r"robot_control_ros (\w+\.launch\.py)", page):
        if not (ROOT / "launch" / found[1]).exists():
            yield line_of(page, found), f"no launch file {found[1]}"
    for found in re.finditer(r"\]\((?!https?:)([^)\s]+)\)", page):
        name, _, heading = found[1].partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            yield line_of(page, found), f"a link to {name}, which doesn't exist"
        elif heading and heading not in anchors(target.read_text(encoding="utf-8")):
            yield line_of(page, found), f"a link to the heading {heading}, which doesn't exist"


def anchors(page: str) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    lines = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def tables(path: Path, page: str) -> Iterator[Finding]:
    """Tables whose rows haven't as many cells as the head."""
    text = without_code(page)
    for table in re.finditer(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = table[0].splitlines()  # an empty line within a table would make one without a ruler
        if len(rows) < 2 or not re.fullmatch(r"\|(?:[ :-]*-[ :-]*\|)+", rows[1]):
            yield line_of(text, table), "a table without a ruler below its head"
            continue
        counts = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
        for number, count in enumerate(counts):
            if count != counts[0]:
                yield (
                    line_of(text, table) + number,
                    f"{count - 1} cells in a row, the head has {counts[0] - 1}",
                )


def architecture(path: Path, page: str) -> Iterator[Finding]:
    """The map of the package has every folder, and names files that exist and
    what stands in them.
    """
    if path.name != "architecture.md":
        return
    folders = sorted(
        each.parent.name for each in (ROOT / "robot_control_ros").glob("*/__init__.py")
    )
    named = sorted(re.findall(r"^      (\w+)/  ", page, re.MULTILINE))
    if named != folders:
        yield 1, f"the map has the folders {named}, the package {folders}"
    for row in re.finditer(r"^\| .+?\? \| (.*) \|$", page, re.MULTILINE):
        files = [file for file in map(find, re.findall(r"`([\w./]+)`", row[1])) if file]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        if not files:
            yield line_of(page, row), "an answer without a file"
        for name in re.findall(r"`([\w.]+)`", row[1]):
            if not find(name) and not all(part in text for part in name.split(".")):
                yield line_of(page, row), f"{name} doesn't stand in the files of the answer"


def find(name: str) -> Path | None:
    """The file of this name, from the root or within the package."""
    folders = (ROOT, ROOT / "robot_control_ros")
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def glossary(path: Path, page: str) -> Iterator[Finding]:
    """The glossary has each word once, in the order of the alphabet."""
    if path.name != "glossary.md":
        return
    table, last = page.partition("Symbols")[0], ""
    for entry in [*re.finditer(r"^\| ([a-z].*?) \| .+ \| .*\|$", table, re.MULTILINE)][1:]:
        if entry[1] <= last:
            yield line_of(page, entry), f"{entry[1]!r} stands after {last!r}"
        last = entry[1]


def linked(path: Path, page: str) -> Iterator[Finding]:
    """The index leads to each page of docs."""
    if not path.is_relative_to(INDEX.parent) or path == INDEX:
        return
    name = path.relative_to(INDEX.parent).as_posix()
    if f"]({name})" not in INDEX.read_text(encoding="utf-8"):
        yield 1, "docs/index.md has no link to this page"


RULES = (long_sentences, beginning, names, tables, architecture, glossary, linked)


def main() -> int:
    """Print what is wrong; returns the exit status."""
    count = 0
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        for line, message in (finding for rule in RULES for finding in rule(path, page)):
            print(f"{path.relative_to(ROOT)}:{line}: {message}")
            count += 1
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
