"""The master of an EtherCAT bus that is played: the drives of :mod:`played_drives`, and their time."""

from played_drives import EXPECTED, Drive

from robot_control_ros.core.errors import ConfigError, HardwareFault


class FakeMaster:
    """Three drives at bus positions 0 to 2 (wrist, base, elbow), and a clock that only
    sleeping and sending move.
    """

    def __init__(self, interface):
        self.interface, self.now, self.clock = interface, 50.0, 0
        self.drives = [Drive("wrist", 1.1), Drive("base", 0.3), Drive("elbow", -0.4)]
        self.expected_working_counter, self.counters, self.trip_time = EXPECTED, [], 1e-4
        self.said, self.slaves, self.fails, self.sent_at = [], [], "", []
        self.outputs = {}
        self.warnings = []

    def open(self):
        self.said.append("open")

    def configure(self, bus):
        self.slaves = list(self.drives)
        self.said.append("configure")
        if self.fails == "configure":
            raise ConfigError("not that bus")

    def operate(self, exchange):
        self.said.append("operate")
        for _ in range(5):
            exchange()
        if self.fails == "operate":
            raise HardwareFault("stays in SAFE-OP")

    def close(self):
        self.said.append("close")
        self.slaves = []

    def exchange(self, budget):
        self.sent_at.append(self.now)
        counter = self.counters.pop(0) if self.counters else EXPECTED
        self.now += self.trip_time if counter > 0 else budget
        if counter == EXPECTED:
            for at, drive in enumerate(self.drives):
                if at in self.outputs:
                    drive.obey(self.outputs[at])
        return counter

    def inputs(self, positions):
        return [self.slaves[at].inputs() for at in positions]

    def put(self, positions, outputs):
        for at, output in zip(positions, outputs, strict=True):
            self.outputs[at] = bytes(output)


def let_it_own_time(master, module, monkeypatch):
    """Let the master's clock be that of a module that sleeps and reads clocks."""

    def sleep_until(deadline):
        master.now = max(master.now, deadline)

    class Clock:
        monotonic = staticmethod(lambda: master.now)
        time = staticmethod(lambda: 1000.0 + master.now)

    monkeypatch.setattr(module, "sleep_until", sleep_until)
    monkeypatch.setattr(module, "time", Clock)
