"""What a newcomer reads: short sentences, and a map that leads to what it names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAX_WORDS = 20
OTHERS = {"laws.md", "reproduction.md", "stability.md", "ethercat_faults.md", "adding_a_robot.md"}  # made, or technical
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in OTHERS]

LISTED = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[\"')*]*\s+")


def blocks(page):
    """The paragraphs, list items and table cells of a page, each as one text, without code blocks."""
    page = re.sub(r"^[ ]*```.*?^[ ]*```[ ]*$", "", page, flags=re.MULTILINE | re.DOTALL)
    block = []
    for line in page.splitlines():
        cells = line.strip().strip("|").split("|") if line.lstrip().startswith("|") else None
        if cells or not line.strip() or line.startswith(("#", "    ")) or LISTED.match(line):
            yield " ".join(block)
            block = []
        if cells:
            yield from cells
        elif line.startswith("#") or (line.startswith("    ") and not LISTED.match(line)):
            continue
        else:
            block.append(LISTED.sub("", line).strip())
    yield " ".join(block)


def sentences(page):
    """Code counts as one word, a link as its text."""
    for block in blocks(page):
        if block.strip().startswith("Sources:"):  # a list of files
            continue
        text = re.sub(r"`[^`]*`", "code", block)
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
        yield from (sentence for sentence in END.split(text) if sentence.strip())


def words(sentence):
    return [word for word in sentence.split() if re.search(r"\w", word)]


def test_the_map_names_files_that_exist_and_what_stands_in_them():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for cell in re.findall(r"^\| .+?\? \| (.*) \|$", page, re.MULTILINE):
        files = [path for path in map(find, re.findall(r"`([\w./]+)`", cell)) if path]
        assert files, cell
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        for name in re.findall(r"`([\w.]+)`", cell):
            assert find(name) or all(part in text for part in name.split(".")), name


def find(name):
    """The file of this name, from the root or within the package, or None."""
    folders = (ROOT, ROOT / "robot_control_ros")
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_longer_than_20_words(page):
    text = page.read_text(encoding="utf-8")
    too_long = {each: len(words(each)) for each in sentences(text) if len(words(each)) > MAX_WORDS}
    assert too_long == {}


def test_the_check_sees_a_long_sentence_in_a_paragraph_a_list_and_a_table():
    long = " ".join(["word"] * (MAX_WORDS + 1))
    for page in (long + ".", f"- one\n- {long}", f"| a | {long} |", f"Short.\n{long[:50]}\n{long[51:]}"):
        assert max(len(words(each)) for each in sentences(page)) == MAX_WORDS + 1
    for page in (f"```\n{long}\n```", f"Code: `{long}`.", f"[a link](https://{long})", f"a: {long[:60]}. b"):
        assert max((len(words(each)) for each in sentences(page)), default=0) <= MAX_WORDS
