"""The version of the package: each file that states it, and the command that raises it.

package.xml, setup.py, ``robot_control_ros/core/version.py`` and the distribution for learning state
the version. CHANGELOG.rst has a section for each version that was released. The section
"Forthcoming" becomes that of the next one.
"""

from __future__ import annotations

import datetime
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from robot_control_ros.core.errors import ConfigError, HardwareFault, refused

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = "CHANGELOG.rst"
FORTHCOMING = "Forthcoming"
PARTS = ("major", "minor", "patch")
NUMBER = r"(?:0|[1-9]\d*)"
VERSION = re.compile(rf"({NUMBER})\.({NUMBER})\.({NUMBER})")

# By file, the line that states the version: its text before the version, and after it.
STATEMENTS = {
    "package.xml": ("  <version>", "</version>"),
    "setup.py": ('    version="', '",'),
    "robot_control_ros/core/version.py": ('VERSION = "', '"'),
    "robot_control_learning/pyproject.toml": ('version = "', '"'),
}

Number = tuple[int, int, int]


@dataclass(frozen=True)
class Release:
    """A release before it is made.

    Attributes:
        version: Version of the release.
        files: New text of each file that changes, by its path in the repository.
        commands: Commands of git that follow, as lists of words.
    """

    version: str
    files: dict[str, str]
    commands: tuple[tuple[str, ...], ...]


def parse(version: str) -> Number:
    """The three numbers of a version."""
    match = VERSION.fullmatch(version)
    if match is None:
        raise refused("version", version, "must be X.Y.Z, as rosdistro takes it")
    return int(match[1]), int(match[2]), int(match[3])


def stated(root: Path = ROOT) -> dict[str, str]:
    """The version that each file states, by its path in the repository."""
    return {name: _statement(name, (root / name).read_text("utf-8"))[1] for name in STATEMENTS}


def agreed(root: Path = ROOT) -> str:
    """The version that all files state.

    Raises:
        ConfigError: Two files differ. `value` has the version of each file.
    """
    versions = stated(root)
    if len(set(versions.values())) > 1:
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        raise ConfigError(
            f"the versions differ: {listed}; write one version into all of them",
            name="version",
            value=versions,
        )
    return next(iter(versions.values()))


def released(root: Path = ROOT) -> list[str]:
    """Versions with a section in CHANGELOG.rst, the newest first."""
    return _sections((root / CHANGELOG).read_text("utf-8"))


def prepare(version: str, date: datetime.date, root: Path = ROOT) -> Release:
    """Prepare a release; nothing is written.

    Args:
        version: Version X.Y.Z of the release, or the part of the present one to raise: major, minor
            or patch.
        date: Day of the release.
        root: Folder of the repository.

    Raises:
        ConfigError: Files differ, the version isn't above the last one, or CHANGELOG.rst has
            nothing to tell.
    """
    present = agreed(root)
    version = raised(present, version) if version in PARTS else version
    number = parse(version)
    versions = released(root)
    if number < parse(present):
        raise refused("version", version, f"must be at least {present}, the present one", present)
    if versions and number <= parse(versions[0]):
        raise refused(
            "version", version, f"must be above {versions[0]}, which is released", versions[0]
        )
    files = {}
    for name in STATEMENTS:
        before, _, after = _statement(name, (root / name).read_text("utf-8"))
        files[name] = f"{before}{version}{after}"
    files[CHANGELOG] = _closed((root / CHANGELOG).read_text("utf-8"), version, date)
    commands = (
        ("git", "add", "--", *files),
        ("git", "commit", "--message", f"Release {version}", "--", *files),
        ("git", "tag", "--annotate", version, "--message", f"Release {version}"),
    )
    return Release(version, files, commands)


def raised(present: str, part: str) -> str:
    """The version after the present one, with one part raised."""
    numbers = list(parse(present))
    index = PARTS.index(part)
    numbers[index] += 1
    numbers[index + 1 :] = [0] * (len(PARTS) - index - 1)
    return ".".join(map(str, numbers))


def carry_out(release: Release, root: Path = ROOT) -> None:
    """Write the files of a release, commit them and tag the commit. Nothing is pushed.

    Raises:
        ConfigError: One of the files has changes that aren't committed, or the tag exists.
        HardwareFault: git ended with an error. Its words are in the message.
    """
    changed = _git(("git", "status", "--porcelain", "--", *release.files), root)
    if changed:
        raise ConfigError(
            f"files with changes that aren't committed: {changed!r}; commit them first",
            name="changes",
            value=changed,
        )
    if _git(("git", "tag", "--list", release.version), root):
        raise refused("version", release.version, "must be new: git has this tag")
    for name, text in release.files.items():
        (root / name).write_text(text, encoding="utf-8")
    for command in release.commands:
        _git(command, root)


def _git(command: tuple[str, ...], root: Path) -> str:
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise HardwareFault(f"{' '.join(command)}: {ended.stderr.strip()}", name="git")
    return ended.stdout.strip()


def _statement(name: str, text: str) -> tuple[str, str, str]:
    """Text before the version of a file, the version, and the text after it."""
    begin, end = STATEMENTS[name]
    pattern = re.compile(rf"^{re.escape(begin)}(.*?){re.escape(end)}$", re.MULTILINE)
    matches = list(pattern.finditer(text))
    if len(matches) != 1:
        raise ConfigError(
            f"{name}: {len(matches)} lines {begin.strip()}…{end}: must be one",
            name=name,
            value=len(matches),
            bound=1,
        )
    (match,) = matches
    parse(match[1])
    return text[: match.start(1)], match[1], text[match.end(1) :]


def _sections(text: str) -> list[str]:
    """Versions of the sections of a change log, in its order."""
    title = re.compile(r"^(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)\n-+$", re.MULTILINE)
    return title.findall(text)


def _closed(text: str, version: str, date: datetime.date) -> str:
    """The change log in which the section "Forthcoming" is that of a version."""
    head = re.compile(rf"^{FORTHCOMING}\n-+\n(?=\* )", re.MULTILINE)
    if head.search(text) is None:
        raise ConfigError(
            f"{CHANGELOG} has no section {FORTHCOMING} with an entry: a release tells what changed",
            name=FORTHCOMING,
        )
    title = f"{version} ({date.isoformat()})"
    return head.sub(f"{title}\n{'-' * len(title)}\n", text, count=1)
