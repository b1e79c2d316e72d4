"""Position-domain PD against time-domain PD: the source's benchmark, disturbed
masters, and a UR5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from robot_control_ros.core.types import Array
from robot_control_ros.laws.position_domain_pd import MasterAxis

from ..row import CALCULATED, Row, required
from . import contour_benchmark as benchmark
from .case import Result, Tell, counted, in_turn, panels, tell_nobody
from .contour_benchmark import (
    DOMAINS,
    DT,
    Case,
    ContourErrors,
    ContourRun,
    cases,
    drive,
    drive_ur5,
    joint_path,
)

# mm: the source's contour was sampled, so that its distances are up to this much too long
DISCRETE = 0.01
FEEDS = (0.25, 1.0 / 6.0)  # m/s: 15000 and 10000 mm/min
# of the source's figures: its PD is known in detail, its look-up isn't
TOLERANCES = {"time": 0.001, "position": 0.025}
EXACT = benchmark.EXACT
HELD = benchmark.HELD
LIMITED = benchmark.LIMITED
PULSED = benchmark.PULSED
RECORDED = ("line", "rectangle", "diamond")
DRAWN = (*RECORDED, "zigzag", PULSED, LIMITED)
# random gains and frictions for each shape
SHAPES = ("line", "circle", "rectangle", "diamond", "zigzag")
DRAWS = 2
REQUIRED = required("evidence/reproduce/position_domain_case.py")

Runs = Mapping[str, Mapping[str, ContourRun]]  # by case, by domain
Errors = Mapping[str, Mapping[str, ContourErrors]]


def run(tell: Tell = tell_nobody) -> Result:
    """The benchmark in the three domains, the disturbed masters, and the UR5."""
    listed = cases()
    runs = {
        name: {domain: drive(case, domain) for domain in DOMAINS}
        for name, case in counted(listed.items(), tell, 0.0, 0.3)
    }
    arm_runs = {
        f"UR5, {1e3 * feed:.1f} mm/s, feed-forward {100.0 * fraction:.0f} %": {
            domain: drive_ur5(domain, feed, fraction) for domain in DOMAINS
        }
        for feed, fraction in counted(list(product(FEEDS, (0.0, 1.0))), tell, 0.3, 0.6)
    }
    random = _random_ratios(listed)
    compared = {name: by_domain for name, by_domain in runs.items() if name != HELD}
    groups = (
        _benchmark_rows(listed, runs),
        _gain_rows(runs),
        _matched_rows(compared),
        _disturbed_rows(runs, joint_path(listed[HELD].move).q[-1, 0]),
        _switch_rows(),
        _random_rows(random),
        _ur5_rows(arm_runs),
    )
    rows = in_turn(groups, tell, 0.8)
    return Result(
        title="position-domain PD",
        source=(
            "A six-joint arm whose slave axes follow the position of a master axis. Its benchmark is a horizontal "
            "two-link arm: 1 kg and 1 m each, control 1 ms, plant 0.25 ms. Here `position_domain_pd` controls it in "
            "three domains: time, position (the source's form) and matched (lag matching, the default)."
        ),
        rows=rows,
        notes=_notes(compared, arm_runs, random),
        drawings={
            "contour_errors": lambda: _draw_errors(
                (11.0, 6.2, 2, 3), {name: runs[name] for name in DRAWN}
            ),
            "ratios": lambda: _draw_ratios(compared),
            "ur5": lambda: _draw_errors((9.0, 5.5, 2, 2), arm_runs, sharex="row"),
        },
        series={
            name: {
                "t": by_domain["time"].time,
                **{domain: run.error for domain, run in by_domain.items()},
            }
            for name, by_domain in runs.items()
            if name in RECORDED
        },
    )


def _ratios(by_domain: Mapping[str, ContourErrors], domain: str) -> dict[str, float]:
    """Error in the time domain over that in another one, by the error's name."""
    sizes = by_domain[domain].sizes
    return {label: size / sizes[label] for label, size in by_domain["time"].sizes.items()}


def _lowest_ratio(by_domain: Mapping[str, ContourErrors], domain: str) -> float:
    return min(_ratios(by_domain, domain).values())


def _size_rows(name: str, run: ContourErrors) -> Iterator[Row]:
    for label, size in run.sizes.items():
        yield Row.report(f"{name}, {label}", size, "mm")


def _benchmark_rows(listed: Mapping[str, Case], runs: Runs) -> Iterator[Row]:
    for name, case in listed.items():
        sizes = [
            (domain, *each) for domain in TOLERANCES for each in runs[name][domain].sizes.items()
        ]
        for (domain, label, size), figure in zip(sizes, case.reference, strict=False):
            text = f"{name}: {domain} domain, {label}"
            if name == EXACT and domain == "position":
                yield Row.at_most(text, size, figure, "mm", CALCULATED)
            else:
                tolerance = DISCRETE + TOLERANCES[domain] * figure
                yield Row.near(text, size, figure, tolerance, "mm", CALCULATED)


def _random_ratios(listed: Mapping[str, Case]) -> dict[str, Array]:
    """Ratios (k, 2), max and rms, of the error in the time domain to that in another, by domain.

    Gains, feed-forward and friction of the shapes are drawn at random.
    """
    rng = np.random.default_rng(0)
    ratios: dict[str, list[list[float]]] = {"position": [], "matched": []}
    for name in SHAPES:
        for _ in range(DRAWS):
            scale = 10.0 ** rng.uniform(-0.5, 0.4, 2)
            gains = {
                "stiffness": benchmark.STIFFNESS * scale,
                "damping": benchmark.DAMPING * np.sqrt(scale) * rng.uniform(0.6, 1.5, 2),
                "feedforward": rng.choice((0.0, 0.5, 0.8, 0.95)),
            }
            friction = rng.uniform(0.0, 4.0, 2)
            case = Case(
                name,
                listed[name].move,
                gains=gains,
                coulomb=(float(friction[0]), float(friction[1])),
            )
            runs = {domain: drive(case, domain) for domain in DOMAINS}
            for domain, found in ratios.items():
                found.append([*_ratios(runs, domain).values()])
    return {domain: np.array(found) for domain, found in ratios.items()}


def _random_rows(ratios: Mapping[str, Array]) -> Iterator[Row]:
    for domain, found in ratios.items():
        for label, values in zip(("max", "rms"), found.T, strict=True):
            name = f"{len(found)} random gains and frictions: time over {domain} domain, {label}"
            yield Row.report(f"{name}, lowest", values.min())
            yield Row.report(f"{name}, median", np.median(values))


def _gain_rows(runs: Runs) -> Iterator[Row]:
    bounds = {
        "line": 4.0,
        "diamond": 1.7,
        "zigzag": 1.7,
        "rectangle": 1.0 / 1.15,
        PULSED: 8.0,
        LIMITED: 10.0,
    }
    for name, bound in bounds.items():
        for domain in ("position", "matched"):
            for label, ratio in _ratios(runs[name], domain).items():
                text = f"{name}: time over {domain} domain, {label}"
                yield Row.at_least(text, ratio, bound, "", REQUIRED)


def _matched_rows(compared: Runs) -> Iterator[Row]:
    for name, by_domain in compared.items():
        yield from _size_rows(f"{name}: matched", by_domain["matched"])
    lowest = min(_lowest_ratio(by_domain, "matched") for by_domain in compared.values())
    name = "time over matched domain, the lowest of all cases, max and rms"
    yield Row.at_least(name, lowest, 0.95, "", REQUIRED)
    step = {
        domain: max(by_domain[domain].torque_step for by_domain in compared.values())
        for domain in DOMAINS
    }
    name = "largest change of a torque within 1 ms"
    yield Row.report(f"{name}, time domain", step["time"], "N·m")
    yield Row.report(f"{name}, position domain", step["position"], "N·m")
    yield Row.at_most(f"{name}, matched domain", step["matched"], 2.0, "N·m", REQUIRED)


def _disturbed_rows(runs: Runs, end: float) -> Iterator[Row]:
    """Rows of the runs with the torque limited, and with the master held fast.

    The slave's reference ends at the joint angle `end` [rad].
    """
    for domain in DOMAINS:
        name = f"{LIMITED}: {domain} domain, largest torque"
        peak = np.abs(runs[LIMITED][domain].torque).max(axis=0)
        for joint in (0, 1):
            bound = benchmark.LIMIT[joint]
            yield Row.at_most(f"{name} {joint + 1}", peak[joint], bound, "N·m", REQUIRED)
    for domain in ("position", "matched"):
        name = f"{HELD}: {domain} domain"
        held = runs[HELD][domain]
        torque = np.abs(held.torque[:, 0]).max()
        yield Row.at_most(f"{name}, largest torque of the slave", torque, 100.0, "N·m", REQUIRED)
        left = abs(held.q[-1, 0] - end)
        text = f"{name}, the slave from its place in time, at the end"
        yield Row.at_most(text, left, 0.01, "rad", REQUIRED)


def _switch_rows() -> Iterator[Row]:
    """Number of changes of the master while the second joint becomes the faster one, and back.

    The speed of the second joint has a ripple.
    """
    fraction = np.linspace(0.0, 1.0, 2000)
    for name, course in (("rises", fraction), ("falls", 1.0 - fraction)):
        second = 0.3 + 0.9 * course + 0.03 * np.sin(200.0 * fraction)
        master = MasterAxis()
        speeds = np.column_stack((np.full_like(second, 0.6), second))
        changes = [master.choose(v, 0.05, DT) for v in speeds]
        text = f"changes of the master while one joint's speed {name}"
        yield Row.near(text, sum(changes), 1.0, 0.0, "", REQUIRED)


def _ur5_rows(arm_runs: Errors) -> Iterator[Row]:
    for setting, by_domain in arm_runs.items():
        for domain, run in by_domain.items():
            yield from _size_rows(f"{setting}: {domain} domain", run)


def _notes(compared: Runs, arm_runs: Errors, random: Mapping[str, Array]) -> list[str]:
    lowest = {name: _lowest_ratio(by_domain, "matched") for name, by_domain in compared.items()}
    worst = min(lowest, key=lowest.__getitem__)
    rectangle = _lowest_ratio(compared["rectangle"], "position")
    arm = [
        ratio for by_domain in arm_runs.values() for ratio in _ratios(by_domain, "matched").values()
    ]
    medians = {domain: np.median(found, axis=0) for domain, found in random.items()}
    steps = {domain: compared["diamond"][domain].torque_step for domain in DOMAINS}
    return [
        "Use it if the slaves are stiff and the master lags behind its reference. The master may be soft, disturbed, "
        "at its torque limit, or without feed-forward. Don't use it if feed-forward is exact. Nor if timing is more "
        "important than shape: the slaves wait for the master. `position` is worse if a slave lags more than the "
        f"master: on the rectangle x{rectangle:.2f}. There `matched` gives x{lowest['rectangle']:.2f}.",
        "Lag matching delays a slave only by the lag that the master has more than that slave. In the benchmark it "
        f"is never below x{lowest[worst]:.2f} ({worst}). A change of master doesn't step the torque. On the "
        f"diamond the step in 1 ms is at most {steps['matched']:.2f} N·m. It is {steps['position']:.1f} N·m in the "
        f"position domain and {steps['time']:.2f} N·m in the time domain. None of this is guaranteed. With random "
        f"gains, feed-forward and friction the lowest ratio is x{random['matched'].min():.2f} (position "
        f"x{random['position'].min():.2f}). The medians of max and rms are x{medians['matched'][0]:.2f}, "
        f"x{medians['matched'][1]:.2f} (x{medians['position'][0]:.2f}, x{medians['position'][1]:.2f}).",
        f"{EXACT}: the source has 0.696 mm in the position domain, 30 times the time domain's. Here it is "
        f"{compared[EXACT]['position'].max:.3f} mm, as in the time domain. The look-up makes the difference. Here it "
        "starts again from the present time after a rest and after a change of master. It stays on the branch with the "
        "master's present direction. A look-up that continues from the last s can find a wrong point. That is a "
        "point before the corner, where the new master had the same position.",
        "Distances are to the exact contour. The source's 0.024/0.012 mm in the time domain fit a contour sampled "
        f"every 0.04 mm or so. Hence the tolerance of {DISCRETE:g} mm for small errors.",
        "The joint that is fastest when the reference begins to move becomes the master without hysteresis. With "
        "hysteresis there, too, the previous master can stay. Then the source's figures for diamond and zigzag are not "
        "reproduced.",
        "UR5: without joint friction, as in MuJoCo, only inertia causes lag, while the tip changes its speed. There "
        f"is no advantage: x{min(arm):.2f} to x{max(arm):.2f}, matched against time, max and rms. The feed "
        "rates are the source's 15000 and 10000, read as mm/min.",
    ]


COLOURS = {"time": "0.45", "position": "tab:orange", "matched": "tab:blue"}


def _draw_errors(shape: tuple[float, float, int, int], runs: Errors, **shared: Any) -> Any:
    figure, grid = panels(*shape, x="t [s]", y=("contour error [mm]",) * 2, **shared)
    for axes, (name, by_domain) in zip(grid.flat, runs.items(), strict=True):
        for domain, run in by_domain.items():
            axes.plot(run.time, run.error, color=COLOURS[domain], linewidth=1.2, label=domain)
        axes.set_title(name, fontsize="medium")
    grid[0, 0].legend(title="domain", fontsize="small")
    return figure


def _draw_ratios(compared: Runs) -> Any:
    figure, (grid,) = panels(
        9.0, 5.0, 1, 2, x="error in the time domain over that in this one", sharey=True
    )
    place = np.arange(len(compared))
    for axes, label, title in zip(grid, ("max", "rms"), ("largest error", "rms"), strict=True):
        for offset, domain in ((-0.2, "position"), (0.2, "matched")):
            ratios = np.array(
                [_ratios(by_domain, domain)[label] for by_domain in compared.values()]
            )
            style = {"color": COLOURS[domain], "label": domain}
            bars = axes.barh(place + offset, ratios - 1.0, 0.38, left=1.0, **style)
            axes.bar_label(
                bars, [f"{ratio:.2f}" for ratio in ratios], padding=3, fontsize="x-small"
            )
        axes.axvline(1.0, color="0.3", linewidth=1.0)
        axes.set(xscale="log", xlim=(0.5, 120.0), title=title)
        axes.set_xticks(
            [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0],
            ["0.5", "1", "2", "5", "10", "20", "50", "100"],
        )
        axes.grid(visible=False, axis="y")
    grid[0].set_yticks(place, list(compared))
    grid[0].invert_yaxis()
    grid[1].legend(title="domain", fontsize="small", loc="upper right")
    return figure
