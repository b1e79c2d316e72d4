"""The page of the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ...robot.configuration import load_robot
from ...simulation.mujoco_plant import PHYSICS_STEP
from .cells import AWAY, CRITICAL, QUANTITIES, SOFT, Cell, Quantity, lightest, virtual_damping
from .search import STEP, TOLERANCE
from .trials import HELD, LAST, PRESS, PRESSED, PUSH, PUSH_LENGTH, REMAINDER


def page_text(cells: Sequence[Cell], figure: Path) -> str:
    """Markdown, with the figure, as seen from the page, and the tables of all cells."""
    lines = [_HEAD.format(figure=figure.as_posix(), both=sum(cell.half_of_both for cell in cells), cells=len(cells))]
    for name, group in groupby(cells, lambda cell: cell.robot):
        lines += [f"## {name}", "", _inertia(name), ""]
        own = list(group)
        for quantity in QUANTITIES:
            lines += _table(quantity, own)
    return "\n".join(lines)


def _inertia(name: str) -> str:
    robot = load_robot(name)
    mass, inertia = lightest(robot)
    bare_mass, bare_inertia = lightest(replace(robot, rotor_inertia=(0.0,) * robot.n))
    return (
        f"Smallest Λ over the postures: {mass:.2g} kg and {inertia:.2g} kg·m². "
        f"With `rotor_inertia` 0: {bare_mass:.2g} kg and {bare_inertia:.2g} kg·m²."
    )


def _table(quantity: Quantity, cells: Sequence[Cell]) -> Iterator[str]:
    rows = [(rate, list(group)) for rate, group in groupby(cells, lambda cell: cell.rate)]
    yield f"{quantity.law.capitalize()}: {quantity.title} [{quantity.unit}]"
    yield ""
    yield "| | " + " | ".join(f"{1e3 * cell.delay:g} ms" for cell in rows[0][1]) + " |"
    yield "|---" * (len(rows[0][1]) + 1) + "|"
    for rate, row in rows:
        yield f"| {rate:g} Hz | " + " | ".join(quantity.words(cell) for cell in row) + " |"
    yield ""


_HEAD = f"""# How stiff may it be?

Two limits: the largest stiffness of the impedance law, and the stiffest wall for the admittance law. Both depend on
the rate and the delay of the commands. They were measured in simulation by

    robot_control stability --page docs/stability.md

It prints the tables, and writes them with the figure to `--output`. `--robot` takes another robot, or a YAML file.

![limits]({{figure}})

An arrow marks an end of the searched range: up, all of it is stable; down, none of it.

## What is measured

Physics run at {1.0 / PHYSICS_STEP:g} Hz. The controller gets a sample in each period. Its command acts one delay
later, until the next one acts. The delay is the whole time between a sample and the torque for it. It is 0 for a
computer that takes no time.

**Impedance.** The arm has the `rotor_inertia` of its configuration (0.1 kg·m² per joint for these three) and no
friction. The law designs its damping from stiffness and inertia, with ratio 1. Its other gains are the robot's.
Translational stiffness is raised with {SOFT[1]:g} N·m/rad on the rotations, rotational stiffness with {SOFT[0]:g} N/m
on the translations. An oblique push of {PUSH[0]:g} N and {PUSH[1]:g} N·m disturbs the tip for {PUSH_LENGTH:g} s. A
trial lasts {HELD[1]:g} s. It is stable if no joint reaches its effort limit, and the arm comes to rest. At rest,
position error, rotation error and speeds are at most {REMAINDER:.0%} of their maximum in the last {LAST:g} s. The
speeds are the two of the tip, and that of the fastest joint. The limit for changes of torque (`effort_rate`) acts as
on the robot. So the figures are for disturbances of this size.

**Contact.** The admittance law with its defaults commands positions. The joints have servos of 150 rad/s, and the
wrench comes from a sensor. A wall stands at the tip, across its z axis. It is a spring that has no damping and can't
pull. The reference moves {PRESS * 1e3:g} mm into it. Later {PUSH[0]:g} N pull the tip off for {PUSH_LENGTH:g} s. A
trial lasts {PRESSED[1]:g} s. It is stable if in the last {LAST:g} s the contact stays. The force may vary by at most
{REMAINDER:.0%} of its mean there.

A figure is the smallest of four postures: home, and home with all joints moved by {AWAY:g} rad. They move up, down,
or alternately up and down. The search goes up in factors of {STEP:g} to the first failure, then bisects. The first
value known to fail is at most {TOLERANCE:.0%} above the last stable one. That one is given, rounded down to two
digits.

## What limits it

A command is held for a period. On average that delays it by half a period: τ = delay + T / 2. Over τ the rates nearly
share one line.

The damper, not the spring, needs early commands. A D that is late by τ acts on an old velocity. If D τ / Λ is near 1,
it drives the inertia Λ instead of braking it. Critical damping is D = 2 √(K Λ). Both spring and damper are late by τ.
Then Λ ẍ + D ẋ + K x = 0 has the exact limit

    K = {CRITICAL:.2f} Λ / τ²

That is the broad line. It is drawn for the smallest Λ of the tip, along or about any axis in these postures. With
twice the delay a quarter of the stiffness remains. Without any delay, the held command has another limit: D T / Λ =
2, which is K = Λ / T². It is lower than the line. So a small delay, a fraction of the period, is better than none.

The wrist's Λ is mostly rotor inertia. So the rotational limits depend on `rotor_inertia`. Measure yours, or expect
less. With the ratio of the defaults, 50 N·m/rad to 500 N/m, rotations reach their limit first.

At a short τ the oscillation at the limit is fast. After a push `effort_rate` then no longer lets the torque follow
it. There the rotational limits stay below the line.

In contact the virtual damping B brakes what the wall of stiffness k gives back. B is {virtual_damping():.0f} N·s/m by
default, and acts one delay late. The limit lies below k = B / delay, the broad line, for two reasons. The joints'
servo lags and gives way. And to come to rest in time, more than stability is needed. To hold the command costs
nothing here: a position command is the place of the virtual body one period later. So the rate hardly matters.
Stiffer walls need more `damping` or `damping_ratio`. A wrench may be late itself: filtered by `low_pass`, or
estimated from joint torques. The time constant of the estimate is 1 / `observer_gain`. Add this lag to the delay. The
estimate needs the mean torque of each period, as simulated joint states have it. If a drive reports the torque of an
instant, the estimate takes the arm's own motion for contact.

## On a real arm

1. The row is the rate of joint states and commands.
2. The column is the sum of all delays. It contains the driver's, and the transport's over DDS, which `robot_control
   bench` measures on your machine. If the law runs in a node, add one period: controller_manager takes the command in
   its next cycle. At 500 Hz that is 2 ms and the transport: read at 4 ms. If the delay varies, take the longest.
3. Add the lags that the simulation lacks: of the drives' torque loops, of velocity filters. Here joints and gears are
   rigid, velocities are exact, and drives give the commanded torques. So the figures are upper bounds.
4. Take half of both stiffnesses at most: half of both together is stable in {{both}} of the {{cells}} cells. Begin at
   a tenth. Push the arm by hand, and raise the stiffness until the arm is no longer quiet.

A C++ controller inside controller_manager reads, computes and writes in one cycle. The delay of node and transport is
gone: take the column of the driver alone.

Through their drivers, UR5 (CB3) and Gen3 take only positions. For them use the table of contact; those of the
impedance are for comparison. The UR5e takes either law.
"""
