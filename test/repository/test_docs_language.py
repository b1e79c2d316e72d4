"""What a newcomer reads: short sentences, and files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_WORDS = 20
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "bench/README.md", "ethercat_emulator/README.md")]
PAGES += [ROOT / "lerobot_robot_compliant_arm" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
MESSAGES = {"ethercat_faults.md"}  # the table on this page consists of messages of the driver
FOLDERS = "bench|config|docs|ethercat_emulator|examples|launch|robot_control_ros|test|urdf"

CODE = re.compile(r"^[ ]*```.*?^[ ]*```[ ]*$", re.MULTILINE | re.DOTALL)
LISTED = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[\"')*]*\s+")


def blocks(page):
    """The paragraphs, list items and table cells of a page, each as one text, without code blocks."""
    page = CODE.sub("", page)
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


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_a_page_begins_with_whom_it_is_for_and_what_they_can_do_after_it(page):
    paragraph = page.read_text(encoding="utf-8").split("\n\n")[1].replace("\n", " ")
    first, second, *_ = END.split(paragraph)
    assert first.startswith("This page is for you if ")
    assert second.startswith("After it ")


def test_the_map_names_files_that_exist_and_what_stands_in_them():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    answers = re.findall(r"^\| .+?\? \| (.*) \|$", page, re.MULTILINE)
    assert len(answers) > 10
    for cell in answers:
        files = [path for path in map(find, re.findall(r"`([\w./]+)`", cell)) if path]
        assert files, cell
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        for name in re.findall(r"`([\w.]+)`", cell):
            assert find(name) or all(part in text for part in name.split(".")), name


def test_the_map_has_every_folder_of_the_package():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"^      (\w+)/  ", page, re.MULTILINE)
    assert sorted(named) == sorted(path.parent.name for path in (ROOT / "robot_control_ros").glob("*/__init__.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_headings_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{FOLDERS})/[\w./-]*\.\w+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
    launched = re.findall(r"robot_control_ros (\w+\.launch\.py)", text)
    assert [name for name in launched if not (ROOT / "launch" / name).exists()] == []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not heading or heading in headings(target.read_text(encoding="utf-8")), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_row_of_a_table_has_as_many_cells_as_its_head(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, ruler, *rows = table.splitlines()  # an empty line within a table would make one without a ruler
        assert re.fullmatch(r"\|(?:[ :-]*-[ :-]*\|)+", ruler), table
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in (ruler, *rows)} == {len(re.findall(r"(?<!\\)\|", head))}


def headings(page):
    """The anchors of a page, as GitHub makes them."""
    lines = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def find(name):
    """The file of this name, from the root or within the package, or None."""
    folders = (ROOT, ROOT / "robot_control_ros")
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_sentence_is_longer_than_20_words(page):
    text = page.read_text(encoding="utf-8")
    if page.name in MESSAGES:
        text = re.sub(r"^\|.*", "", text, flags=re.MULTILINE)
    too_long = {each: len(words(each)) for each in sentences(text) if len(words(each)) > MAX_WORDS}
    assert too_long == {}


def test_the_check_sees_a_long_sentence_in_a_paragraph_a_list_and_a_table():
    long = " ".join(["word"] * (MAX_WORDS + 1))
    for page in (long + ".", f"- one\n- {long}", f"| a | {long} |", f"Short.\n{long[:50]}\n{long[51:]}"):
        assert max(len(words(each)) for each in sentences(page)) == MAX_WORDS + 1
    for page in (f"```\n{long}\n```", f"Code: `{long}`.", f"[a link](https://{long})", f"a: {long[:60]}. b"):
        assert max((len(words(each)) for each in sentences(page)), default=0) <= MAX_WORDS
