"""Masters against the emulator over a veth pair; run in a network namespace of its own by
test_emulator_wire.py.

`unshare -rn python ethercat_emulator_wire.py SCENARIO` makes the pair, starts the emulator in a
process at its one end, runs the scenario at the other, and prints what it saw as JSON. `… emulate
INTERFACE BUS` is the emulator; it injects a fault for each line `[method, arguments…]` of its
input.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import struct
import subprocess
import sys
import threading
import time

from ethercat_emulator.bus.chain import Bus
from ethercat_emulator.bus.devices import RX, TX, drive_slave, terminal
from ethercat_emulator.bus.line import Line
from ethercat_emulator.coe.pdo import Mapped, Pdo
from ethercat_emulator.drive.drive import Machine
from ethercat_emulator.drive.mechanics import Load, Rotors
from ethercat_emulator.drive.objects import DriveSettings
from ethercat_emulator.drive.servo import Motor
from ethercat_emulator.esc.sii import Identity
from ethercat_emulator.faults.channel import methods_of
from ethercat_emulator.faults.injection import DriveFaults, Faults
from ethercat_emulator.network.packet_socket import run
from ethercat_emulator.network.veth import MASTER, SLAVES, make_pair

AXES = 6
OUTPUTS = struct.Struct("<Hbxiihh")
INPUTS = struct.Struct("<HbxiihHi")
CST = 10
PATIENCE = 200_000  # us, for a frame on a loaded machine; slaves have more
ANSWER = 20_000  # us, the same for one slave's answer, which SOEM asks for again
WATCHDOG = 2.0  # s
SHORT_RX = Pdo(0x1601, (Mapped(0x6040, 0, 16), Mapped(0x60FF, 0, 32), Mapped(0x6071, 0, 16)))
SHORT_TX = Pdo(0x1A01, (Mapped(0x6041, 0, 16), Mapped(0x6064, 0, 32)))


# --- the emulator ---


def six_drives() -> Bus:
    pairs = [
        drive_slave(identity=Identity(0xE5E, 0x402, 1, n + 1), clock_start=n * 1000)
        for n in range(AXES)
    ]
    return Bus(
        [slave for slave, _ in pairs],
        Machine([drive for _, drive in pairs], Rotors([Load()] * AXES)),
    )


def mixed() -> Bus:
    """A coupler, two kinds of drives, terminals with inputs, with outputs, with both."""
    first, one = drive_slave(identity=Identity(0xE5E, 0x402))
    second, other = drive_slave(
        DriveSettings(motor=Motor(gear=-50.0, velocity_unit=1.0)),
        name="Another drive",
        identity=Identity(0xABC, 0x1),
        pdos=(RX, TX, SHORT_RX, SHORT_TX),
        assigned=(0x1601, 0x1A01),
        mailbox=256,
        clock_start=None,
        complete_access=False,
        eeprom_8_bytes=False,
    )
    slaves = [
        terminal(0, 0, name="Coupler", identity=Identity(0xE5E, 0x10)),
        first,
        terminal(0, 4, name="Outputs", identity=Identity(0xE5E, 0x11)),
        second,
        terminal(8, 0, name="Inputs", identity=Identity(0xE5E, 0x12)),
        terminal(4, 12, name="Both", identity=Identity(0xE5E, 0x13)),
    ]
    return Bus(slaves, Machine([one, other], Rotors([Load()] * 2)))


def hurry() -> None:
    """Go before everything else, where that is permitted: SOEM waits 2 ms for most answers,
    whatever it is told.

    The master doesn't: kickcat waits in a busy loop, and nothing else would run beside it.
    """
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


def emulate(interface: str, name: str) -> None:
    hurry()
    line = Line({"six_drives": six_drives, "mixed": mixed}[name]())
    faults = {**methods_of(Faults(line)), **methods_of(DriveFaults(line.bus))}
    stop = threading.Event()
    commands: queue.SimpleQueue[list] = queue.SimpleQueue()

    def listen() -> None:
        for text in sys.stdin:
            commands.put(json.loads(text))
        stop.set()

    ready = threading.Event()

    def between() -> None:
        if not ready.is_set():  # the socket is bound
            ready.set()
            print("ready", flush=True)
        with contextlib.suppress(queue.Empty):
            method, arguments, named = commands.get_nowait()
            faults[method](*arguments, **named)
            print("done", flush=True)

    threading.Thread(target=listen, daemon=True).start()
    run(line, interface, stop, between)


class Emulator:
    """The process at the other end, which ends with this one."""

    def __init__(self, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "emulate", SLAVES, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def inject(self, method: str, *arguments: object, **named: object) -> None:
        """Returns when it is done."""
        self.process.stdin.write(json.dumps([method, arguments, named]) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def close(self) -> int:
        self.process.stdin.close()
        return self.process.wait(60)


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


# --- SOEM ---


class Soem:
    """pysoem's master on a bus of drives, all in OP."""

    def __init__(self) -> None:
        import pysoem

        self.soem = pysoem
        pysoem.settings.timeouts.ret = ANSWER
        self.master = pysoem.Master()
        self.master.open(MASTER)
        self.found = self.master.config_init()

    def to_op(self) -> None:
        master = self.master
        soem = self.soem
        master.config_map()
        master.config_dc()
        for slave in master.slaves:
            slave.set_watchdog("processdata", 1000 * WATCHDOG)
        assert master.state_check(soem.SAFEOP_STATE, 1_000_000) == soem.SAFEOP_STATE
        self.exchange()
        master.state = soem.OP_STATE
        master.write_state()
        for _ in range(200):
            self.exchange()
            if master.state_check(soem.OP_STATE, 1000) == soem.OP_STATE:
                return
        raise AssertionError(f"AL {[(s.state, s.al_status) for s in master.slaves]}")

    def exchange(self) -> int:
        self.master.send_processdata()
        return self.master.receive_processdata(PATIENCE)

    def cycle(self, control: int, mode: int, *, torque: int = 0) -> int:
        for slave in self.master.slaves:
            position = INPUTS.unpack(slave.input)[2]
            slave.output = OUTPUTS.pack(control, mode, position, 0, 0, torque)
        return self.exchange()

    @property
    def inputs(self) -> list[tuple]:
        return [INPUTS.unpack(slave.input) for slave in self.master.slaves]

    def cycles(self, count: int, control: int, mode: int, **outputs: int) -> list[int]:
        """So many, 1 ms apart; the working counters that were seen."""
        seen = set()
        at = time.monotonic()
        for _ in range(count):
            seen.add(self.cycle(control, mode, **outputs))
            at += 0.001
            time.sleep(max(0.0, at - time.monotonic()))
        return sorted(seen)

    def states(self) -> list[tuple[int, int]]:
        self.master.read_state()
        return [(slave.state, slave.al_status) for slave in self.master.slaves]


def soem(emulator: Emulator) -> dict:
    bus = Soem()
    slaves = bus.master.slaves
    seen: dict = {
        "found": bus.found,
        "who": [(s.man, s.id, s.rev, s.name) for s in slaves],
        "serial": [struct.unpack("<I", s.sdo_read(0x1018, 4))[0] for s in slaves],
    }
    first = slaves[0]
    notes = bytes(n * 7 & 0xFF for n in range(600))
    first.sdo_write(0x2000, 0, notes)
    seen["segmented"] = first.sdo_read(0x2000, 0, 600) == notes
    seen["complete"] = first.sdo_read(0x1018, 0, ca=True).hex()
    first.sdo_write(0x60C2, 0, struct.pack("<BxBb", 2, 4, -3), ca=True)
    seen["complete download"] = [first.sdo_read(0x60C2, n).hex() for n in (1, 2)]
    seen["normal"] = first.sdo_read(0x1008, 0).decode()
    try:
        first.sdo_read(0x5555, 0)
    except bus.soem.SdoError as error:
        seen["abort"] = error.abort_code
    od = first.od
    seen["objects"] = [item.index for item in od]
    seen["entry"] = next(item.name.decode() for item in od if item.index == 0x6041)
    bus.to_op()
    seen["expected"] = bus.master.expected_wkc
    seen["sizes"] = [(len(s.output), len(s.input)) for s in slaves]
    wkcs = set()
    for control in (0x06, 0x07, 0x0F):
        wkcs.update(bus.cycles(10, control, CST))
    before = bus.inputs
    wkcs.update(bus.cycles(1000, 0x0F, CST, torque=100))
    seen["working counters"] = sorted(wkcs)
    seen["enabled"] = [status & 0x6F for status, *_ in bus.inputs]
    seen["torque"] = [torque for *_, torque, _, _ in bus.inputs]
    seen["moved"] = [new[2] - old[2] for new, old in zip(bus.inputs, before, strict=True)]
    started = time.perf_counter()
    seen["free running"] = sorted({bus.cycle(0x0F, CST) for _ in range(500)})
    seen["cycles per second"] = 500 / (time.perf_counter() - started)
    seen["states"] = bus.states()
    seen["emergencies"] = soem_emergency(bus, emulator)
    return seen


def soem_emergency(bus: Soem, emulator: Emulator) -> list:
    heard = []
    slave = bus.master.slaves[3]
    slave.add_emergency_callback(lambda e: heard.append((e.slave_pos, e.error_code, e.error_reg)))
    emulator.inject("emergency", 3, 0x4210, 9)
    slave.mbx_receive()
    return heard


def soem_mixed(emulator: Emulator) -> dict:
    bus = Soem()
    slaves = bus.master.slaves
    bus.to_op()
    seen: dict = {
        "names": [s.name for s in slaves],
        "sizes": [(len(s.output), len(s.input)) for s in slaves],
        "expected": bus.master.expected_wkc,
    }
    slaves[2].output = b"\x05"
    slaves[5].output = b"\xff\x0f"
    slaves[1].output = OUTPUTS.pack(0x06, CST, 0, 0, 0, 0)
    slaves[3].output = struct.pack("<Hih", 0x06, 0, 0)
    seen["working counters"] = []
    for _ in range(20):
        seen["working counters"].append(bus.exchange())
        time.sleep(0.001)
    seen["ready"] = [int.from_bytes(slaves[n].input[:2], "little") & 0x6F for n in (1, 3)]
    seen["states"] = bus.states()
    return seen


def soem_faults(emulator: Emulator) -> dict:
    bus = Soem()
    bus.to_op()
    for control in (0x06, 0x07, 0x0F):
        bus.cycles(5, control, CST)
    seen: dict = {}

    def now(name: str) -> None:
        seen[name] = bus.cycle(0x0F, CST)

    emulator.inject("lose_frames", 1)
    seen["lost"] = [bus.cycle(0x0F, CST) for _ in range(2)]
    emulator.inject("ignore_process_data", 2)
    now("missing")
    emulator.inject("ignore_process_data", 2, ignore=False)
    emulator.inject("al_error", 4, 0x14)
    now("AL error")
    seen["AL states"] = bus.states()
    for state in (bus.soem.SAFEOP_STATE + bus.soem.STATE_ACK, bus.soem.OP_STATE):
        bus.master.slaves[4].state = state
        bus.master.slaves[4].write_state()
        bus.cycle(0x0F, CST)
    seen["acknowledged"] = bus.states()
    emulator.inject("drive_fault", 1, 0x7305)
    bus.cycles(5, 0x0F, CST)
    seen["fault"] = [bus.cycle(0x0F, CST), bus.inputs[1][0] & 0x4F, bus.inputs[1][5]]
    emulator.inject("cut_chain", 3)
    now("cut")
    seen["cut states"] = bus.states()
    emulator.inject("mend_chain")
    emulator.inject("power_cycle", 5)
    now("power cycled")
    slave = bus.master.slaves[5]
    seen["recovered"] = [slave.recover(10_000), slave.reconfig(100_000)]
    slave.state = bus.soem.OP_STATE
    slave.write_state()
    for _ in range(100):
        bus.cycle(0x0F, CST)
        if slave.state_check(bus.soem.OP_STATE, 1000) == bus.soem.OP_STATE:
            break
    now("back")
    return seen


# --- kickcat ---


def kickcat(emulator: Emulator) -> dict:
    import kickcat
    from kickcat import State

    link = kickcat.create_link(MASTER, "")
    for attempt in range(5):
        link.set_timeout(0.02 * 2**attempt)  # without a second cable every broadcast takes as long
        bus = kickcat.Bus(link)
        try:
            bus.init(WATCHDOG)
            slaves = bus.slaves()
            bus.create_mapping()
            break
        except RuntimeError:  # a machine that stalls for longer than the link's timeout
            if attempt == 4:
                raise
    link.set_timeout(1e-6 * PATIENCE)
    seen: dict = {"found": len(slaves), "sizes": [(s.output_size, s.input_size) for s in slaves]}
    bus.request_state(State.SAFE_OP)
    bus.wait_for_state(State.SAFE_OP, 1.0)

    def cycle(control: int, mode: int, torque: int = 0) -> None:
        for slave in slaves:
            slave.set_output_bytes(OUTPUTS.pack(control, mode, 0, 0, 0, torque))
        bus.process_data()  # LRD, then LWR; raises where a working counter is wrong

    cycle(0, 0)
    bus.request_state(State.OPERATIONAL)
    bus.wait_for_state(State.OPERATIONAL, 1.0, bus.process_data)
    for control in (0x06, 0x07, 0x0F):
        for _ in range(10):
            cycle(control, CST)
            time.sleep(0.001)
    before = [INPUTS.unpack(slave.input_data) for slave in slaves]
    for _ in range(300):
        cycle(0x0F, CST, 100)
        time.sleep(0.001)
    after = [INPUTS.unpack(slave.input_data) for slave in slaves]
    seen["enabled"] = [status & 0x6F for status, *_ in after]
    seen["torque"] = [torque for *_, torque, _, _ in after]
    seen["moved"] = [new[2] - old[2] for new, old in zip(after, before, strict=True)]
    access = kickcat.Access

    def sdo(slave: int, index: int, subindex: int, how: object) -> bytes:
        cycle(0x0F, CST)
        return bus.read_sdo(slaves[slave], index, subindex, how, 600, 1.0)

    seen["serial"] = [
        struct.unpack("<I", sdo(n, 0x1018, 4, access.PARTIAL))[0] for n in range(len(slaves))
    ]
    seen["normal"] = sdo(0, 0x1008, 0, access.PARTIAL).decode()
    seen["complete"] = sdo(0, 0x1018, 0, access.COMPLETE).hex()
    seen["emulated complete"] = sdo(0, 0x1018, 1, access.EMULATE_COMPLETE).hex()
    seen["object"] = bus.read_object_description(slaves[0], 0x6041)[0]
    seen["states"] = [str(bus.get_state(slave)) for slave in slaves]
    return seen


# --- the front end alone ---


def probe(wire: socket.socket, data: bytes = b"\x00") -> int:
    """A broadcast read of the first register; the working counter, -1 where nothing comes back."""
    body = struct.pack("<BBHHHH", 7, 0, 0, 0, len(data), 0) + data + bytes(2)
    frame = b"\xff" * 6 + b"\x02" * 6 + b"\x88\xa4" + struct.pack("<H", len(body) | 0x1000) + body
    try:
        wire.send(frame.ljust(60, b"\x00"))
        reply = wire.recv(1536)
    except (TimeoutError, OSError):
        return -1
    return int.from_bytes(reply[26 + len(data) : 28 + len(data)], "little")


def until(wire: socket.socket, wanted: int) -> int:
    """Ask until the working counter is this, for at most 60 s; the last one."""
    end = time.monotonic() + 60.0
    while (found := probe(wire)) != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return found


def carrier() -> bool:
    return "LOWER_UP" in ip("link", "show", MASTER)


def front_end(emulator: Emulator) -> dict:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88A4)) as wire:
        wire.bind((MASTER, 0x88A4))
        wire.settimeout(1e-6 * PATIENCE)
        seen: dict = {"at first": probe(wire)}
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as other:
            other.bind((MASTER, 0x0800))
            other.send((b"\xff" * 6 + b"\x02" * 6 + b"\x08\x00").ljust(60, b"\x00"))
        # no EtherCAT inside
        wire.send((b"\xff" * 6 + b"\x02" * 6 + b"\x88\xa4").ljust(60, b"\xff"))
        seen["after other frames"] = probe(wire)
        ip("link", "set", MASTER, "mtu", "1504")
        probe(wire, bytes(1490))  # four bytes more than the other end can send
        seen["after a long frame"] = probe(wire)
        ip("link", "set", SLAVES, "down")
        seen["interface down"] = probe(wire)
        ip("link", "set", SLAVES, "up")
        seen["interface up"] = until(wire, AXES)
        emulator.inject("link", up=False)
        end = time.monotonic() + 60.0
        while carrier() and time.monotonic() < end:
            time.sleep(0.01)
        seen["carrier"] = carrier()
        seen["link down"] = probe(wire)
        emulator.inject("link", up=True)
        seen["link up"] = until(wire, AXES)
    seen["status"] = emulator.close()
    return seen


SCENARIOS = {
    "soem": (soem, "six_drives"),
    "soem_mixed": (soem_mixed, "mixed"),
    "soem_faults": (soem_faults, "six_drives"),
    "kickcat": (kickcat, "six_drives"),
    "front_end": (front_end, "six_drives"),
}


def main(arguments: list[str]) -> None:
    if arguments[0] == "emulate":
        emulate(*arguments[1:])
        return
    scenario, name = SCENARIOS[arguments[0]]
    make_pair()
    emulator = Emulator(name)
    try:
        seen = scenario(emulator)
    finally:
        emulator.close()
    print("\n" + json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1:])
