"""The demonstration: simulator and controller as processes, and the page, or else a circle and a push."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..bringup import SETUPS, NodeSpec, page
from ..bringup.processes import Processes
from ..bringup.workcell_system import FIRST_PORT
from ..core.errors import ConfigError, HardwareFault, missing_extra, refused
from ..dashboard.access import check_host
from ..robot.configuration import RobotConfig, load_robot
from ..robot.workcell import MARK, load_workcell
from ..ros.process_environment import environment
from ..simulation.log import Log
from ..simulation.scene import load_scene

START_LIMIT = 150.0  # s until the first telemetry: the control laws are compiled the first time
RECOVERY = 1.0  # s after the push that count neither as pushed nor as free


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
    """Run it; returns the exit status.

    Args:
        robot, law, gains, scene, imperfections: see :data:`robot_control_ros.bringup.SETUPS`.
        workcell: several arms in place of `robot`, each with a page; what is shown is of the first arm.
        live: show the live line.
        seconds: length; 0 runs until Ctrl-C. By default 0 with the page, and 20 without it.
        output: folder for the plot and the CSV file that are written without the page.
        browser: with the page, for a person. Without it the robot follows a circle and is pushed, or in a scene the
            terminal's keys move an object (by default until Esc, where keys can be read).
        page_parameters: of the node `dashboard`, such as host and port.

    Raises:
        ConfigError: an argument that can't be used, or the page's library is missing.
        HardwareFault: a process ended, or no telemetry came.
    """
    page_parameters = _checked(seconds, browser, page_parameters or {})
    specs, robots = _system(robot, workcell, imperfections, law=law, gains=gains, scene=scene)
    namespace, config = next((name, load_robot(each)) for name, each in robots.items())
    from ..ros.running import spinning

    _enter_domain(config, law)
    with (
        Processes(specs) as processes,
        Processes(_pages(robots, page_parameters) if browser else []) as pages,
        spinning(lambda: _operator(config, law, scene, browser, namespace), interrupted_status=0) as (operator, spin),
    ):
        print(operator.plan)
        try:
            with operator.keyboard:
                _watch(operator, spin, (processes, pages), operator.length if seconds is None else seconds, live)
        except KeyboardInterrupt:
            print("\nstopped")
        processes.begin_stop()  # the plot is drawn meanwhile
        if not browser and operator.samples:
            _report(operator, _title(config.name, law, scene, imperfections), Path(output))
    return 0


def _system(robot: str, workcell: str, imperfections: str, **given: str) -> tuple[list[NodeSpec], dict[str, str]]:
    """The nodes, and the robots by their namespaces."""
    if not workcell:
        return SETUPS["sim"].make(robot=robot, imperfections=imperfections, **given).nodes(), {"": robot}
    if imperfections:
        raise refused("imperfections", imperfections, "must be empty: a work cell's arms have none")
    robots = {arm: f"{workcell}{MARK}{arm}" for arm in load_workcell(workcell).arms}
    return SETUPS["two_arms"].make(workcell=workcell, **given).nodes(), robots


def _pages(robots: Mapping[str, str], parameters: Mapping[str, Any]) -> list[NodeSpec]:
    """The pages of robots by their namespaces, on ports one after the other."""
    first = parameters.get("port", FIRST_PORT)
    pages = (page(robot, "sim", **{**parameters, "port": first + index}) for index, robot in enumerate(robots.values()))
    return [replace(spec, namespace=namespace) for namespace, spec in zip(robots, pages, strict=True)]


def _title(robot: str, law: str, scene: str, imperfections: str) -> str:
    return ", ".join(filter(None, (f"{robot} under {law}", scene and f"scene {scene}", imperfections)))


def _enter_domain(config: RobotConfig, law: str) -> None:
    """Take the ROS domain of the demonstration, and print how to join it."""
    os.environ.update(environment())
    print(f"{config.description or config.name} under {law}")
    settings = " ".join(f"{name}={os.environ[name]}" for name in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_DOMAIN_ID"))
    print(f"To join from another terminal: export {settings}")


def _checked(seconds: float | None, browser: bool, page_parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of the page, where they and the other options can be used."""
    check_host(page_parameters.get("host", "127.0.0.1"))
    if seconds is not None and not seconds >= 0.0:
        raise ConfigError(f"seconds = {seconds}: must be 0 or more", name="seconds", value=seconds, bound=0.0)
    if browser and find_spec("viser") is None:
        raise missing_extra("the page (--no-page does without)", "viser", "dashboard")
    return page_parameters


def _operator(config: RobotConfig, law: str, scene: str, browser: bool, namespace: str) -> Any:
    from ..nodes.demo.key_operator import KeyOperator
    from ..nodes.demo.keyboard import Keyboard
    from ..nodes.demo.operator import Operator
    from ..nodes.demo.spectator import Spectator

    if browser:
        return Spectator(namespace)
    if scene:
        return KeyOperator(config, law, load_scene(scene), Keyboard(), namespace)
    return Operator(config, law, namespace)


def _watch(operator: Any, spin: Any, groups: Sequence[Processes], seconds: float, live: bool) -> None:
    began = time.monotonic()
    terminal = sys.stdout.isatty()
    next_line = 0.0
    while not operator.finished and (seconds == 0.0 or operator.elapsed < seconds):
        spin(0.1)
        for processes in groups:
            processes.check()
        if operator.latest is None:
            if time.monotonic() - began > START_LIMIT:
                raise HardwareFault(f"no telemetry from the controller within {START_LIMIT:g} s")
        elif live and terminal:
            print(f"\r{_line(operator):<78}", end="", flush=True)
        elif live and operator.elapsed >= next_line:  # one line a second
            next_line += 1.0
            print(_line(operator), flush=True)
    if live:
        print()


def _line(operator: Any) -> str:
    error = operator.latest["pose_error"]
    rate = f"{operator.rate:4.0f}" if operator.rate else "   -"
    return (
        f"{operator.elapsed:6.1f} s  {rate} Hz  error {np.linalg.norm(error[:3]) * 1e3:5.1f} mm "
        f"{np.degrees(np.linalg.norm(error[3:])):5.2f} deg  {force_text(operator.latest['wrench'])}  {operator.note}"
    )


def force_text(wrench: Any) -> str:
    """Of a wrench (6,), which is NaN where there is no sensor."""
    return "no sensor" if np.isnan(wrench).any() else f"force {np.linalg.norm(wrench[:3]):5.1f} N"


def _report(operator: Any, title: str, folder: Path) -> None:
    log: Log = operator.log()
    error = np.linalg.norm(log.pose_error[:, :3], axis=1) * 1e3
    pushed = operator.pushed(log)
    last_push = np.maximum.accumulate(np.where(pushed, log.t, -np.inf))
    recovering = log.t - last_push <= RECOVERY
    print(f"{log.t[-1]:.1f} s of {title}: {operator.rate:.0f} Hz, {operator.missed} late or lost joint states")
    for name, part in (("free", error[~pushed & ~recovering]), ("pushed", error[pushed])):
        if len(part):
            print(f"  error {name:<7} rms {np.sqrt(np.mean(part**2)):6.2f} mm   max {part.max():6.2f} mm")
    if pushed.any():
        forces = np.linalg.norm(log.wrench[pushed, :3], axis=1)
        missing = np.isnan(forces).all()
        print(f"  force pushed  {'no sensor' if missing else f'max {np.nanmax(forces):6.2f} N'}")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"  {log.plot(folder / 'demo.png', title)}  {log.to_csv(folder / 'demo.csv')}")
