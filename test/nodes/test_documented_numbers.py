"""The pages of the nodes tell the default and the unit of each number that a node declares."""

import re
from pathlib import Path

import pytest

from robot_control_ros.nodes.can import node as can
from robot_control_ros.nodes.controller import node as controller
from robot_control_ros.nodes.dashboard import node as dashboard
from robot_control_ros.nodes.ethercat import node as ethercat
from robot_control_ros.nodes.fieldbus import node as fieldbus
from robot_control_ros.nodes.franka import node as franka
from robot_control_ros.nodes.simulator import node as simulator
from robot_control_ros.nodes.teleop import node as teleop
from robot_control_ros.nodes.watchdog import node as watchdog

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS = {
    "can": {**fieldbus.NUMBERS, **can.NUMBERS},
    "controller": controller.NUMBERS,
    "dashboard": dashboard.NUMBERS,
    "franka": franka.NUMBERS,
    "ethercat": {**fieldbus.NUMBERS, **ethercat.NUMBERS},
    "simulator": simulator.NUMBERS,
    "teleop": teleop.NUMBERS,
    "watchdog": watchdog.NUMBERS,
}
ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]*) \|", re.MULTILINE)


def told_defaults(page):
    """Defaults of the page's tables by parameter, as they are written there."""
    defaults = {}
    for first, second in ROW.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        names = re.findall(r"`(\w+)`", first)
        values = second.split(", ")
        if len(names) == len(values):
            defaults.update(zip(names, values, strict=True))
    return defaults


@pytest.mark.parametrize("name", NUMBERS)
def test_each_number_is_told_with_its_default_and_unit(name):
    declared = {
        parameter: f"{number.default:g} {number.unit}".rstrip()
        for parameter, number in NUMBERS[name].items()
    }
    told = told_defaults(name)
    assert {parameter: told.get(parameter) for parameter in declared} == declared
