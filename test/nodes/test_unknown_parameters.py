"""Parameters that nothing takes: one that is meant for a gain is refused, any other
is told at the start.
"""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

pytestmark = pytest.mark.ros

CONTROLLER = {"robot": "ur5", "autostart": False}


def started(ros, executable, parameters):
    child = ros.start(executable, parameters)
    return child


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("impedence.stiffness", "impedance.stiffness"),
        ("impedance_stiffness", "impedance.stiffness"),
        ("stiffness", "stiffness"),
        ("admitance.mass", "admittance.mass"),
        ("wrenchs.low_pass", "wrench.low_pass"),
        ("worksapce.lower", "workspace.lower"),
    ],
)
def test_what_is_meant_for_a_gain_is_refused_at_the_start(ros, name, meant):
    child = started(ros, "controller", {**CONTROLLER, name: 300.0})
    assert child.end() == 1
    assert name in child.err
    assert meant in child.err


def test_a_gain_in_a_file_for_all_nodes_is_refused_as_well(ros, tmp_path):
    path = tmp_path / "gains.yaml"
    path.write_text("/**: { ros__parameters: { impedence: { stiffness: 300.0 } } }")
    child = ros.start("controller", CONTROLLER, parameter_files=(str(path),))
    assert child.end() == 1
    assert "impedance.stiffness" in child.err


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("contoller: { ros__parameters: { impedance: { stiffness: 300.0 } } }", "controller"),
        (
            "controller: { ros__parameters: { impedance: { stiffness: 300.0, stiffness: 30.0 } } }",
            "stands twice",
        ),
    ],
)
def test_a_file_that_would_leave_the_defaults_is_refused_at_the_start(ros, tmp_path, text, meant):
    path = tmp_path / "gains.yaml"
    path.write_text(text)
    child = ros.start("controller", CONTROLLER, parameter_files=(str(path),))
    assert child.end() == 1
    assert meant in child.err


@pytest.mark.parametrize(
    ("executable", "name", "meant"),
    [
        ("controller", "sate_timeout", "state_timeout"),
        ("controller", "telemetry_rat", "telemetry_rate"),
        ("watchdog", "profle", "profile"),
        ("watchdog", "nonsense", ""),
    ],
)
def test_any_other_name_is_told_and_the_node_starts(ros, executable, name, meant):
    parameters = CONTROLLER if executable == "controller" else {"robot": "ur5"}
    child = started(ros, executable, {**parameters, name: 1.0})
    assert child.node is not None
    assert f"parameter {name} is unknown" in child.err
    assert (f"did you mean {meant}?" in child.err) == bool(meant)


@pytest.mark.parametrize("executable", ["controller", "watchdog"])
def test_what_is_declared_later_is_not_told(ros, executable):
    later = {
        "impedance.stiffness": 300.0,
        "own.laws:Spring.stiffness": 1.0,
        "wrench.low_pass": 20.0,
        "constraints.goal_time": 1.0,
        "qos_overrides./tf.publisher.depth": 5,
        "use_sim_time": False,
    }
    parameters = CONTROLLER if executable == "controller" else {"robot": "ur5"}
    child = started(ros, executable, {**parameters, **later})
    assert child.node is not None
    assert "is unknown" not in child.err


def test_a_misspelt_gain_of_a_known_law_is_refused_with_the_one_that_was_meant(ros):
    child = ros.start(
        "controller", {"robot": "ur5", "autostart": True, "impedance.stifness": 300.0}
    )
    assert child.end() == 1
    assert "impedance.stiffness" in child.err
