"""Many arms at once: each is what simulate() gives, and follows from the seed
and its number alone.
"""

from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

pytest.importorskip("mujoco")

from refusals import refuses

from robot_control_ros import (
    ConfigError,
    Push,
    RobotControlError,
    load_imperfections,
    load_robot,
    simulate,
)
from robot_control_ros import simulate_many as public_simulate_many
from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.references import Hold
from robot_control_ros.simulation.many_arms import simulate_many
from robot_control_ros.simulation.trouble import GainsWarning, TroubleWarning

pytestmark = pytest.mark.sim
UR5E = load_robot("ur5e")
HOME = np.array(UR5E.home)
COLUMNS = ("t", "q", "v", "effort", "pose", "pose_error", "twist", "wrench", "command")


def short(n, **arguments):
    return simulate_many(n, **{"robot": UR5E, "duration": 0.02, "rate": 500.0, **arguments})


def same(log, other):
    return all(
        np.array_equal(getattr(log, name), getattr(other, name), equal_nan=True) for name in COLUMNS
    )


def somewhere(number, random):
    return HOME + 0.1 * random.normal(size=6)


def test_each_arm_is_what_simulate_gives_with_its_arguments():
    values = {
        "robot": [UR5E, "ur5", UR5E],
        "law": ["impedance", "joint_impedance", "impedance"],
        "gains": [{"stiffness": 300.0}, None, {"stiffness": 900.0}],
        "reference": [None, Hold(np.eye(4), HOME), lambda start: Hold(start, None)],
        "push": [Push(force=(10.0, 0.0, 0.0)), None, Push(force=(0.0, 10.0, 0.0))],
        "q0": [HOME, None, list(HOME + 0.1)],
    }
    logs = short(3, **values)
    for number, log in enumerate(logs):
        arguments = {name: value[number] for name, value in values.items()}
        assert same(log, simulate(**arguments, duration=0.02, rate=500.0))
    assert public_simulate_many is simulate_many


def test_one_value_is_that_of_all_arms():
    first, second = short(2, q0=HOME + 0.1, push=Push(force=(10.0, 0.0, 0.0)))
    assert same(first, second)
    np.testing.assert_array_equal(first.q[0], HOME + 0.1)


def test_a_function_gets_the_number_and_the_generator_that_numpy_spawns_for_it():
    logs = short(3, q0=somewhere, seed=7)
    for number, sequence in enumerate(np.random.SeedSequence(7).spawn(3)):
        np.testing.assert_array_equal(
            logs[number].q[0], somewhere(number, np.random.default_rng(sequence))
        )


def test_an_arm_is_the_same_alone_and_among_all():
    settings = {
        "q0": somewhere,
        "gains": lambda number, random: {"stiffness": random.uniform(200.0, 900.0)},
    }
    logs = short(4, **settings, imperfections="like_ur5e")
    (alone,) = short([2], **settings, imperfections="like_ur5e")
    assert same(alone, logs[2])
    assert not any(same(alone, logs[other]) for other in (0, 1, 3))
    (seeded,) = short([2], **settings, imperfections="like_ur5e", seed=1)
    assert not same(alone, seeded)


@pytest.mark.parametrize("imperfections", ["like_ur5e", load_imperfections("like_ur5e")])
def test_the_noise_of_each_arm_is_its_own(imperfections):
    first, second = short(2, imperfections=imperfections)
    assert not np.array_equal(first.q, second.q)
    assert same(first, short(1, imperfections=imperfections)[0])


@pytest.mark.starts("the thread that writes a file")
def test_each_arm_may_have_a_record_of_its_own(tmp_path):
    pytest.importorskip("mcap")
    short(2, record=lambda number, random: tmp_path / f"arm_{number}.mcap")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arm_0.mcap", "arm_1.mcap"]


# --- what is refused, and what goes wrong ---


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n": 0}, "n"),
        ({"n": []}, "n"),
        ({"n": [-1]}, "n"),
        ({"n": 2.0}, "n"),
        ({"n": True}, "n"),
        ({"n": 2, "seed": -1}, "seed"),
        ({"n": 2, "workers": 0}, "workers"),
        ({"n": 2, "q0": [HOME]}, "q0"),
        ({"n": 2, "gains": [{}, {}, {}]}, "gains"),
        ({"n": [3], "gains": [{}, {}, {}]}, "gains"),
        ({"n": 2, "record": "run.mcap"}, "record"),
        ({"n": 2, "workers": 2, "intervene": lambda plant: None}, "intervene"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_simulated(arguments, name):
    with refuses(name):
        short(**arguments)


def test_an_unknown_argument_is_an_error_as_of_any_function():
    with pytest.raises(TypeError, match="rat"):
        short(2, rat=500.0)


def test_the_error_of_an_arm_names_it_and_keeps_type_and_fields():
    gains = [{"stiffness": 500.0}, {"stiffness": -1.0}, {}]
    with pytest.raises(ConfigError) as own:
        simulate("ur5e", gains=gains[1])
    with refuses(own.value.name, own.value.value, own.value.bound) as caught:
        short(3, gains=gains)
    assert "arm 1 (" in str(caught.value)
    assert str(gains[1]) in str(caught.value)


def test_what_is_no_error_of_the_package_is_the_cause():
    def fail(plant):
        raise ZeroDivisionError

    with pytest.raises(RobotControlError) as caught:
        short(1, intervene=fail)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_errors_may_take_the_place_of_logs():
    logs = short(3, gains=[{}, {"stiffness": -1.0}, {}], return_errors=True)
    assert [type(each).__name__ for each in logs] == ["Log", "ConfigError", "Log"]
    assert same(logs[0], logs[2])


def test_the_trouble_of_all_arms_is_one_warning():
    pushes = [None, Push(force=(500.0, 0.0, 0.0)), Push(force=(0.0, 500.0, 0.0))]
    with pytest.warns(TroubleWarning) as caught:
        logs = short(3, law="gravity_compensation", duration=0.6, push=pushes)
    assert [bool(log.trouble) for log in logs] == [False, True, True]
    (told,) = [str(each.message) for each in caught if each.category is TroubleWarning]
    assert told.startswith("2 of 3 arms: arm 1: ")
    assert logs[2].trouble[0].message in told


def test_what_gains_can_not_do_is_one_warning():
    light = {"mass": 2.0, "stiffness": 500.0, "damping_ratio": 1.0}
    with pytest.warns(GainsWarning) as alone:
        simulate(UR5E, "admittance", light, duration=0.02, rate=500.0)
    with pytest.warns(GainsWarning) as caught:
        short(2, law="admittance", gains=[None, light])
    (text,) = [str(each.message) for each in alone if each.category is GainsWarning]
    assert [str(each.message) for each in caught if each.category is GainsWarning] == [
        f"1 of 2 arms: arm 1: {text}"
    ]


# --- who simulates ---


class InThisProcess(Executor):
    """Runs what is submitted at once, and keeps what it returned."""

    def __init__(self, error=None):
        self.futures = []
        self.error = error
        self.open = True

    def submit(self, function, /, *arguments, **named):
        future = Future()
        self.futures.append(future)
        if self.error is None:
            future.set_result(function(*arguments, **named))
        elif len(self.futures) == 1:
            future.set_exception(self.error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.open = False


def test_an_executor_simulates_and_stays_open():
    executor, done = InThisProcess(), []
    logs = short(
        3, q0=somewhere, executor=executor, progress=lambda count, of: done.append((count, of))
    )
    assert all(same(log, other) for log, other in zip(logs, short(3, q0=somewhere), strict=True))
    assert len(executor.futures) == 3
    assert executor.open
    assert done == [(1, 3), (2, 3), (3, 3)]


def test_after_an_error_nothing_more_is_begun():
    executor = InThisProcess(ConfigError("no", name="gain"))
    with refuses("gain"):
        short(3, executor=executor)
    assert [future.cancelled() for future in executor.futures] == [False, True, True]


def test_a_process_that_has_ended_is_a_fault():
    with pytest.raises(HardwareFault):
        short(3, executor=InThisProcess(BrokenProcessPool()))
