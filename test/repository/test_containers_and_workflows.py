"""Dockerfile, dev containers, pixi and workflows: what they name exists, and agrees with setup.py and
package.xml.

No container engine and no forge is needed: nothing is built, and no workflow runs.
"""

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from release import rosdep_keys

ROOT = Path(__file__).resolve().parents[2]
INSTRUCTIONS = {"ARG", "CMD", "COPY", "ENV", "EXPOSE", "FROM", "RUN", "SHELL", "USER", "WORKDIR"}
DEV_CONTAINERS = sorted((ROOT / ".devcontainer").rglob("devcontainer.json"))
# BaseLoader: YAML's `on` is a key here, and no truth
WORKFLOWS = {
    path.name: yaml.load(path.read_text("utf-8"), yaml.BaseLoader)
    for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
}
JOBS = [
    pytest.param(job, id=f"{name}-{title}")
    for name, workflow in WORKFLOWS.items()
    for title, job in workflow["jobs"].items()
]
TEST_JOBS = WORKFLOWS["test.yml"]["jobs"]


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile, each with its words in one line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line.strip()]


def stages() -> dict[str, list[tuple[str, str]]]:
    """Instructions of each stage of the Dockerfile, by its name."""
    named: dict[str, list[tuple[str, str]]] = {}
    for instruction, words in instructions():
        if instruction == "FROM":
            name = words.rpartition(" AS ")[2]
            named[name] = []
        if named:
            named[name].append((instruction, words))
    return named


def setup_values() -> dict[str, ast.expr]:
    """The arguments of setup() in setup.py."""
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / "setup.py").read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setup"
    ]
    return {keyword.arg: keyword.value for keyword in calls[0].keywords}


def oldest_python() -> tuple[int, int]:
    required = ast.literal_eval(setup_values()["python_requires"])
    major, minor = re.fullmatch(r">=(\d+)\.(\d+)", required).groups()
    return int(major), int(minor)


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def make_targets() -> set[str]:
    """Targets of the Makefile; its variables have their default values."""
    text = (ROOT / "Makefile").read_text("utf-8")
    values = {"VENV": ".venv"}
    for name, value in re.findall(r"^(\w+) := (\S+)$", text, re.MULTILINE):
        values[name] = re.sub(r"\$\((\w+)\)", lambda each: values[each[1]], value)
    targets = re.findall(r"^([^\s#.][^:=]*):(?!=)", text, re.MULTILINE)
    return {re.sub(r"\$\((\w+)\)", lambda each: values.get(each[1], ""), each) for each in targets}


# --- the images ---


def test_the_dockerfile_has_known_instructions_and_both_images():
    assert {instruction for instruction, _ in instructions()} <= INSTRUCTIONS
    assert list(stages()) == ["ros", "python"]
    defaults = dict(words.split("=") for instruction, words in instructions()[:2])
    assert defaults["ROS_DISTRO"] == next(iter(rosdep_keys.DISTRIBUTIONS))
    assert number(defaults["PYTHON"]) >= oldest_python()


@pytest.mark.parametrize("stage", ["ros", "python"])
def test_an_image_copies_what_exists_and_leaves_no_lists_of_packages(stage):
    for instruction, words in stages()[stage]:
        if instruction == "COPY":
            *sources, _ = [word for word in words.split() if not word.startswith("--")]
            assert all((ROOT / source).exists() for source in sources)
        if "apt-get install" in words:
            assert "--no-install-recommends" in words
            assert "rm -rf /var/lib/apt/lists/*" in words
    assert sum("apt-get install" in words for _, words in stages()[stage]) == 1


def test_the_image_of_plain_python_makes_what_the_makefile_has():
    made = [words for _, words in stages()["python"] if words.startswith("make ")]
    assert made == ["make .venv/.installed-run"]
    assert ".venv/.installed-run" in make_targets()


def test_an_environment_of_this_machine_is_not_copied_into_an_image():
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {".git", ".venv*", "**/__pycache__"} <= set(ignored)


@pytest.mark.parametrize("path", DEV_CONTAINERS, ids=lambda path: path.parent.name)
def test_a_dev_container_is_a_stage_of_the_dockerfile(path):
    settings = json.loads(path.read_text("utf-8"))
    build = settings["build"]
    assert (path.parent / build["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (path.parent / build["context"]).resolve() == ROOT
    assert build["target"] in stages()
    assert build.get("args", {}).get("ROS_DISTRO", "jazzy") in rosdep_keys.DISTRIBUTIONS
    exposed = [words for instruction, words in stages()[build["target"]] if instruction == "EXPOSE"]
    assert [str(port) for port in settings.get("forwardPorts", [])] == exposed


def test_there_is_a_dev_container_for_each_image():
    targets = [json.loads(path.read_text("utf-8"))["build"]["target"] for path in DEV_CONTAINERS]
    assert sorted(targets) == sorted(stages())


# --- pixi ---


def test_pixi_has_the_packages_that_the_manifest_names_and_setup_pys_versions():
    pixi = tomllib.loads((ROOT / "pixi.toml").read_text("utf-8"))
    distribution = next(iter(rosdep_keys.DISTRIBUTIONS))
    assert pixi["workspace"]["channels"][0] == f"robostack-{distribution}"
    prefix = f"ros-{distribution}-"
    named = {
        name.removeprefix(prefix).replace("-", "_")
        for name in pixi["dependencies"]
        if name.startswith(prefix)
    }
    keys = set(rosdep_keys.manifest_keys())
    assert named - keys == {"ros_base"}
    controllers = {
        key for key in keys if re.search("controller|broadcaster|xacro|control_msgs", key)
    }
    assert controllers <= named
    assert number(pixi["dependencies"]["python"].removesuffix(".*")) >= oldest_python()

    extras = ast.literal_eval(setup_values()["extras_require"])
    required = {*extras["sim"], *extras["dashboard"]}
    for name, version in pixi["pypi-dependencies"].items():
        assert f"{name}{version.removeprefix('*')}" in required


# --- the workflows ---


@pytest.mark.parametrize("job", JOBS)
def test_a_job_ends_by_itself_and_its_actions_have_a_version(job):
    assert int(job["timeout-minutes"]) > 0
    assert job["runs-on"] != "ubuntu-latest"
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.starts("bash reads a script, runs nothing of it, and ends")
def test_the_scripts_of_a_job_are_bash_and_make_what_the_makefile_has(job):
    for step in job["steps"]:
        script = step.get("run", "")
        read = subprocess.run(
            ["bash", "-n"], input=script, capture_output=True, text=True, check=False
        )
        assert (read.returncode, read.stderr) == (0, "")
        for target in re.findall(r"\bmake (\w[\w-]*)", script):
            assert target in make_targets()
        for module in re.findall(r"-m (release|evidence|robot_control_ros[\w.]*)", script):
            path = ROOT / module.replace(".", "/")
            assert (path / "__main__.py").is_file() or path.with_suffix(".py").is_file()
    assert all(workflow["permissions"] == {"contents": "read"} for workflow in WORKFLOWS.values())


def test_the_images_of_ros_are_those_that_a_release_is_for():
    matrix = TEST_JOBS["images"]["strategy"]["matrix"]
    assert matrix["distribution"] == list(rosdep_keys.DISTRIBUTIONS)


def test_the_wheels_run_on_each_python_and_an_older_one_is_refused():
    pythons = [number(version) for version in TEST_JOBS["wheels"]["strategy"]["matrix"]["python"]]
    oldest = oldest_python()
    assert pythons == [(3, minor) for minor in range(oldest[1], pythons[-1][1] + 1)]
    (set_up,) = [
        step
        for step in TEST_JOBS["python-too-old"]["steps"]
        if "setup-python" in step.get("uses", "")
    ]
    assert number(set_up["with"]["python-version"]) == (3, oldest[1] - 1)
