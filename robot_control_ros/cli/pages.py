"""The commands that open a page in the browser, and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..dashboard.access import PORT
from .options import add_command, add_number


def add_pages(commands: Any) -> None:
    """Add the commands `joint` and `planar` to the subcommands of a parser."""
    joint = add_command(
        commands,
        "joint",
        "Open a page that shows one joint's PID response as its gains move; without ROS.",
        _joint,
        "robot_control joint --open",
    )
    planar = add_command(
        commands,
        "planar",
        "Open a page with a planar arm to drag, its law and a wall; without ROS.",
        _planar,
        "robot_control planar --open",
    )
    for add in (joint, planar):
        add_page_options(add)
        add(
            "--no-token",
            action="store_true",
            help="let every program of this machine in; only on 127.0.0.1",
        )
    text = "function of your own law, see docs/joint_page.md"
    joint("--callback", default="", metavar="PACKAGE.MODULE:FUNCTION", help=text)


def add_page_options(add: Callable[..., Any]) -> None:
    """Add the options that all commands with a page have."""
    add_number(add, "--port", replace(PORT, doc="port of the page, or the next free one"))
    add(
        "--host",
        default="127.0.0.1",
        help="address to listen on; 0.0.0.0 for every network (default: 127.0.0.1)",
    )
    add("--open", action="store_true", help="open the page in the browser of this machine")


def _joint(options: argparse.Namespace) -> int:
    from ..dashboard.extra import viser_needed

    with viser_needed("the joint page"):
        from ..teaching.joint.joint_page import JointPage

    return JointPage(options.host, options.port, options.callback, not options.no_token).serve(
        options.open
    )


def _planar(options: argparse.Namespace) -> int:
    from ..dashboard.extra import viser_needed

    with viser_needed("the planar page"):
        from ..teaching.planar.planar_page import PlanarPage

    return PlanarPage(options.host, options.port, not options.no_token).serve(options.open)
