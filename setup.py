"""Build description of robot_control_ros, for pip and colcon alike.

All metadata is here and not in pyproject.toml: colcon's ament_python build reads it by running this
file.
"""

from pathlib import Path

from setuptools import find_packages, setup

NAME = "robot_control_ros"
EMULATOR = "ethercat_emulator"  # a package beside it, which needs nothing of it
CAN_EMULATOR = "can_emulator"  # another one, which needs the first one alone
ROOT = Path(__file__).resolve().parent


def files_under(folder: str) -> list[Path]:
    """Every file below `folder`, relative to the root, without caches and hidden files."""
    found = (
        path.relative_to(ROOT) for path in sorted((ROOT / folder).rglob("*")) if path.is_file()
    )
    return [
        path
        for path in found
        if not any(part.startswith((".", "__pycache__")) for part in path.parts)
    ]


def data_files() -> list[tuple[str, list[str]]]:
    """Pair each install folder with its files; the folders below launch,
    config and urdf are kept.
    """
    share = Path("share")
    by_folder: dict[Path, list[Path]] = {
        share / "ament_index/resource_index/packages": [Path("resource") / NAME],
        share / NAME: [Path("package.xml")],
        # Executables for `ros2 run` and launch's Node(package=…); console scripts are in bin/, for
        # the PATH.
        Path("lib") / NAME: files_under("scripts"),
    }
    for folder in ("launch", "config", "urdf"):
        for path in files_under(folder):
            by_folder.setdefault(share / NAME / path.parent, []).append(path)
    return [(str(folder), [str(path) for path in paths]) for folder, paths in by_folder.items()]


setup(
    name=NAME,
    version="0.1.0",
    description="Compliant control of robot arms in ROS 2, in Python",
    maintainer="robot_control_ros developers",
    maintainer_email="maintainers@robot-control-ros.org",
    license="Apache-2.0",
    packages=find_packages(
        include=[
            *(NAME, f"{NAME}.*"),
            *(EMULATOR, f"{EMULATOR}.*"),
            *(CAN_EMULATOR, f"{CAN_EMULATOR}.*"),
        ]
    ),
    package_data={
        NAME: [
            "py.typed",
            "__init__.pyi",  # the list of the public names
            *(f"dashboard/bar/*.{kind}" for kind in ("html", "css", "js")),
        ],
        EMULATOR: ["py.typed", "README.md"],
        CAN_EMULATOR: ["py.typed", "README.md"],
    },
    data_files=data_files(),
    zip_safe=False,
    python_requires=">=3.11",  # MuJoCo 4 starts there
    install_requires=[
        # Low enough that Jazzy's own package satisfies it; wheels bring numpy 2.
        "numpy>=1.24",
        "scipy",
        "numba>=0.60",  # the first one for numpy 2; each Python has its own oldest one
        "pin>=4.1,<5",
        "PyYAML",
        "argcomplete",
        "tqdm",
    ],
    extras_require={
        # ROS 2 itself, for machines without a ROS installation. There are no wheels of launch and
        # launch_ros
        # (the distribution called `launch` is something else).
        "ros": [
            "ros-rclpy[fastrtps]",
            "ros-ament-index-python",
            "ros-diagnostic-msgs",
            "ros-geometry-msgs",
            "ros-lifecycle-msgs",
            "ros-rcl-interfaces",
            "ros-rosgraph-msgs",
            "ros-sensor-msgs",
            "ros-std-msgs",
            "ros-std-srvs",
            "ros-trajectory-msgs",
            "ros-visualization-msgs",
        ],
        "sim": [
            "mujoco>=4,<5",
            "matplotlib",
        ],
        # Meshes: STL by trimesh, COLLADA by pycollada. Matplotlib draws what is exported.
        "dashboard": ["viser>=1.1,<2", "msgspec", "trimesh", "pycollada", "matplotlib"],
        "can": ["python-can>=4.4,<5"],
        "ethercat": ["pysoem>=1.1.10,<2"],
        # Franka's own library; wheels for Linux on x86-64
        "franka": ["pylibfranka>=0.21,<0.22"],
        # Optuna proposes trials; Dask computes them on other machines; PostgreSQL's driver lets
        # machines share them.
        "tuning": [
            "optuna>=5,<6",
            "distributed>=2024.8",
            "sqlalchemy>=2",
            "psycopg[binary]>=3.1,<4",
        ],
        # The environments for Gymnasium and LeRobot are a distribution of their own:
        # ./robot_control_learning
        "records": ["mcap>=1.6,<2"],
        # Names of arms for `robot_control new`; it loads their files by git.
        "descriptions": ["robot_descriptions>=1.14"],
        # what builds the site of the pages
        "docs": ["sphinx>=8.1,<10", "furo>=2025.9", "myst-parser>=4"],
        "test": [
            # ROS's launch_testing plug-in breaks newer ones where it is installed
            "pytest>=7,<8.4",
            "pytest-xdist",  # make test runs files side by side,
            "pytest-randomly",  # in random order,
            "pytest-timeout",  # and ends a test that hangs;
            "py-spy",  # where it hung
            "hypothesis",
            "xacro",
            # a second EtherCAT master, so that the emulator isn't tuned to one alone
            "kickcat>=2.5,<3",
            "websockets>=11",  # the tests' own browser of the page, with what it unpacks,
            "zstandard",
            "pillow",  # and its pictures
            "mcap-ros2-support",  # another reader of MCAP records
            "ipykernel",  # a Jupyter kernel for Robot,
            "jupyter-client",  # and what asks it to run cells
            # axe-core, which looks for what a keyboard or a screen reader can't use
            "axe-core-python",
            "catkin_pkg",
            # The packaging test builds a wheel without build isolation.
            "setuptools>=61",
            "wheel",
        ],
        "dev": ["ruff", "mypy", "types-PyYAML", "import-linter"],
    },
    entry_points={
        "console_scripts": [
            f"robot_control = {NAME}.cli.main:main",
            f"ethercat-emulator = {EMULATOR}.program:main",
            f"can-emulator = {CAN_EMULATOR}.program:main",
        ]
    },
)
