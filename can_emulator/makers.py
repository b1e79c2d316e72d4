"""The frames of three makers, written from their manuals (config/can/motors names them)."""

from __future__ import annotations

import math
import struct

from .frame import Frame
from .motor import MitCommand, Model, Motor, packed_command, packed_state, real, unsigned

DM4310 = Model(12.5, 30.0, 10.0, 7.0)
DM4340 = Model(12.5, 10.0, 28.0, 27.0)
DM8009 = Model(12.5, 45.0, 54.0, 40.0)
RS00 = Model(12.566371, 33.0, 14.0, 14.0)
RS03 = Model(12.566371, 50.0, 60.0, 60.0, stiffness=5000.0, damping=100.0)
RMD_X = Model(12.5, 45.0, 24.0, 24.0)
MODELS = {
    "DM4310": DM4310,
    "DM4340": DM4340,
    "DM8009": DM8009,
    "RS00": RS00,
    "RS03": RS03,
    "RMD_X": RMD_X,
}

_ORDER = b"\xff" * 7
_BROADCAST = 0x7FF  # Damiao: registers and refresh
_DEGREES_100 = 18000.0 / math.pi


class DamiaoMotor(Motor):
    """A motor of Damiao in MIT mode."""

    name = "Damiao"
    over_temperature = 0xC
    lost = 0xD  # no frame came in time

    def hears(self, frame: Frame) -> bool:
        """Whether a frame is addressed to it, or to its registers."""
        if frame.extended or len(frame.data) != 8:
            return False
        if frame.identifier == _BROADCAST:
            return int.from_bytes(frame.data[:2], "little") == self.motor
        return frame.identifier == self.motor

    def answer(self, frame: Frame) -> list[Frame]:
        """Do what a frame says; returns the answers."""
        data = frame.data
        if frame.identifier == _BROADCAST:
            return self._register(data)
        if data[:7] == _ORDER and data[7] in (0xFB, 0xFC, 0xFD, 0xFE):
            orders = {
                0xFB: self.clear,
                0xFC: self.enable,
                0xFD: self.disable,
                0xFE: self.set_zero,
            }
            orders[data[7]]()
        elif self.enabled:
            self.command = packed_command(data, self.model)
        return [self._state()]

    def time_out(self) -> None:
        """Let go because no frame came in time."""
        self.fail(self.lost)

    def _state(self) -> Frame:
        code = self.error or int(self.enabled)
        head = code << 4 | self.motor & 0xF
        hot = bytes([round(self.driver_temperature) & 0xFF, round(self.temperature) & 0xFF])
        return Frame(self.reply, bytes([head]) + packed_state(self) + hot)

    def _register(self, data: bytes) -> list[Frame]:
        if data[2] == 0xCC:
            return [self._state()]
        if data[2] != 0x33:
            return []
        values = {
            7: struct.pack("<I", self.reply),
            8: struct.pack("<I", self.motor),
            9: struct.pack("<I", round(self.timeout / 5e-5)),
            10: struct.pack("<I", 1),
            21: struct.pack("<f", self.model.position),
            22: struct.pack("<f", self.model.velocity),
            23: struct.pack("<f", self.model.torque),
        }
        value = values.get(data[3], bytes(4))
        return [Frame(self.reply, bytes([*data[:2], 0x33, data[3]]) + value)]


class RobStrideMotor(Motor):
    """A motor of RobStride in operation control mode; `reply` is the host's identity."""

    name = "RobStride"
    over_temperature = 1 << 2

    def hears(self, frame: Frame) -> bool:
        """Whether a frame is addressed to it."""
        return frame.extended and frame.identifier & 0xFF == self.motor

    def answer(self, frame: Frame) -> list[Frame]:
        """Do what a frame says; returns the answers."""
        kind = frame.identifier >> 24
        data = frame.data
        model = self.model
        if kind == 0x01 and self.enabled and len(data) == 8:
            q, v, kp, kd = struct.unpack(">HHHH", data)
            torque = frame.identifier >> 8 & 0xFFFF
            self.command = MitCommand(
                real(q, -model.position, model.position, 16),
                real(v, -model.velocity, model.velocity, 16),
                real(kp, 0.0, model.stiffness, 16),
                real(kd, 0.0, model.damping, 16),
                real(torque, -model.torque, model.torque, 16),
            )
        elif kind == 0x03:
            self.enable()
        elif kind == 0x04:
            self.disable()
            if data[:1] == b"\x01":
                self.clear()
        elif kind == 0x06:
            self.set_zero()
        elif kind == 0x11:
            return self._parameter(data)
        elif kind != 0x01:
            return []
        return [self._state()]

    def _state(self) -> Frame:
        model = self.model
        mode = 2 if self.enabled else 0
        identifier = 0x02 << 24 | mode << 22 | (self.error & 0x3F) << 16 | self.motor << 8
        data = struct.pack(
            ">HHHH",
            unsigned(self.position, -model.position, model.position, 16),
            unsigned(self.velocity, -model.velocity, model.velocity, 16),
            unsigned(self.torque, -model.torque, model.torque, 16),
            round(10.0 * self.temperature),
        )
        return Frame(identifier | self.reply, data, extended=True)

    def _parameter(self, data: bytes) -> list[Frame]:
        number = int.from_bytes(data[:2], "little")
        values = {
            0x7005: b"\0",
            0x7019: struct.pack("<f", self.position),
            0x7028: struct.pack("<I", round(self.timeout / 5e-5)),
        }
        value = values.get(number, b"").ljust(4, b"\0")
        identifier = 0x11 << 24 | self.motor << 8 | self.reply
        return [Frame(identifier, data[:2] + b"\0\0" + value, extended=True)]


class MyActuatorMotor(Motor):
    """A motor of MyActuator in motion mode."""

    name = "MyActuator"
    over_temperature = 1 << 12

    def hears(self, frame: Frame) -> bool:
        """Whether a frame is addressed to it."""
        if frame.extended or len(frame.data) != 8:
            return False
        return frame.identifier in (0x400 + self.motor, 0x140 + self.motor)

    def answer(self, frame: Frame) -> list[Frame]:
        """Do what a frame says; returns the answers."""
        data = frame.data
        if frame.identifier == 0x400 + self.motor:
            self.enable()
            if self.enabled:
                self.command = packed_command(data, self.model)
            state = bytes([self.motor]) + packed_state(self) + bytes(2)
            return [Frame(0x500 + self.motor, state)]
        return [Frame(0x240 + self.motor, self._single(data))]

    def _single(self, data: bytes) -> bytes:
        kind = data[0]
        if kind == 0x92:
            angle = round(self.position * _DEGREES_100)
            return data[:4] + struct.pack("<i", angle)
        if kind == 0x9A:
            return struct.pack("<BbBBHH", kind, round(self.temperature), 0, 1, 480, self.error)
        if kind == 0x80:
            self.disable()
        elif kind == 0x76:
            self.disable()
            self.clear()
        elif kind == 0x64:
            self.set_zero()
        return data
