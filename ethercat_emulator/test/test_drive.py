"""The emulated drive: its states, modes, limits, stops and faults, over process data and
against the physics.
"""

import math
import struct

import pytest
from ethercat_emulator_support import MS, Master

from ethercat_emulator.bus.chain import Bus
from ethercat_emulator.bus.devices import drive_slave
from ethercat_emulator.drive.drive import Machine
from ethercat_emulator.drive.mechanics import Load, Rotors
from ethercat_emulator.drive.objects import DriveSettings
from ethercat_emulator.drive.servo import Motor, Servo

DISABLED = 0x40
READY = 0x21
ON = 0x23
ENABLED = 0x27
QUICK = 0x07
REACTION = 0x0F
FAULT = 0x08
CSP = 8
CSV = 9
CST = 10


class Axis:
    """One drive in OP, and what a master does with it every millisecond."""

    def __init__(self, settings: DriveSettings | None = None, load: Load | None = None) -> None:
        self.slave, self.drive = drive_slave(settings)
        self.motor = self.drive.settings.motor
        self.rotors = Rotors([Load() if load is None else load])
        self.master = Master(Bus([self.slave], Machine([self.drive], self.rotors)))
        self.master.to_op()
        self.out = {
            "control": 0,
            "mode": CSP,
            "position": 0,
            "velocity_offset": 0,
            "torque_offset": 0,
            "torque": 0,
        }
        self.run()

    def run(self, cycles: int = 1, **outputs: int) -> None:
        self.out |= outputs
        for _ in range(cycles):
            data = struct.pack("<Hbxiihh", *self.out.values())
            assert self.master.one("LWR", 0, 0, data)[1] == 1
            self.master.wait(MS)
        names = ("status", "mode", "position", "velocity", "torque", "error", "following")
        data, wkc = self.master.one("LRD", 0x1000, 0, bytes(20))
        assert wkc == 1
        self.inputs = dict(zip(names, struct.unpack("<HbxiihHi", data), strict=True))

    @property
    def state(self) -> int:
        status = self.inputs["status"]
        return status & (0x4F if status & 0x4F in (0x40, 0x0F, 0x08) else 0x6F)

    def enable(self, mode: int = CSP) -> None:
        for control in (0x06, 0x07, 0x0F):
            self.run(2, control=control, mode=mode, position=self.inputs["position"])
        assert self.state == ENABLED

    @property
    def angle(self) -> float:
        return self.rotors.position[0]

    @property
    def speed(self) -> float:
        return self.rotors.velocity[0]

    def counts(self, angle: float) -> int:
        return round(angle * self.motor.counts_per_radian) + self.motor.zero


# --- states ---


def test_the_way_to_operation_and_back():
    axis = Axis()
    seen = [axis.state]
    for control in (
        0x06,
        0x07,
        0x0F,
        0x07,
        0x06,
        0x07,
        0x0F,
        0x06,
        0x00,
        0x06,
        0x07,
        0x00,
        0x06,
        0x07,
        0x0F,
        0x00,
    ):
        axis.run(1, control=control)
        seen.append(axis.state)
    assert seen == [
        DISABLED,
        *(READY, ON, ENABLED, ON, READY),
        *(ON, ENABLED, READY, DISABLED),
        *(READY, ON, DISABLED),
        *(READY, ON, ENABLED, DISABLED),
    ]


def test_operation_is_not_enabled_without_being_ready():
    axis = Axis()
    axis.run(5, control=0x0F)
    assert axis.state == DISABLED
    axis.run(5, control=0x07)
    assert axis.state == DISABLED


def test_from_ready_one_word_goes_by_way_of_switched_on():
    axis = Axis()
    axis.run(1, control=0x06)
    axis.run(1, control=0x0F)
    assert axis.state == ON
    axis.run(1)
    assert axis.state == ENABLED


@pytest.mark.parametrize("control", [0x06, 0x07])
def test_quick_stop_from_the_states_before_operation_disables(control):
    axis = Axis()
    axis.run(1, control=0x06)
    axis.run(1, control=control)
    axis.run(1, control=0x02)
    assert axis.state == DISABLED


# --- modes ---


def test_the_mode_shown_follows_the_mode_asked_for_and_unknown_ones_are_not_taken():
    axis = Axis()
    assert axis.inputs["mode"] == CSP
    for asked, shown in ((CSV, CSV), (CST, CST), (1, CST), (0, CST), (CSP, CSP)):
        axis.run(1, mode=asked)
        assert axis.inputs["mode"] == shown


def test_torque_mode_is_the_torque_and_newtons_law():
    motor = Motor(rated_torque=0.5, gear=50.0, current_time=0.0005)
    axis = Axis(DriveSettings(motor=motor), Load(inertia=0.2, viscous=0.0, coulomb=0.0))
    axis.enable(CST)
    axis.run(100, torque=80, torque_offset=20)
    torque = 0.1 * 0.5 * 50.0
    assert axis.inputs["torque"] == 100
    # the current lags by half a millisecond
    assert axis.speed == pytest.approx(torque / 0.2 * 0.1, rel=0.02)
    assert axis.inputs["velocity"] == pytest.approx(
        axis.speed * axis.motor.counts_per_radian, abs=1
    )
    assert axis.inputs["position"] == axis.counts(axis.angle)


def test_the_current_is_a_lag_of_first_order():
    servo = Servo(Motor(current_time=0.002))
    for n in range(1, 21):
        servo.drive(10.0, 0.001)
        assert servo.torque == pytest.approx(10.0 * (1.0 - math.exp(-n * 0.001 / 0.002)), rel=1e-12)


@pytest.mark.parametrize("unit", [0.0, 1.0, 0.1])
def test_velocity_mode_reaches_its_target_against_friction(unit):
    motor = Motor(gear=-100.0, velocity_unit=unit, zero=5000)
    axis = Axis(DriveSettings(motor=motor), Load(inertia=0.1, viscous=2.0, coulomb=5.0))
    axis.enable(CSV)
    target = round(0.7 * motor.velocity_per_radian)
    axis.run(400, velocity_offset=target)
    assert axis.speed == pytest.approx(0.7, rel=1e-2)
    assert axis.inputs["velocity"] == pytest.approx(target, rel=1e-2)
    assert axis.inputs["position"] == axis.counts(axis.angle)
    expected = (2.0 * 0.7 + 5.0) / axis.motor.torque_per_mille
    assert axis.inputs["torque"] == pytest.approx(expected, rel=0.05)


def test_an_encoder_at_the_joint_counts_the_joint():
    motor = Motor(
        gear=-80.0, counts=4096, encoder_at_joint=True, velocity_unit=0.001, rated_torque=0.5
    )
    axis = Axis(
        DriveSettings(motor=motor, rated_torque_unit=1e-6),
        Load(inertia=0.1, viscous=0.0, coulomb=0.0),
    )
    axis.enable(CST)
    axis.run(100, torque=-20)
    assert axis.angle > 0.0
    assert axis.inputs["position"] == round(-axis.angle * 4096 / (2.0 * math.pi))
    assert axis.inputs["velocity"] == pytest.approx(-axis.speed * 60000.0 / (2.0 * math.pi), abs=1)
    assert axis.speed == pytest.approx(0.02 * 0.5 * 80.0 / 0.1 * 0.1, rel=0.02)
    assert axis.slave.dictionary.number(0x6076) == 500_000


@pytest.mark.parametrize(
    ("unit", "code"), [(1.0, 0x00B44700), (0.001, 0xFDB44700), (0.1, 0xFFB44700)]
)
def test_the_unit_of_velocity_is_told(unit, code):
    slave, _ = drive_slave(DriveSettings(motor=Motor(velocity_unit=unit)))
    assert slave.dictionary.number(0x60A9) == code


def test_position_mode_follows_with_velocity_and_torque_feedforward():
    axis = Axis(load=Load(inertia=0.1, viscous=0.0, coulomb=0.0, position=0.3))
    axis.enable(CSP)
    start = axis.angle
    lag = []
    for n in range(1, 801):
        t = n * 0.001
        angle = start + 0.1 * (1.0 - math.cos(4.0 * t))
        speed = 0.4 * math.sin(4.0 * t)
        acceleration = 1.6 * math.cos(4.0 * t)
        axis.run(
            1,
            position=axis.counts(angle),
            velocity_offset=round(speed * axis.motor.velocity_per_radian),
            torque_offset=round(0.1 * acceleration / axis.motor.torque_per_mille),
        )
        lag.append(abs(axis.angle - angle))
    assert axis.state == ENABLED
    assert max(lag) < 1e-3
    assert abs(axis.inputs["following"]) < 1e-3 * axis.motor.counts_per_radian


def test_position_mode_holds_against_a_constant_load():
    axis = Axis(load=Load(gravity=-30.0))
    axis.enable(CSP)
    axis.run(600)
    assert axis.angle == pytest.approx(0.0, abs=1e-4)
    assert axis.inputs["torque"] * axis.motor.torque_per_mille == pytest.approx(30.0, abs=0.5)


def test_the_torque_is_limited():
    axis = Axis(DriveSettings(motor=Motor(max_torque=1.5)))
    axis.enable(CST)
    axis.run(20, torque=1200, torque_offset=1200)
    assert axis.inputs["torque"] == 1500
    assert axis.inputs["status"] & 1 << 11
    axis.run(20, torque=100, torque_offset=0)
    assert not axis.inputs["status"] & 1 << 11
    axis.slave.dictionary.values[0x6072 << 8] = 300
    axis.run(20, torque=1200)
    assert axis.inputs["torque"] == 300


# --- brake ---


def test_a_disabled_drive_has_no_torque_and_its_brake_holds():
    axis = Axis(load=Load(gravity=50.0))
    at = axis.angle
    axis.run(200, mode=CST, torque=500)
    assert axis.inputs["torque"] == 0
    assert axis.angle == at
    axis.enable(CST)
    axis.run(5, torque=0)
    assert axis.speed > 0.0  # now it falls


# --- stops ---


@pytest.mark.parametrize(
    ("option", "stops"), [(2, DISABLED), (6, QUICK), (1, DISABLED), (5, QUICK)]
)
def test_quick_stop_brakes_along_its_ramp(option, stops):
    axis = Axis(DriveSettings(deceleration=5.0), Load(inertia=0.1))
    axis.slave.dictionary.values[0x605A << 8] = option
    axis.enable(CSV)
    axis.run(300, velocity_offset=round(1.0 * axis.motor.counts_per_radian))
    speed = axis.speed
    axis.run(100, control=0x02)
    assert axis.state == QUICK
    assert axis.speed == pytest.approx(speed - 0.5, abs=0.05)
    axis.run(200)
    assert axis.state == stops
    assert axis.speed == pytest.approx(0.0, abs=2e-3)
    axis.run(1, control=0x0F)
    assert axis.state == (ENABLED if stops == QUICK else DISABLED)


def test_quick_stop_option_0_lets_it_run_out():
    axis = Axis()
    axis.slave.dictionary.values[0x605A << 8] = 0
    axis.enable(CSV)
    axis.run(1, control=0x02)
    assert axis.state == DISABLED


# --- faults ---


def test_a_target_far_away_is_a_fault_before_anything_moves():
    axis = Axis(load=Load(position=1.0))
    for control in (0x06, 0x07, 0x0F):
        axis.run(2, control=control, position=0)  # the trap: the target was never set
    axis.run(20)
    assert (axis.state, axis.inputs["error"]) == (FAULT, 0x8611)
    assert axis.inputs["status"] & 1 << 13
    assert axis.angle == pytest.approx(1.0, abs=1e-3)


def test_the_following_error_may_be_left_for_its_time():
    # it can't move
    axis = Axis(DriveSettings(following_error=0.05, following_error_time=30), Load(coulomb=1e6))
    axis.enable(CSP)
    axis.run(29, position=axis.counts(0.1))
    assert axis.state == ENABLED
    axis.run(10)
    assert axis.inputs["error"] == 0x8611


def test_no_following_error_where_its_window_is_off():
    axis = Axis(load=Load(coulomb=1e6))
    axis.slave.dictionary.values[0x6065 << 8] = 0xFFFFFFFF
    axis.enable(CSP)
    axis.run(50, position=axis.counts(2.0))
    assert axis.state == ENABLED


def test_a_fault_stops_and_is_reset_on_the_rising_edge():
    axis = Axis(DriveSettings(deceleration=10.0))
    axis.enable(CSV)
    axis.run(300, velocity_offset=round(1.0 * axis.motor.counts_per_radian))
    axis.drive.fault(0x2310)
    axis.run(10)
    assert (axis.state, axis.inputs["error"]) == (REACTION, 0x2310)
    axis.run(200)
    assert axis.state == FAULT
    assert axis.speed == 0.0
    assert axis.slave.dictionary.number(0x1001) == 1
    axis.run(3, control=0x0F)
    assert axis.state == FAULT
    axis.run(1, control=0x8F)
    assert (axis.state, axis.inputs["error"]) == (DISABLED, 0)
    axis.drive.fault(0x3210)
    axis.run(5)
    assert axis.state == FAULT  # the bit is still there, but it doesn't rise
    axis.run(1, control=0x00)
    axis.run(1, control=0x80)
    assert axis.state == DISABLED
    mails = [axis.master.fetch(0) for _ in range(5)]
    codes = [struct.unpack_from("<H", mail[2], 2)[0] for mail in mails[:4]]
    assert (codes, mails[4]) == ([0x2310, 0, 0x3210, 0], None)


def test_a_lasting_fault_cannot_be_reset():
    axis = Axis()
    axis.drive.fault(0x4310, lasting=True)
    for control in (0x80, 0x00, 0x80):
        axis.run(2, control=control)
        assert axis.state == FAULT
    axis.drive.mend()
    axis.run(1, control=0x00)
    axis.run(1, control=0x80)
    assert axis.state == DISABLED


def test_the_fault_reaction_may_be_to_run_out():
    axis = Axis()
    axis.slave.dictionary.values[0x605E << 8] = 0
    axis.enable(CSV)
    axis.drive.fault(0x2310)
    axis.run(1)
    assert axis.state == FAULT


# --- without a master ---


@pytest.mark.parametrize(
    ("option", "state", "error"), [(2, DISABLED, 0), (1, FAULT, 0x8130), (3, QUICK, 0)]
)
def test_when_the_master_is_gone_the_drive_stops_by_itself(option, state, error):
    axis = Axis(DriveSettings(abort_option=option), Load(viscous=0.0, coulomb=0.0))
    axis.master.write(0, 0x0420, struct.pack("<H", 200))  # 20 ms
    axis.enable(CSV)
    axis.run(300, velocity_offset=round(1.0 * axis.motor.counts_per_radian))
    axis.master.wait(19 * MS)
    assert axis.drive.power == ENABLED
    axis.master.wait(3 * MS)
    assert axis.drive.power == state
    assert axis.slave.dictionary.number(0x603F) == error
    axis.master.wait(500 * MS)
    assert axis.speed == pytest.approx(0.0, abs=1e-6)
    assert axis.drive.power == (DISABLED if option == 3 else state)
    for request in (0x14, 0x08):
        axis.master.request(0, request)
    axis.run(5)  # with the old control word
    assert axis.drive.power == (DISABLED if option == 3 else state)


def test_without_an_abort_option_the_drive_goes_on():
    axis = Axis(DriveSettings(abort_option=0))
    axis.enable(CSV)
    axis.master.wait(150 * MS)
    assert axis.master.state(0) == (0x14, 0x1B)
    assert axis.drive.power == ENABLED


# --- mechanics ---


def test_dry_friction_holds_and_then_lets_go():
    rotors = Rotors([Load(inertia=0.1, viscous=0.0, coulomb=2.0)])
    for _ in range(100):
        rotors.advance([1.9], [False], 0.001)
    assert (rotors.position[0], rotors.velocity[0]) == (0.0, 0.0)
    for _ in range(100):
        rotors.advance([3.0], [False], 0.001)
    assert rotors.velocity[0] == pytest.approx(1.0 / 0.1 * 0.1)
    rotors.advance([0.0], [True], 0.001)
    assert rotors.velocity[0] == 0.0


def test_mechanics_of_ones_own_get_all_torques_at_once():
    class Coupled:
        """Two joints on one shaft."""

        def __init__(self) -> None:
            self.position = [0.0, 0.0]
            self.velocity = [0.0, 0.0]
            self.calls = []

        def advance(self, torque, braked, dt):
            self.calls.append((list(torque), list(braked), dt))
            self.velocity = [self.velocity[0] + dt * sum(torque)] * 2
            self.position = [q + dt * v for q, v in zip(self.position, self.velocity, strict=True)]

    pairs = [drive_slave(), drive_slave(DriveSettings(motor=Motor(gear=-50.0)))]
    shaft = Coupled()
    with pytest.raises(ValueError, match=r"1 drives: the mechanics have 2 joints"):
        Machine([pairs[0][1]], shaft)
    master = Master(
        Bus([slave for slave, _ in pairs], Machine([drive for _, drive in pairs], shaft))
    )
    master.to_op(2)
    for control in (0x06, 0x07, 0x0F, 0x0F):
        master.one("LWR", 0, 0, struct.pack("<HbxiihH", control, CST, 0, 0, 0, 10) * 2)
        master.wait(MS)
    shaft.calls.clear()
    for _ in range(20):
        master.one("LWR", 0, 0, struct.pack("<HbxiihH", 0x0F, CST, 0, 0, 0, 10) * 2)
        master.wait(MS)
    torque, braked, dt = shaft.calls[-1]
    assert torque == pytest.approx([1.0, -0.5])
    assert braked == [False, False]
    assert (len(shaft.calls), dt) == (20, pytest.approx(0.001))
    assert pairs[0][0].dictionary.number(0x6064) > 0 > pairs[1][0].dictionary.number(0x6064)


@pytest.mark.parametrize("gap", [0.1, 0.4, 1.0, 1.4, 2.6, 10.0])
def test_time_passes_wholly_however_it_is_cut(gap):
    """The loops run about once per millisecond, whatever the master's cycle is,
    and no time is lost.
    """
    axis = Axis(load=Load(inertia=0.1, viscous=0.0, coulomb=0.0))
    axis.enable(CST)
    axis.run(20, torque=10)
    speed = axis.speed
    start = axis.master.now
    while axis.master.now - start < 60 * MS:
        axis.master.wait(round(gap * MS))
    passed = (axis.master.now - start) * 1e-9
    # up to half a step is to come
    assert axis.speed - speed == pytest.approx(1.0 / 0.1 * passed, abs=10.0 * 0.0006)


def test_after_a_long_silence_only_its_last_second_is_caught_up():
    axis = Axis(load=Load(viscous=0.0, coulomb=0.0, gravity=0.1))
    axis.slave.dictionary.values[0x6007 << 8] = 0
    axis.enable(CST)
    speed = axis.speed
    axis.master.wait(3600 * 1000 * MS)
    assert axis.speed - speed == pytest.approx(1.0, rel=0.01)
