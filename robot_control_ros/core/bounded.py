"""A bounded number, declared once: its default, unit, bounds and meaning.

Gains of laws, entries of files, parameters of nodes, arguments of launch files and options of
commands are such declarations:

    RATE = Bounded(default=0.0, unit="Hz", lower=0.0, upper=4000.0, doc="Joint states per second.")

From that one declaration come the check and its error, the ranges of ROS parameters, the help of
commands, the JSON Schema of files, the tables of the documentation and the sliders of the page.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .errors import refused

# the first sentence, or its part before a semicolon, and what comes behind it
_FIRST_CLAUSE = re.compile(r"(.*?)([;.](?:\s.*)?)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """Declaration of a number, or of several that have the same bounds.

    Attributes:
        default: Value that holds where nobody sets one; None where there is none.
        doc: Sentence about its effect, for people; of an option what stands behind its name.
        unit: SI unit.
        lower, above, upper: Bounds. `above` itself is refused, the others are valid.
        whole: True where only whole numbers are valid.
    """

    default: Any = None
    doc: str
    unit: str = ""
    lower: float = -math.inf
    above: float = -math.inf
    upper: float = math.inf
    whole: bool = False

    @property
    def bound(self) -> tuple[float, float]:
        """The least and the largest number, for errors; `above` counts as the least."""
        return max(self.lower, self.above), self.upper

    def contains(self, value: Any) -> bool:
        """True for a number that is finite, within the bounds, and whole where it must be."""
        if isinstance(value, float):
            kind_fits = not self.whole and math.isfinite(value)
        else:
            kind_fits = isinstance(value, int) and not isinstance(value, bool)
        return kind_fits and self.lower <= value <= self.upper and value > self.above

    def check(self, name: str, value: Any) -> int | float:
        """Check a value, and return it: an int where it must be whole, else a float.

        Raises:
            ConfigError: it is no number, not finite, or out of bounds.
        """
        if not self.contains(value):
            raise refused(name, value, f"must be {self.expected()}", self.bound)
        return int(value) if self.whole else float(value)

    def parse(self, name: str, text: str) -> int | float:
        """Check a number that is written as a text; hexadecimal is understood where it is whole.

        Raises:
            ConfigError: see :meth:`check`.
        """
        value: Any = text
        with suppress(ValueError):  # what is no number is refused as a text
            value = int(text, 0) if self.whole else float(text)
        return self.check(name, value)

    def expected(self) -> str:
        """What is valid, in words: `a finite number from 0 to 5 [s]`."""
        text = "a whole number" if self.whole else "a finite number"
        span = self.span()
        if span:
            text += f", {span}" if span.endswith("or more") else f" {span}"
        return f"{text} [{self.unit}]" if self.unit else text

    def span(self) -> str:
        """The bounds in words, `from 0 to 5`; empty where there are none."""
        upper = self.written(self.upper)
        if self.above > -math.inf:
            return f"above {self.written(self.above)}" + (
                f" and up to {upper}" if self.upper < math.inf else ""
            )
        if self.upper < math.inf:
            return f"from {self.written(self.lower)} to {upper}"
        return f"{self.written(self.lower)} or more" if self.lower > -math.inf else ""

    def written(self, bound: float) -> str:
        """A bound as people write it."""
        return str(bound) if isinstance(bound, int) else f"{bound:g}"

    def text(self) -> str:
        """The meaning with the unit: `Timeout of commands [s]; 0 for none.`"""
        if not self.unit:
            return self.doc
        parts = _FIRST_CLAUSE.fullmatch(self.doc)
        clause = parts[1] if parts else self.doc
        rest = parts[2] if parts else ""
        return f"{clause} [{self.unit}]{rest}"
