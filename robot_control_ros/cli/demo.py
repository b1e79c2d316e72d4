"""The demonstration: simulator and controller, and the page, or a circle and a push."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..bringup import SETUPS, NodeSpec, page
from ..bringup.connection import connect
from ..bringup.processes import Processes, interrupted_once
from ..bringup.workcell_system import FIRST_PORT
from ..core.errors import ConfigError, missing_extra, refused
from ..dashboard.access import check_host
from ..robot.configuration import RobotConfig, load_robot
from ..robot.workcell import MARK, load_workcell
from ..ros.process_environment import environment
from .circle_and_push import circle_and_push, report
from .live_line import LiveLine

LENGTH = 20.0  # s without the page, where nobody says anything else


def demo(
    robot: str,
    law: str,
    *,
    gains: str = "",
    live: bool = True,
    seconds: float | None = None,
    output: str = ".",
    scene: str = "",
    imperfections: str = "",
    workcell: str = "",
    browser: bool = True,
    page_parameters: Mapping[str, Any] | None = None,
) -> int:
    """Run the demonstration; returns the exit status.

    Args:
        robot, law, gains, scene, imperfections: See :data:`robot_control_ros.bringup.SETUPS`.
        workcell: Several arms in place of `robot`, each with a page. The first arm is shown.
        live: True shows the live line.
        seconds: Length; 0 runs until Ctrl-C. By default it is 0 with the page, and 20 without it.
        output: Folder for the plot and the CSV file that are written without the page.
        browser: True opens the page, for a person. False leads the arm along a circle, and pushes
            it.
        page_parameters: Parameters of the node `dashboard`, such as host and port.

    Raises:
        ConfigError: An argument can't be used, or the page's library is missing.
        HardwareFault: A process ended, or the arm doesn't follow its targets.
        StaleStateError: No controller came.
    """
    page_parameters = _checked(seconds, browser, page_parameters or {})
    specs, robots = _system(robot, workcell, imperfections, law=law, gains=gains, scene=scene)
    namespace, config = next((name, load_robot(each)) for name, each in robots.items())
    _enter_domain(config, law)
    with interrupted_once(), Processes(specs) as processes:
        try:
            if browser:
                with Processes(_pages(robots, page_parameters)) as pages:
                    _watch((processes, pages), namespace, live, seconds or 0.0)
            else:
                with connect(processes, namespace) as arm:
                    line = LiveLine(arm, namespace, live)
                    length = LENGTH if seconds is None else seconds
                    log = circle_and_push(arm, line, length, not scene, processes.check)
                    timing = line.timing
                processes.begin_stop()  # the plot is drawn meanwhile
                report(log, _title(config.name, law, scene, imperfections), timing, Path(output))
        except KeyboardInterrupt:
            print("\nstopped")
    return 0


def _watch(groups: Sequence[Processes], namespace: str, live: bool, seconds: float) -> None:
    """Show the first arm, which a person leads on the page; 0 goes on until Ctrl-C."""
    with connect(groups[0], namespace) as robot:
        print(
            "the arm holds: on the page, drag the target, push the arm, change its stiffness; Ctrl-C ends"
        )
        line = LiveLine(robot, namespace, live)
        while seconds == 0.0 or line.elapsed < seconds:
            time.sleep(0.1)
            for processes in groups:
                processes.check()
            line.show()
        line.end()


def _system(
    robot: str, workcell: str, imperfections: str, **parts: str
) -> tuple[list[NodeSpec], dict[str, str]]:
    """Nodes of the system, and the robots by their namespaces."""
    if not workcell:
        return SETUPS["sim"].make(robot=robot, imperfections=imperfections, **parts).nodes(), {
            "": robot
        }
    if imperfections:
        raise refused("imperfections", imperfections, "must be empty: a work cell's arms have none")
    robots = {arm: f"{workcell}{MARK}{arm}" for arm in load_workcell(workcell).arms}
    return SETUPS["two_arms"].make(workcell=workcell, **parts).nodes(), robots


def _pages(robots: Mapping[str, str], parameters: Mapping[str, Any]) -> list[NodeSpec]:
    """Pages of robots by their namespaces, on ports one after the other."""
    first = parameters.get("port", FIRST_PORT)
    pages = (
        page(robot, "sim", **{**parameters, "port": first + index})
        for index, robot in enumerate(robots.values())
    )
    return [
        replace(spec, namespace=namespace) for namespace, spec in zip(robots, pages, strict=True)
    ]


def _title(robot: str, law: str, scene: str, imperfections: str) -> str:
    return ", ".join(
        filter(None, (f"{robot} under {law}", scene and f"scene {scene}", imperfections))
    )


def _enter_domain(config: RobotConfig, law: str) -> None:
    """Take the ROS domain of the demonstration, and print how to join it."""
    os.environ.update(environment())
    print(f"{config.description or config.name} under {law}")
    names = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_DOMAIN_ID")
    settings = " ".join(f"{name}={os.environ[name]}" for name in names)
    print(f"To join from another terminal: export {settings}", flush=True)


def _checked(
    seconds: float | None, browser: bool, page_parameters: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Parameters of the page, where they and the other options can be used."""
    check_host(page_parameters.get("host", "127.0.0.1"))
    if seconds is not None and not seconds >= 0.0:
        raise ConfigError(
            f"seconds = {seconds}: must be 0 or more", name="seconds", value=seconds, bound=0.0
        )
    if browser and find_spec("viser") is None:
        raise missing_extra("the page (--no-page does without)", "viser", "dashboard")
    return page_parameters
