"""A measured value beside its bound: the row of every table of evidence, and its printers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import SupportsFloat

LARGEST = math.nextafter(math.inf, 0.0)  # bound of a row that is only reported
FAR = 0.1  # of an upper bound: a value below this share is far below it
HEAD = ("", "measured", "bound", "where the bound comes from", "verdict")
# least characters of the columns of a text table, so that lines of several calls are aligned
WIDTHS = (60, 12, 18, 34, 0)


class Kind(Enum):
    """Kind of the place that a bound comes from."""

    PRINTED = "printed in the source"
    FOLLOWS = "follows from the source's code"
    CALCULATED = "our calculation"
    REQUIRED = "our requirement"


class Verdict(Enum):
    """Judgement of a row."""

    HOLDS = "holds"
    FAR_BELOW = "far below its bound"
    EXCUSED = "beyond, no failure"
    FAILS = "FAILS"


@dataclass(frozen=True)
class Origin:
    """Place that a bound comes from.

    Attributes:
        kind: Kind of the place.
        place: Page, module or formula where the bound stands; empty where the kind says enough.
    """

    kind: Kind
    place: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.place}" if self.place else self.kind.value


PRINTED = Origin(Kind.PRINTED)
FOLLOWS = Origin(Kind.FOLLOWS)
CALCULATED = Origin(Kind.CALCULATED)


def calculated(formula: str) -> Origin:
    """Origin of a bound that a formula of ours gives."""
    return Origin(Kind.CALCULATED, formula)


def required(place: str) -> Origin:
    """Origin of a bound that we require; `place` is the page or module where it stands."""
    return Origin(Kind.REQUIRED, place)


@dataclass(frozen=True)
class Row:
    """One measured value beside its bound. It holds where ``low <= measured <= high``; NaN never
    does.

    Attributes:
        name: Text that says what was measured.
        measured: Measured value.
        low, high: Bounds, inclusive; infinite where there is none on that side.
        unit: Unit of the value and the bounds; empty for a number.
        origin: Place that the bound comes from; None where the value is only reported.
        figure: Figure that both bounds lie around; NaN where there is none.
        excuse: Reason why a value beyond its bound is no failure; empty where it is one.
    """

    name: str
    measured: float
    low: float
    high: float
    unit: str = ""
    origin: Origin | None = None
    figure: float = math.nan
    excuse: str = ""

    @classmethod
    def near(
        cls,
        name: str,
        measured: SupportsFloat,
        figure: float,
        tolerance: float,
        unit: str,
        origin: Origin,
    ) -> Row:
        """A row that holds within `tolerance` (in `unit`) of a figure."""
        bounds = (figure - tolerance, figure + tolerance)
        return cls(name, float(measured), *bounds, unit, origin, figure)

    @classmethod
    def at_most(
        cls,
        name: str,
        measured: SupportsFloat,
        bound: float,
        unit: str,
        origin: Origin,
        excuse: str = "",
    ) -> Row:
        """A row that holds where the value is no more than a bound."""
        return cls(name, float(measured), -math.inf, bound, unit, origin, excuse=excuse)

    @classmethod
    def at_least(
        cls, name: str, measured: SupportsFloat, bound: float, unit: str, origin: Origin
    ) -> Row:
        """A row that holds where the value is no less than a bound."""
        return cls(name, float(measured), bound, math.inf, unit, origin)

    @classmethod
    def report(cls, name: str, measured: SupportsFloat, unit: str = "") -> Row:
        """A row without a bound: it holds where the value is a finite number."""
        return cls(name, float(measured), -LARGEST, LARGEST, unit)

    @property
    def within(self) -> bool:
        """True where the value keeps its bounds."""
        return self.low <= self.measured <= self.high

    @property
    def holds(self) -> bool:
        """True where the row is no failure."""
        return self.verdict is not Verdict.FAILS

    @property
    def verdict(self) -> Verdict:
        """Judgement of the value. An upper bound that is ten times as large says little."""
        if not self.within:
            return Verdict.EXCUSED if self.excuse else Verdict.FAILS
        has_upper_bound_alone = self.low == -math.inf and self.high > 0.0
        if has_upper_bound_alone and self.measured < FAR * self.high:
            return Verdict.FAR_BELOW
        return Verdict.HOLDS

    @property
    def bound(self) -> str:
        """The bound as text, in the row's unit."""
        if self.high == LARGEST:
            return "reported"
        if self.low == -math.inf:
            return f"<= {self.high:.6g}"
        if self.high == math.inf:
            return f">= {self.low:.6g}"
        if math.isnan(self.figure):
            return f"{self.low:.6g} … {self.high:.6g}"
        return f"{self.figure:.6g} ± {self.high - self.figure:.3g}"

    def cells(self) -> tuple[str, str, str, str, str]:
        """Texts of the row for the columns HEAD."""
        name = f"{self.name} [{self.unit}]" if self.unit else self.name
        origin = "" if self.origin is None else str(self.origin)
        verdict = self.verdict.value
        if self.verdict is Verdict.EXCUSED:
            verdict = f"{verdict}: {self.excuse}"
        return name, f"{self.measured:.6g}", self.bound, origin, verdict


def failed(rows: Iterable[Row]) -> list[Row]:
    """The rows that fail."""
    return [row for row in rows if not row.holds]


def exit_status(rows: Iterable[Row]) -> int:
    """Exit status of a program that has printed rows: 1 where one fails, else 0."""
    return int(bool(failed(rows)))


def summary(rows: Sequence[Row]) -> str:
    """Number of rows of each verdict, as one line."""
    counts = Counter(row.verdict for row in rows)
    words = [f"{verdict.value} {counts[verdict]}" for verdict in Verdict if counts[verdict]]
    return f"{len(rows)} rows: {'; '.join(words) or 'none'}"


def text_table(rows: Iterable[Row], head: bool = True) -> Iterator[str]:
    """Lines of a table for a terminal."""
    lines = [row.cells() for row in rows]
    if head:
        lines.insert(0, HEAD)
    longest = [max(map(len, column)) for column in zip(*lines, strict=True)]
    widths = [max(each, least) for each, least in zip(longest, WIDTHS, strict=False)]
    for name, measured, *texts in lines:
        padded = [text.ljust(width) for text, width in zip(texts, widths[2:], strict=True)]
        yield f"  {name:<{widths[0]}}  {measured:>{widths[1]}}  {'  '.join(padded)}".rstrip()


def markdown_table(rows: Iterable[Row]) -> Iterator[str]:
    """Lines of a table in Markdown."""
    yield "".join(f"| {title} " if title else "| " for title in HEAD) + "|"
    yield "|---" * len(HEAD) + "|"
    for row in rows:
        cells = [cell.replace("|", "\\|") for cell in row.cells()]
        yield f"| {' | '.join(cells)} |"


def csv_lines(rows: Iterable[Row]) -> Iterator[Sequence[object]]:
    """Header and values of a CSV file of rows."""
    yield "name", "unit", "measured", "low", "high", "origin", "verdict"
    for row in rows:
        origin = "" if row.origin is None else str(row.origin)
        bounds = (row.low, row.high)
        yield row.name, row.unit, row.measured, *bounds, origin, row.verdict.value
