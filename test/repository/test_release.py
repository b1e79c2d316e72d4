"""A release: one version everywhere, keys that bloom takes, and what is refused."""

import datetime
import subprocess
from pathlib import Path

import pytest

from release import rosdep_keys, versions
from robot_control_ros.core.errors import ConfigError

DAY = datetime.date(2026, 11, 28)
LOG = "Forthcoming\n-----------\n* A change.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository's files that state a version, and its change log."""
    for name in versions.STATEMENTS:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((versions.ROOT / name).read_text("utf-8"), "utf-8")
    set_version(tmp_path, "1.2.3")
    (tmp_path / versions.CHANGELOG).write_text(LOG, "utf-8")
    return tmp_path


def set_version(root: Path, version: str, *names: str) -> None:
    """Write a version into the files of these names, by default into all."""
    for name in names or versions.STATEMENTS:
        before, after = versions.STATEMENTS[name]
        present = versions.stated(root)[name]
        text = (root / name).read_text("utf-8")
        text = text.replace(f"{before}{present}{after}", f"{before}{version}{after}")
        (root / name).write_text(text, "utf-8")


def write(root: Path, release: versions.Release) -> None:
    for name, text in release.files.items():
        (root / name).write_text(text, "utf-8")


# --- the version ---


def test_this_repository_states_one_version_and_could_be_released():
    present = versions.agreed()
    release = versions.prepare("minor", DAY)
    assert versions.parse(release.version) > versions.parse(present)
    assert set(release.files) == {*versions.STATEMENTS, versions.CHANGELOG}


@pytest.mark.parametrize(
    ("wanted", "version"),
    [
        ("patch", "1.2.4"),
        ("minor", "1.3.0"),
        ("major", "2.0.0"),
        ("1.10.0", "1.10.0"),
        ("1.2.3", "1.2.3"),  # a first release of what is stated already
    ],
)
def test_a_release_states_its_version_everywhere(repository, wanted, version):
    release = versions.prepare(wanted, DAY, repository)
    assert versions.agreed(repository) == "1.2.3"  # nothing is written yet
    write(repository, release)

    assert release.version == version
    assert set(versions.stated(repository).values()) == {version}
    assert versions.released(repository) == [version]
    title = f"{version} (2026-11-28)"
    expected = f"{title}\n{'-' * len(title)}\n* A change.\n"
    assert (repository / versions.CHANGELOG).read_text("utf-8") == expected


@pytest.mark.parametrize("version", ["1.2", "v1.3.0", "1.3.0-1", "1.03.0", "next", ""])
def test_what_is_no_version_is_refused(repository, version):
    with pytest.raises(ConfigError) as caught:
        versions.prepare(version, DAY, repository)
    assert (caught.value.name, caught.value.value) == ("version", version)


def test_a_version_that_is_not_above_the_last_one_is_refused(repository):
    with pytest.raises(ConfigError) as below:
        versions.prepare("1.2.2", DAY, repository)
    assert (below.value.value, below.value.bound) == ("1.2.2", "1.2.3")

    write(repository, versions.prepare("1.3.0", DAY, repository))
    log = repository / versions.CHANGELOG
    log.write_text(LOG + "\n" + log.read_text("utf-8"), "utf-8")
    with pytest.raises(ConfigError) as again:
        versions.prepare("1.3.0", DAY, repository)
    assert (again.value.value, again.value.bound) == ("1.3.0", "1.3.0")
    assert versions.prepare("patch", DAY, repository).version == "1.3.1"


@pytest.mark.parametrize("name", versions.STATEMENTS)
def test_files_that_differ_are_refused(repository, name):
    set_version(repository, "1.2.4", name)
    with pytest.raises(ConfigError) as caught:
        versions.prepare("minor", DAY, repository)
    assert caught.value.value == versions.stated(repository)
    assert caught.value.value[name] == "1.2.4"


@pytest.mark.parametrize("log", ["", "Forthcoming\n-----------\n", "1.2.3 (2026-01-01)\n---\n* A."])
def test_a_release_that_tells_no_change_is_refused(repository, log):
    (repository / versions.CHANGELOG).write_text(log, "utf-8")
    with pytest.raises(ConfigError) as caught:
        versions.prepare("minor", DAY, repository)
    assert caught.value.name == versions.FORTHCOMING


@pytest.mark.starts("git commits, tags, and ends by itself")
def test_a_release_is_one_commit_and_one_tag_and_only_once(repository):
    def git(*words: str) -> str:
        command = ("git", *words)
        ended = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True)
        return ended.stdout.strip()

    git("init", "--quiet")
    git("config", "user.name", "A user")
    git("config", "user.email", "user@example.org")
    git("add", ".")
    git("commit", "--quiet", "--message", "Before")
    release = versions.prepare("minor", DAY, repository)

    (repository / "setup.py").write_text("version", "utf-8")
    with pytest.raises(ConfigError) as caught:
        versions.carry_out(release, repository)
    assert caught.value.name == "changes"
    git("checkout", "--quiet", "setup.py")

    versions.carry_out(release, repository)
    assert git("status", "--porcelain") == ""
    assert git("rev-list", "--count", "HEAD") == "2"
    assert git("tag", "--points-at", "HEAD") == "1.3.0"
    assert versions.agreed(repository) == "1.3.0"
    with pytest.raises(ConfigError) as caught:
        versions.carry_out(release, repository)
    assert (caught.value.name, caught.value.value) == ("version", "1.3.0")


# --- the keys of package.xml ---


@pytest.fixture
def rosdistro(tmp_path: Path) -> Path:
    """A rosdistro in which apt has every key of this repository's package.xml."""
    (tmp_path / "rosdep").mkdir()
    system = [key for key in rosdep_keys.manifest_keys() if key.startswith("python3-")]
    (tmp_path / "rosdep/base.yaml").write_text("{}", "utf-8")
    rules = "".join(f"{key}: {{ubuntu: [{key}]}}\n" for key in system)
    (tmp_path / "rosdep/python.yaml").write_text(rules, "utf-8")
    packages = [key for key in rosdep_keys.manifest_keys() if key not in system]
    release = f"{{version: 1.0.0-1, packages: [{', '.join(packages)}]}}"
    for distribution in rosdep_keys.DISTRIBUTIONS:
        (tmp_path / distribution).mkdir()
        text = f"repositories: {{all: {{release: {release}}}}}\n"
        (tmp_path / distribution / "distribution.yaml").write_text(text, "utf-8")
    return tmp_path


def test_keys_that_apt_has_are_no_problem(rosdistro):
    assert rosdep_keys.problems(rosdistro) == []


@pytest.mark.parametrize(
    "rule",
    [
        "ubuntu: {pip: {packages: [numba]}}",
        "ubuntu: {'*': {pip: {packages: [numba]}}}",
        "ubuntu: {noble: null, resolute: null, '*': [python3-numba]}",
        "debian: [python3-numba]",
    ],
)
def test_a_key_that_apt_does_not_install_is_a_problem_of_each_distribution(rosdistro, rule):
    path = rosdistro / "rosdep/python.yaml"
    known = path.read_text("utf-8")
    path.write_text(
        known.replace("python3-numba: {ubuntu: [python3-numba]}", f"python3-numba: {{{rule}}}")
    )
    problems = rosdep_keys.problems(rosdistro)
    assert [line.split(": ")[:2] for line in problems] == [
        [distribution, "python3-numba"] for distribution in rosdep_keys.DISTRIBUTIONS
    ]


def test_a_package_that_was_never_released_is_a_problem(rosdistro):
    path = rosdistro / "lyrical/distribution.yaml"
    path.write_text(path.read_text("utf-8").replace("version: 1.0.0-1, ", ""), "utf-8")
    problems = rosdep_keys.problems(rosdistro)
    assert {line.split(": ")[0] for line in problems} == {"lyrical"}
    assert "lyrical: rclpy: no such key" in problems


def test_no_rosdistro_is_refused_with_where_it_is(tmp_path):
    with pytest.raises(ConfigError) as caught:
        rosdep_keys.problems(tmp_path)
    assert caught.value.name == "rosdistro"
    assert str(tmp_path) in caught.value.value
