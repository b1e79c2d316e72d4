"""The site of the pages: each page is in its navigation, and a link that leads nowhere is told; what
the first pages print is what stands in them.
"""

import importlib
import re
import shlex
from pathlib import Path

import pytest

from robot_control_ros.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
FIRST = ROOT / "docs" / "first_minutes.md"


@pytest.fixture
def site_module(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    return importlib.import_module("make_site")


@pytest.fixture
def dead_links(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    return importlib.import_module("page_links").dead_links


# --- the site ---


def test_each_page_is_once_in_the_navigation(site_module, tmp_path):
    site_module.stage(tmp_path)
    entries = []
    for page in tmp_path.rglob("*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            names = [re.sub(r".*<(.*)>$", r"\1", line) for line in tree.split("\n")]
            entries += [
                (page.parent / name).resolve()
                for name in names
                if name and not name.startswith(":")
            ]
    pages = {
        path.with_suffix("")
        for path in (*tmp_path.rglob("*.md"), *tmp_path.rglob("*.rst"))
        if path != tmp_path / "docs" / "index.md"
    }
    assert len(pages) > len(site_module.PAGES)
    assert sorted(entries) == sorted(pages)


def test_the_pages_that_are_made_have_each_command_and_each_public_name(site_module):
    import robot_control_ros

    made = "\n".join([*site_module.reference_pages().values(), *site_module.api_pages().values()])
    for command in ("robot_control simulate", "robot_control ethercat scan"):
        assert f"\n## {command}\n" in made
    assert [name for name in robot_control_ros.__all__ if f"| `{name}` |" not in made] == []


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ('<a href="other.html#there">', 0),
        ('<a href="#here"><p id="here">', 0),
        ('<a href="https://example.org">', 0),
        ('<a href="gone.html">', 1),
        ('<a href="other.html#gone">', 1),
        ('<img src="gone.png">', 1),
        ('<script src="https://example.org/a.js">', 1),
    ],
)
def test_a_link_that_leads_nowhere_is_told(dead_links, tmp_path, content, count):
    (tmp_path / "page.html").write_text(content, encoding="utf-8")
    (tmp_path / "other.html").write_text('<h1 id="there">', encoding="utf-8")
    assert len(list(dead_links(tmp_path))) == count


def test_the_site_leads_to_the_newest_release_and_lists_all_versions(site_module, tmp_path):
    for name in ("0.9.0", "latest", "0.10.0"):
        page = tmp_path / name / "docs" / "index.html"
        page.parent.mkdir(parents=True)
        page.touch()
    site_module.write_versions(tmp_path)
    assert '["0.10.0", "0.9.0", "latest"]' in (tmp_path / "versions.js").read_text("utf-8")
    assert 'href="0.10.0/docs/index.html"' in (tmp_path / "index.html").read_text("utf-8")


def test_the_site_is_complete_without_sphinxs_own_files(site_module, tmp_path):
    """Each file that a staged page shows or offers is staged beside it."""
    site_module.stage(tmp_path)
    for page in tmp_path.rglob("*.md"):
        for name in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8")):
            if not name.endswith(".html"):
                assert (page.parent / name).exists(), f"{page.relative_to(tmp_path)}: {name}"


# --- what a newcomer types first ---


@pytest.mark.sim
@pytest.mark.parametrize("index", range(2))
def test_a_script_of_the_first_minutes_prints_what_stands_below_it(
    capsys, tmp_path, monkeypatch, index
):
    pytest.importorskip("mujoco")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    page = FIRST.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n([^`]*)```\n\n```text\n([^`]*)```", page)
    assert len(blocks) == page.count("```python") == 2
    code, printed = blocks[index]
    exec(code, {})
    assert capsys.readouterr().out == printed


@pytest.mark.sim
def test_the_commands_of_the_first_minutes_run(capsys, tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^robot_control (.*)$", FIRST.read_text("utf-8"), re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        assert main(shlex.split(line)) == 0
    assert (tmp_path / "push.png").stat().st_size > 0
