"""Laws are run, and so compiled, before they control an arm."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.warm_up import check_warm, compute_alone, rehearse, warm_up
from robot_control_ros.core.compiled import compiled
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.rotations import rotation_exp_into
from robot_control_ros.laws import law_names
from robot_control_ros.laws.gravity_compensation import GravityCompensation
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot

COMPILED = "warm_up_compiled_law:Law"
READY = """
import sys
from robot_control_ros.control.warm_up import warm_up
from robot_control_ros.laws import position_domain_pd as law
from robot_control_ros.robot.configuration import load_robot

warm_up(load_robot(sys.argv[1]), ["position_domain_pd"])
print(*(len(function.signatures) for function in (law.begin, law.first_guess, law.better_guess, law.finish)))
"""


@pytest.fixture
def robot():
    return load_robot("ur5")


def make_law(monkeypatch, module):
    """A law of a user in a module; returns how often it was computed."""
    computed = []

    class Law(GravityCompensation):
        def compute(self, *arguments):
            computed.append(1)
            return super().compute(*arguments)

    made = ModuleType(module)
    made.Law = Law
    Law.__module__ = module
    monkeypatch.setitem(sys.modules, module, made)
    return computed


def test_a_law_of_the_package_is_ready_only_once_it_was_warmed_up(robot):
    for law in law_names(plugins=False):
        try:
            running = RunningLaw(robot.at_rate(100.0), law)
        except ConfigError:  # a law that this robot can't have
            continue
        warm_up(robot, [law])
        check_warm(running)


def test_laws_are_computed_without_a_loop_too_but_for_those_that_the_robot_cannot_have(
    robot, monkeypatch
):
    computed = make_law(monkeypatch, "warm_up_lonely_law")
    compute_alone(
        robot, [*law_names(plugins=False), "no_law_of_this_name", "warm_up_lonely_law:Law"]
    )
    assert computed


def test_a_law_in_plain_python_is_not_run_and_always_ready(robot, monkeypatch):
    computed = make_law(monkeypatch, "warm_up_plain_law")
    warm_up(robot, ["warm_up_plain_law:Law"])
    check_warm(RunningLaw(robot, "warm_up_plain_law:Law"))
    assert computed == []


def test_a_law_that_uses_a_compiled_function_of_another_module_has_to_be_compiled(
    robot, monkeypatch
):
    make_law(monkeypatch, "warm_up_importing_law")
    sys.modules["warm_up_importing_law"].function = rotation_exp_into
    with pytest.raises(ConfigError):
        check_warm(RunningLaw(robot, "warm_up_importing_law:Law"))


def test_a_law_that_has_to_be_compiled_is_refused_while_another_one_controls(robot, monkeypatch):
    computed = make_law(monkeypatch, "warm_up_compiled_law")

    def function(x: float) -> float:
        return x

    function.__module__ = "warm_up_compiled_law"
    compiled(function)
    running = RunningLaw(robot, COMPILED)
    with pytest.raises(ConfigError) as refused:
        check_warm(running)
    assert (refused.value.name, refused.value.value) == ("law", COMPILED)
    warm_up(robot, [COMPILED])
    assert computed
    check_warm(running)
    count = len(computed)
    warm_up(robot, [COMPILED])
    assert len(computed) == count


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["ur5", "ur5e", "gen3"])
@pytest.mark.parametrize("law", ["impedance", "force_control", "position_domain_pd"])
def test_a_rehearsal_comes_to_its_end_with_every_robot(name, law):
    try:
        loop = ControlLoop(load_robot(name), law)
    except ConfigError:
        pytest.skip("a law that this robot can't have")
    rehearse(loop, np.random.default_rng(1))
    assert loop.state is not None
    assert loop.fault == ""


def test_a_law_that_cannot_be_loaded_or_paired_is_left_out(robot):
    warm_up(robot, ["nobody.knows:Law", "nonsense"])


@pytest.mark.starts("fresh interpreters, in which nothing is compiled yet")
@pytest.mark.parametrize("name", [pytest.param("ur5", marks=pytest.mark.long), "gen3"])
def test_what_looks_up_a_path_of_the_joints_is_ready_after_it(name):
    """Paths that Python knows alone are looked up between two calls of compiled functions."""
    ended = subprocess.run(
        [sys.executable, "-c", READY, name], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["1", "1", "1", "1"]
