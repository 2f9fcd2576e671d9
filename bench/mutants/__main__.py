"""How many small faults in python/ewca its tests notice: `cargo xtask mutants python [FILE...]`, which writes bench/MUTANTS.md.

The tree is never changed: faults are put into copies of the package, beside the compiled half that is installed.
"""

from __future__ import annotations

import argparse
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
    before = json.loads(notes.read_text()) if notes.exists() else {}
    if given.again:
        work = [(name, mutant) for name, mutant in work if _note(mutant) in before.get(name, [])]
    work = [(name, mutant) for name, mutant in work if given.grep in mutant.old]
    bench = Bench(ROOT, given.folder / "runs", SOURCES, _compiled())
    begin = time.monotonic()
    tests = bench.baseline()
    print(f"{len(tests)} tests, {sum(test.seconds for test in tests):.0f} s; {len(work)} mutants", flush=True)
    outcomes: dict[int, Outcome] = {}

    def report(at: int, outcome: Outcome) -> None:
        outcomes[at] = outcome
        name, mutant = work[at]
        if outcome.word != "caught":
            print(f"{outcome.word} {name}:{mutant.line} {mutant.kind}: {mutant.old} -> {mutant.new} {outcome.by}", flush=True)
        if len(outcomes) % 50 == 0:
            print(f"{len(outcomes)} of {len(work)}, {time.monotonic() - begin:.0f} s", flush=True)

    bench.judge(work, tests, given.jobs, report)
    results: dict[str, list[tuple[Mutant, Outcome]]] = {name: [] for name in names}
    for at, (name, mutant) in enumerate(work):
        results[name].append((mutant, outcomes[at]))
    missed = {name: [_note(mutant) for mutant, outcome in judged if outcome.word == "missed"] for name, judged in results.items()}
    if given.grep:
        return
    notes.write_text(json.dumps({**before, **missed}))
    print(f"{sum(map(len, missed.values()))} of {len(work)} missed, {time.monotonic() - begin:.0f} s")
    if not given.again:
        unseen = write(ROOT / "bench" / "MUTANTS.md", results, SLOW)
        if unseen:
            raise SystemExit(f"{unseen} missed mutants have no word in bench/MUTANTS.md: catch them, or write why they do no harm")


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
