"""Rows of programs that are killed, stopped for a time, or told to end."""

from __future__ import annotations

from collections.abc import Callable

from .trial import KILLED_WITHIN, Fault, Trial

WATCHDOG_GONE = "the watchdog has gone"
TAKEN_OVER = "no command for .*the watchdog sends the safe output"


def killed(name: str) -> Callable[[Trial], None]:
    """Kill a program."""
    return lambda trial: trial.kill(name)


def ended(name: str) -> Callable[[Trial], None]:
    """Tell a program to end."""
    return lambda trial: trial.end(name)


def paused(name: str, seconds: float) -> Callable[[Trial], None]:
    """Stop a program for a time [s]."""

    def inject(trial: Trial) -> None:
        trial.pause(name, seconds)
        trial.step(0.5)

    return inject


def _controller_rows(law: str, suffix: str) -> tuple[Fault, ...]:
    killed_row = Fault(
        f"controller SIGKILL{suffix}",
        killed("controller"),
        TAKEN_OVER,
        safe="watchdog",
        within=KILLED_WITHIN,
        moving=True,
        near=False,
        back="started again",
        law=law,
        ends={"controller": -9},
    )
    paused_rows = [
        Fault(
            f"controller SIGSTOP {1e3 * seconds:.0f} ms{suffix}",
            paused("controller", seconds),
            TAKEN_OVER if seconds > 0.1 else "",
            safe="watchdog" if seconds > 0.1 else "",
            moving=True,
            near=False,
            law=law,
        )
        for seconds in (0.05, 0.2, 1.0)
    ]
    end_row = Fault(
        f"controller ends{suffix}",
        ended("controller"),
        moving=True,
        near=False,
        back="started again",
        law=law,
    )
    return (killed_row, *paused_rows, end_row)


def _page_row(name: str, inject: Callable[[Trial], None], status: int) -> Fault:
    def with_page(trial: Trial) -> None:
        trial.bench.start_page()
        trial.bench.until(lambda: trial.bench.ready("page"), "a page")
        trial.mark()
        inject(trial)

    back = "itself" if "SIGSTOP" in name else "started again"
    return Fault(name, with_page, back=back, ends={"dashboard": status})


def _simulator_rows() -> tuple[Fault, ...]:
    silent = "no joint states"
    return (
        Fault(
            "simulator SIGKILL",
            killed("simulator"),
            silent,
            back="started again",
            simulator=True,
            ends={"simulator": -9},
        ),
        *(
            Fault(
                f"simulator SIGSTOP {1e3 * seconds:.0f} ms",
                paused("simulator", seconds),
                simulator=True,
            )
            for seconds in (0.05, 0.2, 1.0)
        ),
        Fault("simulator ends", ended("simulator"), silent, back="started again", simulator=True),
    )


PROCESSES = (
    *_controller_rows("impedance", ""),
    *_controller_rows("admittance", ", position commands"),
    *_controller_rows("joint_pid", ", velocity commands"),
    Fault(
        "watchdog SIGKILL",
        killed("watchdog"),
        WATCHDOG_GONE,
        moving=True,
        back="started again",
        ends={"watchdog": -9},
    ),
    *(
        Fault(
            f"watchdog SIGSTOP {1e3 * seconds:.0f} ms",
            paused("watchdog", seconds),
            WATCHDOG_GONE if seconds > 0.5 else "",
            moving=True,
        )
        for seconds in (0.05, 0.2, 1.0)
    ),
    Fault("watchdog ends", ended("watchdog"), WATCHDOG_GONE, moving=True, back="started again"),
    *(
        _page_row(f"page {name}", inject, back)
        for name, inject, back in (
            ("SIGKILL", killed("page"), -9),
            *(
                (f"SIGSTOP {1e3 * seconds:.0f} ms", paused("page", seconds), 0)
                for seconds in (0.05, 0.2, 1.0)
            ),
            ("ends", ended("page"), 0),
        )
    ),
    *_simulator_rows(),
)
