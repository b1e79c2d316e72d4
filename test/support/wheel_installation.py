"""The package, as pip makes a wheel of it and installs that below a folder."""

from __future__ import annotations

import email.message
import email.parser
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from robot_control_ros.ros.process_environment import environment

ROOT = Path(__file__).resolve().parents[2]
NAME = "robot_control_ros"
EMULATOR = "ethercat_emulator"
CAN_EMULATOR = "can_emulator"
INSTALLED_FOLDERS = ("launch", "config", "urdf")


@dataclass(frozen=True)
class Installation:
    """What is in the wheel, and where it is installed."""

    names_in_wheel: frozenset[str]
    metadata: email.message.Message
    prefix: Path  # holds share/ and lib/

    @property
    def modules(self) -> Path:
        """Where Python finds them."""
        return next((self.prefix / "lib").glob("python3*/*-packages"))

    def environment(self) -> dict[str, str]:
        """That of a process which finds nothing of the package but what is installed."""
        return environment(
            {
                **os.environ,
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
                "PYTHONPATH": str(self.modules),
                "AMENT_PREFIX_PATH": str(self.prefix),
            }
        )


def run_pip(*arguments: str | Path) -> None:
    """Run pip, as the interpreter of the tests has it."""
    result = subprocess.run(
        [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, result.stdout


def copy_source(folder: Path) -> None:
    """What is built is a copy: a build leaves files behind, and leftovers of an older one
    would get installed.
    """
    folder.mkdir()
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "package.xml", "LICENSE"):
        shutil.copy2(ROOT / name, folder / name)
    for name in (NAME, EMULATOR, CAN_EMULATOR, "resource", "scripts", *INSTALLED_FOLDERS):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


def install(folder: Path) -> Installation:
    """Make a wheel, and install it below a folder."""
    for tool in ("pip", "setuptools", "wheel"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"building a wheel without build isolation needs {tool}")
    source, wheels, prefix = folder / "source", folder / "wheels", folder / "prefix"

    copy_source(source)
    options = ("--quiet", "--no-deps", "--no-index")
    run_pip("wheel", *options, "--no-build-isolation", "--wheel-dir", wheels, source)
    (wheel,) = wheels.glob("*.whl")
    # --ignore-installed: pip would uninstall the package from the environment that runs this test
    run_pip(
        "install",
        *options,
        "--ignore-installed",
        "--no-compile",
        "--no-warn-script-location",
        "--prefix",
        prefix,
        wheel,
    )
    with zipfile.ZipFile(wheel) as archive:
        names = frozenset(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata_text = archive.read(metadata).decode()
    if not (prefix / "share").is_dir():  # Debian's own Python installs below <prefix>/local
        prefix = prefix / "local"
    return Installation(names, email.parser.Parser().parsestr(metadata_text), prefix)
