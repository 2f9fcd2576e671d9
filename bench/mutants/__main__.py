"""How many small faults in python/ewca its tests notice: `cargo xtask mutants python [FILE...]`, which writes bench/MUTANTS.md.

The tree is never changed: faults are put into copies of the package, beside the compiled half that is installed.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import time

from changes import Mutant, mutants
from runs import SLOW, Bench, Outcome
from table import write

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "python" / "ewca"


def main() -> None:
    words = argparse.ArgumentParser(prog="mutants", description=__doc__)
    words.add_argument("files", nargs="*", metavar="FILE", help="such as plot.py; all by default")
    words.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many mutants at a time")
    words.add_argument("--again", action="store_true", help="only those that were missed last time; nothing is written")
    words.add_argument("--grep", default="", help="only those whose old text has this; nothing is written")
    words.add_argument("--folder", type=pathlib.Path, default=ROOT / "target" / "mutants", help="for copies and logs")
    given = words.parse_args()
    names = [pathlib.Path(name).name for name in given.files] or sorted(file.name for file in SOURCES.glob("*.py"))
    work = [(name, mutant) for name in names for mutant in mutants((SOURCES / name).read_text())]
    notes = given.folder / "missed.json"
    if given.again:
        before = _read(notes)
        work = [(name, mutant) for name, mutant in work if _note(mutant) in before.get(name, [])]
    work = [(name, mutant) for name, mutant in work if given.grep in mutant.old]
    bench = Bench(ROOT, given.folder / "runs", SOURCES, _compiled())
    tests = bench.baseline()
    print(f"{len(tests)} tests, {sum(test.seconds for test in tests):.0f} s; {len(work)} mutants", flush=True)
    account = _Account(work, notes, written=not (given.again or given.grep))
    bench.judge(work, tests, given.jobs, account.take)
    account.end()


class _Account:
    """Takes outcomes, and writes down each file of which all are there."""

    def __init__(self, work: list[tuple[str, Mutant]], notes: pathlib.Path, written: bool) -> None:
        self._work, self._notes, self._written = work, notes, written
        self._outcomes: dict[int, Outcome] = {}
        self._left = collections.Counter(name for name, _ in work)
        self._begin = time.monotonic()
        self._unseen = 0

    def take(self, at: int, outcome: Outcome) -> None:
        self._outcomes[at] = outcome
        name, mutant = self._work[at]
        if outcome.word != "caught":
            print(f"{outcome.word} {name}:{mutant.line} {mutant.kind}: {mutant.old} -> {mutant.new} {outcome.by}", flush=True)
        if len(self._outcomes) % 50 == 0:
            print(f"{len(self._outcomes)} of {len(self._work)}, {time.monotonic() - self._begin:.0f} s", flush=True)
        self._left[name] -= 1
        if self._left[name] == 0:
            self._write(name)

    def _write(self, name: str) -> None:
        judged = [(mutant, self._outcomes[at]) for at, (file, mutant) in enumerate(self._work) if file == name]
        missed = [_note(mutant) for mutant, outcome in judged if outcome.word == "missed"]
        self._notes.write_text(json.dumps({**_read(self._notes), name: missed}))
        print(f"{name}: {len(missed)} of {len(judged)} missed", flush=True)
        if self._written:
            self._unseen = write(ROOT / "bench" / "MUTANTS.md", {name: judged}, SLOW)

    def end(self) -> None:
        print(f"{time.monotonic() - self._begin:.0f} s")
        if self._unseen:
            raise SystemExit(f"{self._unseen} missed mutants have no word in bench/MUTANTS.md: catch them, or write why they do no harm")


def _read(notes: pathlib.Path) -> dict[str, list[str]]:
    return json.loads(notes.read_text()) if notes.exists() else {}


def _note(mutant: Mutant) -> str:
    return f"{mutant.kind}: {mutant.old} -> {mutant.new}"


def _compiled() -> pathlib.Path:
    """The compiled half, of the package that is installed."""
    package = importlib.util.find_spec("ewca")
    if package is None or package.origin is None:
        raise SystemExit("the package is not installed: cargo xtask python")
    return next(pathlib.Path(package.origin).parent.glob("_ewca*.so"))


if __name__ == "__main__":
    main()
