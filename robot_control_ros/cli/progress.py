"""Progress of work that takes long: a bar with an estimate on a terminal, else a line each few
seconds. All of it goes to the standard error.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

LINE_EVERY = 5.0  # s between two lines, where no bar is drawn
DRAWN_EVERY = 1.0  # s between two drawings of a bar that stands still


class Progress:
    """Shows how far some work is, and how long it will still take.

    Use it in a ``with`` block, or call :meth:`begin` and :meth:`end`.

    Args:
        what: Name of the work, before its numbers.
        total: Amount of all work.
        unit: Unit of the amount.
        stream: Stream to draw on; by default the standard error.
        clock: Function that returns the time [s].
        beats: True draws also while nothing is shown, in a thread, as for long steps.
    """

    def __init__(
        self,
        what: str,
        total: float,
        unit: str = "",
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        beats: bool = False,
    ) -> None:
        self._what = what
        self._total = total
        self._unit = unit
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._lock = threading.RLock()
        self._bar: Any = None  # tqdm's; None where lines are printed
        self._done = 0.0
        self._done_at_first: float | None = None  # amount that was done before this work began
        self._note = ""
        self._began = clock()
        self._printed_at = self._began  # time of the last line [s]
        self._has_printed = False
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._draw_meanwhile, daemon=True) if beats else None

    def __enter__(self) -> Progress:
        return self.begin()

    def __exit__(self, *error: object) -> None:
        self.end()

    def begin(self) -> Progress:
        """Begin to draw, and to count the time; returns this."""
        self._began = self._clock()
        self._printed_at = self._began
        self._bar = self._made_bar()
        if self._beat is not None:
            self._beat.start()
        return self

    def end(self) -> None:
        """End the drawing; a bar vanishes."""
        self._ended.set()
        if self._beat is not None:
            self._beat.join()
        if self._bar is not None:
            self._bar.close()

    def show(self, done: float, note: str = "") -> None:
        """Show how much is done.

        Args:
            done: Amount that is done, of the total.
            note: Text behind the numbers, such as the step that comes.
        """
        with self._lock:
            if self._done_at_first is None:
                self._done_at_first = done
            self._done = done
            self._note = note
            if self._bar is not None:
                self._bar.initial = self._done_at_first
                self._bar.set_postfix_str(note, refresh=False)
                self._bar.update(done - self._bar.n)
            elif self._has_printed and done >= self._total:
                self._print_line()
            else:
                self._print_when_due()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Block that may print: the bar, where there is one, is away meanwhile."""
        with self._lock:
            if self._bar is not None:
                self._bar.clear()
            yield
            if self._bar is not None:
                self._bar.refresh()

    def print(self, *lines: str) -> None:
        """Print lines to the standard output, above the bar."""
        with self.paused():
            print(*lines, sep="\n", flush=True)

    def tell(self, text: str) -> None:
        """Print a line to the standard error, above the bar."""
        with self.paused():
            print(text, file=self._stream, flush=True)

    def _made_bar(self) -> Any:
        """Return a bar; None where the stream is no terminal, or tqdm isn't installed."""
        if not self._stream.isatty():
            return None
        try:
            from tqdm import tqdm
        except ImportError:
            return None
        tqdm.monitor_interval = 0  # its thread isn't needed: this class has one
        unit = f" {self._unit}" if self._unit else ""
        return tqdm(
            total=self._total,
            desc=self._what,
            file=self._stream,
            leave=False,
            dynamic_ncols=True,
            mininterval=0.1,
            bar_format="{desc}: {percentage:3.0f} % |{bar}| {n:.4g} of {total:.4g}"
            + unit
            + ", {elapsed} so far, {remaining} left{postfix}",
        )

    def _draw_meanwhile(self) -> None:
        """Draw from time to time until the work ends."""
        while not self._ended.wait(DRAWN_EVERY):
            with self._lock:
                if self._bar is not None:
                    self._bar.refresh()
                else:
                    self._print_when_due()

    def _print_when_due(self) -> None:
        if self._clock() - self._printed_at >= LINE_EVERY:
            self._print_line()

    def _print_line(self) -> None:
        now = self._clock()
        self._printed_at = now
        self._has_printed = True
        unit = f" {self._unit}" if self._unit else ""
        note = f"; {self._note}" if self._note else ""
        text = f"{self._what}: {self._done:.4g} of {self._total:.4g}{unit}, {self._left(now)}{note}"
        print(text, file=self._stream, flush=True)

    def _left(self, now: float) -> str:
        """Text of the time that is left; of the time so far, where nothing was done yet."""
        elapsed = now - self._began
        worked = self._done - (self._done_at_first or 0.0)
        if worked <= 0.0:
            return f"{elapsed:.0f} s so far"
        return f"{elapsed * (self._total - self._done) / worked:.0f} s left"
