"""The distribution for learning, as pip builds it: versions, dependencies,
contents of the wheel.
"""

import email.parser
import re
import shutil
import zipfile
from importlib.util import find_spec

import pytest
from wheel_installation import NAME, ROOT, run_pip

import robot_control_ros

LEARNING = "robot_control_learning"
PLUGIN = "lerobot_robot_compliant_arm"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel's files, its metadata, and its entry points."""
    for tool in ("pip", "setuptools", "wheel"):
        if find_spec(tool) is None:
            pytest.skip(f"building a wheel without build isolation needs {tool}")
    folder = tmp_path_factory.mktemp("learning")
    # What is built is a copy: a build leaves files behind.
    unwanted = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    shutil.copytree(ROOT / LEARNING, folder / "source", ignore=unwanted)
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    run_pip("wheel", *options, "--wheel-dir", folder, folder / "source")
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        texts = {
            name.rpartition("/")[2]: archive.read(name).decode()
            for name in names
            if ".dist-info/" in name
        }
    return names, email.parser.Parser().parsestr(texts["METADATA"]), texts["entry_points.txt"]


built = pytest.mark.starts("pip makes a wheel")


def test_the_old_name_says_where_the_environments_are():
    with pytest.raises(ImportError, match=LEARNING):
        exec("from robot_control_ros import gym")
    with pytest.raises(ImportError, match=LEARNING):
        _ = robot_control_ros.gym


@built
def test_every_module_is_in_the_wheel(wheel):
    names, _, _ = wheel
    for package in (LEARNING, PLUGIN):
        folder = ROOT / LEARNING / package
        modules = {
            f"{package}/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.py")
        }
        assert modules
        assert modules == {
            name for name in names if name.startswith(f"{package}/") and name.endswith(".py")
        }
    assert f"{LEARNING}/py.typed" in names


@built
def test_it_has_the_package_s_version_and_license(wheel):
    _, metadata, _ = wheel
    assert metadata["Name"].replace("-", "_") == LEARNING
    assert metadata["Version"] == robot_control_ros.__version__
    assert (metadata["License"] or metadata["License-Expression"]) == "Apache-2.0"


@built
def test_it_needs_the_package_and_gymnasium_and_lerobot_is_optional(wheel):
    _, metadata, _ = wheel
    needed = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert sorted(re.match(r"[\w-]+", line)[0].replace("-", "_") for line in needed) == [
        "gymnasium",
        NAME,
    ]
    (optional,) = (line for line in metadata.get_all("Requires-Dist") if "extra ==" in line)
    assert re.match(r"lerobot\b.*extra == ['\"]lerobot['\"]", optional)


@built
def test_the_extra_that_it_takes_of_the_package_is_one_of_setup_py(wheel):
    _, metadata, _ = wheel
    (line,) = (
        line
        for line in metadata.get_all("Requires-Dist")
        if line.replace("-", "_").startswith(NAME)
    )
    (extras,) = re.findall(r"\[(.*?)\]", line)
    assert set(extras.split(",")) <= set(
        re.findall(r'^        "(\w+)": \[', (ROOT / "setup.py").read_text(), re.MULTILINE)
    )


@built
@pytest.mark.parametrize("command", ["lerobot-from-mcap", "lerobot-to-mcap", "lerobot-replay-arm"])
def test_the_commands_for_datasets_are_installed(wheel, command):
    _, _, entry_points = wheel
    module, function = re.search(
        rf"^{command} = ([\w.]+):(\w+)$", entry_points, re.MULTILINE
    ).groups()
    path = ROOT / LEARNING / f"{module.replace('.', '/')}.py"
    assert f"\ndef {function}(" in path.read_text(encoding="utf-8")
