"""Which nodes with which parameters, in which environment; and the processes made of them."""

import os
import signal
import sys
import time

import pytest
from ros_support import LIMIT, ros_environment

from robot_control_ros import bringup
from robot_control_ros.bringup import (
    SENSOR_TOPIC,
    SIMULATION_ARGUMENTS,
    NodeSpec,
    controller,
    environment,
    gain_files,
    simulation,
)
from robot_control_ros.errors import ConfigError, HardwareFault
from robot_control_ros.processes import Processes
from robot_control_ros.share import share_directory

# --- one node ---


def test_a_node_is_named_on_its_command_line():
    assert NodeSpec("controller", "left").ros_arguments() == ["--ros-args", "-r", "__node:=left"]


def test_parameters_files_and_remappings_follow_in_that_order():
    parameters = {"robot": "ur5", "rate": 250.0, "count": 3, "paused": True, "quiet": False, "gains": [1.0, 2.5]}
    spec = NodeSpec("controller", "c", parameters, ("one.yaml", "two.yaml"), {"wrench": "/sensor/wrench"})
    assert spec.ros_arguments() == [
        *("--ros-args", "-r", "__node:=c"),
        *("--params-file", "one.yaml", "--params-file", "two.yaml"),  # what comes later wins
        *("-p", 'robot:="ur5"', "-p", "rate:=250.0", "-p", "count:=3"),
        *("-p", "paused:=true", "-p", "quiet:=false", "-p", "gains:=[1.0, 2.5]"),
        *("-r", "wrench:=/sensor/wrench"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        3,
        -0.5,
        250.0,
        1e-6,
        1e20,
        [1.0, 2.5],
        "ur5",
        "package.module:Class",
        "/a folder/robot.yaml",
        "a: b",
        "#1",
    ],
)
def test_a_parameter_arrives_as_it_was_given(value):
    rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
    with pytest.MonkeyPatch.context() as patch:
        for name, text in ros_environment().items():
            patch.setenv(name, text)
        context = rclpy.Context()
        rclpy.init(context=context)
        try:
            arguments = NodeSpec("any", "any", {"value": value}).ros_arguments()
            node = rclpy.create_node(
                "any", context=context, cli_args=arguments, automatically_declare_parameters_from_overrides=True
            )
            found = node.get_parameter("value").value
            node.destroy_node()
        finally:
            context.try_shutdown()
    assert (list(found) if isinstance(value, list) else found) == value
    assert isinstance(value, list) or type(found) is type(value)


# --- a simulation ---


def test_a_simulation_is_a_simulator_and_a_controller_of_one_robot():
    simulator, control = simulation()
    assert (simulator.executable, simulator.name) == ("simulator", "simulator")
    assert simulator.parameters == {"robot": "ur5", "pacing": "realtime", "rate": 0.0, "scene": ""}
    assert (control.executable, control.name) == ("controller", "controller")
    expected = {"robot": "ur5", "profile": "sim", "law": "impedance", "use_sim_time": True, "rate": 0.0}
    assert control.parameters == expected
    assert control.remappings == {"wrench": SENSOR_TOPIC}
    assert control.parameter_files == ()


def test_the_default_of_every_argument_is_that_of_the_function():
    assert simulation(**{argument.name: argument.default for argument in SIMULATION_ARGUMENTS}) == simulation()


def test_arguments_reach_the_nodes():
    simulator, control = simulation(law="gravity_compensation", pacing="lockstep", rate="250", scene="ball")
    assert simulator.parameters == {"robot": "ur5", "pacing": "lockstep", "rate": 250.0, "scene": "ball"}
    assert control.parameters["law"] == "gravity_compensation"
    assert control.parameters["rate"] == 250.0


def test_a_robot_by_path_is_handed_on_by_an_absolute_one(tmp_path, monkeypatch):
    (tmp_path / "mine.yaml").write_text((share_directory() / "config/robots/ur5.yaml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    for spec in simulation("mine.yaml"):
        assert spec.parameters["robot"] == str(tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"robot": "nonsense"}, "unknown robot 'nonsense'; robots: "),
        ({"robot": "nowhere.yaml"}, "robot 'nowhere.yaml': no such file"),
        ({"law": "nonsense"}, "unknown law 'nonsense'; laws: .*impedance"),
        ({"scene": "nonsense"}, "unknown scene 'nonsense'; scenes: ball, "),
        ({"scene": "nowhere.yaml"}, "scene 'nowhere.yaml': no such file"),
        ({"gains": "nowhere.yaml"}, "gains = 'nowhere.yaml': no such file"),
        ({"rate": "fast"}, "rate = 'fast': must be a number"),
    ],
)
def test_a_simulation_that_cannot_be_is_refused(arguments, words):
    with pytest.raises(ConfigError, match=words):
        simulation(**arguments)


def test_a_law_that_the_robot_does_not_take_is_refused_with_the_way_out():
    with pytest.raises(ConfigError, match="has no effort interface: use admittance, position_domain_pd or joint_pid"):
        controller("ur5", "impedance", profile="real", simulated_time=False)


def test_a_controller_of_a_real_robot_has_real_time_and_its_own_sensor():
    arguments = {"profile": "sim", "simulated_time": False, "wrench_topic": "/my/wrench"}
    spec = controller("ur5", "impedance", **arguments)
    assert spec.parameters["use_sim_time"] is False
    assert spec.remappings == {"wrench": "/my/wrench"}


def test_a_scene_by_path_is_handed_on_by_an_absolute_one(tmp_path, monkeypatch):
    (tmp_path / "mine.yaml").write_text("objects: {}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert simulation(scene="mine.yaml")[0].parameters["scene"] == str(tmp_path / "mine.yaml")


# --- gains ---


def test_without_a_file_the_defaults_are_taken():
    assert gain_files("") == ()


def test_gains_by_path_are_handed_on_by_an_absolute_one(tmp_path, monkeypatch):
    (tmp_path / "gains.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert gain_files("gains.yaml") == (str(tmp_path / "gains.yaml"),)


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_gains_that_are_no_file_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no such file"):
        gain_files(name)


# --- the environment ---


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """The interpreter's prefix, with an ament index."""
    (tmp_path / "share/ament_index").mkdir(parents=True)
    monkeypatch.setattr(bringup.sys, "prefix", str(tmp_path))
    return str(tmp_path)


def test_what_the_user_has_chosen_stays(prefix):
    chosen = {"ROS_DOMAIN_ID": "7", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "OTHER": "x"}
    found = environment(chosen)
    assert {name: found[name] for name in chosen} == chosen
    assert chosen == {"ROS_DOMAIN_ID": "7", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "OTHER": "x"}


def test_where_nothing_is_chosen_the_system_keeps_to_this_machine(prefix):
    found = environment({})
    assert found["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert 0 <= int(found["ROS_DOMAIN_ID"]) <= 101
    assert environment({}) == found


def test_the_prefix_of_the_interpreter_comes_first_and_once(prefix):
    for before in ("", "/opt/ros", f"/opt/ros{os.pathsep}{prefix}", f"{prefix}{os.pathsep}/opt/ros"):
        parts = environment({"AMENT_PREFIX_PATH": before})["AMENT_PREFIX_PATH"].split(os.pathsep)
        assert parts == ([prefix, "/opt/ros"] if before else [prefix])


def test_an_interpreter_without_ros_leaves_the_prefixes_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(bringup.sys, "prefix", str(tmp_path))
    assert environment({"AMENT_PREFIX_PATH": "/opt/ros"})["AMENT_PREFIX_PATH"] == "/opt/ros"
    assert "AMENT_PREFIX_PATH" not in environment({})


def test_the_environment_of_this_process_is_where_it_starts_from(prefix, monkeypatch):
    monkeypatch.setenv("ROBOT_CONTROL_TEST", "here")
    assert environment()["ROBOT_CONTROL_TEST"] == "here"


# --- processes ---


def test_a_process_that_ends_is_named_with_its_exit_status():
    with Processes([NodeSpec("no_such_node", "ghost")]) as processes:
        process = processes.start(NodeSpec("no_such_node", "second"))
        process.wait(30.0)
        with pytest.raises(HardwareFault, match=r"the (ghost|second) ended with exit status 1; see its messages above"):
            processes.check()


def test_processes_end_with_their_block_even_where_they_ignore_the_signal(monkeypatch, tmp_path):
    script, ready = tmp_path / "stubborn", tmp_path / "ready"
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    script.write_text(f"#!{sys.executable}\nimport signal\n{ignore}\nopen({str(ready)!r}, 'w')\nsignal.pause()\n")
    script.chmod(0o755)
    monkeypatch.setattr("robot_control_ros.processes.sys.executable", str(script))
    monkeypatch.setattr("robot_control_ros.processes.GRACE", 0.2)
    with Processes([]) as processes:
        process = processes.start(NodeSpec("any", "stubborn"))
        deadline = time.monotonic() + LIMIT
        while not ready.exists():
            assert time.monotonic() < deadline
            processes.check()
            time.sleep(0.01)  # between two looks
    assert process.returncode == -signal.SIGKILL
