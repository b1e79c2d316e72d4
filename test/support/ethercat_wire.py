"""Programs on an emulated bus: `python ethercat_wire.py SCENARIO` prints what it saw, as JSON.

They run in a network namespace of their own, at the two ends of a veth pair. `arm`: a master, and
the emulated arm. `commands`: `robot_control ethercat`, and the emulated arm. `loopback`: two ROS 2
nodes.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ethercat_emulator.faults.channel import inject
from ethercat_emulator.network.veth import MASTER, SLAVES, enter_namespace, make_pair
from robot_control_ros.cli.main import main
from robot_control_ros.fieldbus.emulation.program import emulated_bus
from robot_control_ros.fieldbus.ethercat.cia402 import Mode, TargetSource
from robot_control_ros.fieldbus.ethercat.process_data import ProcessData
from robot_control_ros.fieldbus.ethercat.topology import FoundSlave, load_topology
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.process_environment import environment

FAULT = 0x08


def loopback() -> dict:
    """A node that talks, and one that listens."""
    command = [sys.executable, "-c", NODE]
    talker = subprocess.Popen([*command, "talk"], env=environment())
    try:
        heard = subprocess.run(
            [*command, "listen"], env=environment(), capture_output=True, text=True
        )
    finally:
        talker.kill()
        talker.wait()
    return {"heard": heard.stdout.split()}


NODE = """
import sys
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node(sys.argv[1])
late_joiners_too = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
heard = rclpy.Future()
if sys.argv[1] == "talk":
    node.create_publisher(String, "chatter", late_joiners_too).publish(String(data="hello"))
else:
    node.create_subscription(String, "chatter", heard.set_result, late_joiners_too)
rclpy.spin_until_future_complete(node, heard)
print(heard.result().data)
"""


def arm() -> dict:
    """The program at the one end, pysoem at the other."""
    import pysoem

    make_pair()
    path = str(Path(tempfile.mkdtemp()) / "faults")
    command = [sys.executable, "-m", "robot_control_ros.fieldbus.emulation.program"]
    command += ["--robot", "ur5", "--interface", SLAVES, "--faults", path]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found: dict = {"line": child.stdout.readline(), "socket": path}
    try:
        exercise(pysoem, path, found)
    finally:
        child.send_signal(signal.SIGTERM)
        _, found["errors"] = child.communicate()
    found |= {"status": child.returncode, "socket left": os.path.exists(path)}
    shutil.rmtree(Path(path).parent)
    return found


def exercise(pysoem, faults: str, found: dict) -> None:
    """Bring the arm to OP, hold it, push it, move it, and break a drive."""
    plan, joints = load_topology("ur5"), load_robot("ur5").joints
    master = pysoem.Master()
    master.open(MASTER)
    master.config_init()
    plan.check_bus([FoundSlave(s.man, s.id, s.rev, name=s.name) for s in master.slaves])
    for expected, slave in zip(plan.slaves, master.slaves, strict=True):
        expected.check_rated_torque(struct.unpack("<I", slave.sdo_read(0x6076, 0))[0])
        for write in expected.drive.mapping_writes():
            slave.sdo_write(write.index, write.sub_index, write.data())
    master.config_map()
    for slave in master.slaves:
        slave.set_watchdog("processdata", 2000)  # ms
    assert master.state_check(pysoem.SAFEOP_STATE, 1_000_000) == pysoem.SAFEOP_STATE
    data = ProcessData([slave.axis for slave in plan.in_order_of(joints)])

    def exchange() -> None:
        master.send_processdata()
        assert master.receive_processdata(200_000) >= 0
        data.read([slave.input for slave in master.slaves])

    def cycle(control: int, targets: TargetSource, q, count: int = 1) -> None:
        at = time.monotonic()
        for _ in range(count):
            data.write([control] * 6, Mode.POSITION, [targets] * 6, q)
            for slave, output in zip(master.slaves, data.outputs, strict=True):
                slave.output = output
            exchange()
            at += 0.001
            time.sleep(max(0.0, at - time.monotonic()))

    def angles() -> list[float]:
        return data.q.tolist()

    exchange()
    master.state = pysoem.OP_STATE
    master.write_state()
    for _ in range(200):
        exchange()
        if master.state_check(pysoem.OP_STATE, 1000) == pysoem.OP_STATE:
            break
    master.read_state()
    found["states"] = [(slave.state, slave.al_status) for slave in master.slaves]
    found["at first"] = start = angles()
    q = np.array(start)
    for control in (0x06, 0x07, 0x0F):
        cycle(control, TargetSource.FOLLOW, q, 5)
    cycle(0x0F, TargetSource.COMMAND, q, 500)
    found["held"], found["effort"] = angles(), data.effort.tolist()
    found["enabled"] = [word & 0x6F for word in data.status_words]
    inject(faults, "push tool0 0 0 -20")
    cycle(0x0F, TargetSource.COMMAND, q, 500)
    found["effort pushed"] = data.effort.tolist()
    inject(faults, "push tool0 0 0 0")
    for share in np.linspace(0.0, 1.0, 300):
        cycle(0x0F, TargetSource.COMMAND, q + 0.05 * share)
    cycle(0x0F, TargetSource.COMMAND, q + 0.05, 300)
    found["moved"] = angles()
    found["help"] = inject(faults, "help")
    inject(faults, "drive_fault 1 0x7305")
    for _ in range(2000):
        cycle(0x0F, TargetSource.COMMAND, q + 0.05)
        if data.status_words[1] & 0x4F == FAULT:
            break
    found["fault"] = [data.status_words[1] & 0x4F, data.error_codes[1]]
    master.close()


def commands() -> dict:
    """By command, its exit status, output and errors."""
    make_pair()
    at = ("--interface", MASTER)
    runs = {
        "scan": ("scan", *at, "--topology", "ur5"),
        "wrong": ("scan", *at, "--topology", "planar_two_link"),
        "template": ("scan", *at, "--template"),
        "info": ("info", *at, "--position", "5"),
        "write": ("write", *at, "--position", "2", "0x6065", "--type", "u32", "4321"),
        "read": ("read", *at, "--position", "2", "0x6065:0"),
        "refused": ("read", *at, "--position", "2", "0x5FFF"),
        "read only": ("write", *at, "--position", "2", "0x6041", "--type", "u16", "1"),
    }
    found = {}
    with emulated_bus("ur5", "", SLAVES):
        for name, arguments in runs.items():
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main(["ethercat", *arguments])
            found[name] = [status, out.getvalue(), err.getvalue()]
    return found


if __name__ == "__main__":
    enter_namespace()
    print(
        "\n" + json.dumps({"arm": arm, "commands": commands, "loopback": loopback}[sys.argv[1]]())
    )
