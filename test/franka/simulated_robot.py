"""A simulated Franka robot for the long tests; it runs in franka-sim's own environment.

    python simulated_robot.py [--payload MASS] [--friction TORQUE] [--deaf] [--without-enforcement]

It is franka-sim's server with an arm of its own, and says `ready` when a client may connect. Then it
reads requests, one a line, from its standard input:

    lose SHARE SECONDS     that share of the client's commands is lost for so long
    silent SECONDS         no states go out for so long
    push X Y Z SECONDS     a force on the flange, in base axes [N]
    payload                answers `payload MASS`: the load that the client declared
    pose                   answers `pose X Y Z`: where the flange is [m]

franka-sim compensates the weight of all bodies. Here the payload's weight is compensated only as far
as the client has declared it, as the robot does.
"""

import argparse
import importlib
import logging
import os
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

import mujoco
import numpy as np

franka_sim = importlib.import_module("franka_sim")  # of this program's environment, not ours
ARMATURE = 0.195  # kg·m²: franka_fr3_v2/fr3v2.xml of MuJoCo Menagerie
DAMPING = 0.003  # N·m·s/rad: the same
PAYLOAD = "carried"
PAYLOAD_AT = (0.0, 0.0, 0.157)  # m in link7: 50 mm beyond the flange
OPTIONS = '<mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'


def arm_file(folder, payload, friction):
    """Write the arm: links, inertias and joints of the URDF that the server shows, no shapes."""
    text = (Path(franka_sim.__file__).parent / "models" / "fr3.urdf").read_text()
    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)
    head = text.index(">", text.index("<robot")) + 1
    spec = mujoco.MjSpec.from_string(text[:head] + OPTIONS + text[head:])
    for joint in spec.joints:
        joint.armature = ARMATURE
        joint.damping = DAMPING
        joint.frictionloss = friction
    if payload > 0.0:
        body = spec.find_body("link7").add_body()
        body.name = PAYLOAD
        body.pos = PAYLOAD_AT
        body.mass = payload
        body.inertia = [1e-3 * payload] * 3
        body.explicitinertial = True
    spec.compile()
    path = Path(folder) / "arm.xml"
    path.write_text(spec.to_xml())
    return path


class LossySocket:
    """The server's datagram socket, which loses commands, or states, for a while."""

    def __init__(self, real, faults):
        self._real = real
        self._faults = faults

    def __getattr__(self, name):
        return getattr(self._real, name)

    def recvfrom(self, size):
        data, address = self._real.recvfrom(size)
        return (b"", address) if self._faults.loses() else (data, address)

    def sendto(self, data, address):
        return len(data) if self._faults.silent() else self._real.sendto(data, address)


class Faults:
    """What goes wrong now."""

    def __init__(self):
        self._share = 0.0
        self._lossy_until = 0.0
        self._silent_until = 0.0
        self._random = random.Random(1)

    def loses(self):
        return time.monotonic() < self._lossy_until and self._random.random() < self._share

    def silent(self):
        return time.monotonic() < self._silent_until

    def lose(self, share, seconds):
        self._share = share
        self._lossy_until = time.monotonic() + seconds

    def fall_silent(self, seconds):
        self._silent_until = time.monotonic() + seconds


class Server(franka_sim.FrankaSimServer):
    """franka-sim's server with faults, a payload and pushes."""

    def __init__(self, payload, deaf, **options):
        self._deaf = deaf  # to declared loads
        self.faults = Faults()
        self._payload = payload
        super().__init__(**options)

    @property
    def simulation(self):
        return self.physics_sim

    @property
    def declared(self):
        return float(self.robot_state.state["m_load"])

    def start_command_receiver(self):
        self.udp_socket = LossySocket(self.udp_socket, self.faults)
        super().start_command_receiver()

    def reset_state(self):
        super().reset_state()
        self.weigh()

    def handle_set_load_command(self, *arguments, **options):
        super().handle_set_load_command(*arguments, **options)
        if self._deaf:
            self.robot_state.state["m_load"] = 0.0
        self.weigh()

    def weigh(self):
        """Compensate as much of the payload's weight as was declared."""
        if self._payload > 0.0 and self.simulation.model is not None:
            body = self.simulation.model.body(PAYLOAD).id
            self.simulation.model.body_gravcomp[body] = self.declared / self._payload

    def push(self, force, seconds):
        simulation = self.simulation
        simulation.data.xfrc_applied[simulation.ee_body_id, :3] = force
        time.sleep(seconds)
        simulation.data.xfrc_applied[simulation.ee_body_id, :3] = 0.0

    @property
    def flange(self):
        data = self.simulation.data
        body = self.simulation.ee_body_id
        return data.xpos[body] + data.xmat[body].reshape(3, 3) @ (0.0, 0.0, 0.107)


def serve_requests(server):
    for line in sys.stdin:
        name, *words = line.split()
        values = [float(word) for word in words]
        if name == "lose":
            server.faults.lose(*values)
        elif name == "silent":
            server.faults.fall_silent(*values)
        elif name == "push":
            push = threading.Thread(target=server.push, args=(np.array(values[:3]), values[3]))
            push.daemon = True
            push.start()
        elif name == "payload":
            print("payload", server.declared, flush=True)
        elif name == "pose":
            print("pose", *server.flange.tolist(), flush=True)
        else:
            print("unknown", name, flush=True)
    os._exit(0)  # the test that started it has ended


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--payload", type=float, default=0.0)
    parser.add_argument("--friction", type=float, default=0.2)
    parser.add_argument("--deaf", action="store_true", help="take no load")
    parser.add_argument("--without-enforcement", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    enforced = not arguments.without_enforcement
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FR3_MJCF"] = str(arm_file(folder, arguments.payload, arguments.friction))
        server = Server(
            arguments.payload,
            arguments.deaf,
            enable_gripper=False,
            enforce_comm_constraints=enforced,
            enforce_motion_limits=enforced,
        )
        threading.Thread(target=serve_requests, args=(server,), daemon=True).start()
        threading.Thread(target=tell_when_ready, args=(server,), daemon=True).start()
        server.start()


def tell_when_ready(server):
    while server.simulation.data is None:
        time.sleep(0.05)
    time.sleep(0.5)
    server.weigh()
    print("ready", flush=True)


if __name__ == "__main__":
    main()
