"""The first report on a robot: what it can hold, how stiff it may be, and what isn't known of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..control.gain_report import gain_report
from ..core.errors import ConfigError, HardwareFault
from ..core.gains import AXES
from ..core.input_files import read_text
from ..core.output_files import write_text
from ..core.types import Array, CommandMode
from ..laws import law_names
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from ..simulation.in_process import Push, simulate
from ..simulation.log import figure_class, save_picture
from ..stability.stiffness_bound import stiffness_bound

LAW = "impedance"  # the law whose stiffness the table bounds
RATES = (125.0, 250.0, 500.0, 1000.0)  # Hz
DELAYS = (0.002, 0.004, 0.008, 0.016)  # s
POSTURES = 8000  # random ones of the map
CELLS = 36  # of the map, along each side
PUSH = 20.0  # N, at most
SHARE = 0.25  # of the force that the arm can hold: the push is no more
SETTLED = 4.0  # s of the push


def write_report(
    robot: RobotConfig, report: Path, picture: Path, left_out: Iterable[str] = ()
) -> list[Path]:
    """Write the report on a robot, and the map of its workspace; returns the paths.

    Args:
        robot: Configuration of the robot, under its simulation.
        report: Markdown file.
        picture: Picture of the map.
        left_out: What the robot's own file has and its description lacks, one sentence each.

    Raises:
        ConfigError: matplotlib is not installed, or a file can't be written.
    """
    model = RobotModel.of(robot)
    lines = [
        f"# {robot.description or robot.name}",
        "",
        *_the_arm(robot, model),
        "",
        "## Where it can be, and what it can hold",
        "",
        *_the_workspace(robot, model, picture),
        "",
        "## The first simulation",
        "",
        *_the_simulation(robot, model),
        "",
        "## How stiff it may be",
        "",
        *_the_stiffness(robot, model),
        "",
        "## What is not known",
        "",
        *_the_gaps(robot, left_out),
    ]
    write_text(report, "\n".join(lines) + "\n", ".md")
    return [report, picture]


def _the_arm(robot: RobotConfig, model: RobotModel) -> Iterator[str]:
    limits = model.limits
    home = np.array(robot.home)
    kin = model.at(home)
    yield f"{robot.n} joints from `{robot.base}` to `{robot.tip}`. At home:"
    yield ""
    yield "| joint | home | lower | upper | effort | gravity | inertia, with rotor |"
    yield "|---|---|---|---|---|---|---|"
    inertia = kin.mass.diagonal()
    for i, name in enumerate(robot.joints):
        numbers = (home[i], limits.lower[i], limits.upper[i], limits.effort[i], kin.gravity[i])
        cells = " | ".join(f"{value:.3g}" for value in (*numbers, inertia[i]))
        yield f"| {name} | {cells} |"
    yield ""
    yield "Angles are in rad, efforts in N·m, inertias in kg·m²; a sliding joint has m, N and kg."


def _the_workspace(robot: RobotConfig, model: RobotModel, picture: Path) -> Iterator[str]:
    tips, forces = _reached(model)
    home = model.at(np.array(robot.home))
    draw_workspace(tips, forces, home.pose[:3, 3], robot, picture)
    reach = float(np.linalg.norm(tips, axis=1).max())
    held = holdable_force(home.jacobian, home.gravity, model.limits.effort)
    yield f"![workspace]({picture.name})"
    yield ""
    yield (
        f"The tip comes {reach:.2f} m far from `{robot.base}`. At home the joints hold {held:.3g} N in "
        "every direction, besides the arm's weight."
    )


def holdable_force(jacobian: Array, gravity: Array, effort: Array) -> float:
    """Force [N] that the joints can hold at the tip in every direction, besides the arm's weight.

    A force of f in the worst direction asks joint i for f times the length of its column of the
    translational Jacobian.

    Args:
        jacobian: (6, n) Jacobian of the tip.
        gravity: (n,) torques that hold the arm [N·m].
        effort: (n,) limits of the torques [N·m].
    """
    lever = np.linalg.norm(jacobian[:3], axis=0)
    left = np.maximum(effort - np.abs(gravity), 0.0)
    return float((left / np.maximum(lever, 1e-9)).min())


def _reached(model: RobotModel) -> tuple[Array, Array]:
    """Positions (N, 3) of the tip at random postures [m], and the forces (N,) held there [N]."""
    rng = np.random.default_rng(0)
    lower = np.maximum(model.limits.lower, -np.pi)
    upper = np.minimum(model.limits.upper, np.pi)
    tips = np.zeros((POSTURES, 3))
    forces = np.zeros(POSTURES)
    for row, q in enumerate(rng.uniform(lower, upper, (POSTURES, model.n))):
        kin = model.at(q)
        tips[row] = kin.pose[:3, 3]
        forces[row] = holdable_force(kin.jacobian, kin.gravity, model.limits.effort)
    return tips, forces


def draw_workspace(tips: Array, forces: Array, home: Array, robot: RobotConfig, path: Path) -> Path:
    """Draw where the tip can be, from the side and from above, coloured by the force it can hold.

    Args:
        tips: (N, 3) positions of the tip [m].
        forces: (N,) forces that it can hold there in every direction [N].
        home: (3,) position of the tip at home [m].
        robot: Robot, for the title.
        path: Picture to write.

    Raises:
        ConfigError: see :func:`~..simulation.log.picture_path`.
    """
    figure = figure_class()(figsize=(11.0, 5.2), layout="constrained")
    side, top = figure.subplots(1, 2)
    radius = np.hypot(tips[:, 0], tips[:, 1])
    shades: dict[str, Any] = {
        "C": forces,
        "reduce_C_function": np.median,
        "gridsize": CELLS,
        "cmap": "viridis",
        "vmin": 0.0,
        "vmax": float(np.percentile(forces, 98.0)) or 1.0,
        "linewidths": 0.1,
    }
    drawn = side.hexbin(radius, tips[:, 2], **shades)
    side.plot([np.hypot(home[0], home[1])], [home[2]], "r+", markersize=14, label="home")
    side.axhline(0.0, color="0.4", linewidth=0.8)
    side.set_xlabel("distance from the base's z axis [m]")
    side.set_ylabel("z [m]")
    side.set_title("from the side")
    top.hexbin(tips[:, 0], tips[:, 1], **shades)
    top.plot([home[0]], [home[1]], "r+", markersize=14, label="home")
    top.set_xlabel("x [m]")
    top.set_ylabel("y [m]")
    top.set_title("from above")
    for axis in (side, top):
        axis.set_aspect("equal")
        axis.grid(True, alpha=0.3)
    side.legend(loc="upper right")
    figure.colorbar(drawn, ax=(side, top), label="force held in every direction, median [N]")
    figure.suptitle(f"{robot.description or robot.name}: {robot.tip} in {robot.base}")
    return save_picture(figure, path, dpi=110)


def _the_simulation(robot: RobotConfig, model: RobotModel) -> Iterator[str]:
    home = model.at(np.array(robot.home))
    held = holdable_force(home.jacobian, home.gravity, model.limits.effort)
    axis = next((i for i in range(3) if robot.axes[i] > 0.0), None)
    if axis is None or CommandMode.EFFORT not in robot.profile.commands:
        yield "A push isn't simulated: the profile takes no effort, or the tip can't be moved along an axis."
        return
    running = RunningLaw(robot, LAW)
    spring = running.gains.target.stiffness
    stiffness = float(spring[axis, axis] if spring.ndim == 2 else spring[axis])
    push = min(PUSH, SHARE * held)
    force = np.zeros(3)
    force[axis] = push
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            log = simulate(
                robot,
                LAW,
                duration=2.0 * SETTLED,
                push=Push(tuple(force.tolist()), start=0.1, duration=SETTLED),
                rate=robot.profile.rate,
            )
    except HardwareFault as fault:
        yield f"Under {LAW}, pushed with {push:.3g} N along {AXES[axis]}, it stopped: {fault}"
        return
    yielded = -float(log.pose_error[log.t.searchsorted(0.1 + SETTLED) - 1, axis])
    left = float(np.linalg.norm(log.pose_error[-1, :3]))
    yield (
        f"Under {LAW}, {push:.3g} N along {AXES[axis]} move the tip by {1e3 * yielded:.2f} mm; F/K is "
        f"{1e3 * push / stiffness:.2f} mm, with K = {stiffness:g} N/m. {SETTLED:g} s after the push it is "
        f"{1e3 * left:.2f} mm from its target."
    )
    if model.has_friction:
        yield "The joints' friction holds a part of the push, and keeps the arm from its target."
    if log.trouble:
        yield ""
        for trouble in log.trouble:
            yield f"- {trouble.message}"


def _the_stiffness(robot: RobotConfig, model: RobotModel) -> Iterator[str]:
    kin = model.at(np.array(robot.home))
    yield (
        f"The largest stable stiffness of `{LAW}` at home, by rate and by the delay from a sample to the "
        "effect of its command: N/m, and N·m/rad. Rigid joints, exact velocities: a real arm bears less."
    )
    yield ""
    yield f"| rate | {' | '.join(f'{1e3 * delay:g} ms' for delay in DELAYS)} |"
    yield f"|---{'|---' * len(DELAYS)}|"
    controlled = np.array(robot.axes) > 0.0
    for rate in RATES:
        cells = []
        for delay in DELAYS:
            bound = stiffness_bound(RunningLaw(robot.at_rate(rate), LAW), kin, delay=delay)
            if bound is None:
                cells.append("-")
                continue
            parts = [bound.values[:3][controlled[:3]], bound.values[3:][controlled[3:]]]
            cells.append(", ".join(f"{part.min():.2g}" for part in parts if part.size))
        yield f"| {rate:g} Hz | {' | '.join(_plain(cell) for cell in cells)} |"
    yield ""
    yield "Bounds of each law's gains at home, in the simulation:"
    yield ""
    for law in law_names(plugins=False):
        try:
            report = gain_report(RunningLaw(robot, law), kin)
        except ConfigError:
            continue  # the profile doesn't take its commands
        for gain, text in report.bounds.items():
            yield f"- `{law}.{gain}`: {text}"
        if report.warning:
            yield f"- **{report.warning}**"


def _plain(cell: str) -> str:
    """Numbers of a cell without an exponent."""
    return ", ".join(f"{float(part):g}" if part != "-" else part for part in cell.split(", "))


def _the_gaps(robot: RobotConfig, left_out: Iterable[str]) -> Iterator[str]:
    """What the robot's file marks with CHECK, what its source had besides, and what no file tells."""
    text = read_text("robot", Path(robot.file)) if robot.file else ""
    for line in text.splitlines():
        entry, mark, rule = line.partition("CHECK")
        if mark and not rule.startswith(";"):
            name = entry.strip("# ").partition(":")[0]
            said = rule.strip(":; ")
            yield f"- `{name}`: {said}" if name else f"- {said[:1].upper()}{said[1:]}."
    for sentence in left_out:
        yield f"- {sentence}"
    if not any(robot.rotor_inertia):
        yield "- Rotors behind gears often weigh more than the links: without them it is too light here."
    yield "- Friction, elasticity and the delay of the real arm: `robot_control identify` measures them."
    yield "- The driver's rate, interfaces and topics: docs/adding_a_robot.md has a profile for it."
