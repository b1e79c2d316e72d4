"""A Franka robot on the package's own driver, our controller in front of it."""

from __future__ import annotations

from dataclasses import replace

from ..fieldbus.process.scheduling import PRIORITY, PROCESSOR
from ..robot.configuration import load_robot
from .ethercat_system import HOSTED_RATE
from .package_nodes import CONTROL, DASHBOARD, ROBOT, SWITCH, control, file_rate
from .parameter_files import portable
from .system import Argument, Given, NodeSpec, Setup, System, Value


def franka(given: Given) -> System:
    """The driver, and a controller whose law runs in the driver's process.

    The driver outlives the controller, and stops the robot where that ends. So there is no watchdog
    beside it.

    Raises:
        ConfigError: unknown robot, law or file; a robot without the profile; a law that commands
            velocities.
    """
    load_robot(given["robot"], "franka")  # refuses a robot without the profile
    ip = given["ip"]
    hosted = given["in_process"] == "true"
    parameters: dict[str, Value] = {
        "robot": portable(given["robot"]),
        "ip": ip,
        "realtime_priority": PRIORITY.parse("realtime_priority", given["realtime_priority"]),
        "cpu_affinity": PROCESSOR.parse("cpu_affinity", given["cpu_affinity"]),
        "rate": HOSTED_RATE if hosted else 0.0,
        "in_process": hosted,
    }
    rate = file_rate(given["gains"]) or (HOSTED_RATE if hosted else 0.0)
    of_bus: dict[str, Value] = {"bus": ip} if hosted else {}
    ours = control({**given, "watchdog": "false"}, "franka", rate=rate, **of_bus)
    return System((NodeSpec("franka", "franka", parameters), *ours))


FRANKA = Setup(
    (
        Argument("ip", None, "Address of the robot's control unit, such as 172.16.0.2."),
        replace(
            ROBOT,
            default="fr3",
            text="Robot with a profile franka: fr3, or the path of a YAML file.",
        ),
        *CONTROL[:2],
        DASHBOARD,
        Argument(
            "in_process",
            "true",
            "Run the law in the driver's process: sense, compute and act in one millisecond.",
            SWITCH,
        ),
        Argument.of_number("realtime_priority", PRIORITY),
        Argument.of_number("cpu_affinity", PROCESSOR),
    ),
    franka,
)
