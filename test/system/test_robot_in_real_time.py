"""Robot on a simulation that goes on by itself, in a thread: its callbacks, and
Ctrl-C while it waits.
"""

import signal
import threading

import pytest

from robot_control_ros import Robot

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")


def above(robot, height):
    pose = robot.state.reference_pose
    pose[2, 3] += height
    return pose


def test_a_robot_in_real_time_goes_on_by_itself_and_ctrl_c_ends_a_waiting_call():
    with Robot.simulated("ur5", real_time=True) as robot:
        start, arrived = robot.time, threading.Event()
        # in a thread of its own: it may call the robot
        robot.on_stop(lambda state: (robot.hold(), arrived.set()))
        while not start < robot.time:  # nobody waits for it
            pass
        robot.move_to(above(robot, 0.01))
        arrived.wait()
        robot.move_to(above(robot, 0.3), wait=False)
        robot.wait(0.1)
        interrupted = threading.Timer(
            0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)
        )
        interrupted.start()
        with pytest.raises(KeyboardInterrupt):
            robot.wait_until(lambda state: False, timeout=600.0)
        robot.wait_until(lambda state: not state.moving, timeout=60.0)
