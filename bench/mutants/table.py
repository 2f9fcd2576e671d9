"""The Python part of bench/MUTANTS.md: a table of the files, and each mutant that no test noticed with what a person wrote about it."""

from __future__ import annotations

import pathlib
import re
from typing import Iterable

from changes import Mutant
from runs import Outcome

BEGIN, END = "<!-- python -->", "<!-- /python -->"
NEW = "Not looked at yet."
WORDS = ("caught", "missed", "unviable", "timeout")
HEAD = """## Python: `python/ewca`

Made by `cargo xtask mutants python`. Each mutant is one small fault in one place: an operator, a constant or a key changed, a condition
forced, an argument left out, a statement deleted. It meets the tests that reach its place, quickest first; those that need more than
{slow:g} s, and those of types, of the wheel and of the gallery, are not asked. Unviable: the package cannot be imported with it. The last
column is missed of (mutants - unviable).

| file | mutants | caught | missed | unviable | timeout | missed, % |
|---|---|---|---|---|---|---|
"""
#: A line about a mutant that was missed.
MISSED = re.compile(r"- `(?P<file>[^`]+)` line \d+, (?P<kind>[^:]+): `(?P<old>[^`]+)` -> `(?P<new>[^`]+)`\. ?(?P<why>.*)")
ROW = re.compile(r"\| `(?P<file>[^`]+)` (\|.*)")

Results = dict[str, list[tuple[Mutant, Outcome]]]


def write(page: pathlib.Path, results: Results, slow: float) -> int:
    """Puts the results into the page; other files stay as they are there. Returns how many mutants nobody has looked at."""
    text = page.read_text() if page.exists() else "# Mutants: which small faults do the tests notice?\n"
    if BEGIN not in text:
        text += f"\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN)
    section, after = rest.split(END)
    lines = section.splitlines()
    why = {_key(found): found["why"] for found in map(MISSED.fullmatch, lines) if found}
    rows = {found["file"]: line for line in lines if (found := ROW.fullmatch(line))}
    missed = [line for line in lines if (found := MISSED.fullmatch(line)) and found["file"] not in results]
    for file, judged in results.items():
        rows[file] = _row(file, judged)
        missed += [_line(file, mutant, why) for mutant, outcome in judged if outcome.word == "missed"]
    missed.sort(key=lambda line: line.split("`")[1])
    rows.pop("all", None)
    rows["all"] = _sum(rows.values())
    body = HEAD.format(slow=slow) + "\n".join(sorted(rows.values(), key=lambda row: ("`all`" in row, row)))
    page.write_text(f"{before}{BEGIN}\n{body}\n\nMissed:\n\n" + "\n".join(missed) + f"\n{END}{after}")
    return sum(line.endswith(NEW) for line in missed)


def _key(found: re.Match[str]) -> tuple[str, ...]:
    return found["file"], found["kind"], found["old"], found["new"]


def _line(file: str, mutant: Mutant, why: dict[tuple[str, ...], str]) -> str:
    begin = f"- `{file}` line {mutant.line}, {mutant.kind}: `{_short(mutant.old)}` -> `{_short(mutant.new)}`."
    found = MISSED.fullmatch(begin)
    assert found is not None, begin
    return f"{begin} {why.get(_key(found)) or NEW}"


def _short(text: str) -> str:
    text = text.replace("`", "'")
    return text if len(text) <= 90 else f"{text[:87]}..."


def _row(file: str, judged: list[tuple[Mutant, Outcome]]) -> str:
    counts = [sum(outcome.word == word for _, outcome in judged) for word in WORDS]
    return _cells(file, [len(judged), *counts])


def _sum(rows: Iterable[str]) -> str:
    numbers = [[int(cell) for cell in row.split("|")[2:7]] for row in rows]
    return _cells("all", [sum(column) for column in zip(*numbers)])


def _cells(name: str, counts: list[int]) -> str:
    total, _, missed, unviable, _ = counts
    share = 100 * missed / max(total - unviable, 1)
    return f"| `{name}` | " + " | ".join(map(str, counts)) + f" | {share:.1f} |"
