"""`robot_control init-robot`: makes a robot's YAML file from its URDF, and marks its gaps."""

from __future__ import annotations

import argparse
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from ..core.errors import ModelError, RobotControlError, refused, unknown
from ..core.input_files import read_text
from ..core.output_files import write_text
from ..core.types import Array
from ..robot.arm_description import independent_joints
from ..robot.configuration import RobotConfig, load_robot
from ..robot.description import chain_above, end_link, parse_description, root_link
from ..robot.implausible import implausible_numbers, torque_problem
from ..robot.model import JointLimits, RobotModel

MOVABLE = ("revolute", "continuous", "prismatic")
POSTURES = 400  # at random, among which home is chosen
RADIAN = 0.3  # m that one radian of the tip's rotation counts as
XACRO = "xacro}"  # end of the namespace of its elements
PLAIN = re.compile(r"[A-Za-z_./][\w./-]*", re.ASCII)  # what YAML reads as a text, quotes or no
NO_TEXTS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n", ".inf", ".nan")
LEAST_ROOM = 0.5  # of half the range of a joint, for home about 0
RISE_TIME = 0.03  # s in which a torque may reach its limit

_FILE = """# Made by `robot_control init-robot`. Check lines with CHECK; docs/adding_a_robot.md explains all entries.
{doubts}name: {name}
urdf: {urdf} # from this file's folder
base: {base} # fixed in the world; poses are tip in base
tip: {tip} # CHECK: the link whose pose is controlled
joints: [{joints}] # CHECK: joints of the arm; leave out those of a gripper
home: [{home}] # CHECK: rad, or m of a prismatic joint; a posture away from singular ones, chosen here
# rotor_inertia: CHECK: kg·m² of each motor behind its gear; the URDF doesn't tell it, 0 is assumed
effort_rate: [{rates}] # CHECK: N·m/s, or N/s of a prismatic joint; the limit is reached within {rise:g} s
axes: [{axes}] # 1 for each of x, y, z, rx, ry, rz that these joints can move the tip in
profiles:
  sim:
    rate: 500
    commands: [effort, position, velocity]
    gravity_by_robot: false
    simulated_time: true
    wrench_topic: force_torque_sensor_broadcaster/wrench # where the simulator sends it
{limits}  # CHECK: add a profile for the real robot; no URDF tells its rate, interfaces and topics
"""


def write_robot(urdf: Path, output: Path, base: str = "", tip: str = "") -> RobotConfig:
    """Write the YAML file of the arm in a URDF, and load it.

    Args:
        urdf: The robot description.
        output: The file to write, which must not be there. Nothing is left of it after an error.
        base: Fixed link; by default the root.
        tip: Controlled link; by default the last one of the chain with the most moving joints.

    Raises:
        ConfigError: the output is there.
        ModelError: no URDF, an unknown link, no moving joint, or several chains of which none is
            the longest.
    """
    if output.exists():
        raise refused("file", str(output), "must not be there yet")
    try:
        text = read_text("urdf", urdf)
        root = parse_description(text)
    except RobotControlError as error:
        raise ModelError(
            f"{urdf} can't be read as a URDF: {error}", name="urdf", value=str(urdf)
        ) from error
    _check_kind(root, urdf)
    base, tip, joints = _chain(root, base, tip)
    model = RobotModel(text, joints, base, tip)
    model.limits.check_ranges(model.joints)
    limits, assumed = _usable_limits(model)
    model.limits = model.limits.tightened(limits)
    axes, home = _axes_and_home(model)
    doubts = [" ".join(str(each).split()) for each in implausible_numbers(model, home.tolist())]
    content = _FILE.format(
        name=_quoted(root.get("name") or urdf.stem),
        urdf=_quoted(os.path.relpath(urdf.resolve(), output.resolve().parent)),
        base=_quoted(base),
        tip=_quoted(tip),
        joints=", ".join(map(_quoted, joints)),
        home=", ".join(_short(value) for value in home.tolist()),
        rates=", ".join(f"{value / RISE_TIME:.1f}" for value in model.limits.effort),
        rise=RISE_TIME,
        axes=", ".join(str(int(axis)) for axis in axes),
        limits=assumed,
        doubts="".join(f"# CHECK: {doubt}\n" for doubt in doubts),
    )
    write_text(output, content, ".yaml", ".yml")
    try:
        robot = load_robot(str(output))
        RobotModel.of(robot)
    except BaseException:
        output.unlink()
        raise
    return robot


def _check_kind(root: ElementTree.Element, path: Path) -> None:
    """Refuse files of other kinds than URDF, with the way to one.

    Raises:
        ModelError: names the kind, and what makes a URDF of it.
    """
    kinds = {
        "sdf": "an SDF file; this command reads URDF",
        "mujoco": f"a MuJoCo file (MJCF): type robot_control new {path}",
        "mujocoinclude": f"a MuJoCo file (MJCF): type robot_control new {path}",
    }
    if root.tag in kinds:
        kind = kinds[root.tag]
    elif any(XACRO in name for element in root.iter() for name in (element.tag, *element.attrib)):
        kind = f"a xacro file: type xacro {path} > {path.stem.partition('.')[0]}.urdf, and use that"
    elif root.tag != "robot":
        kind = f"no URDF: its first element is <{root.tag}>, must be <robot>"
    elif root.find("link") is None:
        kind = "a URDF without a link"
    else:
        return
    raise ModelError(f"{path} is {kind}", name="urdf", value=str(path))


def _chain(root: ElementTree.Element, base: str, tip: str) -> tuple[str, str, list[str]]:
    """Base, tip, and the moving joints between them, from the base on.

    Raises:
        ModelError: an unknown link, no moving joint, or several longest chains.
    """
    above = {end_link(joint, "child"): joint for joint in root.findall("joint")}
    links = [link.get("name", "") for link in root.findall("link")]
    for link in filter(None, (base, tip)):
        if link not in links:
            raise unknown("frame", link, links, ModelError)
    base = base or root_link(root)
    independent = set(independent_joints(root))

    def path(link: str) -> list[ElementTree.Element]:
        return chain_above(above, link, base)

    def moving(link: str) -> list[str]:
        names = [joint.get("name", "") for joint in path(link) if joint.get("type") in MOVABLE]
        return [name for name in names if name in independent]

    if not tip:
        chains = {link: moving(link) for link in links}
        longest = max(len(chain) for chain in chains.values())
        ends = [link for link in links if len(chains[link]) == longest]
        if longest > 0 and len({tuple(chains[link]) for link in ends}) > 1:
            tips = [
                link
                for link in ends
                if not any(end_link(j, "parent") == link for j in above.values())
            ]
            raise ModelError(
                f"several chains from {base} have {longest} moving joints: say which link is controlled by --tip, "
                f"as in --tip {(tips or ends)[0]}; their last links: {', '.join(tips or ends)}",
                name="--tip",
                bound=tuple(tips or ends),
            )
        tip = max(ends, key=lambda link: len(path(link)))
    joints = moving(tip)
    if not joints:
        kinds = ", ".join(MOVABLE)
        raise ModelError(
            f"no joint from {base!r} to {tip!r} moves: must be one of {kinds}", name="joints"
        )
    return base, tip, joints


def _quoted(name: str) -> str:
    """A name as YAML takes it: in quotes where it could be read as something else than a text."""
    is_plain = PLAIN.fullmatch(name) is not None and name.lower() not in NO_TEXTS
    return name if is_plain else json.dumps(name)


def _short(position: float) -> str:
    """A joint's position in four digits, or to 0.1 mrad or 0.1 mm."""
    return f"{position:.4g}" if abs(position) < 1.0 else f"{position:.4f}"


def _usable_limits(model: RobotModel) -> tuple[dict[str, list[float]], str]:
    """Limits that stand in for those that the URDF doesn't tell, and their lines in the file.

    An effort limit that isn't told is twice the torque that holds the arm, and 1 N·m at least; a
    velocity limit is 1 rad/s. The lines are empty where the URDF tells all.
    """
    rng = np.random.default_rng(0)
    lower = np.maximum(model.limits.lower, -np.pi)
    upper = np.minimum(model.limits.upper, np.pi)
    postures = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (POSTURES, model.n))
    holding = np.max([np.abs(model.at(q).gravity) for q in postures], axis=0)
    defaults = {"effort": np.maximum(2.0 * holding, 1.0), "velocity": np.ones(model.n)}
    limits: dict[str, list[float]] = {}
    lines = ""
    for name, default in defaults.items():
        told = getattr(model.limits, name)
        usable = np.isfinite(told) & (told > 0.0)
        if not usable.all():
            limits[name] = np.where(usable, told, np.round(default, 1)).tolist()
            numbers = ", ".join(f"{value:g}" for value in limits[name])
            which = ", ".join(
                joint for joint, known in zip(model.joints, usable, strict=True) if not known
            )
            lines += f"      {name}: [{numbers}] # CHECK: the URDF doesn't tell that of {which}; assumed here\n"
    return limits, f"    limits:\n{lines}" if lines else ""


def _axes_and_home(model: RobotModel) -> tuple[Array, Array]:
    """Axes (6,) that the tip can be moved in, 1 or 0 each, and a posture (n,) for home.

    Of postures at random it is the one that is farthest from a singular one. A posture counts less
    where gravity takes more than half of a joint's effort.
    """
    limits = model.limits
    rng = np.random.default_rng(0)
    lower, upper = _middle(limits)
    margin = 0.15 * (upper - lower)
    postures = rng.uniform(lower + margin, upper - margin, (POSTURES, model.n))
    weight = np.array([1.0, 1.0, 1.0, RADIAN, RADIAN, RADIAN])[:, None]
    states = [model.at(q) for q in postures]
    jacobians = [weight * state.jacobian for state in states]
    chosen: list[int] = []
    for axis in range(6):
        tried = [*chosen, axis]
        if max(np.linalg.matrix_rank(jacobian[tried], tol=1e-3) for jacobian in jacobians) == len(
            tried
        ):
            chosen = tried
    holds = [float((np.abs(state.gravity) / limits.effort).max()) for state in states]
    scores = [
        float(np.linalg.svd(jacobian[chosen], compute_uv=False)[-1]) - (hold if hold > 0.5 else 0.0)
        for jacobian, hold in zip(jacobians, holds, strict=True)
    ]
    return np.isin(np.arange(6), chosen).astype(float), postures[int(np.argmax(scores))]


def _middle(limits: JointLimits) -> tuple[Array, Array]:
    """Lower and upper positions (n,) among which home is chosen.

    They are the limits, within a quarter of a turn from 0: there most arms are unfolded. A joint
    that has little room there has half a turn that is as near to 0 as its limits allow.
    """
    half = np.minimum((limits.upper - limits.lower) / 2.0, np.pi / 2.0)
    middle = np.clip(0.0, limits.lower + half, limits.upper - half)
    lower = np.maximum(limits.lower, -np.pi / 2.0)
    upper = np.minimum(limits.upper, np.pi / 2.0)
    has_room = upper - lower > LEAST_ROOM * half
    return np.where(has_room, lower, middle - half), np.where(has_room, upper, middle + half)


def run(options: argparse.Namespace) -> int:
    """Write the file, and say what to type next."""
    output = options.output or options.urdf.with_suffix(".yaml")
    robot = write_robot(options.urdf, output, options.base, options.tip)
    gaps = sum("CHECK:" in line for line in output.read_text(encoding="utf-8").splitlines())
    print(
        f"{output}: {robot.n} joints, {robot.base} to {robot.tip}; {gaps} lines to check are marked CHECK"
    )
    problem = torque_problem(RobotModel.of(robot))
    if problem:
        print(f"Only laws of positions run on it. {problem}")
    law = " --law joint_pid" if problem else ""
    print(f"Next: robot_control simulate --robot {output}{law}")
    return 0
