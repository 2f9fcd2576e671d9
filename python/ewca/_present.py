"""Small tables for people, as text and as HTML: what a prompt and a notebook show of an object."""

from __future__ import annotations

from html import escape
from typing import Sequence

#: Rows that are shown; of more, the first and the last.
MOST_ROWS = 24

Rows = Sequence[Sequence[str]]


def significant(value: float) -> str:
    """A number with four significant digits."""
    return f"{value:.4g}"


def accuracy(value: float) -> str:
    """An accuracy: one digit and its magnitude."""
    return "0" if value == 0 else f"{value:.0e}"


def text_table(title: str, head: Sequence[str], rows: Rows, notes: Sequence[str] = ()) -> str:
    """A title, a table whose columns are aligned at their right, and notes below it."""
    lines = [head, *_shortened(head, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    body = ["  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
    body = [line.rstrip() for line in body]
    return "\n".join([title, *(body if head else []), *notes])


def html_table(title: str, head: Sequence[str], rows: Rows, notes: Sequence[str] = ()) -> str:
    """The same as HTML, without a style of its own: a notebook has one."""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in _shortened(head, rows))
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    table = f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>" if head else ""
    return f"<div><p><strong>{escape(title)}</strong></p>{table}{below}</div>"


def _shortened(head: Sequence[str], rows: Rows) -> list[Sequence[str]]:
    if len(rows) <= MOST_ROWS:
        return list(rows)
    half = MOST_ROWS // 2
    return [*rows[:half], ["..."] * len(head), *rows[-half:]]
