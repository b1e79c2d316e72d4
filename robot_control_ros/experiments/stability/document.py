"""The page of the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ...robot.configuration import load_robot
from ...simulation.mujoco_plant import PHYSICS_STEP
from .cells import CRITICAL, OFFSET, QUANTITIES, SOFT, STEP, TOLERANCE, Cell, Quantity, lightest, virtual_damping
from .trials import HELD, LAST, PRESS, PRESSED, PUSH, PUSH_LENGTH, REMAINDER


def page_text(cells: Sequence[Cell], figure: Path) -> str:
    """Markdown, with the figure, as seen from the page, and the tables of all cells."""
    lines = [_HEAD.format(figure=figure.as_posix(), both=sum(cell.half_of_both for cell in cells), cells=len(cells))]
    for name, group in groupby(cells, lambda cell: cell.robot):
        lines += [f"## {name}", "", _inertia(name), ""]
        row = list(group)
        for quantity in QUANTITIES:
            lines += _table(quantity, row)
    return "\n".join(lines)


def _inertia(name: str) -> str:
    robot = load_robot(name)
    mass, inertia = lightest(robot)
    bare_mass, bare_inertia = lightest(replace(robot, rotor_inertia=(0.0,) * robot.n))
    return (
        f"Smallest Λ over the postures: {mass:.2g} kg and {inertia:.2g} kg·m²; "
        f"with `rotor_inertia` 0 it would be {bare_mass:.2g} kg and {bare_inertia:.2g} kg·m²."
    )


def _table(quantity: Quantity, cells: Sequence[Cell]) -> Iterator[str]:
    rows = [(rate, list(group)) for rate, group in groupby(cells, lambda cell: cell.rate)]
    yield f"{quantity.law.capitalize()}: {quantity.title} [{quantity.unit}]"
    yield ""
    yield "| | " + " | ".join(f"{1e3 * cell.delay:g} ms" for cell in rows[0][1]) + " |"
    yield "|---" * (len(rows[0][1]) + 1) + "|"
    for rate, row in rows:
        yield f"| {rate:g} Hz | " + " | ".join(quantity.text(cell) for cell in row) + " |"
    yield ""


_HEAD = f"""# How stiff may it be?

The largest stiffness of the impedance law, and the stiffest wall for the admittance law, by how often and how late
commands come. Measured in simulation by

    robot_control stability --page docs/stability.md

which prints the tables and writes them, with the figure, to `--output`. `--robot` takes another robot, or a YAML file.

![limits]({{figure}})

An arrow marks an end of the searched range: up, all of it is stable; down, none of it.

## What is measured

Physics run at {1.0 / PHYSICS_STEP:g} Hz. The controller gets a sample each period; its command acts one delay later,
and is held until the next one acts. The delay is all there is between the instant of a sample and the torque that
answers it; 0 is a computer that takes no time.

**Impedance.** The arm has the `rotor_inertia` of its configuration (0.1 kg·m² per joint for these three) and no
friction. The law designs its damping from stiffness and inertia, ratio 1; its other gains are the robot's.
Translational stiffness is raised with {SOFT[1]:g} N·m/rad on the rotations, rotational stiffness with {SOFT[0]:g} N/m
on the translations. The tip is pushed with {PUSH[0]:g} N and {PUSH[1]:g} N·m for {PUSH_LENGTH:g} s, obliquely. Stable:
no effort limit is met, and in the last {LAST:g} s of {HELD[1]:g} s position error, rotation error, the tip's two speeds
and the fastest joint's are each at most {REMAINDER:.0%} of their largest value. Safety's limit for changes of torque
(`effort_rate`) acts as on the robot, so the figures are for disturbances of this size.

**Contact.** The admittance law with its defaults commands positions to joints servoed at 150 rad/s, and has the wrench
of a sensor. A wall, a spring that has no damping and can't pull, stands at the tip, across its z axis. The reference
is moved {PRESS * 1e3:g} mm into it, and later {PUSH[0]:g} N pull the tip off for {PUSH_LENGTH:g} s. Stable: in the last
{LAST:g} s of {PRESSED[1]:g} s the force varies by at most {REMAINDER:.0%} of its mean, and is never lost.

A figure is the smallest of four postures: home, and home with all joints {OFFSET:g} rad up, down, and in turns up and
down. Each range is scanned from below in factors of {STEP:g} up to the first failure, then bisected: the first value
known to fail is at most {TOLERANCE:.0%} above the last that didn't, which is given rounded down to two digits.

## What limits it

A command that is held for a period is late by half of it on average: τ = delay + T / 2. Over τ the rates nearly share
one line.

It isn't the spring but its damper that needs an early answer. Late by τ, D acts on a velocity that is gone, and an
inertia Λ with D τ / Λ near 1 is driven instead of braked. Critical damping is D = 2 √(K Λ); with it, and with spring
and damper both late by τ, the exact limit of Λ ẍ + D ẋ + K x = 0 is

    K = {CRITICAL:.2f} Λ / τ²

the broad line, drawn for the smallest Λ that the tip has along or about any axis in these postures. Twice the delay
leaves a quarter of the stiffness. Without any delay, holding has a limit of its own: D T / Λ = 2, which is K = Λ / T²,
lower than the line. A delay of a small part of the period is better than none, therefore; a longer one isn't.

The wrist's Λ is mostly rotor inertia: rotational limits stand and fall with `rotor_inertia`. Measure yours, or count
on less. In the defaults' ratio, 50 N·m/rad to 500 N/m, rotations meet their limit first.

Where τ is short, the oscillation at the limit is fast, and after a push `effort_rate` no longer lets the torque follow
it: there the rotational limits stay below the line.

In contact the virtual damping B, {virtual_damping():.0f} N·s/m by default, brakes what a wall of stiffness k gives back
late by the delay. The limit lies below k = B / delay, the broad line, because the joints' servo lags and gives way, and
because coming to rest in time asks for more than stability. Holding costs nothing here: a position command is where the
virtual body will be one period later. So the rate hardly matters, and stiffer walls need more `damping` or
`damping_ratio`. A wrench that is itself late, filtered by `low_pass` or estimated from joint torques with the time
constant 1 / `observer_gain`, adds its lag to the delay. The estimate goes by each period's mean torque, as
simulated joint states have it: a drive that reports the torque of an instant makes it take the arm's own motion for
contact.

## On a real arm

1. The row is the rate of joint states and commands.
2. The column is the delay: the driver's, the transport's (`robot_control bench` measures joint state to command over
   DDS on your machine) and, where the law runs in a node of its own, one period, because controller_manager takes the
   command with its next cycle. At 500 Hz that is 2 ms and the transport: read at 4 ms. Of a delay that varies, take the
   longest.
3. Add the lags that the simulation lacks: of the drives' torque loops, of velocity filters. Joints and gears are rigid
   here, velocities are exact, torques come as asked for: the figures are bounds from above.
4. Take half of both stiffnesses at most: half of both together is stable in {{both}} of the {{cells}} cells. Begin at a
   tenth, push the arm by hand, and go up until it is no longer quiet.

A C++ controller inside controller_manager reads, computes and writes in one cycle: hop and transport are gone, and the
column is that of the driver alone.

UR5 (CB3) and Gen3 take positions only through their drivers: for them the table of contact counts, and those of the
impedance are for comparison. The UR5e takes either law.
"""
