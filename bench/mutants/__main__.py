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
    words.add_argument("--again", action="store_true", help="only those that were missed last time, or are new")
    words.add_argument("--folder", type=pathlib.Path, default=ROOT / "target" / "mutants", help="for copies and logs")
    given = words.parse_args()
    names = [pathlib.Path(name).name for name in given.files] or sorted(file.name for file in SOURCES.glob("*.py"))
    bench = Bench(ROOT, given.folder / "runs", SOURCES, _compiled())
    tests = bench.baseline()
    account = Account(names, given.folder / "outcomes.json", given.again)
    print(f"{len(tests)} tests, {sum(test.seconds for test in tests):.0f} s; {len(account.work)} mutants", flush=True)
    bench.judge(account.work, tests, given.jobs, account.take)
    account.end()


class Account:
    """What is to be judged, and what became of it. Each file is written down when all of its mutants have been."""

    def __init__(self, names: list[str], notes: pathlib.Path, again: bool) -> None:
        self._mutants = {name: _named((SOURCES / name).read_text()) for name in names}
        self._notes = notes
        self._outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in names}
        if again and notes.exists():
            for name, kept in json.loads(notes.read_text()).items():
                self._outcomes[name] = {key: Outcome(*words) for key, words in kept.items() if words[0] != "missed"}
        todo = [(name, key) for name in names for key in self._mutants[name] if key not in self._outcomes[name]]
        self.work = [(name, self._mutants[name][key]) for name, key in todo]
        self._keys = [key for _, key in todo]
        self._left = collections.Counter(name for name, _ in todo)
        self._begin = time.monotonic()
        self._unseen = 0
        for name in names:
            if not self._left[name]:
                self._write(name)

    def take(self, at: int, outcome: Outcome) -> None:
        name, mutant = self.work[at]
        self._outcomes[name][self._keys[at]] = outcome
        if outcome.word != "caught":
            print(f"{outcome.word} {name}:{mutant.line} {mutant.kind}: {mutant.old} -> {mutant.new} {outcome.by}", flush=True)
        self._left[name] -= 1
        done = len(self.work) - sum(self._left.values())
        if done % 50 == 0:
            print(f"{done} of {len(self.work)}, {time.monotonic() - self._begin:.0f} s", flush=True)
        if not self._left[name]:
            self._write(name)

    def _write(self, name: str) -> None:
        judged = [(mutant, self._outcomes[name][key]) for key, mutant in self._mutants[name].items()]
        kept = json.loads(self._notes.read_text()) if self._notes.exists() else {}
        kept[name] = {key: [self._outcomes[name][key].word, self._outcomes[name][key].by] for key in self._mutants[name]}
        self._notes.write_text(json.dumps(kept))
        print(f"{name}: {sum(outcome.word == 'missed' for _, outcome in judged)} of {len(judged)} missed", flush=True)
        self._unseen = write(ROOT / "bench" / "MUTANTS.md", {name: judged}, SLOW)

    def end(self) -> None:
        print(f"{time.monotonic() - self._begin:.0f} s")
        if self._unseen:
            raise SystemExit(f"{self._unseen} missed mutants have no word in bench/MUTANTS.md: catch them, or write why they do no harm")


def _named(source: str) -> dict[str, Mutant]:
    """The mutants of a source by what they change; the same change of several equal lines has a number."""
    lines = source.splitlines()
    named: dict[str, Mutant] = {}
    seen: collections.Counter[str] = collections.Counter()
    for mutant in mutants(source):
        words = f"{mutant.kind}: {mutant.old} -> {mutant.new} in {lines[mutant.line - 1].strip()}"
        seen[words] += 1
        named[f"{words} ({seen[words]})"] = mutant
    return named


def _compiled() -> pathlib.Path:
    """The compiled half, of the package that is installed."""
    package = importlib.util.find_spec("ewca")
    if package is None or package.origin is None:
        raise SystemExit("the package is not installed: cargo xtask python")
    return next(pathlib.Path(package.origin).parent.glob("_ewca*.so"))


if __name__ == "__main__":
    main()
