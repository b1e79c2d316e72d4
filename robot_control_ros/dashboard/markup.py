"""HTML of the texts on all pages."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from .theme import GREY


def span(text: str, colour: str, weight: int = 400) -> str:
    """A text in a colour, escaped."""
    return f'<span style="color:{colour};font-weight:{weight}">{html.escape(text)}</span>'


def legend(text: str, colour: str) -> str:
    """A text, escaped, behind a square in the colour of a curve: such colours have too
    little contrast for text.
    """
    return f"{span('■', colour)} <b>{html.escape(text)}</b>"


def block(content: str, style: str = "") -> str:
    """HTML in the small type of the panels."""
    return f'<div style="font-size:0.85em;line-height:1.45;padding:0 0.9em 0.3em;{style}">{content}</div>'


def note(text: str, colour: str = GREY) -> str:
    """A paragraph of text."""
    return block(span(text, colour))


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells of HTML: names at the left, numbers at the right."""
    others = 'style="text-align:right;white-space:nowrap;padding-left:0.8em"'
    lines = [
        f"<td>{name}</td>{''.join(f'<td {others}>{cell}</td>' for cell in cells)}"
        for name, *cells in rows
    ]
    return f'<table style="font-variant-numeric:tabular-nums">{"".join(f"<tr>{line}</tr>" for line in lines)}</table>'
