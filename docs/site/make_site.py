"""The site of the documentation: ``make site`` builds it into build/site, without network.

The pages stay where they are, so that their links hold on a forge, too. They are copied beside the
pages that are made from declarations, and Sphinx builds all of them. A warning, or a link that
leads nowhere, is an error.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]  # the package of this checkout, and lint

from page_links import dead_links  # noqa: E402  in this folder

import robot_control_ros  # noqa: E402
from lint.docs import PAGES  # noqa: E402
from robot_control_ros.cli.main import command_parser  # noqa: E402
from robot_control_ros.cli.options import CommandParser  # noqa: E402
from robot_control_ros.cli.reference_docs import TABLES, cycle_table, entries_table  # noqa: E402

HERE = Path(__file__).resolve().parent
INDEX = Path("docs/index.md")
OUTPUT = ROOT / "build" / "site"
STATIC = Path("docs/pages")  # pages that run in the browser alone
API = Path("docs/api")
MADE = {"command_line": "Command line", "files": "Entries of YAML files", "cycle": "Cycle record"}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="folder that has a folder for each version"
    )
    parser.add_argument(
        "--name",
        default=robot_control_ros.__version__,
        help="name of the version, as in the address",
    )
    options = parser.parse_args(arguments)
    output: Path = options.output.resolve()
    source = output / "source"
    site = output / options.name
    for folder in (source, site, output / "doctrees"):
        shutil.rmtree(folder, ignore_errors=True)
    stage(source)
    status = run_sphinx(source, site)
    write_versions(output)
    dead = list(dead_links(site))
    print(*dead, sep="\n", end="\n" if dead else "")
    if status or dead:
        return 1
    print(f"No warning, and no dead link. Open {site / INDEX.with_suffix('.html')}")
    return 0


def run_sphinx(source: Path, site: Path) -> int:
    """Build the staged pages; returns Sphinx's exit status, which a warning makes 1."""
    try:
        from sphinx.cmd.build import main as sphinx
    except ModuleNotFoundError:
        print("Sphinx is missing. Install it: pip install '.[docs]'", file=sys.stderr)
        return 2
    words = ["-q", "-b", "html", "-W", "--keep-going", "-c", str(HERE)]
    status = int(sphinx([*words, "-d", str(source.parent / "doctrees"), str(source), str(site)]))
    if site.is_dir():
        shutil.copytree(ROOT / STATIC, site / STATIC, dirs_exist_ok=True)
    return status


def write_versions(output: Path) -> None:
    """List the versions that are there for their sidebars, and lead to the newest one."""
    names = sorted(
        (path.parent.parent.name for path in output.glob("*/docs/index.html")), key=_order
    )
    if not names:
        return
    names.reverse()
    text = f"window.siteVersions = {json.dumps(names)};\n"
    (output / "versions.js").write_text(text, encoding="utf-8")
    address = f"{names[0]}/docs/index.html"
    head = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">'
    (output / "index.html").write_text(
        f'{head}<title>robot_control_ros</title><a href="{address}">Documentation</a>\n',
        encoding="utf-8",
    )


def _order(name: str) -> tuple[bool, list[int], str]:
    """Order of versions: first names such as `latest`, then numbers, the newest at the end."""
    numbers = [int(number) for number in re.findall(r"\d+", name)]
    return bool(re.fullmatch(r"[\d.]+", name)), numbers, name


# --- the pages that Sphinx reads ---


def stage(source: Path) -> None:
    """Copy the pages and what they show, and make those that come from declarations."""
    pages = [path.relative_to(ROOT) for path in PAGES] + [Path("CHANGELOG.rst")]
    made = {**reference_pages(), **api_pages()}
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        if page == INDEX:
            text = with_made_pages(text, list(made))
            text += "\n".join(trees(text))
        else:
            text += children(page, pages)
        if page.suffix == ".md":
            copy_linked(page, text, source)
            text = with_plain_links(text)
        write(source / page, text)
    for page, text in made.items():
        write(source / page, text)


def write(path: Path, text: str) -> None:
    """Write a page, in a folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def copy_linked(page: Path, text: str, source: Path) -> None:
    """Copy pictures, and other files that a page links, to their places beside the pages."""
    for name in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
        path = (ROOT / page.parent / name).resolve()
        if path.suffix not in (".md", ".rst", ".html") and path.is_file():
            place = source / path.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


def with_plain_links(text: str) -> str:
    """Return a page whose links to HTML files are HTML: Sphinx would offer these to download."""
    return LINK.sub(
        lambda link: f'<a href="{link[2]}">{link[1]}</a>' if link[2].endswith(".html") else link[0],
        text,
    )


def with_made_pages(text: str, made: Sequence[Path]) -> str:
    """Return the index with the pages that are made: some in the reference, and the API."""
    rows = [
        f"- [{MADE[page.stem]}]({page.relative_to(INDEX.parent)})"
        for page in made
        if page.stem in MADE
    ]
    api = [f"- [{title}](api/{slug(title)}.md)" for title in api_groups()]
    before, heading, after = text.partition("\n## In trouble\n")
    assert heading, f"{INDEX} has no heading 'In trouble'"
    reference = "\n".join([before.rstrip("\n"), *rows])
    return "\n".join([reference, "", "## API", "", *api, ""]) + heading + after


def trees(text: str) -> Iterator[str]:
    """The navigation: of each section of the index the pages that it links, once each."""
    seen: set[str] = set()
    for section in text.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        yield f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n"
        for name, target, _ in LINK.findall(body):
            if target not in seen and not target.endswith(".html"):
                seen.add(target)
                words = name[:1].upper() + name[1:]
                yield f"{words} <{target.removesuffix('.md').removesuffix('.rst')}>"
        if title == "Tutorials":
            yield "README <../README>"
        yield "```\n"


def children(page: Path, pages: Sequence[Path]) -> str:
    """The navigation below a README: the READMEs of the folders in its folder."""
    if page.name != "README.md" or page.parent == Path():
        return ""
    below = [each for each in pages if each.parent.parent == page.parent and each != page]
    names = "\n".join(str(each.relative_to(page.parent).with_suffix("")) for each in below)
    return f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n" if below else ""


# --- pages that are made from declarations ---


def reference_pages() -> dict[Path, str]:
    """Pages of the command line, of the entries of YAML files and of the cycle record."""
    return {
        INDEX.with_name("command_line.md"): command_line(),
        INDEX.with_name("files.md"): files(),
        INDEX.with_name("cycle.md"): "\n".join(
            ["# Cycle record", "", "A loop keeps these numbers of each cycle.", "", cycle_table()]
        ),
    }


def command_line() -> str:
    """Page of all commands, each as its help describes it."""
    lines = ["# Command line", "", "`robot_control COMMAND --help` prints the same."]
    for words, parser in commands(command_parser()):
        lines += ["", f"## {words}", "", "```text", parser.format_help().strip(), "```"]
    return "\n".join(lines) + "\n"


def commands(parser: CommandParser) -> Iterator[tuple[str, CommandParser]]:
    """A command and those below it, with their words."""
    yield parser.prog, parser.filled()
    for each in parser.subcommands().values():
        yield from commands(each)


def files() -> str:
    """Page of the entries of all YAML files."""
    lines = ["# Entries of YAML files", "", "`make schemas` writes the same for editors."]
    for kind in TABLES:
        lines += ["", f"## {kind}", "", entries_table(kind)]
    return "\n".join(lines)


def api_groups() -> dict[str, list[tuple[str, str]]]:
    """The groups of ``help(robot_control_ros)``: public names with their meaning, by title."""
    groups: dict[str, list[tuple[str, str]]] = {}
    title = ""
    meaning = ""
    stub = ROOT / "robot_control_ros" / "__init__.pyi"
    for line in stub.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            title = line[3:]
            groups[title] = []
        elif line.startswith("# "):
            meaning = line[2:]
        elif line.startswith("from ."):
            names = re.findall(r"(\w+) as \w+", line)
            groups[title] += [(name, meaning) for name in names]
    return groups


def api_pages() -> dict[Path, str]:
    """A page for each group of public names, with their docstrings."""
    pages = {}
    for title, names in api_groups().items():
        lines = [f"# {title}", "", "Import these names from `robot_control_ros`.", ""]
        lines += ["| name | meaning |", "|---|---|"]
        lines += [f"| `{name}` | {meaning} |" for name, meaning in names]
        entries = [line for name, meaning in names for line in api_entry(name, meaning)]
        lines += ["", "```{eval-rst}", *entries, "```"]
        pages[API / f"{slug(title)}.md"] = "\n".join(lines) + "\n"
    return pages


def api_entry(name: str, meaning: str) -> list[str]:
    """Directive of autodoc for a public name; what has no docstring gets its meaning."""
    value = getattr(robot_control_ros, name)
    address = f"robot_control_ros.{name}"
    if not isinstance(value, (type, FunctionType)):
        return [f".. py:data:: {address}", "", f"   {meaning}", ""]
    if isinstance(value, FunctionType):
        return [f".. autofunction:: {address}", ""]
    kind = "exception" if issubclass(value, BaseException) else "class"
    return [f".. auto{kind}:: {address}", "   :members:", ""]


def slug(title: str) -> str:
    """Name of a page, from its title."""
    return re.sub(r"\W+", "_", title.lower())


if __name__ == "__main__":
    sys.exit(main())
