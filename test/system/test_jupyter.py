"""Robot in a Jupyter kernel, on a controller and a simulator in processes of their own."""

import time

import numpy as np
import pytest
from processes import threads
from robot_trials import notebook_cells, start_controller

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco")
pytest.importorskip("ipykernel", reason="needs Jupyter's kernel (ipykernel)")
jupyter_client = pytest.importorskip("jupyter_client")

from robot_control_ros import Robot  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.sim, pytest.mark.long]
SLOW = 60.0  # s, for a machine under load
IMPORT = "import os, time; from robot_control_ros import Robot; print(os.getpid())"
CONNECT = f"robot = Robot('ur5', timeout={SLOW}, lost_after={SLOW})"


class Kernel:
    """A Jupyter kernel, and what a notebook asks of it."""

    def __init__(self, folder, variables):
        self._manager = jupyter_client.KernelManager(connection_file=str(folder / "kernel.json"))
        own = {"IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder)}
        self._manager.start_kernel(env={**variables, **own})
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(SLOW)

    def begin(self, code):
        """Begin a cell; returns its message, by which it ends."""
        return self._client.execute(code, allow_stdin=False)

    def end(self, cell):
        """Wait for the end of a cell; returns its error, or None, and what it printed since."""
        printed, idle = "", False
        while not idle:
            content = self._message(cell)["content"]
            printed += content.get("text", "")
            idle = content.get("execution_state") == "idle"
        while (reply := self._client.get_shell_msg(timeout=SLOW))["parent_header"].get(
            "msg_id"
        ) != cell:
            pass
        content = reply["content"]
        return (
            f"{content['ename']}: {content['evalue']}" if content["status"] == "error" else None
        ), printed

    def _message(self, cell):
        while (found := self._client.get_iopub_msg(timeout=SLOW))["parent_header"].get(
            "msg_id"
        ) != cell:
            pass
        return found

    def run(self, code):
        """A cell that must not fail; returns what it printed."""
        error, printed = self.end(self.begin(code))
        assert error is None, error
        return printed

    def interrupt(self, cell):
        """Interrupt a cell of :func:`interrupted`, whose call then ends."""
        self._manager.interrupt_kernel()
        error, printed = self.end(cell)
        assert error is None, error
        assert "interrupted" in printed

    def restart(self):
        self._manager.restart_kernel()
        self._client.wait_for_ready(SLOW)

    def shut_down(self):
        """Ask the kernel to end, as a notebook's server does; returns whether
        it ended by itself.
        """
        self._manager.request_shutdown()
        deadline = time.monotonic() + SLOW
        while self._manager.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        return not self._manager.is_alive()

    def close(self):
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=not self._manager.is_alive())


@pytest.fixture
def ros(ros):
    ros.start("simulator", {"robot": "ur5", "pacing": "lockstep"})
    start_controller(ros)
    return ros


@pytest.fixture
def witness(ros):
    """Another client, in the process of the test."""
    with Robot("ur5", timeout=SLOW, lost_after=SLOW) as robot:
        yield robot


@pytest.fixture
def kernel(ros, witness, tmp_path):
    kernel = Kernel(tmp_path, ros.environment)
    yield kernel
    kernel.close()


def clients(ros, process, controller="controller"):
    """The publishers of a process that lead a controller. Names of nodes may stay in ROS's graph
    when they are gone.
    """
    found = ros.node.get_publishers_info_by_topic(f"/{controller}/target_pose")
    return [each for each in found if each.node_name.startswith(f"robot_client_{process}_")]


def interrupted(call):
    """A cell that says if an interrupt has ended its call."""
    return f"try:\n    {call}\nexcept KeyboardInterrupt:\n    print('interrupted')"


def test_the_notebook_runs_cell_by_cell(kernel):
    printed = "".join(kernel.run(code) for _, code in notebook_cells(running=True))
    assert "stiffness[0] 30000.0 (0.0, 10000.0)" in printed


def test_an_interrupt_ends_the_search_for_a_controller_and_a_move_which_then_holds(
    kernel, witness, ros
):
    process = int(kernel.run(IMPORT))
    cell = kernel.begin(interrupted("Robot(controller='none', timeout=1000.0)"))
    ros.until(lambda: clients(ros, process, "none"), "a client that searches")
    kernel.interrupt(cell)
    ros.until(lambda: not clients(ros, process, "none"), "no client")
    far = np.array(witness.config.home)
    far[0] += 2.0
    kernel.run(CONNECT)
    cell = kernel.begin(interrupted(f"robot.move_to(q={far.tolist()}, timeout={SLOW})"))
    witness.wait_until(lambda state: state.moving, timeout=SLOW)
    kernel.interrupt(cell)
    state = witness.wait_until(lambda state: not state.moving, timeout=SLOW)
    assert np.abs(state.blocks["reference_position"] - far).max() > 0.01
    assert "False" in kernel.run(f"print(robot.go_home(timeout={SLOW}).moving)")


def test_robots_made_again_restarts_and_the_end_of_a_kernel_leave_nothing_and_the_controller_running(
    kernel, ros, witness
):
    first = int(kernel.run(IMPORT))
    for _ in range(2):  # one thread begins with the second, and stays
        kernel.run(CONNECT)
    running = len(threads(first))
    for _ in range(3):
        kernel.run(CONNECT)
    ros.until(lambda: len(clients(ros, first)) == 1, "one client")
    assert len(threads(first)) == running
    kernel.restart()
    second = int(kernel.run(IMPORT))
    assert second != first
    kernel.run(CONNECT)
    assert witness.law in kernel.run("print(robot.law)")
    assert kernel.shut_down()
    ros.until(lambda: not clients(ros, first) + clients(ros, second), "no client")
    before = witness.time
    assert witness.wait(0.1).time > before
    assert witness.fault == ""
