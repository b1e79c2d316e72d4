"""The arm keeps its limits whatever pushes it, or stops and says which one it can't keep."""

import numpy as np
import pytest
from driven_arm import DrivenArm

from robot_control_ros.control.soft_limits import OVERSPEED
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.differential_kinematics import RETREAT
from robot_control_ros.robot.model import RobotModel

PushedArm = pytest.importorskip("pushed_arm").PushedArm
robots = pytest.mark.parametrize("name", ["ur5e", "gen3"])
DIRECTIONS = np.diag((1.0, -1.0, 1.0))


def fastest_tip(arm, force, seconds=1.5):
    """The largest speed of the tip [m/s] under a force (3,) [N]."""
    places, _ = arm.go(arm.loop.tick, seconds, force)
    return arm.speeds(places).max()


@pytest.mark.few(2)
@robots
@pytest.mark.parametrize("law", ["gravity_compensation", "impedance"])
def test_a_push_of_20_newton_moves_the_tip_no_faster_than_its_limit(name, law):
    for direction in DIRECTIONS:
        assert fastest_tip(PushedArm(name, law), 20.0 * direction) <= 1.5
        arm = PushedArm(name, law)
        arm.loop.limits.set({"max_tip_speed": 0.4})
        assert fastest_tip(arm, 20.0 * direction) <= OVERSPEED * 0.4
        assert not arm.loop.fault


@pytest.mark.few(1)
@robots
def test_a_push_of_80_newton_stops_the_arm_where_it_passes_a_limit_and_the_fault_says_which(name):
    faults = set()
    for direction in DIRECTIONS:
        arm = PushedArm(name, "gravity_compensation")
        arm.loop.limits.set({"max_tip_speed": 0.4})
        speed = fastest_tip(arm, 80.0 * direction)
        assert speed <= 0.4 * OVERSPEED or arm.loop.fault
        faults.add(arm.loop.fault)
        if arm.loop.fault:
            after, _ = arm.go(arm.loop.tick, 2.0)
            assert arm.speeds(after)[-1] <= 0.02
    assert any("tip" in fault for fault in faults)


def test_a_fault_of_a_limit_stays_until_the_controller_begins_anew():
    arm = PushedArm("ur5e", "gravity_compensation")
    arm.loop.limits.set({"max_tip_speed": 0.1})
    arm.go(arm.loop.tick, 1.0, np.array([0.0, 80.0, 0.0]))
    assert arm.loop.fault
    arm.go(arm.loop.tick, 1.0)
    assert arm.loop.fault
    arm.loop.reset()
    arm.go(arm.loop.tick, 0.1)
    assert not arm.loop.fault


@pytest.mark.few(1)
@pytest.mark.parametrize("law", ["gravity_compensation", "impedance"])
def test_more_than_the_joints_hold_is_a_fault_with_joint_and_bound(law):
    """Twice the payload of a Gen3, sidewards: its wrist has no torque to hold that."""
    arm = PushedArm("gen3", law)
    arm.go(arm.loop.tick, 1.5, np.array([0.0, 80.0, 0.0]))
    assert any(joint in arm.loop.fault for joint in arm.robot.joints)
    assert any(f"{limit:.3g}" in arm.loop.fault for limit in arm.model.limits.velocity)
    after, _ = arm.go(arm.loop.tick, 2.0)
    assert arm.speeds(after)[-1] <= 0.02


@pytest.mark.few(2)
@pytest.mark.parametrize("law", ["admittance", "joint_pid"])
@pytest.mark.parametrize("limit", [0.05, 0.15])
def test_laws_of_positions_and_velocities_keep_the_tips_limit_too(law, limit):
    arm = DrivenArm("ur5e", law)
    arm.loop.limits.set({"max_tip_speed": limit})
    speeds = []
    for k in range(1500):
        arm.step((0.0, 60.0, 0.0))
        speeds.append(arm.tip_speed)
        if k == 10:
            goal = arm.q.copy()
            goal[0] += 0.5
            arm.loop.motion.move_joints_to(goal)
    assert max(speeds) <= limit
    assert max(speeds) > 0.5 * limit


def beyond(name, joint, by):
    """Joint angles (n,) with one joint beyond its upper limit by so much, or below it."""
    robot = load_robot(name)
    q = np.array(robot.home)
    q[joint] = RobotModel.of(robot).limits.upper[joint] + by
    return q


@pytest.mark.few(4)
@pytest.mark.parametrize(("name", "joint"), [("ur5", 3), ("gen3", 3)])
@pytest.mark.parametrize("by", [0.02, 0.0, -0.003])
@pytest.mark.parametrize("law", ["impedance", "gravity_compensation", "joint_impedance"])
def test_a_joint_that_begins_at_its_limit_is_pushed_back_slowly(name, joint, by, law):
    arm = PushedArm(name, law)
    q = beyond(name, joint, by)
    arm.plant.reset(q)
    first = arm.loop.tick(arm.plant.read())
    arm.plant.write(first)
    gravity = arm.model.at(q).gravity
    assert np.all(
        np.abs(first.values - gravity) <= np.array(arm.robot.effort_rate) * arm.period + 1e-9
    )
    speeds, torques = [], []
    for _ in range(round(2.0 / arm.period)):
        state = arm.plant.read()
        arm.plant.write(arm.loop.tick(state))
        torques.append(abs(arm.loop.soft_limits.torque[joint]))
        speeds.append(abs(state.v[joint]))
    if by <= 0.0:  # beyond its limit the simulated joint has a stop of its own
        assert max(speeds) <= 1.5 * RETREAT
    assert max(torques) <= 0.3 * arm.model.limits.effort[joint]
    assert arm.plant.read().q[joint] <= arm.model.limits.upper[joint]
    assert not arm.loop.fault


def test_a_position_that_begins_beyond_its_limit_goes_back_slowly():
    arm = DrivenArm("gen3", "admittance", q=beyond("gen3", 5, 0.05))
    steps = []
    for _ in range(400):
        before = arm.q[5]
        arm.step()
        steps.append(before - arm.q[5])
    assert max(np.abs(steps)) <= RETREAT * arm.robot.period + 1e-9
    assert arm.q[5] <= arm.model.limits.upper[5]


def test_a_position_beyond_its_limit_is_led_back_as_fast_as_it_is_asked_to():
    arm = DrivenArm("gen3", "admittance", q=beyond("gen3", 5, 0.2))
    arm.step()
    arm.loop.motion.go_home()
    for _ in range(4000):
        arm.step()
    np.testing.assert_allclose(arm.q, arm.robot.home, atol=0.02)
