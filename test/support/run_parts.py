"""Run both parts of the tests, and say in the last lines how each part ended.

``python test/support/run_parts.py [--long] [--slowest] [ARGUMENTS OF PYTEST]`` runs what isn't
marked as long, or what is. In each part those come first that run side by side, then those marked
`alone`. Both parts run at once: tests of the system wait half of their time. What pytest prints of
the system comes after what it prints of the pure tests. Long tests run part by part. With --slowest
the twenty slowest tests are printed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

from parts import PARTS, SUMMARY, Count

# A worker that crashes ends the run: with one that takes its place, pytest-xdist 3.8 waits for
# ever.
SIDE_BY_SIDE = ("--dist=loadfile", "--no-loadscope-reorder", "--max-worker-restart=0")
WORKERS = {"pure": 2, "system": 3}  # on two processors: a test of the system waits half of its time
NONE_CHOSEN = 5  # pytest's exit status where no test is chosen
INTERRUPTED = 2
SLOWEST = 20
LOOK = 0.2  # s between two looks at what was printed


def run_part(part: str, long: bool, arguments: list[str], summary: Path, output: IO[str]) -> int:
    """Run pytest on both halves of a part; returns the first exit status that isn't 0."""
    worst = 0
    for alone in (False, True):
        status = run(part, alone, long, arguments, summary, output)
        worst = worst or status
        if ends_all(status, arguments):
            break
    return worst


def run(
    part: str, alone: bool, long: bool, arguments: list[str], summary: Path, output: IO[str]
) -> int:
    """Run pytest on one half of a part; returns its exit status."""
    chosen = f"{'alone' if alone else 'not alone'} and {'long' if long else 'not long'}"
    side_by_side = () if alone else (f"--numprocesses={WORKERS[part]}", *SIDE_BY_SIDE)
    command = [sys.executable, "-m", "pytest", f"--part={part}", "-m", chosen, *side_by_side]
    print(f"--- {part}, {chosen} ---", file=output, flush=True)
    variables = {**os.environ, SUMMARY: str(summary)}
    with subprocess.Popen(
        [*command, *arguments], env=variables, stdout=output, stderr=output
    ) as tests:
        while True:
            try:
                status = tests.wait()
                return 0 if status == NONE_CHOSEN else status
            except KeyboardInterrupt:  # pytest has been told as well; it says how far it has come
                continue


def ends_all(status: int, arguments: list[str]) -> bool:
    """Whether nothing more is run after this exit status."""
    return status == INTERRUPTED or status < 0 or (status != 0 and "-x" in arguments)


def run_beside(arguments: list[str], summary: Path) -> int:
    """Run both parts at once; returns the first exit status that isn't 0."""
    kept = summary.with_name("system")
    with kept.open("w", encoding="utf-8") as output, ThreadPoolExecutor(1) as beside:
        system = beside.submit(run_part, "system", False, arguments, summary, output)
        pure = run_part("pure", False, arguments, summary, sys.stdout)
        show(kept, system)
        return pure or system.result()


def show(kept: Path, writing: Future[int]) -> None:
    """Print what is written to a file until that has ended."""
    with kept.open(encoding="utf-8") as file:
        while True:
            try:
                ended = writing.done()
                print(file.read(), end="", flush=True)
                if ended:
                    return
                time.sleep(LOOK)
            except KeyboardInterrupt:  # pytest has been told as well
                continue


def parts_in(arguments: list[str]) -> tuple[str, ...]:
    """The parts that the paths among pytest's arguments can have tests of."""
    values = zip(["", *arguments], arguments, strict=False)
    words = [
        each.partition("::")[0]
        for option, each in values
        if option not in ("-k", "-m", "-n", "-o", "-p")
    ]
    paths = [
        Path(each).resolve() for each in words if not each.startswith("-") and Path(each).exists()
    ]
    system = Path(__file__).resolve().parents[1] / "system"
    found = {
        "system": any(path.is_relative_to(system) or system.is_relative_to(path) for path in paths)
    }
    found["pure"] = not all(path.is_relative_to(system) for path in paths)
    return tuple(part for part in PARTS if found[part] or not paths)


def counts(summary: Path) -> dict[str, Count]:
    """Those of the parts, over all runs."""
    found: dict[str, Count] = {}
    for line in summary.read_text(encoding="utf-8").splitlines():
        read = Count(**json.loads(line))
        count = found.setdefault(read.part, Count(read.part))
        count.outcomes.update(read.outcomes)
        count.first_tries.update(read.first_tries)
        count.durations.update(read.durations)
    return found


def main() -> int:
    arguments = sys.argv[1:]
    long, slowest = "--long" in arguments, "--slowest" in arguments
    arguments = [each for each in arguments if each not in ("--long", "--slowest")]
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "summary"
        summary.touch()
        parts = parts_in(arguments)
        if parts == PARTS and not long:
            worst = run_beside(arguments, summary)
        else:
            for part in parts:
                status = run_part(part, long, arguments, summary, sys.stdout)
                worst = worst or status
                if ends_all(status, arguments):
                    break
        ended = counts(summary)
    print("---")
    if slowest:
        durations = {
            test: time for count in ended.values() for test, time in count.durations.items()
        }
        for test in sorted(durations, key=durations.__getitem__, reverse=True)[:SLOWEST]:
            print(f"{durations[test]:7.2f} s  {test}")
    for count in ended.values():
        for test in count.first_tries:
            print(f"{test}: {count.outcomes[test]} at the second try")
        print(count.line())
        if count.trouble():
            print(count.trouble())
            worst = worst or 1
    if worst:
        print(f"the tests have failed: exit status {worst}")
    return worst if worst >= 0 else 128 - worst


if __name__ == "__main__":
    # where a script has started this in the background
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
