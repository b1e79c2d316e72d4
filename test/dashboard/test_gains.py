"""Sliders, presets and files of gains, without any page."""

import numpy as np
import pytest
import yaml

from robot_control_ros.bringup.package_nodes import running_law
from robot_control_ros.control.requests import Parameter
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import AXES, plain_value
from robot_control_ros.dashboard.gains import gains_file
from robot_control_ros.dashboard.gains.main_gains import in_order, main_gains
from robot_control_ros.dashboard.gains.presets import SCALES, preset
from robot_control_ros.dashboard.gains.sliders import changed, controls, nice, shown
from robot_control_ros.laws import law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot, robot_names


def stiffness(value=(500.0, 500.0, 500.0, 50.0, 50.0, 50.0)):
    default = (500.0, 500.0, 500.0, 50.0, 50.0, 50.0)
    return Parameter("stiffness", value, default, "Spring.", "N/m, N·m/rad", 0.0, 10000.0, (), AXES)


def gains_of(robot, law):
    """The parameters of a law, as the link gives them."""
    found = {}
    tuning = RunningLaw(load_robot(robot), law).gains
    for spec in tuning.specs:
        value = plain_value(spec, tuning.target)
        value = tuple(value) if isinstance(value, list) else value
        found[spec.name] = Parameter(
            spec.name, value, value, spec.doc, spec.unit, spec.lower, spec.upper, spec.choices
        )
    return found, tuning


def gains_by_robot(law):
    """Each robot that a law goes with: its name, and what :func:`gains_of` gives."""
    found = []
    for robot in robot_names():
        try:
            found.append((robot, *gains_of(robot, law)))
        except ConfigError:
            continue
    assert found, f"{law} goes with no robot"
    return found


# --- order ---


@pytest.mark.parametrize(
    ("law", "first"),
    [
        ("force_control", ("force", "force_axes")),
        ("impedance", ("stiffness", "damping_ratio")),
        ("joint_pid", ("p", "i", "d")),
    ],
)
def test_what_a_law_is_used_for_comes_first(law, first):
    parameters, _ = gains_of("ur5", law)
    assert main_gains(law, parameters) == first
    ordered = in_order(law, parameters)
    assert tuple(ordered)[: len(first)] == first
    assert sorted(ordered) == sorted(parameters)
    assert all(ordered[name] is each for name, each in parameters.items())


# --- sliders ---


def test_axes_are_linked_by_their_unit():
    linear, turns = controls(stiffness(), per_axis=False)
    assert (linear.label, linear.indices) == ("Stiffness [N/m]", (0, 1, 2))
    assert (turns.label, turns.indices) == ("Stiffness (rot.) [N·m/rad]", (3, 4, 5))
    assert (linear.lower, linear.upper, linear.step) == (0.0, 2000.0, 10.0)
    assert (turns.upper, turns.step) == (200.0, 1.0)


def test_a_linked_slider_sets_its_axes_and_no_others():
    linear, turns = controls(stiffness(), per_axis=False)
    value = changed(stiffness().value, linear, 700.0)
    assert value == (700.0, 700.0, 700.0, 50.0, 50.0, 50.0)
    assert changed(value, turns, 5.0) == (700.0, 700.0, 700.0, 5.0, 5.0, 5.0)
    assert shown(stiffness(value), linear) == 700.0


def test_the_axes_of_a_place_are_never_linked_and_reach_to_both_sides():
    center = Parameter(
        "payload.center", (0.0,) * 3, (0.0,) * 3, "Centre.", "m", -1.0, 1.0, (), AXES[:3]
    )
    found = controls(center, per_axis=False)
    assert [(each.label, each.indices) for each in found] == [
        (f"Center {axis} [m]", (index,)) for index, axis in enumerate("xyz")
    ]
    assert all(each.lower == -each.upper and 0.1 <= each.upper <= 1.0 for each in found)


def test_values_that_differ_have_a_slider_each():
    mixed = stiffness((100.0, 200.0, 300.0, 5.0, 5.0, 5.0))
    assert [control.indices for control in controls(mixed, per_axis=False)] == [
        (0,),
        (1,),
        (2,),
        (3, 4, 5),
    ]


def test_a_slider_reaches_a_value_beyond_its_usual_range_but_never_beyond_the_bound():
    for value in (3000.0, 10000.0):
        linear, _ = controls(stiffness((value,) * 3 + (50.0,) * 3), per_axis=False)
        assert value <= linear.upper <= 10000.0


@pytest.mark.parametrize("law", law_names())
def test_every_gain_of_every_law_has_controls_that_show_it(law):
    for robot, parameters, _ in gains_by_robot(law):
        for parameter in parameters.values():
            for per_axis in (True, False):
                found = controls(parameter, per_axis)
                for control in found:
                    value = shown(parameter, control)
                    assert (
                        isinstance(value, (bool, str)) or control.lower <= value <= control.upper
                    ), robot
                    assert control.step > 0.0, robot
                if isinstance(parameter.value, tuple):
                    assert sorted(i for c in found for i in c.indices) == list(
                        range(len(parameter.value))
                    ), robot
                else:
                    assert len(found) == 1, robot


@pytest.mark.parametrize(
    ("value", "next_one"), [(1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (0.0123, 0.02), (700, 1000)]
)
def test_nice_numbers(value, next_one):
    assert nice(value) == pytest.approx(next_one)


# --- presets ---


@pytest.mark.parametrize("law", law_names())
def test_the_laws_take_every_preset(law):
    for robot, parameters, tuning in gains_by_robot(law):
        has_spring = any(
            parameter.unit in ("N/m", "N·m/rad", "N/m, N·m/rad")
            for parameter in parameters.values()
        )
        for name in SCALES:
            if has_spring:
                tuning.check(preset(name, law, parameters))
                continue
            with pytest.raises(ConfigError) as refused:
                preset(name, law, parameters)
            assert (refused.value.name, refused.value.value) == ("law", law), robot


def test_presets_keep_the_damping_ratio():
    parameters, _ = gains_of("ur5", "task_space_pd")
    for name in ("Soft", "Stiff"):
        values = preset(name, "task_space_pd", parameters)
        ratio = np.array(values["damping"]) / np.sqrt(values["stiffness"])
        own = load_robot("ur5").law_gains["task_space_pd"]
        np.testing.assert_allclose(ratio, np.array(own["damping"]) / np.sqrt(own["stiffness"]))
        assert "joint_damping" not in values  # no spring of the joints goes with it


def test_hand_guiding_has_no_spring_and_some_damping():
    for law in ("impedance", "task_space_pd", "joint_impedance", "admittance"):
        parameters, _ = gains_of("ur5", law)
        values = preset("Hand guiding", law, parameters)
        assert max(values["stiffness"]) == 0.0
        assert min(values["damping"]) > 0.0


# --- files ---


def test_a_saved_file_starts_a_law_with_the_same_gains(tmp_path):
    parameters, _ = gains_of("ur5", "impedance")
    values = {**parameters, "stiffness": stiffness((1.0, 2.0, 3.0, 4.0, 5.0, 6.0))}
    text = gains_file.write("impedance", values)
    path = tmp_path / "gains.yaml"
    path.write_text(text, encoding="utf-8")
    started = running_law(load_robot("ur5"), "impedance", str(path)).gains.target
    np.testing.assert_allclose(started.stiffness.diagonal(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert gains_file.read(text.encode(), "impedance") == {
        name: each.value for name, each in values.items()
    }


def test_a_file_has_the_settings_of_the_wrench_in_a_section_of_their_own():
    values = {"stiffness": stiffness(), "wrench.low_pass": Parameter("wrench.low_pass", 20.0, 0.0)}
    text = gains_file.write("own.laws:Spring", values)
    parameters = yaml.safe_load(text)["/**"]["ros__parameters"]
    assert parameters["wrench"] == {"low_pass": 20.0}
    assert gains_file.read(text.encode(), "own.laws:Spring") == {
        name: each.value for name, each in values.items()
    }
    with pytest.raises(ConfigError) as refused:
        gains_file.read(text.encode(), "impedance")
    assert (refused.value.value, refused.value.bound) == ("impedance", ("own.laws:Spring",))


def test_both_forms_of_names_are_read_and_the_node_prevails():
    text = yaml.safe_dump(
        {
            "/**": {
                "ros__parameters": {"impedance.coriolis": True, "impedance": {"stiffness": 100.0}}
            },
            "controller": {"ros__parameters": {"impedance": {"stiffness": 300.0}}},
        }
    )
    assert gains_file.read(text.encode(), "impedance") == {"coriolis": True, "stiffness": 300.0}


@pytest.mark.parametrize(
    ("text", "name", "bound"),
    [
        ("a: [", "file", None),
        ("- 1", "the file", None),
        ("/**: {ros__parameters: {joint_pid: {p: 0.1}}}", "law", ("joint_pid",)),
        (
            "/**: {ros__parameters: {impedance: {stiffness: 1.0}, impedence: {damping: 1.0}}}",
            "law",
            ("impedance",),
        ),
        ("{}", "file", ()),
    ],
)
def test_a_file_without_gains_of_the_law_is_refused(text, name, bound):
    with pytest.raises(ConfigError) as refused:
        gains_file.read(text.encode(), "impedance")
    assert (refused.value.name, refused.value.bound) == (name, bound)
