"""Motors on CAN on the package's own driver, our controller in front of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..fieldbus.can.can_arm import load_arm
from ..fieldbus.process.scheduling import PRIORITY, PROCESSOR
from ..robot.configuration import load_robot
from .ethercat_system import EMULATED_STATE_TIMEOUT, HOSTED_RATE
from .package_nodes import CONTROL, DASHBOARD, ROBOT, SWITCH, control, file_rate
from .parameter_files import portable
from .system import Argument, Given, NodeSpec, Setup, System, Value

# of the bus's process, for an emulated bus: where machines stall, that isn't its fault
EMULATED_TIMEOUTS: dict[str, Value] = {
    "bad_cycles": 20,
    "command_timeout": 0.2,
    "reply_timeout": 0.05,
}


def motors(given: Given) -> System:
    """The bus, and a controller whose law runs in its own process, or in the bus's.

    The bus outlives the controller, and stops its motors where that ends. So there is no watchdog
    beside it.

    Raises:
        ConfigError: unknown robot, law, arm or file, a robot without the profile, or motors of
            another robot.
    """
    config = load_robot(given["robot"], "can")
    arm = load_arm(given["arm"] or config.name)
    arm.in_order_of(config.joints)
    channel = given["channel"]
    hosted = given["in_process"] == "true"
    parameters: dict[str, Value] = {
        "robot": portable(given["robot"]),
        "channel": channel,
        "arm": str(arm.path.resolve()) if Path(given["arm"]).suffix else given["arm"],
        "realtime_priority": PRIORITY.parse("realtime_priority", given["realtime_priority"]),
        "cpu_affinity": PROCESSOR.parse("cpu_affinity", given["cpu_affinity"]),
        "rate": HOSTED_RATE if hosted else 0.0,
        "in_process": hosted,
    }
    emulated = given["emulated_bus"] == "true"
    if emulated:
        parameters |= EMULATED_TIMEOUTS
    rate = file_rate(given["gains"]) or (HOSTED_RATE if hosted else 1.0 / arm.period)
    of_bus: dict[str, Value] = {"bus": channel} if hosted else {}
    of_bus |= {"state_timeout": EMULATED_STATE_TIMEOUT} if emulated else {}
    ours = control({**given, "watchdog": "false"}, "can", rate=rate, **of_bus)
    return System((NodeSpec("can", "can", parameters), *ours))


CAN = Setup(
    (
        Argument(
            "channel",
            None,
            "Bus that the motors are on: a CAN interface as can0, or socketcand://HOST:PORT/can0.",
        ),
        replace(
            ROBOT,
            default="openarm",
            text="Robot with a profile can: openarm, or the path of a YAML file.",
        ),
        *CONTROL[:2],
        DASHBOARD,
        Argument(
            "arm",
            "",
            "Which motor moves which joint: a name, or the path of a YAML file; empty takes the robot's.",
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
            "Long timeouts for replies: a slow machine doesn't stop the motors.",
            SWITCH,
        ),
    ),
    motors,
)
