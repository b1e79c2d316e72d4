"""YAML files of every kind, changed in thousands of ways: each is read, or refused
by an error of ours.
"""

import contextlib
import copy
import datetime
import itertools
import math
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_control_ros.bringup.package_nodes import file_rate, running_law
from robot_control_ros.core.errors import RobotControlError
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.dashboard.gains import gains_file
from robot_control_ros.fieldbus.ethercat.drive_cycle import DriveCycle
from robot_control_ros.fieldbus.ethercat.drives import interpolation_writes, load_drive
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.files import share_directory
from robot_control_ros.robot.gripper import load_gripper
from robot_control_ros.robot.workcell import load_workcell
from robot_control_ros.simulation.imperfect.imperfections import load_imperfections
from robot_control_ros.simulation.scene import load_scene

FEW, ALL = 80, 2000  # files of each kind

TODAY = datetime.date(2001, 12, 14)
DEEP = "[" * 60 + "]" * 60
ODD = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        1.5,
        -1e-9,
        5e-324,
        1e-320,
        1e-200,
        1e200,
        1.7e308,
        math.inf,
        -math.inf,
        math.nan,
    ),
    *(
        10**400,
        -(10**400),
        1 << 16,
        1 << 32,
        "",
        " ",
        "x",
        "x" * 3000,
        "1e-7",
        "~",
        "~nobody/x.yaml",
        "x.yaml",
        "/",
        "..",
    ),
    *(
        "a\0b",
        "a\0b.yaml",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        "Ж",
        "\x1b[2J",
        "0x",
        "yes",
    ),
    *(
        b"\xff\x00",
        TODAY,
        datetime.datetime(2001, 12, 14, 21, 59),
        [],
        [[]],
        [None],
        [1, "x"],
        ["x"],
        [0.0] * 50,
        {},
    ),
    *(
        {"": ""},
        {1: 2},
        {None: None},
        {True: 1},
        {1.5: []},
        {TODAY: TODAY},
        {"extends": "x"},
        {(1, 2): 3},
        {"x"},
        yaml.safe_load(DEEP),
    ),
]
TEXTS = [
    *(
        "",
        "~",
        "x",
        "1",
        "[]",
        "{}",
        "- a\n- b\n",
        "\t",
        "a: b: c",
        "a: [",
        "? [1, 2]\n: 3\n",
        "&a [*a]",
        "a: &a { b: *a }",
    ),
    *(
        "2001-99-99",
        "a: 2001-02-30",
        "a: !!float x",
        "a: !!int ''",
        "a: !!binary 5",
        "a: !!python/object:os.system x",
    ),
    *(
        "a: !!timestamp x",
        "a: !!bool x",
        "<<: 5",
        "%YAML 9.9\n---\na: 1",
        "--- 1\n--- 2",
        "a: " + "9" * 5000,
    ),
    *(
        "a: 0x" + "F" * 9000,
        "a: 1:99999999999:60",
        "a: " + "[" * 600,  # deeper than Python may call in turn
        "{a: " * 3000,
        "a: !!set { ? b }",
        "a: !!omap [b: 1]",
    ),
    "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{n}: &{n} [{', '.join(['*' + m] * 9)}]\n"
        for m, n in zip("abcdefgh", "bcdefghi", strict=True)
    ),
]


def places(data, at=()):
    """Each place in a file's data, the outermost first."""
    yield at
    for key, value in (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    ):
        yield from places(value, (*at, key))


def mutated(data, numbers):
    """The data with one to three entries exchanged, renamed, dropped or doubled."""
    data = copy.deepcopy(data)
    for _ in range(numbers.choice((1, 1, 1, 2, 3))):
        *way, last = numbers.choice(list(places(data))[1:] or [("x",)])
        inner = data
        for key in way:
            inner = inner[key]
        how = numbers.randrange(8)
        if how == 0:
            del inner[last]
        elif how == 1 and isinstance(inner, dict):
            inner[numbers.choice(["x", "", 1, None, TODAY, 10**30, f"{last}s"])] = inner.pop(last)
        elif how == 2 and isinstance(inner, list):
            inner.append(copy.deepcopy(inner[last]))
        elif how == 3 and isinstance(inner[last], (int, float)):
            inner[last] = (
                inner[last] * numbers.choice([-1, 1e-300, 1e300, 0.1])
                if abs(inner[last]) < 1e6
                else 7
            )
        else:
            inner[last] = copy.deepcopy(numbers.choice(ODD))
        if not list(places(data))[1:]:
            break
    return data


def dumped(data, numbers):
    """Bytes of the file; of one in eight some characters are others, of any encoding."""
    try:
        text = bytearray(yaml.dump(data, allow_unicode=True, sort_keys=False).encode())
    except (yaml.YAMLError, ValueError):  # can't be written, so nobody reads it
        return b"x"
    if numbers.randrange(8) == 0:
        for _ in range(numbers.randrange(1, 6)):
            text[numbers.randrange(len(text))] = numbers.randrange(256)
    return bytes(text)


# --- what is done with a file of each kind ---


def use_robot(path, profile="sim"):
    robot = load_robot(str(path), profile)
    robot.at_rate(100.0)


def use_profile(path):
    use_robot(path, "ethercat")


def use_topology(path):
    topology = load_topology(str(path))
    interpolation_writes(topology.cycle)
    joints = [slave.name for slave in topology.drives]
    cycle = DriveCycle(topology, joints, 3 * len(joints))
    for mode, value in itertools.product(CommandMode, (0.0, 1.0, -1e3)):
        with contextlib.suppress(RobotControlError):  # not every drive has every mode
            cycle.command(Command(mode, np.full(len(joints), value)), 1.0)
            cycle.act()
    cycle.sense(
        1.0, 3 * len(joints), [bytes(slave.axis.tx.size) for slave in topology.in_order_of(joints)]
    )


def use_drive(path):
    drive, topology = load_drive(str(path)), path.with_name("topology.yaml")
    vendor, product = drive.vendor or 2, next(iter(drive.products), 0x402)
    topology.write_text(
        f"slaves:\n  - {{ joint: a, drive: {path.name}, vendor: {vendor}, product: {product}, gear_ratio: 2,\n"
        "      rated_torque: 1.0, counts_per_revolution: 4096 }\n"
    )
    use_topology(topology)


ARM = load_robot("ur5")
GAINS = {
    "/**": {"ros__parameters": {"wrench": {"low_pass": 20.0}, "rate": 250.0}},
    "controller": {
        "ros__parameters": {
            "impedance": {
                "stiffness": [300.0, 300.0, 300.0, 20.0, 20.0, 20.0],
                "coriolis": True,
                "gravity": True,
            },
            "impedance.damping_ratio": 1.0,
            "admittance": {"output": "effort"},
        }
    },
    "dashboard": {
        "ros__parameters": {
            "view": {"position": [1.0, 2.0, 3.0], "look_at": [0.0, 0.0, 0.0], "fov": 0.7}
        }
    },
}


def use_gains(path):
    """As `gains:=` and the page read them; each refuses by itself. The page gets the content."""
    content = path.read_bytes() if path.is_file() else b""
    for read in (
        lambda: running_law(ARM, "impedance", str(path)),
        lambda: file_rate(str(path)),
        lambda: gains_file.read(content, "impedance"),
        lambda: gains_file.read_view(content),
    ):
        with contextlib.suppress(RobotControlError):
            read()
    running_law(ARM, "impedance", str(path))


KINDS = {  # the files, what is changed in them, and what reads them
    "robot": (
        ["robots/ur5.yaml", "robots/gen3.yaml", "robots/planar_two_link.yaml"],
        None,
        use_robot,
    ),
    "profile": (["robots/ur5.yaml"], "profiles", use_profile),
    "scene": (
        ["scenes/ball.yaml", "scenes/block.yaml", "scenes/table.yaml"],
        None,
        lambda path: load_scene(str(path)),
    ),
    "imperfections": (
        ["imperfections/like_ur5e.yaml", "imperfections/like_gen3.yaml"],
        None,
        lambda path: load_imperfections(str(path)),
    ),
    "drives": (
        ["ethercat/drives/cia402.yaml", "ethercat/drives/maxon_epos4.yaml"],
        None,
        use_drive,
    ),
    "topology": (["ethercat/ur5.yaml", "ethercat/planar_two_link.yaml"], None, use_topology),
    "gripper": (["grippers/robotiq_2f85.yaml"], None, lambda path: load_gripper(str(path))),
    "work cell": (["workcells/two_ur5e.yaml"], None, lambda path: load_workcell(str(path))),
    "gains": ([GAINS], None, use_gains),
}


def ours(use, path):
    """Whether reading a file ends well or by an error of ours; any other is raised."""
    try:
        use(path)
    except RobotControlError:
        return False
    return True


def check(kind, count, folder):
    files, part, use = KINDS[kind]
    numbers, path, read = random.Random(kind), folder / "mutated.yaml", 0
    sources = [
        file
        if isinstance(file, dict)
        else yaml.safe_load((share_directory() / "config" / file).read_text())
        for file in files
    ]
    for number in range(count):
        data = copy.deepcopy(sources[number % len(sources)])
        if part:
            data[part] = mutated(data[part], numbers)
        else:
            data = mutated(data, numbers)
        path.write_bytes(dumped(data, numbers))
        try:
            read += ours(use, path)
        except Exception as error:
            shutil.copy(path, folder / f"{kind}.{number}.yaml")
            raise AssertionError(f"{kind} {number}: {folder / f'{kind}.{number}.yaml'}") from error
    assert 0 < read < count  # neither all nor none


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_file_is_read_or_refused_by_us(kind, tmp_path):
    check(kind, FEW, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_changed_files_are_read_or_refused_by_us(kind, tmp_path):
    check(kind, ALL, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_hardly_yaml_is_refused_by_us(kind, tmp_path):
    path = tmp_path / "odd.yaml"
    for text in TEXTS:
        path.write_text(text)
        empty = kind in ("scene", "imperfections") and text == "{}"  # all left out
        assert ours(KINDS[kind][2], path) == empty, text[:80]


@pytest.mark.parametrize("load", [load_robot, load_scene, load_imperfections, load_topology])
@pytest.mark.parametrize(
    "name",
    ["~nobody/x.yaml", "no/such.yaml", "a\0b.yaml", "x" * 5000 + ".yaml", "", ".yaml"],
    ids=range(6),
)
def test_a_path_that_leads_nowhere_is_refused_by_us(load, name):
    with pytest.raises(RobotControlError):
        load(name)


def test_a_folder_or_a_file_that_can_not_be_read_is_refused_by_us(tmp_path):
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "latin.yaml").write_bytes("cycle: 0.001 # für\n".encode("latin-1"))
    for name in ("folder", "latin"):
        for kind, (_, _, use) in KINDS.items():
            assert not ours(use, Path(tmp_path / f"{name}.yaml")), kind


def test_a_description_s_name_that_is_too_long_is_refused_by_us(tmp_path):
    text = (share_directory() / "config/robots/ur5.yaml").read_text()
    (tmp_path / "long.yaml").write_text(text.replace("urdf: ", f"urdf: {'x' * 3000}"))
    with pytest.raises(RobotControlError) as caught:
        load_robot(str(tmp_path / "long.yaml"))
    assert caught.value.name == "urdf"


@pytest.mark.parametrize("cycle", ["2.0", "1.0e-7", "0.0003333", "0.2"])
def test_a_cycle_that_no_drive_takes_is_refused_when_it_is_read(cycle, tmp_path):
    text = (share_directory() / "config/ethercat/ur5.yaml").read_text()
    (tmp_path / "bus.yaml").write_text(text.replace("cycle: 0.001", f"cycle: {cycle}"))
    with pytest.raises(RobotControlError) as caught:
        load_topology(str(tmp_path / "bus.yaml"))
    assert (caught.value.name, caught.value.value) == ("cycle", float(cycle))


@pytest.mark.parametrize(
    ("gear", "torque"),
    [(1e-200, 1e-200), (1e-308, 1.0), (1e300, 1e300), (5e-324, 1e-5), (1e308, 1e-9)],
)
def test_a_gear_and_a_torque_that_no_number_can_hold_together_are_refused(gear, torque, tmp_path):
    text = (share_directory() / "config/ethercat/ur5.yaml").read_text()
    text = text.replace("gear_ratio: 101", f"gear_ratio: {gear:.1e}").replace(
        "rated_torque: 0.75", f"rated_torque: {torque:.1e}"
    )
    (tmp_path / "bus.yaml").write_text(text)
    with pytest.raises(RobotControlError) as caught:
        load_topology(str(tmp_path / "bus.yaml"))
    assert "shoulder_pan_joint" in str(caught.value)
