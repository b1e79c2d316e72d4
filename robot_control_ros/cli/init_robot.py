"""`robot_control init-robot`: makes a robot's YAML file from its URDF, and marks its gaps."""

from __future__ import annotations

import argparse
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import ModelError, RobotControlError, refused, unknown
from ..core.input_files import read_text
from ..core.output_files import write_text
from ..core.types import Array
from ..robot.configuration import RobotConfig, load_robot
from ..robot.description import chain_above, end_link, parse_description
from ..robot.model import RobotModel

MOVABLE = ("revolute", "continuous", "prismatic")
POSTURES = 400  # at random, among which home is chosen
RADIAN = 0.3  # m that one radian of the tip's rotation counts as
RISE_TIME = 0.03  # s in which a torque may reach its limit

_FILE = """# Made by `robot_control init-robot`. Check lines with CHECK; docs/adding_a_robot.md explains all entries.
name: {name}
urdf: {urdf} # from this file's folder
base: {base} # fixed in the world; poses are tip in base
tip: {tip} # CHECK: the link whose pose is controlled
joints: [{joints}]
home: [{home}] # CHECK: rad, or m of a prismatic joint; a posture away from singular ones, chosen here
# rotor_inertia: CHECK: kg·m² of each motor behind its gear; the URDF doesn't tell it, 0 is assumed
effort_rate: [{rates}] # CHECK: N·m/s; the limit is reached within {rise:g} s
axes: [{axes}] # 1 for each of x, y, z, rx, ry, rz that these joints can move the tip in
profiles:
  sim:
    rate: 500
    commands: [effort, position, velocity]
    gravity_by_robot: false
    simulated_time: true
    wrench_topic: force_torque_sensor_broadcaster/wrench # where the simulator sends it
  # CHECK: add a profile for the real robot; no URDF tells its rate, interfaces and topics
"""


def write_robot(urdf: Path, output: Path, base: str = "", tip: str = "") -> RobotConfig:
    """Write the YAML file of the arm in a URDF, and load it.

    Args:
        urdf: File of the robot description.
        output: YAML file to write, which must not exist.
        base: Link that is fixed in the world; empty takes the root.
        tip: Link whose pose is controlled; empty takes the last link of the chain with the most
            moving joints.

    Raises:
        ConfigError: The output exists.
        ModelError: The file is no URDF, a link is unknown, no joint moves, or a joint has no limits
            of effort and velocity.
    """
    if output.exists():
        raise refused("file", str(output), "must not be there yet")
    try:
        text = read_text("urdf", urdf)
        root = parse_description(text)
    except RobotControlError as error:
        raise ModelError(f"{urdf} can't be read as a URDF: {error}", name="urdf", value=str(urdf)) from error
    base, tip, joints = _chain(root, base, tip)
    model = RobotModel(text, joints, base, tip)
    for limit in ("effort", "velocity"):
        for name, value in zip(joints, getattr(model.limits, limit).tolist(), strict=True):
            if not 0.0 < value < np.inf:
                raise ModelError(f"joint {name}: {limit} = {value:g} in the URDF must be above 0 and finite", name=name)
    axes, home = _axes_and_home(model)
    content = _FILE.format(
        name=root.get("name", urdf.stem),
        urdf=os.path.relpath(urdf.resolve(), output.resolve().parent),
        base=base,
        tip=tip,
        joints=", ".join(joints),
        home=", ".join(f"{value:.3f}" for value in home),
        rates=", ".join(f"{value / RISE_TIME:.1f}" for value in model.limits.effort),
        rise=RISE_TIME,
        axes=", ".join(str(int(axis)) for axis in axes),
    )
    write_text(output, content, ".yaml", ".yml")
    robot = load_robot(str(output))
    RobotModel.of(robot)
    return robot


def _chain(root: Any, base: str, tip: str) -> tuple[str, str, list[str]]:
    """Base, tip, and the moving joints between them, from the base on."""
    above = {end_link(joint, "child"): joint for joint in root.findall("joint")}
    links = [link.get("name", "") for link in root.findall("link")]
    for link in filter(None, (base, tip)):
        if link not in links:
            raise unknown("frame", link, links, ModelError)
    base = base or next((link for link in links if link not in above), "")

    def path(link: str) -> list[ElementTree.Element]:
        return chain_above(above, link, base)

    def moving(link: str) -> list[str]:
        return [joint.get("name", "") for joint in path(link) if joint.get("type") in MOVABLE]

    tip = tip or max(links, key=lambda link: (len(moving(link)), len(path(link))), default="")
    if not moving(tip):
        raise ModelError(f"no joint from {base!r} to {tip!r} moves: must be one of {', '.join(MOVABLE)}", name="joints")
    return base, tip, moving(tip)


def _axes_and_home(model: RobotModel) -> tuple[Array, Array]:
    """Axes (6,) that the tip can be moved in, 1 or 0 each, and a posture (n,) for home.

    Of postures at random it is the one that is farthest from a singular one. A posture counts less
    where gravity takes more than half of a joint's effort.
    """
    limits = model.limits
    rng = np.random.default_rng(0)
    lower = np.maximum(limits.lower, -np.pi / 2)
    upper = np.minimum(limits.upper, np.pi / 2)
    lower = np.minimum(lower, limits.upper)
    upper = np.maximum(upper, limits.lower)
    margin = 0.15 * (upper - lower)
    postures = rng.uniform(lower + margin, upper - margin, (POSTURES, model.n))
    weight = np.array([1.0, 1.0, 1.0, RADIAN, RADIAN, RADIAN])[:, None]
    states = [model.at(q) for q in postures]
    jacobians = [weight * state.jacobian for state in states]
    chosen: list[int] = []
    for axis in range(6):
        tried = [*chosen, axis]
        if max(np.linalg.matrix_rank(jacobian[tried], tol=1e-3) for jacobian in jacobians) == len(tried):
            chosen = tried
    holds = [float((np.abs(state.gravity) / limits.effort).max()) for state in states]
    scores = [
        float(np.linalg.svd(jacobian[chosen], compute_uv=False)[-1]) - (hold if hold > 0.5 else 0.0)
        for jacobian, hold in zip(jacobians, holds, strict=True)
    ]
    return np.isin(np.arange(6), chosen).astype(float), postures[int(np.argmax(scores))]


def run(options: argparse.Namespace) -> int:
    """Write the file, and say what to type next."""
    output = options.output or options.urdf.with_suffix(".yaml")
    robot = write_robot(options.urdf, output, options.base, options.tip)
    gaps = sum("CHECK:" in line for line in output.read_text(encoding="utf-8").splitlines())
    print(f"{output}: {robot.n} joints, {robot.base} to {robot.tip}; {gaps} lines to check are marked CHECK")
    print(f"Next: robot_control simulate --robot {output}")
    return 0
