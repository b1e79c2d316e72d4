"""simulate(): what it refuses, what it gives back, and that the robot does what was asked."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.core.errors import ConfigError, ModelError
from robot_control_ros.core.gains import gain
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.laws import law_names
from robot_control_ros.references import Circle, Hold
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate
from robot_control_ros.simulation.scene import load_scene

pytest.importorskip("mujoco")
pytestmark = pytest.mark.sim

UR5 = load_robot("ur5")
HOME = np.array(UR5.home)


def short(**arguments):
    return simulate(**{"robot": UR5, "duration": 0.02, **arguments})


# --- what is refused ---


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_duration_that_is_not_above_zero_is_refused(bad):
    with refuses("duration", bad, (0.0, np.inf)):
        short(duration=bad)


@pytest.mark.parametrize("bad", [0.0, -500.0, math.nan, math.inf])
def test_a_rate_that_is_not_above_zero_is_refused(bad):
    with refuses("rate", bad, (0.0, np.inf)):
        short(rate=bad)


@pytest.mark.parametrize("bad", [[0.0] * 5, [0.0, 0.0, math.nan, 0.0, 0.0, 0.0], 1.0, [[0.0] * 6]])
def test_a_start_that_is_not_one_finite_angle_per_joint_is_refused(bad):
    with refuses("q0", bound=6):
        short(q0=bad)


@pytest.mark.parametrize(
    ("arguments", "value", "choices"),
    [
        ({"law": "impedence"}, "'impedence'", ", ".join(law_names())),
        ({"robot": "ur55"}, "'ur55'", ", ".join(robot_names())),
        ({"gains": {"stifness": 1.0}}, "'stifness'", "stiffness, damping_ratio"),
        ({"gains": {"stiffness": -1.0}}, "stiffness[0] = -1", "[0, 10000] N/m"),
    ],
)
def test_an_unknown_name_or_bad_gain_is_refused_with_what_is_valid(arguments, value, choices):
    with pytest.raises(ConfigError) as error:
        short(**arguments)
    assert value in str(error.value)
    assert choices in str(error.value)


def test_a_push_on_an_unknown_link_lists_the_links():
    with pytest.raises(ModelError, match=r"'elbow'.*forearm_link"):
        short(push=Push(force=(1, 0, 0), link="elbow"))


@pytest.mark.parametrize("force", [(math.nan, 0.0, 0.0), (1.0, 2.0)])
def test_a_push_that_is_no_force_is_refused(force):
    with refuses("push.force", bound=3):
        short(push=Push(force=force))


@pytest.mark.parametrize(
    ("argument", "bad", "name"),
    [
        ("push", (1.0, 0.0, 0.0), "push"),
        ("push", Push(force=(1, 0, 0), start=0.02), "push.start"),
        ("push", Push(force=(1, 0, 0), duration=0.0), "push.duration"),
        ("push", Push(force="hard"), "push.force"),
        ("push", Push(link=3), "push.link"),
        ("reference", Circle, "reference"),
        ("reference", 3.0, "reference"),
        ("reference", lambda pose: None, "reference"),
        ("gains", [1.0], "gains"),
        ("duration", "long", "duration"),
        ("q0", "home", "q0"),
    ],
)
def test_an_argument_of_another_type_is_refused(argument, bad, name):
    with pytest.raises(ConfigError) as error:
        short(**{argument: bad})
    assert error.value.name == name


def test_a_gain_of_another_size_is_refused_where_it_is_declared():
    with pytest.raises(ConfigError) as error:
        gain(1.0, size=3, doc="Three.")
    assert (error.value.name, error.value.value) == ("size", 3)


def test_a_law_that_the_profile_does_not_take_is_refused():
    with pytest.raises(ConfigError, match="takes only: position, velocity"):
        short(robot=load_robot("ur5", "real"))


def test_a_wrench_from_what_only_the_real_robot_measures_is_refused():
    """The arm gave way against the push."""
    with pytest.raises(ConfigError) as error:
        short(robot=load_robot("gen3", "real"), law="admittance")
    assert (error.value.name, error.value.value) == ("joint_effort", "reversed_torque")


def test_a_robot_that_carries_its_own_weight_does_so_in_the_simulation():
    """Under its profile the law commands no gravity torque; the motion is that
    of the law that does.
    """
    free = {"max_force": 0.0, "max_torque": 0.0}
    given = {
        "law": "impedance",
        "gains": free,
        "push": Push(force=(10.0, -5.0, 5.0)),
        "duration": 0.5,
        "rate": 500.0,
    }
    sim, real = short(robot="ur5e", **given), short(robot=load_robot("ur5e", "real"), **given)
    assert np.abs(sim.q - sim.q[0]).max() > 1e-3
    assert np.abs(real.command[0]).max() < 1e-9 < np.abs(sim.command[0]).max()
    np.testing.assert_allclose(real.q, sim.q, atol=1e-4)
    np.testing.assert_allclose(real.effort, sim.effort, atol=0.5)


# --- what is given back ---


@pytest.mark.parametrize("law", law_names())
def test_the_log_of_every_law_has_one_finite_row_per_cycle(law):
    log = short(law=law, duration=0.05, rate=500.0)
    shapes = {
        "t": (25,),
        "q": (25, 6),
        "v": (25, 6),
        "effort": (25, 6),
        "pose": (25, 4, 4),
        "pose_error": (25, 6),
        "twist": (25, 6),
        "wrench": (25, 6),
        "command": (25, 6),
    }
    for name, shape in shapes.items():
        assert getattr(log, name).shape == shape, name
        assert np.isfinite(getattr(log, name)).all(), name
    assert log.joints == UR5.joints
    assert log.q[0] == pytest.approx(HOME)


@pytest.mark.parametrize(
    ("duration", "rate"), [(0.1, 1000.0), (0.1, 125.0), (0.29, 100.0), (0.03, 2000.0)]
)
def test_duration_times_rate_samples_are_taken_at_equal_distances(duration, rate):
    log = short(duration=duration, rate=rate)
    assert len(log) == round(duration * rate)
    assert log.t == pytest.approx(np.arange(len(log)) / rate, abs=1e-12)


def test_what_is_logged_belongs_together():
    q0 = HOME + np.array([0.3, -0.2, 0.1, 0.2, 0.1, 0.4])
    push = Push(force=(20.0, 10.0, -5.0))
    log = short(q0=q0, duration=0.2, push=push)
    model = RobotModel.of(UR5)
    assert log.q[0] == pytest.approx(q0)
    for k in (0, 77, 199):
        kin = model.at(log.q[k], log.v[k])
        assert log.pose[k] == pytest.approx(kin.pose, abs=1e-12)
        assert log.twist[k] == pytest.approx(kin.jacobian @ log.v[k], abs=1e-12)
        assert log.pose_error[k, :3] == pytest.approx(
            log.pose[0, :3, 3] - log.pose[k, :3, 3], abs=1e-12
        )
    # a torque acts during the cycle that follows
    assert np.array_equal(log.effort[1:], log.command[:-1])


def test_two_runs_are_the_same_to_the_last_bit():
    arguments = {
        "duration": 0.3,
        "push": Push(force=(10.0, -20.0, 5.0), torque=(1.0, 0.0, 0.0), start=0.05, duration=0.1),
        "reference": lambda pose: Circle(pose, 0.05, 1.0, fade=0.2),
        "gains": {"inertia": 2.0, "coriolis": True},
    }
    one, two = short(**arguments), short(**arguments)
    assert np.abs(one.v).max() > 0.05
    for item in fields(one):
        if item.name in ("joints", "mode", "fault", "trouble"):
            assert getattr(one, item.name) == getattr(two, item.name), item.name
        else:
            assert np.array_equal(
                getattr(one, item.name), getattr(two, item.name), equal_nan=True
            ), item.name


def test_a_robot_may_be_a_name_or_a_configuration():
    by_name, by_config = simulate("ur5", duration=0.02), short()
    assert np.array_equal(by_name.effort, by_config.effort)


def test_another_description_may_be_given():
    lighter = UR5.urdf().replace('<mass value="2.33"/>', '<mass value="1.0"/>')
    assert lighter != UR5.urdf()
    usual, light = short(), short(urdf=lighter)
    gravity = RobotModel.of(UR5, lighter).at(HOME).gravity
    assert light.command[0] == pytest.approx(gravity, abs=1e-6)
    assert np.abs(light.command[0] - usual.command[0]).max() > 1.0  # of the forearm
    assert light.v == pytest.approx(np.zeros_like(light.v), abs=1e-6)


# --- what the robot does ---


def test_without_a_reference_the_robot_holds_its_start_pose():
    log = short(duration=0.5)
    assert np.abs(log.q - HOME).max() < 1e-6
    assert np.abs(log.pose_error).max() < 1e-6


def test_a_reference_may_be_a_trajectory():
    pose = RobotModel.of(UR5).at(HOME).pose.copy()
    pose[:3, 3] += [0.01, -0.02, 0.005]
    log = short(reference=Hold(pose, HOME), duration=3.0)
    assert log.pose_error[1, :3] == pytest.approx([0.01, -0.02, 0.005], abs=1e-3)
    assert log.pose[-1] == pytest.approx(pose, abs=1e-4)


def test_a_reference_may_be_a_function_of_the_start_pose():
    seen = []

    def start(pose):
        seen.append(pose.copy())
        return Hold(pose, HOME)

    log = short(reference=start)
    (pose,) = seen
    assert pose == pytest.approx(log.pose[0], abs=1e-12)


def test_a_circle_is_followed():
    """Stiffness K lags by Λ a / K, with a = r w², for the largest Λ about home and a fifth more."""
    radius, period = 0.05, 2.0
    kin = RobotModel.of(UR5).at(HOME)
    inertia = np.linalg.inv(kin.jacobian @ np.linalg.solve(kin.mass, kin.jacobian.T))[:3, :3]
    log = short(
        reference=lambda pose: Circle(pose, radius, period, fade=0.5),
        gains={"stiffness": [5000, 5000, 5000, 300, 300, 300]},
        duration=3.0,
    )
    lag = 1.2 * np.linalg.eigvalsh(inertia).max() * radius * (2 * math.pi / period) ** 2 / 5000.0
    assert np.linalg.norm(log.pose_error[:, :3], axis=1).max() < lag
    turned = 2 * math.pi / period * (log.t[500:] - 0.25)  # the fade costs half its length
    chord = np.linalg.norm(log.pose[500:, :3, 3] - log.pose[0, :3, 3], axis=1)
    assert chord == pytest.approx(2.0 * radius * np.abs(np.sin(turned / 2.0)), abs=lag)
    assert np.abs(log.pose[:, 0, 3] - log.pose[0, 0, 3]).max() < lag  # the plane of the normal x


def test_a_push_acts_in_its_window_and_the_spring_gives_way_by_f_over_k():
    push = Push(force=(0.0, 10.0, 0.0), torque=(0.0, 0.0, 1.0), start=0.2, duration=1.8)
    log = short(push=push, duration=4.0, gains={"stiffness": [500, 500, 500, 50, 50, 50]})
    before, during, after = log.t <= 0.2, (log.t > 0.2) & (log.t < 2.0), log.t > 3.9
    assert np.abs(log.pose_error[before]).max() < 1e-6
    assert np.abs(log.pose_error[np.argmax(during) + 1]).max() > 1e-6
    at_end = log.pose_error[np.flatnonzero(during)[-1]]
    assert at_end == pytest.approx([0.0, -10.0 / 500.0, 0.0, 0.0, 0.0, -1.0 / 50.0], abs=4e-4)
    felt = log.wrench[np.flatnonzero(during)[-1]] - log.wrench[0]
    assert felt == pytest.approx([0.0, 10.0, 0.0, 0.0, 0.0, 1.0], abs=0.05)
    assert np.abs(log.pose_error[after]).max() < 4e-4


def test_a_push_may_act_on_another_link():
    log = short(push=Push(force=(50.0, 0.0, 0.0), link="forearm_link"), duration=0.1)
    assert np.abs(log.v[-1]).max() > 1e-3
    assert np.abs(log.wrench[1] - log.wrench[0]).max() < 20.0


def test_the_profile_s_own_rate_does_not_matter():
    slow = replace(UR5, profile=replace(UR5.profile, rate=50.0))
    assert np.array_equal(short(robot=slow).effort, short().effort)


# --- scenes, and laws within the drives ---


def test_the_ball_pressed_into_the_tool_shares_the_way_between_two_springs():
    """Its slides and the tip have 1000 N/m each, the overlap is 10 mm: nearly 5 mm and 5 N; the
    skin gives way, too.
    """
    place = np.array([0.815, 0.0, 0.1])
    seen = []

    def lead(plant):
        if plant.time >= 0.2:
            plant.move_object("ball", place)
        seen.append(plant.object_pose("ball")[:3, 3])

    gains = {"stiffness": [1000, 1000, 1000, 100, 100, 100]}
    log = short(scene="ball", gains=gains, intervene=lead, duration=3.0)
    scene = load_scene("ball")
    assert log.pose[0] == pytest.approx(scene.start, abs=1e-6)
    assert len(seen) == len(log)
    assert not log.contact[log.t < 0.2].any()
    force, moved = log.contact[-1, :3], log.pose[-1, :3, 3] - log.pose[0, :3, 3]
    assert force[0] == pytest.approx(-4.8, abs=0.3)
    assert moved[0] * 1e3 == pytest.approx(-4.8, abs=0.3)
    assert force == pytest.approx(1000.0 * (place - seen[-1]), abs=0.02)
    assert force == pytest.approx(1000.0 * moved, abs=0.1)  # of the tip's spring
    assert log.wrench[-1] == pytest.approx(log.contact[-1], abs=0.02)
    assert np.ptp(log.contact[log.t > 2.0, 0]) < 0.01  # no ringing


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("scene", "way"),
    [("wall", [0.12, 0.0, 0.0]), ("table", [0.0, 0.0, -0.15])],
    ids=["wall", "table"],
)
def test_a_wall_and_a_table_hold_the_tip_back_with_the_force_of_its_spring(scene, way):
    """The tip is sent 20 mm or so behind the surface, and stays in front of it."""

    def beyond(pose):
        goal = pose.copy()
        goal[:3, 3] += way
        return Hold(goal, None)

    log = short(scene=scene, reference=beyond, duration=4.0)
    direction = np.array(way) / np.linalg.norm(way)
    behind = direction @ log.pose_error[-1, :3]
    assert behind == pytest.approx(0.02, abs=0.003)
    assert log.contact[-1, :3] == pytest.approx(-500.0 * log.pose_error[-1, :3], abs=0.1)
    assert direction @ log.contact[-1, :3] < -8.0
    assert log.wrench[-1] == pytest.approx(log.contact[-1], abs=0.02)


def test_a_block_is_pushed_along_the_table():
    """By the tip, 30 mm above the table, that is sent 150 mm along y: the last 24 mm of
    that against the block.
    """
    places = []

    def low(pose):
        goal = pose.copy()
        goal[:3, 3] = [0.5, pose[1, 3] + 0.15, 0.33]
        return Hold(goal, None)

    def watch(plant):
        places.append(plant.object_pose("block")[:3, 3])

    log = short(scene="block", reference=low, duration=4.0, intervene=watch)
    assert places[0] == pytest.approx([0.5, 0.3, 0.29])
    assert places[-1][1] > 0.31
    assert places[-1][2] == pytest.approx(0.29, abs=1e-3)  # still on the table
    assert log.contact[:, 1].min() < -0.4 * 0.5 * 9.81  # more than the block's friction


def test_without_a_scene_nothing_is_logged_of_contacts():
    assert np.isnan(short().contact).all()
    assert not short(scene=load_scene("wall")).contact.any()


def test_an_unknown_scene_is_refused_with_the_scenes_listed():
    with pytest.raises(ConfigError, match="unknown scene 'moon'; scenes: ball, "):
        short(scene="moon")


class HoldPosition:
    """Commands the reference's joint positions as they are."""

    @dataclass(frozen=True, eq=False)
    class Gains:
        nothing: float = gain(0.0, doc="Nothing.")

    mode = CommandMode.POSITION

    def __init__(self):
        self.terms = {}

    def reset(self, state, kin):
        pass

    def compute(self, state, kin, reference, gains, dt):
        return Command(CommandMode.POSITION, reference.q.copy())


class Spring(HoldPosition):
    """Torque g(q) + k (q_r - q) - d q̇ with fixed k and d."""

    mode = CommandMode.EFFORT

    def compute(self, state, kin, reference, gains, dt):
        return Command(
            CommandMode.EFFORT, kin.gravity + 400.0 * (reference.q - state.q) - 40.0 * state.v
        )


def test_a_joint_law_drives_the_motors_of_a_law_that_commands_positions():
    """A torque τ at a joint turns it by τ / k; the servo that it replaces
    gives way by much less.
    """
    positions, spring = f"{__name__}:HoldPosition", f"{__name__}:Spring"
    torque = Push(torque=(0.0, 0.0, 4.0), link="shoulder_link")
    arguments = {
        "law": positions,
        "push": torque,
        "duration": 2.0,
        "rate": 20.0,
        "physics_step": 0.005,
    }
    soft, stiff = short(joint_law=spring, **arguments), short(**arguments)
    assert soft.mode is CommandMode.POSITION
    assert len(soft) == 40
    assert soft.q[-1, 0] - HOME[0] == pytest.approx(4.0 / 400.0, abs=1e-4)
    assert 0.0 < stiff.q[-1, 0] - HOME[0] < 0.1 * 4.0 / 400.0
    with pytest.raises(
        ConfigError, match=r"effort command: joint_law .*Spring takes position only"
    ):
        short(law=spring, joint_law=spring)
