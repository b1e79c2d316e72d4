"""Position-domain PD against time-domain PD: the source's benchmark, disturbed masters, and a UR5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.types import Array
from ...laws.position_domain_pd import MasterAxis
from ...simulation.two_link import TwoLink
from . import contour_benchmark as benchmark
from .case import Result, Row, panels
from .contour_benchmark import DOMAINS, DT, Case, ContourRun, JointPathOf, cases, drive, drive_ur5, rms_of

DISCRETE = 0.01  # mm: the source's contour was sampled, so that its distances are up to this much too long
FEEDS = (0.25, 1.0 / 6.0)  # m/s: 15000 and 10000 mm/min
TOLERANCE, TIME_TOLERANCE = 0.025, 0.001  # of the source's figures: its look-up isn't known in detail, its PD is
EXACT, HELD, LIMITED, PULSED = benchmark.EXACT, benchmark.HELD, benchmark.LIMITED, benchmark.PULSED
RECORDED = ("line", "rectangle", "diamond")
DRAWN = (*RECORDED, "zigzag", PULSED, LIMITED)
SHAPES, DRAWS = ("line", "circle", "rectangle", "diamond", "zigzag"), 2  # random gains and frictions for each shape

ArmRuns = Mapping[str, Mapping[str, tuple[Array, Array]]]  # time [s] and contour error [mm] by setting, by domain


def run() -> Result:
    """The benchmark in the three domains, the disturbed masters, and the UR5."""
    listed = cases()
    runs: dict[str, dict[str, ContourRun]] = {}
    for name, case in listed.items():
        path = JointPathOf(TwoLink(), case.move)
        runs[name] = {domain: drive(case, domain, path) for domain in DOMAINS}
    arm_runs = {
        f"UR5, {1e3 * feed:.1f} mm/s, feed-forward {100.0 * fraction:.0f} %": {
            domain: drive_ur5(domain, feed, fraction) for domain in DOMAINS
        }
        for feed in FEEDS
        for fraction in (0.0, 1.0)
    }
    random = _random_ratios(listed)
    compared = {name: by_domain for name, by_domain in runs.items() if name != HELD}
    rows = [
        *_benchmark_rows(listed, runs),
        *_gain_rows(runs),
        *_matched_rows(compared),
        *_disturbed_rows(runs, JointPathOf(TwoLink(), listed[HELD].move)),
        *_switch_rows(),
        *_random_rows(random),
        *_ur5_rows(arm_runs),
    ]
    return Result(
        title="position-domain PD",
        source=(
            "A six-joint arm whose slave axes follow the position of a master axis. Its benchmark is a horizontal "
            "two-link arm: 1 kg and 1 m each, control 1 ms, plant 0.25 ms. Here `position_domain_pd` controls it in "
            "three domains: time, position (the source's form) and matched (lag matching, the default)."
        ),
        rows=rows,
        notes=_notes(compared, arm_runs, random),
        figures={
            "contour_errors": _draw_errors(
                (11.0, 6.2, 2, 3), {name: {d: (run.time, run.error) for d, run in runs[name].items()} for name in DRAWN}
            ),
            "ratios": _draw_ratios(compared),
            "ur5": _draw_errors((9.0, 5.5, 2, 2), arm_runs, sharex="row"),
        },
        series={
            name: {"t": by_domain["time"].time, **{domain: run.error for domain, run in by_domain.items()}}
            for name, by_domain in runs.items()
            if name in RECORDED
        },
    )


def _ratios(by_domain: Mapping[str, ContourRun], domain: str) -> tuple[float, float]:
    """Error in the time domain over that in another one: of the largest, of the rms."""
    return by_domain["time"].max / by_domain[domain].max, by_domain["time"].rms / by_domain[domain].rms


def _benchmark_rows(listed: Mapping[str, Case], runs: Mapping[str, Mapping[str, ContourRun]]) -> list[Row]:
    rows = []
    for name, case in listed.items():
        if case.reference is None:
            continue
        for domain, figures in (("time", case.reference[:2]), ("position", case.reference[2:])):
            run, tolerance = runs[name][domain], TIME_TOLERANCE if domain == "time" else TOLERANCE
            for label, value, figure in zip(("max", "rms"), (run.max, run.rms), figures, strict=True):
                text = f"{name}: {domain} domain, {label}"
                if name == EXACT and domain == "position":
                    rows.append(Row.at_most(text, value, figure, "mm", figure))
                else:
                    rows.append(Row.near(text, value, figure, DISCRETE + tolerance * figure, "mm"))
    return rows


def _random_ratios(listed: Mapping[str, Case]) -> dict[str, Array]:
    """Ratios (k, 2), max and rms, by domain, of the shapes with gains, feed-forward and friction drawn at random."""
    rng = np.random.default_rng(0)
    ratios: dict[str, list[tuple[float, float]]] = {"position": [], "matched": []}
    for name in SHAPES:
        path = JointPathOf(TwoLink(), listed[name].move)
        for _ in range(DRAWS):
            scale = 10.0 ** rng.uniform(-0.5, 0.4, 2)
            gains = {
                "stiffness": benchmark.STIFFNESS * scale,
                "damping": benchmark.DAMPING * np.sqrt(scale) * rng.uniform(0.6, 1.5, 2),
                "feedforward": rng.choice((0.0, 0.5, 0.8, 0.95)),
            }
            friction = rng.uniform(0.0, 4.0, 2)
            case = Case(name, listed[name].move, gains=gains, coulomb=(float(friction[0]), float(friction[1])))
            runs = {domain: drive(case, domain, path) for domain in DOMAINS}
            for domain, found in ratios.items():
                found.append(_ratios(runs, domain))
    return {domain: np.array(found) for domain, found in ratios.items()}


def _random_rows(ratios: Mapping[str, Array]) -> list[Row]:
    rows = []
    for domain, found in ratios.items():
        for label, values in zip(("max", "rms"), found.T, strict=True):
            name = f"{len(found)} random gains and frictions: time over {domain} domain, {label}"
            rows += [Row.report(f"{name}, lowest", values.min()), Row.report(f"{name}, median", np.median(values))]
    return rows


def _gain_rows(runs: Mapping[str, Mapping[str, ContourRun]]) -> list[Row]:
    bounds = {"line": 4.0, "diamond": 1.7, "zigzag": 1.7, "rectangle": 1.0 / 1.15, PULSED: 8.0, LIMITED: 10.0}
    rows = []
    for name, bound in bounds.items():
        for domain in ("position", "matched"):
            for label, ratio in zip(("max", "rms"), _ratios(runs[name], domain), strict=True):
                rows.append(Row.at_least(f"{name}: time over {domain} domain, {label}", ratio, bound))
    return rows


def _matched_rows(compared: Mapping[str, Mapping[str, ContourRun]]) -> list[Row]:
    rows = []
    for name, by_domain in compared.items():
        run = by_domain["matched"]
        rows += [Row.report(f"{name}: matched, max", run.max, "mm"), Row.report(f"{name}: matched, rms", run.rms, "mm")]
    lowest = min(min(_ratios(by_domain, "matched")) for by_domain in compared.values())
    step = {domain: max(by_domain[domain].torque_step for by_domain in compared.values()) for domain in DOMAINS}
    name = "largest change of a torque within 1 ms"
    return [
        *rows,
        Row.at_least("time over matched domain, the lowest of all cases, max and rms", lowest, 0.95),
        Row.report(f"{name}, time domain", step["time"], "N·m"),
        Row.report(f"{name}, position domain", step["position"], "N·m"),
        Row.at_most(f"{name}, matched domain", step["matched"], 2.0, "N·m"),
    ]


def _disturbed_rows(runs: Mapping[str, Mapping[str, ContourRun]], held_path: JointPathOf) -> list[Row]:
    rows = []
    for domain in DOMAINS:
        name, peak = f"{LIMITED}: {domain} domain, largest torque", np.abs(runs[LIMITED][domain].torque).max(axis=0)
        rows += [Row.at_most(f"{name} {joint + 1}", peak[joint], benchmark.LIMIT[joint], "N·m") for joint in (0, 1)]
    for domain in ("position", "matched"):
        name, held = f"{HELD}: {domain} domain", runs[HELD][domain]
        left = abs(held.q[-1, 0] - held_path.q[-1, 0])
        rows += [
            Row.at_most(f"{name}, largest torque of the slave", np.abs(held.torque[:, 0]).max(), 100.0, "N·m"),
            Row.at_most(f"{name}, the slave from its place in time, at the end", left, 0.01, "rad"),
        ]
    return rows


def _switch_rows() -> list[Row]:
    """How often the master changes while the second joint, with ripple, becomes the faster one; and back."""
    rows = []
    fraction = np.linspace(0.0, 1.0, 2000)
    for name, course in (("rises", fraction), ("falls", 1.0 - fraction)):
        second = 0.3 + 0.9 * course + 0.03 * np.sin(200.0 * fraction)
        master = MasterAxis()
        speeds = np.column_stack((np.full_like(second, 0.6), second))
        changes = [master.choose(v, 0.05, DT) for v in speeds]
        rows.append(Row.near(f"changes of the master while one joint's speed {name}", sum(changes), 1.0, 0.0))
    return rows


def _ur5_rows(arm_runs: ArmRuns) -> list[Row]:
    rows = []
    for setting, by_domain in arm_runs.items():
        for domain, (_, error) in by_domain.items():
            name = f"{setting}: {domain} domain"
            rows += [Row.report(f"{name}, max", error.max(), "mm"), Row.report(f"{name}, rms", rms_of(error), "mm")]
    return rows


def _notes(
    compared: Mapping[str, Mapping[str, ContourRun]], arm_runs: ArmRuns, random: Mapping[str, Array]
) -> list[str]:
    exact, rectangle = compared[EXACT], compared["rectangle"]
    best = {name: _ratios(by_domain, "matched") for name, by_domain in compared.items()}
    lowest = min(best, key=lambda name: min(best[name]))
    arm = [
        size(by_domain["time"][1]) / size(by_domain["matched"][1])
        for by_domain in arm_runs.values()
        for size in (np.max, rms_of)
    ]
    medians = {domain: np.median(found, axis=0) for domain, found in random.items()}
    lowest_arm, highest_arm = min(arm), max(arm)
    steps = {domain: compared["diamond"][domain].torque_step for domain in DOMAINS}
    return [
        "Use it if the slaves are stiff and the master lags behind its reference. The master may be soft, disturbed, "
        "at its torque limit, or without feed-forward. Don't use it if feed-forward is exact. Nor if timing is more "
        "important than shape: the slaves wait for the master. `position` is worse if a slave lags more than the "
        f"master: on the rectangle x{min(_ratios(rectangle, 'position')):.2f}. There `matched` gives "
        f"x{min(_ratios(rectangle, 'matched')):.2f}.",
        "Lag matching delays a slave only by the lag that the master has more than that slave. In the benchmark it "
        f"is never below x{min(best[lowest]):.2f} ({lowest}). A change of master doesn't step the torque. On the "
        f"diamond the step in 1 ms is at most {steps['matched']:.2f} N·m. It is {steps['position']:.1f} N·m in the "
        f"position domain and {steps['time']:.2f} N·m in the time domain. None of this is guaranteed. With random "
        f"gains, feed-forward and friction the lowest ratio is x{random['matched'].min():.2f} (position "
        f"x{random['position'].min():.2f}). The medians of max and rms are x{medians['matched'][0]:.2f}, "
        f"x{medians['matched'][1]:.2f} (x{medians['position'][0]:.2f}, x{medians['position'][1]:.2f}).",
        f"{EXACT}: the source has 0.696 mm in the position domain, 30 times the time domain's. Here it is "
        f"{exact['position'].max:.3f} mm, as in the time domain. The look-up makes the difference. Here it starts "
        "again from the present time after a rest and after a change of master. It stays on the branch with the "
        "master's present direction. A look-up that continues from the last s can find a wrong point. That is a "
        "point before the corner, where the new master had the same position.",
        "Distances are to the exact contour. The source's 0.024/0.012 mm in the time domain fit a contour sampled "
        f"every 0.04 mm or so. Hence the tolerance of {DISCRETE:g} mm for small errors.",
        "The joint that is fastest when the reference begins to move becomes the master without hysteresis. With "
        "hysteresis there, too, the previous master can stay. Then the source's figures for diamond and zigzag are not "
        "reproduced.",
        "UR5: without joint friction, as in MuJoCo, only inertia causes lag, while the tip changes its speed. There "
        f"is no advantage: x{lowest_arm:.2f} to x{highest_arm:.2f}, matched against time, max and rms. The feed "
        "rates are the source's 15000 and 10000, read as mm/min.",
    ]


COLOURS = {"time": "0.45", "position": "tab:orange", "matched": "tab:blue"}


def _draw_errors(shape: tuple[float, float, int, int], runs: ArmRuns, **shared: Any) -> Any:
    figure, grid = panels(*shape, x="t [s]", y=("contour error [mm]",) * 2, **shared)
    for axes, (name, by_domain) in zip(grid.flat, runs.items(), strict=True):
        for domain, (time, error) in by_domain.items():
            axes.plot(time, error, color=COLOURS[domain], linewidth=1.2, label=domain)
        axes.set_title(name, fontsize="medium")
    grid[0, 0].legend(title="domain", fontsize="small")
    return figure


def _draw_ratios(compared: Mapping[str, Mapping[str, ContourRun]]) -> Any:
    figure, (grid,) = panels(9.0, 5.0, 1, 2, x="error in the time domain over that in this one", sharey=True)
    place = np.arange(len(compared))
    for k, (axes, label) in enumerate(zip(grid, ("largest error", "rms"), strict=True)):
        for offset, domain in ((-0.2, "position"), (0.2, "matched")):
            ratios = [_ratios(by_domain, domain)[k] for by_domain in compared.values()]
            bars = axes.barh(
                place + offset, np.array(ratios) - 1.0, 0.38, left=1.0, color=COLOURS[domain], label=domain
            )
            axes.bar_label(bars, [f"{ratio:.2f}" for ratio in ratios], padding=3, fontsize="x-small")
        axes.axvline(1.0, color="0.3", linewidth=1.0)
        axes.set(xscale="log", xlim=(0.5, 120.0), title=label)
        axes.set_xticks([0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0], ["0.5", "1", "2", "5", "10", "20", "50", "100"])
        axes.grid(visible=False, axis="y")
    grid[0].set_yticks(place, list(compared))
    grid[0].invert_yaxis()
    grid[1].legend(title="domain", fontsize="small", loc="upper right")
    return figure
