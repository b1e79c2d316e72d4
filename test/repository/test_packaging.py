"""The package as pip, rosdep, colcon and `ros2 run` see it: manifest, dependencies,
what a wheel installs.
"""

import ast
import configparser
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
from wheel_installation import (
    CAN_EMULATOR,
    EMULATOR,
    INSTALLED_FOLDERS,
    NAME,
    ROOT,
    Installation,
    copy_source,
    install,
)

import robot_control_ros

SHARE = Path("share") / NAME
MARKER = Path("share/ament_index/resource_index/packages") / NAME
NODES = ("can", "controller", "dashboard", "ethercat", "simulator", "watchdog")

# Imported module -> rosdep key, where the two differ. Of ROS packages the module's name is the key.
ROSDEP_KEYS = {
    "catkin_pkg": "python3-catkin-pkg",
    "hypothesis": "python3-hypothesis",
    "matplotlib": "python3-matplotlib",
    "mpl_toolkits": "python3-matplotlib",
    "numba": "python3-numba",
    "numpy": "python3-numpy",
    "PIL": "python3-pil",
    "pytest": "python3-pytest",
    "_pytest": "python3-pytest",
    "scipy": "python3-scipy",
    "setuptools": "python3-setuptools",
    "tqdm": "python3-tqdm",
    "yaml": "python3-yaml",
    "argcomplete": "python3-argcomplete",
}
# Optional modules that apt has no package of -> the extra of setup.py that installs them.
EXTRAS_WITHOUT_KEY = {
    "can": "can",
    "distributed": "tuning",
    "optuna": "tuning",
    "sqlalchemy": "tuning",
    "pysoem": "ethercat",
    "pylibfranka": "franka",
    "robot_descriptions": "descriptions",
    "ipykernel": "test",
    "jupyter_client": "test",
    "kickcat": "test",
    "mcap": "records",
    "mujoco": "sim",
    "mcap_ros2": "test",
    "msgspec": "dashboard",
    "trimesh": "dashboard",
    "viser": "dashboard",
    "websockets": "test",
    "zstandard": "test",
}

# Modules that have another name than their distribution.
DISTRIBUTIONS = {"can": "python-can"}


def files_below(folder: Path) -> Iterator[Path]:
    """Files of the source tree, relative to the root, without caches and hidden files."""
    for path in folder.rglob("*"):
        relative = path.relative_to(ROOT)
        if path.is_file() and not any(
            part.startswith((".", "__pycache__")) for part in relative.parts
        ):
            yield relative


def third_party_imports(source: str) -> set[str]:
    """Top-level modules imported anywhere in `source`, also in functions; not the
    standard library's.
    """
    modules = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            modules.add(node.module.split(".")[0])
    return modules - set(sys.stdlib_module_names) - {NAME, EMULATOR, CAN_EMULATOR}


# --- package.xml ---


@pytest.fixture(scope="module")
def manifest() -> ElementTree.Element:
    return ElementTree.parse(ROOT / "package.xml").getroot()


def schema_errors(package: ElementTree.Element) -> list[str]:
    """What package format 3 forbids. With any of these colcon silently sees plain Python."""
    once = {"name", "version", "description"}
    at_least_once = {"maintainer", "license"}
    any_number = {
        "author",
        "url",
        "export",
        "depend",
        "build_depend",
        "build_export_depend",
        "exec_depend",
    }
    any_number |= {
        "buildtool_depend",
        "buildtool_export_depend",
        "test_depend",
        "doc_depend",
        "conflict",
    }
    any_number |= {"replace", "group_depend", "member_of_group"}

    errors = []
    if package.tag != "package" or package.get("format") != "3":
        errors.append("the root is not <package format='3'>")
    for tag in sorted(once | at_least_once):
        count = len(package.findall(tag))
        if count == 0 or (tag in once and count > 1):
            errors.append(f"{count} <{tag}>")
    for child in package:
        if child.tag not in once | at_least_once | any_number:
            errors.append(f"unknown <{child.tag}>")
        if not len(child) and not (child.text or "").strip():
            errors.append(f"empty <{child.tag}>")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", package.findtext("name", "")):
        errors.append("name is not a ROS package name")
    if not re.fullmatch(r"\d+\.\d+\.\d+", package.findtext("version", "")):
        errors.append("version is not X.Y.Z")
    address = r"[\w%+-]+(\.[\w%+-]+)*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
    for maintainer in package.findall("maintainer"):
        if not re.fullmatch(address, maintainer.get("email", ""), re.ASCII):
            errors.append(f"maintainer's address {maintainer.get('email')!r}")
    if [element.text for element in package.findall("export/build_type")] != ["ament_python"]:
        errors.append("build type is not ament_python")
    return errors


def test_manifest_follows_format_3(manifest):
    assert schema_errors(manifest) == []


def test_manifest_satisfies_catkin_pkg():
    parser = pytest.importorskip("catkin_pkg.package")  # colcon's own reader
    warnings: list[str] = []
    package = parser.parse_package(str(ROOT / "package.xml"), warnings=warnings)
    package.validate(warnings)
    assert warnings == []
    assert package.name == NAME
    package.evaluate_conditions({})
    assert package.get_build_type() == "ament_python"


def test_license_file_is_the_one_named(manifest):
    license_element = manifest.find("license")
    assert license_element.text == "Apache-2.0"
    text = (ROOT / license_element.get("file")).read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


# --- dependencies ---


def test_every_import_is_declared(manifest):
    declared = {
        element.text for tag in ("depend", "exec_depend") for element in manifest.findall(tag)
    }
    sources = [path for path in files_below(ROOT / NAME) if path.suffix == ".py"]
    sources += [path for path in files_below(ROOT / "launch") if path.suffix == ".py"]
    undeclared = set()
    for path in sources:
        for module in third_party_imports((ROOT / path).read_text(encoding="utf-8")) - set(
            EXTRAS_WITHOUT_KEY
        ):
            key = ROSDEP_KEYS.get(module, module)
            if key not in declared:
                undeclared.add(
                    f"{path} imports {module}: package.xml lacks <exec_depend>{key}</exec_depend>"
                )
    assert sources
    assert undeclared == set()


def test_test_imports_are_declared(manifest):
    tags = ("depend", "exec_depend", "test_depend")
    declared = {element.text for tag in tags for element in manifest.findall(tag)}
    files = [*(ROOT / "test").rglob("*.py"), *(ROOT / EMULATOR / "test").rglob("*.py")]
    # helpers beside the tests, and the repository's proofs
    own = {path.stem for path in files} | {"test", "evidence", "release"}
    # the distribution for learning has its own dependencies
    own |= {"robot_control_learning", "gymnasium"}
    modules: set[str] = set()
    for path in files:
        modules |= third_party_imports(path.read_text(encoding="utf-8"))
    modules -= own | set(EXTRAS_WITHOUT_KEY)
    assert {
        module for module in modules if ROSDEP_KEYS.get(module, module) not in declared
    } == set()


# --- what a wheel installs ---


built = pytest.mark.starts(
    "pip makes a wheel and installs it, and what is installed runs to its end"
)


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Installation:
    return install(tmp_path_factory.mktemp("packaging"))


@built
def test_one_version_everywhere(manifest, installation):
    assert manifest.findtext("version") == robot_control_ros.__version__
    assert installation.metadata["Version"] == robot_control_ros.__version__


@built
def test_one_name_maintainer_and_license_everywhere(manifest, installation):
    maintainer = manifest.find("maintainer")
    license_name = installation.metadata["License"] or installation.metadata["License-Expression"]
    assert re.sub(r"[-.]", "_", installation.metadata["Name"]) == manifest.findtext("name") == NAME
    assert installation.metadata["Maintainer"] == maintainer.text
    assert installation.metadata["Maintainer-email"] == maintainer.get("email")
    assert license_name == manifest.findtext("license")


@built
def test_modules_without_rosdep_key_have_an_extra(installation):
    manifest = (ROOT / "package.xml").read_text(encoding="utf-8")
    for module, extra in EXTRAS_WITHOUT_KEY.items():
        distribution = DISTRIBUTIONS.get(module, module.replace("_", "-"))
        pattern = rf"{distribution}\b.*extra == ['\"]{extra}['\"]"
        assert any(
            re.match(pattern, line) for line in installation.metadata.get_all("Requires-Dist")
        ), module
        assert f"pip install '.[{extra}]'" in manifest, module


@built
def test_marker_of_the_ament_index_is_installed(installation):
    assert (installation.prefix / MARKER).is_file()


@built
def test_manifest_is_installed(installation):
    installed = installation.prefix / SHARE / "package.xml"
    assert installed.read_bytes() == (ROOT / "package.xml").read_bytes()


@built
def test_shared_files_are_installed_as_in_the_tree(installation):
    share = installation.prefix / SHARE
    for folder in INSTALLED_FOLDERS:
        expected = {path: (ROOT / path).read_bytes() for path in files_below(ROOT / folder)}
        paths = [path for path in (share / folder).rglob("*") if path.is_file()]
        installed = {path.relative_to(share): path.read_bytes() for path in paths}
        assert expected
        assert installed.keys() == expected.keys()
        assert installed == expected


@built
def test_every_file_of_the_packages_is_in_the_wheel(installation):
    for package in (NAME, EMULATOR, CAN_EMULATOR):
        expected = {
            path.as_posix() for path in files_below(ROOT / package) if path.parts[1] != "test"
        }
        assert f"{package}/py.typed" in expected
        assert expected - installation.names_in_wheel == set()


@built
def test_executables_of_the_nodes_are_installed(installation):
    for node in [
        *NODES,
        "teleop",
        "wait_active",
        "robot_control",
        "can-emulator",
        "ethercat-emulator",
    ]:
        executable = installation.prefix / "lib" / NAME / node
        assert os.access(executable, os.X_OK), node
        assert executable.read_text(encoding="utf-8") == (ROOT / "scripts" / node).read_text(
            encoding="utf-8"
        )


def test_executables_are_one_text():
    scripts = list(files_below(ROOT / "scripts"))
    assert set(NODES) <= {path.name for path in scripts}
    assert len({(ROOT / path).read_bytes() for path in scripts}) == 1


@pytest.mark.parametrize("own_interpreter", [True, False])
@pytest.mark.starts("a program that ends by itself")
def test_executables_take_the_interpreter_of_their_prefix(tmp_path, own_interpreter):
    prefix, path = tmp_path / "a prefix", tmp_path / "path"
    (prefix / "lib" / NAME).mkdir(parents=True)
    shutil.copy(ROOT / "scripts/controller", prefix / "lib" / NAME)
    for folder in (path, prefix / "bin") if own_interpreter else (path,):
        folder.mkdir()
        fake = folder / "python3"
        fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "{folder}" "$@"\n')
        fake.chmod(0o755)

    output = subprocess.run(
        [prefix / "lib" / NAME / "controller", "--ros-args", "a b"],
        env={**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    used = prefix / "bin" if own_interpreter else path
    assert output.splitlines() == [
        str(used),
        "-m",
        f"{NAME}.nodes",
        "controller",
        "--ros-args",
        "a b",
    ]


@pytest.mark.parametrize("name", ["robot_control", "ethercat-emulator"])
@pytest.mark.starts("a program that ends by itself")
def test_ros2_run_has_the_commands_too(tmp_path, name):
    settings = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    settings["PYTHONPATH"] = str(ROOT)
    command = [ROOT / "scripts" / name, "--help"]
    ended = subprocess.run(
        command, env=settings, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith(f"usage: {name}")


@pytest.mark.starts("a program that ends by itself")
def test_setup_py_installs_as_colcon_calls_it(tmp_path):
    """As colcon_core/task/python/build.py does: setup.cfg's install_scripts is passed
    on the command line.
    """
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    assert parser["develop"]["script_dir"] == parser["install"]["install_scripts"]
    source, prefix = tmp_path / "source", tmp_path / "prefix"
    copy_source(source)
    command = [
        sys.executable,
        "setup.py",
        "egg_info",
        "--egg-base",
        "..",
        "build",
        "--build-base",
        "../build",
    ]
    command += [
        "install",
        "--record",
        "../log",
        "--install-scripts",
        parser["install"]["install_scripts"],
    ]
    command += ["--prefix", str(prefix), "--single-version-externally-managed", "install_data"]
    subprocess.run(command, cwd=source, capture_output=True, check=True)
    commands = ("robot_control", "ethercat-emulator")
    for path in (
        *(f"{folder}/{name}" for folder in ("bin", f"lib/{NAME}") for name in commands),
        f"lib/{NAME}/controller",
    ):
        assert os.access(prefix / path, os.X_OK)
    assert (prefix / MARKER).is_file()


@built
def test_command_line_programs_are_installed(installation):
    for command in ("robot_control", "ethercat-emulator"):
        assert os.access(installation.prefix / "bin" / command, os.X_OK)


@built
def test_evidence_is_not_installed_and_its_old_command_says_where_it_is(installation, tmp_path):
    assert not any(name.startswith("evidence/") for name in installation.names_in_wheel)
    command = [sys.executable, "-m", f"{NAME}.cli", "bench"]
    settings = {**os.environ, "PYTHONPATH": str(installation.modules)}
    ended = subprocess.run(
        command, env=settings, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.endswith("python -m evidence speed\n")


@built
def test_ament_index_finds_the_package(installation, monkeypatch):
    packages = pytest.importorskip("ament_index_python.packages")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(installation.prefix))
    assert packages.get_package_share_directory(NAME) == str(installation.prefix / SHARE)


@pytest.mark.ros
@built
def test_the_installed_ethercat_node_says_that_it_needs_an_interface(installation, tmp_path):
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    executable = installation.prefix / "lib" / NAME / "ethercat"
    settings = installation.environment() | {"ROS_DOMAIN_ID": "60"}
    ended = subprocess.run(
        [executable], env=settings, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.endswith(
        "not started: interface is empty: must be the network interface that the bus is on, such as eth1\n"
    )


def test_what_make_demo_installs_is_enough_to_record():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\n$(RUN): ")[2].partition("\n\n")[0]
    (extras,) = re.findall(r"\(INSTALL\) '\.\[([\w,]+)\]'", recipe)
    assert EXTRAS_WITHOUT_KEY["mcap"] in extras.split(",")
