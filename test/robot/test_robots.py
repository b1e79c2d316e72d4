"""Robot configurations: what a file says, and what is refused with which words."""

import copy
import math
from dataclasses import FrozenInstanceError, replace
from unittest.mock import ANY

import numpy as np
import pytest
import yaml
from arms import profile_names
from refusals import refuses

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.profile import JOINT_EFFORTS

URDF = """<robot name="pendulum">
  <link name="root"/>
  <link name="rod"><inertial><mass value="1"/>
   <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute">
    <parent link="root"/><child link="rod"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
</robot>
"""
PENDULUM = {
    "name": "pendulum",
    "urdf": "pendulum.urdf",
    "joints": ["hinge"],
    "base": "root",
    "tip": "rod",
    "home": [0.5],
    "effort_rate": [100.0],
    "profiles": {
        "sim": {"rate": 250, "commands": ["effort", "velocity"], "gravity_by_robot": False},
        "real": {
            "rate": 100,
            "commands": ["position"],
            "gravity_by_robot": True,
            "remedy": "Use position.",
        },
    },
}


def write(folder, data):
    (folder / "pendulum.urdf").write_text(URDF, encoding="utf-8")
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return str(path)


def changed(entry, value):
    """PENDULUM with one entry set; `profiles.sim.rate` names an entry of a profile."""
    data = copy.deepcopy(PENDULUM)
    inner = data
    *folders, last = entry.split(".")
    for folder in folders:
        inner = inner[folder]
    inner[last] = value
    return data


# --- the robots that the package brings ---


def test_ur5_says_what_the_description_does_not():
    robot = load_robot("ur5")
    assert robot.name == "ur5"
    assert robot.n == len(robot.joints) == 6
    assert robot.joints[2] == "elbow_joint"
    assert (robot.base, robot.tip, robot.wrench_frame) == ("base_link", "tool0", "ft_frame")
    assert robot.home == (0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0)
    assert robot.profile_name == "sim"
    assert set(robot.profile.commands) == set(CommandMode)
    assert robot.profile.gravity_by_robot is False
    assert robot.period == pytest.approx(0.002)
    assert "<robot" in robot.urdf()


def test_the_real_ur5_has_no_effort_interface_and_compensates_gravity_itself():
    robot = load_robot("ur5", "real")
    assert robot.profile.commands == (CommandMode.POSITION, CommandMode.VELOCITY)
    assert robot.profile.gravity_by_robot is True
    assert robot.period == pytest.approx(0.008)


def test_a_configuration_can_not_be_changed():
    with pytest.raises(FrozenInstanceError):
        load_robot("ur5").tip = "flange"


def test_an_unknown_robot_lists_the_robots():
    assert "ur5" in robot_names()
    with refuses("robot", "ur55", tuple(robot_names())):
        load_robot("ur55")


def test_an_unknown_profile_lists_the_profiles():
    with refuses("profile", "reel", tuple(profile_names("ur5"))) as error:
        load_robot("ur5", "reel")
    assert "ur5.yaml" in str(error.value)


@pytest.mark.parametrize("name", robot_names())
def test_every_profile_of_every_robot_can_be_read(name):
    for profile in profile_names(name):
        robot = load_robot(name, profile)
        assert robot.name == name
        assert robot.urdf()
        assert robot.profile.commands


# --- a file of the user's own ---


def test_a_file_is_loaded_by_path_with_the_description_beside_it(tmp_path):
    robot = load_robot(write(tmp_path, PENDULUM), "real")
    assert robot.urdf_path == tmp_path / "pendulum.urdf"
    assert robot.urdf() == URDF
    assert robot.joints == ("hinge",)
    assert robot.home == (0.5,)
    assert robot.profile.rate == 100.0
    assert robot.profile.remedy == "Use position."


def test_what_is_left_out_has_a_default(tmp_path):
    robot = load_robot(write(tmp_path, PENDULUM))
    assert robot.description == ""
    assert robot.wrench_frame == robot.tip == "rod"
    assert robot.rotor_inertia == (0.0,)
    assert robot.tip_speed == (0.25, 1.0)
    assert robot.tip_acceleration == (1.0, 4.0)
    assert robot.joint_speed == 0.3
    assert robot.law_gains == {}


def test_a_description_of_the_package_may_be_used_too(tmp_path):
    robot = load_robot(write(tmp_path, changed("urdf", "ur5/ur5.urdf")))
    assert robot.urdf() == load_robot("ur5").urdf()


def test_a_missing_description_is_named_with_the_places_that_were_tried(tmp_path):
    path = write(tmp_path, changed("urdf", "nowhere.urdf"))
    with refuses("urdf", "nowhere.urdf"):
        load_robot(path)


def test_a_file_that_is_not_there_is_named():
    with refuses("robot", "nowhere.yaml"):
        load_robot("nowhere.yaml")


def test_home_beyond_the_limits_is_refused(tmp_path):
    robot = load_robot(write(tmp_path, changed("home", [9.0])))
    with refuses("hinge", 9.0, (-1.0, 1.0)):
        RobotModel.of(robot)


def test_a_joint_may_have_a_motor_without_inertia(tmp_path):
    assert load_robot(write(tmp_path, changed("rotor_inertia", [0.0]))).rotor_inertia == (0.0,)


def test_a_path_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "absent.yaml"
    with refuses("robot", str(path)):
        load_robot(str(path))


@pytest.mark.parametrize(
    "missing", ["name", "urdf", "joints", "base", "tip", "home", "effort_rate", "profiles"]
)
def test_a_missing_entry_is_named_with_the_file_and_the_valid_entries(tmp_path, missing):
    data = {key: value for key, value in PENDULUM.items() if key != missing}
    path = write(tmp_path, data)
    with refuses(missing) as error:
        load_robot(path)
    assert path in str(error.value)
    assert {*PENDULUM, "tip_speed", "law_gains"} <= {*error.value.bound}


@pytest.mark.parametrize("missing", ["rate", "commands", "gravity_by_robot"])
def test_a_missing_entry_of_a_profile_is_named_with_the_file_and_the_profile(tmp_path, missing):
    data = copy.deepcopy(PENDULUM)
    del data["profiles"]["sim"][missing]
    path = write(tmp_path, data)
    with refuses(missing) as error:
        load_robot(path)
    assert f"{path}: profiles: sim: " in str(error.value)
    assert {"rate", "commands", "gravity_by_robot", "wrench_frames", "remedy", "notes"} <= {
        *error.value.bound
    }


POSITIVE, MODES = (0.0, math.inf), ("effort", "position", "velocity")
BAD = [  # the entry, what stands there, and the error's name, value and bound
    ("hme", [0.5], "hme", None, ANY),
    ("profiles.sim.rates", 5, "rates", None, ANY),
    ("home", [0.5, 0.5], "home", [0.5, 0.5], 1),
    ("home", [], "home", [], 1),
    ("home", [math.nan], "home", math.nan, (-math.inf, math.inf)),
    ("home", ["zero"], "home", "zero", (-math.inf, math.inf)),
    ("home", [None], "home", None, (-math.inf, math.inf)),
    ("home", [True], "home", True, (-math.inf, math.inf)),
    ("effort_rate", [0.0], "effort_rate", 0.0, POSITIVE),
    ("effort_rate", [-5.0], "effort_rate", -5.0, POSITIVE),
    ("effort_rate", [math.inf], "effort_rate", math.inf, POSITIVE),
    ("effort_rate", [1.0, 2.0], "effort_rate", [1.0, 2.0], 1),
    ("rotor_inertia", [-0.1], "rotor_inertia", -0.1, POSITIVE),
    ("tip_speed", [0.25], "tip_speed", [0.25], 2),
    ("tip_speed", [0.25, 0.0], "tip_speed", 0.0, POSITIVE),
    ("tip_acceleration", [math.nan, 1.0], "tip_acceleration", math.nan, POSITIVE),
    ("joint_speed", 0.0, "joint_speed", 0.0, POSITIVE),
    ("joints", [], "joints", [], None),
    ("joints", ["hinge", "hinge"], "joints", ["hinge", "hinge"], None),
    ("joints", None, "joints", None, None),
    ("joints", "h", "joints", "h", None),
    ("profiles", None, "profiles", None, None),
    ("profiles.sim", None, "", None, None),
    ("profiles.sim.rate", 0, "rate", 0, POSITIVE),
    ("profiles.sim.rate", -500, "rate", -500, POSITIVE),
    ("profiles.sim.rate", math.nan, "rate", math.nan, POSITIVE),
    ("profiles.sim.rate", "500", "rate", "500", POSITIVE),
    ("profiles.sim.rate", True, "rate", True, POSITIVE),
    ("profiles.sim.commands", ["torque"], "commands", "torque", MODES),
    ("profiles.sim.commands", None, "commands", None, None),
    ("profiles.sim.commands", [], "commands", [], None),
    ("profiles.sim.gravity_by_robot", "false", "gravity_by_robot", "false", None),
    ("profiles.sim.friction_by_robot", 1, "friction_by_robot", 1, None),
    ("profiles.sim.joint_states", None, "joint_states", None, None),
    ("profiles.sim.controllers", {"torque": "mine"}, "controllers", "torque", MODES),
    ("profiles.sim.controllers", {"effort": 5}, "controllers", 5, None),
    ("profiles.sim.wrench_frames", ["tool0"], "wrench_frames", ["tool0"], None),
    ("profiles.sim.limits", {"position": [1.0]}, "limits", "position", ("effort", "velocity")),
    ("profiles.sim.limits", {"effort": [1.0, 2.0]}, "limits", [1.0, 2.0], 1),
    ("profiles.sim.limits", {"effort": [0.0]}, "limits", 0.0, POSITIVE),
    ("profiles.sim.joint_effort", "A", "joint_effort", "A", tuple(JOINT_EFFORTS)),
    ("profiles.sim.notes", "one", "notes", "one", None),
    ("safe_damping", [-1.0], "safe_damping", -1.0, POSITIVE),
    ("law_gains", None, "law_gains", None, None),
]


@pytest.mark.parametrize(
    ("entry", "value", "name", "found", "bound"),
    BAD,
    ids=[f"{entry}={value!r}" for entry, value, *_ in BAD],
)
def test_a_bad_entry_is_named_with_the_file_and_the_value(
    tmp_path, entry, value, name, found, bound
):
    path = write(tmp_path, changed(entry, value))
    with refuses(name, found, bound) as error:
        load_robot(path)
    assert path in str(error.value)
    assert "profiles: sim" in str(error.value) or not entry.startswith("profiles.sim")


@pytest.mark.parametrize("content", [b"a: [1, 2", b"- a\n- b\n", b"", b"\xff\xfe\x00name"])
def test_a_file_that_is_no_configuration_is_named(tmp_path, content):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"mine\.yaml"):
        load_robot(str(path))


# --- files and profiles that extend others ---


def test_the_ur5e_says_only_what_differs_from_the_ur5():
    ur5, ur5e = load_robot("ur5"), load_robot("ur5e")
    assert (ur5e.name, ur5e.urdf_path.name, ur5e.profile.start) == (
        "ur5e",
        "ur5e.urdf",
        "ros2 launch robot_control_ros sim.launch.py robot:=ur5e",
    )
    assert (ur5e.joints, ur5e.home, ur5e.safe_damping) == (ur5.joints, ur5.home, ur5.safe_damping)
    # null took ethercat and icube away
    assert profile_names("ur5e") == ["sim", "mock", "gz", "gz_position", "real"]


def test_a_file_may_extend_a_robot_of_the_package_and_another_file(tmp_path):
    (tmp_path / "lower.yaml").write_text(
        "extends: ur5\nname: lower\njoint_speed: 0.1\n", encoding="utf-8"
    )
    path = tmp_path / "upper.yaml"
    path.write_text(
        "extends: lower.yaml\nname: upper\nprofiles: { sim: { rate: 250 } }\n", encoding="utf-8"
    )
    robot = load_robot(str(path))
    assert (robot.name, robot.joint_speed, robot.profile.rate) == ("upper", 0.1, 250.0)
    assert robot.profile.simulated_time is True
    assert robot.urdf_path == load_robot("ur5").urdf_path


def test_a_description_lies_beside_the_file_that_names_it(tmp_path):
    write(tmp_path, PENDULUM)
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "other.yaml").write_text("extends: ../mine.yaml\nhome: [0.1]\n", encoding="utf-8")
    assert load_robot(str(folder / "other.yaml")).urdf() == URDF


def test_gains_of_a_profile_go_over_those_of_the_robot(tmp_path):
    own = {"impedance": {"stiffness": 300.0, "coriolis": True}, "admittance": {"mass": 20.0}}
    here = {"impedance": {"stiffness": 100.0}}
    path = write(tmp_path, changed("profiles.sim.law_gains", here) | {"law_gains": own})
    assert load_robot(path).law_gains == own | {"impedance": {"stiffness": 100.0, "coriolis": True}}


def test_a_profile_may_extend_another_of_the_same_file(tmp_path):
    data = changed("profiles.slow", {"extends": "real", "rate": 50})
    robot = load_robot(write(tmp_path, data), "slow")
    assert (robot.profile.rate, robot.profile.remedy) == (50.0, "Use position.")
    assert robot.profile.commands == (CommandMode.POSITION,)


@pytest.mark.parametrize(
    ("entry", "value", "name", "bound"),
    [
        ("extends", "ur55", "robot", tuple(robot_names())),
        ("extends", "mine.yaml", "extends", None),
        ("profiles.sim.extends", "reel", "profile", ("real", "sim")),
        ("profiles.sim.extends", "sim", "extends", None),
    ],
)
def test_what_can_not_be_extended_is_named(tmp_path, entry, value, name, bound):
    with refuses(name, value, bound):
        load_robot(write(tmp_path, changed(entry, value)))


# --- which laws a profile takes ---


def test_effort_on_the_real_ur5_is_refused_with_the_way_out():
    robot = load_robot("ur5", "real")
    with refuses(
        "impedance", CommandMode.EFFORT, (CommandMode.POSITION, CommandMode.VELOCITY)
    ) as error:
        robot.check_mode(CommandMode.EFFORT, "impedance")
    assert robot.title in str(error.value)
    assert robot.profile.remedy
    assert robot.profile.remedy in str(error.value)


@pytest.mark.parametrize("mode", [CommandMode.POSITION, CommandMode.VELOCITY])
def test_what_the_profile_offers_is_not_refused(mode):
    load_robot("ur5", "real").check_mode(mode, "any")


def test_a_robot_without_description_and_remedy_is_refused_by_name(tmp_path):
    robot = load_robot(write(tmp_path, PENDULUM))
    with pytest.raises(ConfigError) as error:
        robot.check_mode(CommandMode.POSITION, "servo")
    assert (
        str(error.value)
        == "law servo commands position, but pendulum (profile sim) takes only: effort, velocity."
    )


def test_commands_go_to_the_forward_controllers_unless_the_profile_names_others(tmp_path):
    profile = load_robot(write(tmp_path, PENDULUM)).profile
    assert profile.command_topic(CommandMode.EFFORT) == "forward_effort_controller/commands"
    mine = changed("profiles.sim.controllers", {"effort": "my_controller"})
    profile = load_robot(write(tmp_path, mine)).profile
    assert profile.command_topic(CommandMode.EFFORT) == "my_controller/commands"
    assert profile.command_topic(CommandMode.VELOCITY) == "forward_velocity_controller/commands"


def test_one_topic_of_joint_commands_takes_the_place_of_the_controllers():
    profile = load_robot("ur5", "ethercat").profile
    assert {profile.command_topic(mode) for mode in CommandMode} == {"joint_commands"}


def test_limits_of_a_profile_only_tighten_those_of_the_description():
    ur5 = load_robot("ur5")
    given = RobotModel.of(ur5).limits
    tighter = replace(ur5.profile, limits={"effort": (10.0, 1e6, 10.0, 10.0, 10.0, 10.0)})
    limits = RobotModel.of(replace(ur5, profile=tighter)).limits
    assert limits.effort.tolist() == [10.0, given.effort[1], 10.0, 10.0, 10.0, 10.0]
    assert np.array_equal(limits.velocity, given.velocity)


def test_friction_that_the_robot_compensates_is_not_compensated_twice():
    ur5 = load_robot("ur5")
    robot = replace(ur5, profile=replace(ur5.profile, friction_by_robot=True))
    assert RunningLaw(robot, "gravity_compensation").gains.current.friction == 0.0
    with refuses("friction", True, False):
        RunningLaw(robot, "gravity_compensation", {"friction": True})


def test_a_key_that_stands_twice_is_refused_with_its_place(tmp_path):
    """PyYAML alone keeps the last one, and a user wonders why the first doesn't count."""
    file = tmp_path / "mine.yaml"
    file.write_text(
        "extends: ur5\ncontact: { collision_force: 20 }\nname: mine\ncontact: { clamping_force: 50 }\n"
    )
    with pytest.raises(ConfigError, match=r"mine\.yaml.*line 4") as refused:
        load_robot(str(file))
    assert refused.value.name == "contact"
