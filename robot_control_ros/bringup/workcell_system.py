"""The arms of a work cell, each with nodes of its own in its namespace."""

from __future__ import annotations

from dataclasses import replace

from ..dashboard.access import PORT
from ..robot.profile import JOINT_STATE_RATE
from ..robot.workcell import MARK, load_workcell
from ..simulation.scene import load_scene
from .package_nodes import CONTROL, RATE, control, page
from .parameter_files import portable
from .system import Argument, Given, NodeSpec, Setup, System, Value, Xacro

FIRST_PORT = PORT.default  # of the first arm's page; the next arms have the next ports


def workcell(given: Given) -> System:
    """Controller, watchdog and page of each arm; under the profile `sim` also the simulator, which
    has all arms.

    Raises:
        ConfigError: unknown work cell, law, scene, profile or file, or a law whose commands a
            profile doesn't take.
    """
    cell = portable(given["workcell"])
    profile = given["profile"]
    rate = JOINT_STATE_RATE.parse("rate", given["rate"])
    specs = []
    if profile == "sim":
        if given["scene"]:
            load_scene(given["scene"])
        world: dict[str, Value | Xacro] = {
            "workcell": cell,
            "rate": rate,
            "scene": portable(given["scene"]),
            "pacing": given["pacing"],
        }
        specs.append(NodeSpec("simulator", "simulator", world))
    for index, arm in enumerate(load_workcell(given["workcell"]).arms):
        own = {**given, "robot": f"{cell}{MARK}{arm}", "namespace": arm, "dashboard": "false"}
        nodes = control(own, profile, rate=rate)
        if given["dashboard"] == "true":
            nodes = (*nodes, page(own["robot"], profile, port=FIRST_PORT + index))
        specs += [replace(spec, namespace=arm) for spec in nodes]
    return System(tuple(specs))


WORKCELL = Setup(
    (
        Argument("workcell", "two_ur5e", "Work cell: a name, or the path of a YAML file."),
        *CONTROL,
        Argument(
            "profile",
            "sim",
            "sim simulates all arms; under another one their drivers must run already.",
        ),
        Argument(
            "pacing",
            "realtime",
            "realtime, or lockstep: one period per command of each arm.",
            ("realtime", "lockstep"),
        ),
        RATE,
        Argument(
            "scene",
            "",
            "What stands around the first arm: a name, or the path of a YAML file; empty for nothing.",
        ),
    ),
    workcell,
)
