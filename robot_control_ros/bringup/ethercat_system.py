"""EtherCAT drives on the package's own driver, our controller in front of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..fieldbus.ethercat.topology import load_topology
from ..fieldbus.process.pacing import EMULATED_BUS_TIMEOUTS
from ..fieldbus.process.scheduling import PRIORITY, PROCESSOR
from ..robot.configuration import load_robot
from .package_nodes import CONTROL, DASHBOARD, ROBOT, SWITCH, control, file_rate
from .parameter_files import portable
from .system import Argument, Given, NodeSpec, Setup, System, Value

HOSTED_RATE = 250.0  # Hz of joint states, where the law doesn't wait for them
EMULATED_STATE_TIMEOUT = 1.0  # s without joint states, where the machine may stall


def drives(given: Given) -> System:
    """The bus, and a controller whose law runs in its own process, or in the bus's.

    The bus outlives the controller, and stops its drives where that ends. So there is no watchdog
    beside it.

    Raises:
        ConfigError: unknown robot, law, topology or file, a robot without the profile, or a
            topology of another robot.
    """
    config = load_robot(given["robot"], "ethercat")
    topology = given["topology"]
    interface = given["interface"]
    hosted = given["in_process"] == "true"
    bus = load_topology(topology or config.name)
    bus.in_order_of(config.joints)
    parameters: dict[str, Value] = {
        "robot": portable(given["robot"]),
        "interface": interface,
        "topology": str(bus.path.resolve()) if Path(topology).suffix else topology,
        "realtime_priority": PRIORITY.parse("realtime_priority", given["realtime_priority"]),
        "cpu_affinity": PROCESSOR.parse("cpu_affinity", given["cpu_affinity"]),
        "rate": HOSTED_RATE if hosted else 0.0,
        "in_process": hosted,
    }
    emulated = given["emulated_bus"] == "true"
    if emulated:
        parameters |= {name: float(value) for name, value in EMULATED_BUS_TIMEOUTS.items()}
    rate = file_rate(given["gains"]) or (HOSTED_RATE if hosted else 1.0 / bus.cycle)
    of_bus: dict[str, Value] = {"bus": interface} if hosted else {}
    of_bus |= {"state_timeout": EMULATED_STATE_TIMEOUT} if emulated else {}
    ours = control({**given, "watchdog": "false"}, "ethercat", rate=rate, **of_bus)
    return System((NodeSpec("ethercat", "ethercat", parameters), *ours))


ETHERCAT = Setup(
    (
        Argument("interface", None, "Network interface that the bus is on, such as eth1."),
        replace(ROBOT, text="Robot with a profile ethercat: ur5, or the path of a YAML file."),
        *CONTROL[:2],
        DASHBOARD,
        Argument(
            "topology",
            "",
            "Which drive is where: a name, or the path of a YAML file; empty takes the robot's.",
        ),
        Argument(
            "in_process",
            "false",
            "Run the law in the bus's process: sense, compute and act in one cycle.",
            SWITCH,
        ),
        Argument.of_number("realtime_priority", PRIORITY),
        Argument.of_number("cpu_affinity", PROCESSOR),
        Argument(
            "emulated_bus",
            "false",
            "Long timeouts for frames: a slow machine doesn't stop the drives.",
            SWITCH,
        ),
    ),
    drives,
)
