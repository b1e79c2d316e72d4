"""The driver behind a cable that loses, doubles, delays, exchanges, cuts and changes
replies: nothing jumps.
"""

import struct

import numpy as np
import pytest
from ethercat_emulator_support import Master, answers, datagram, ethernet
from ethercat_meddler import LAW, ROBOT, Meddler, Powers

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError, RobotControlError
from robot_control_ros.fieldbus.emulation.arm import MujocoArm
from robot_control_ros.fieldbus.emulation.topology_bus import bus_of
from robot_control_ros.fieldbus.ethercat import ethercat_plant as plant_module
from robot_control_ros.fieldbus.ethercat.ethercat_plant import EthercatPlant
from robot_control_ros.fieldbus.ethercat.pdo import TARGET_TORQUE
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.supervisor import Action
from robot_control_ros.robot.configuration import load_robot

INPUTS_AT = 0x1000  # logical address
AT_WORK = (Action.ENABLE, Action.RUN, Action.HOLD)


class InProcessMaster:
    """A master of raw frames in virtual time: it takes a reply by its index within the
    budget, as SOEM does.
    """

    def __init__(self, interface):
        self.now, self.clock = 1.0, 0
        topology = load_topology(ROBOT)
        robot = load_robot(ROBOT, "ethercat")
        self.sizes = [(slave.axis.rx.size, slave.axis.tx.size) for slave in topology.drives]
        bus = bus_of(topology, robot.joints, MujocoArm(robot))
        self.powers, self._raw = Powers(bus), Master(bus)
        self.meddler = Meddler(self._raw.line, seed=3)
        self.expected_working_counter = 2 * len(self.sizes)  # LWR and LRD
        self._index, self._inputs = 0, bytes(sum(size for _, size in self.sizes))
        self._outputs = [bytes(size) for size, _ in self.sizes]

    def open(self):
        raw, at, back = self._raw, 0, INPUTS_AT
        raw.now = round(1e9 * self.now)
        for slave, (outputs, inputs) in enumerate(self.sizes):
            raw.preop(slave)
            raw.process_data(slave, outputs, inputs, logical=(at, back))
            assert raw.request(slave, 0x04) == (0x04, 0)
            assert raw.request(slave, 0x08) == (0x08, 0)
            at, back = at + outputs, back + inputs

    def configure(self, topology):
        pass

    def operate(self, exchange):
        exchange()

    def close(self):
        pass

    def exchange(self, budget):
        self._index = (self._index + 1) % 16
        outputs = b"".join(self._outputs)
        parts = datagram("LWR", 0, 0, outputs, index=self._index, more=True)
        parts += datagram("LRD", INPUTS_AT, 0, bytes(len(self._inputs)), index=self._index)
        began = round(1e9 * self.now)
        for step, frame in ((20_000, ethernet(parts)), (round(1e9 * budget), None)):
            for reply in self.meddler.exchange(frame, began + step):
                if (counter := self._take(reply)) is not None:
                    self.now = 1e-9 * (began + step)
                    return counter
        self.now += budget
        return -1

    def _take(self, reply):
        try:
            (_, index, _, _, written), (_, _, _, inputs, read) = answers(reply)
        except (struct.error, ValueError):
            return None  # cut
        if index != self._index or len(inputs) != len(self._inputs):
            return None
        self._inputs = inputs
        return written + read

    def inputs(self, positions):
        ends = np.cumsum([size for _, size in self.sizes]).tolist()
        return [self._inputs[ends[at] - self.sizes[at][1] : ends[at]] for at in positions]

    def put(self, positions, outputs):
        for at, output in zip(positions, outputs, strict=True):
            self._outputs[at] = bytes(output)


@pytest.fixture
def plant(monkeypatch):
    pytest.importorskip("mujoco", reason="the emulated arm needs MuJoCo")
    monkeypatch.setattr(plant_module, "Master", InProcessMaster)
    plant = EthercatPlant(load_robot(ROBOT, "ethercat").joints, load_topology(ROBOT), "none")
    master = plant.master

    def sleep_until(deadline):
        master.now = max(master.now, deadline)

    class Clock:
        monotonic = staticmethod(lambda: master.now)
        time = staticmethod(lambda: master.now)

    monkeypatch.setattr(plant_module, "sleep_until", sleep_until)
    monkeypatch.setattr(plant_module, "time", Clock)
    plant.open()
    return plant


class Watch:
    """Cycles of a plant with a law, and what the drives are told."""

    def __init__(self, plant):
        self.plant, self.requests, self.stops, self.by_itself = plant, 0, 0, 0
        self.steps = []  # (largest change of a target torque in units of what is permitted)
        robot = load_robot(ROBOT, "ethercat").at_rate(1000.0)
        self._loop, self._rate = ControlLoop(robot, LAW), np.array(robot.effort_rate)
        axes = plant.cycle.data.axes
        self._places = [axis.rx.place(TARGET_TORQUE) for axis in axes]
        self._unit = np.abs([1.0 / axis.scale.torque for axis in axes])
        self._last = None  # time of a sample, and the targets that answered it
        self._action = Action.DISABLE

    def cycle(self):
        plant = self.plant
        cycle, asked = plant.cycle, False
        if cycle.supervisor.action is Action.DISABLE and cycle.supervisor.idle:
            cycle.reset_faults()
            try:
                plant.enable()
                asked, self.requests = True, self.requests + 1
            except ConfigError:
                pass  # what stands against it goes by
        if plant.sense():
            self._tick(cycle)
        plant.act()
        self._look(cycle)
        before, self._action = self._action, cycle.supervisor.action
        self.by_itself += self._action in AT_WORK and before not in AT_WORK and not asked
        self.stops += before in AT_WORK and self._action not in AT_WORK

    def _tick(self, cycle):
        state, loop = cycle.state(self.plant.master.now), self._loop
        self._sampled = state.time
        try:
            command = (
                loop.tick(state) if cycle.supervisor.action is Action.RUN else loop.idle(state)
            )
        except RobotControlError:
            command = loop.stop()
        if command is not None:
            cycle.command(command, state.time)

    def _look(self, cycle):
        """Changes from one running cycle to the next; at first a drive's torque begins where
        its brake leaves it.
        """
        if cycle.supervisor.action is not Action.RUN or not all(
            machine.enabled for machine in cycle.machines
        ):
            self._last = None
            return
        outputs = zip(cycle.data.outputs, self._places, strict=True)
        targets = (
            np.array([struct.unpack_from("<h", data, place)[0] for data, place in outputs])
            * self._unit
        )
        if self._last is not None:
            permitted = self._rate * (self._sampled - self._last[0]) + self._unit
            self.steps.append(float(np.max(np.abs(targets - self._last[1]) / permitted)))
        self._last = self._sampled, targets


def run_in_virtual_time(plant, seconds: float) -> None:
    watch = Watch(plant)
    while watch.requests == 0 or plant.cycle.supervisor.action is not Action.RUN:
        watch.cycle()
    plant.master.meddler.on = True
    end = plant.master.now + seconds
    while plant.master.now < end:
        watch.cycle()
    plant.master.meddler.on = False
    for _ in range(5000):
        watch.cycle()
    assert plant.cycle.supervisor.action is Action.RUN
    assert min(plant.master.meddler.counts.values()) > 0
    assert watch.stops > 0
    assert watch.by_itself == 0
    assert max(plant.master.powers.enabled) <= watch.requests
    assert max(watch.steps) <= 1.0


@pytest.mark.long
@pytest.mark.sim
def test_no_torque_jumps_when_replies_are_changed(plant):
    run_in_virtual_time(plant, 10.0)


@pytest.mark.long
@pytest.mark.sim
def test_no_torque_jumps_in_ten_minutes_of_changed_replies(plant):
    run_in_virtual_time(plant, 600.0)
