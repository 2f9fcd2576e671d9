"""Runs a program that was built for another platform, and compares its numbers with those of this machine's.

    run.py OURS PROGRAM [WORD...]

OURS is the program of this machine; PROGRAM with its words starts the other one (`qemu-aarch64 ewca`, `wine ewca.exe`). Both run the demo, and fit
one table of each format that the readers' tests have. Numbers must agree to 1e-9 of the largest of their kind.
"""

import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

TOLERANCE = 1e-9
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "crates/ewca-io/tests/golden"
LABELLED = ["--label", "class"]
TABLES = {
    "table.csv": LABELLED,
    "table.tsv": LABELLED,
    "table.csv.gz": LABELLED,
    "table.csv.bz2": LABELLED,
    "table.csv.xz": LABELLED,
    "table.csv.zst": LABELLED,
    "table.csv.zip": LABELLED,
    "table.xlsx": LABELLED,
    "table.gct": ["--id", "Name", "--ignore", "Description"],
    "table.parquet": LABELLED,
    "table.feather": LABELLED,
    "table.arrow": LABELLED,
    "stream.arrows": LABELLED,
    "coordinate.mtx": [],
    "c.npy": [],
    "one.npz": [],
    "plain.mat": [],
    "v73.mat": [],
    "csr.h5ad": LABELLED,
    "blosc.h5ad": LABELLED,
    "lz4.h5ad": LABELLED,
    "bzip2.h5ad": LABELLED,
    "cells.loom": [],
    "tenx3.h5": [],
    "series_matrix.txt": ["--id", "ID_REF"],
}
#: So tight that only rounding is left to differ.
FIT = ["-k", "2", "--perplexity", "2", "--scale", "unit-variance", "--tolerance", "1e-10", "--allow-unconverged"]


def run(program: "list[str]", words: "list[str]", folder: pathlib.Path) -> None:
    quiet = {**os.environ, "WINEDEBUG": "-all"}
    done = subprocess.run([*program, *words], cwd=folder, env=quiet, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join([*program, *words])}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def numbers(file: pathlib.Path) -> "list[list[float]]":
    """The columns of numbers of a table."""
    with open(file, newline="") as text:
        columns = list(zip(*csv.reader(text)))
    found = []
    for column in columns:
        try:
            found.append([float(cell) for cell in column[1:]])
        except ValueError:
            continue
    return found


def difference(ours: pathlib.Path, theirs: pathlib.Path) -> float:
    """The largest, of all numbers that a fit leaves, relative to the largest number of their kind."""
    worst = 0.0
    for name in ("scores.csv", "loadings.csv"):
        pair = numbers(ours / name), numbers(theirs / name)
        assert [len(column) for column in pair[0]] == [len(column) for column in pair[1]] and pair[0], name
        scale = max(abs(x) for column in pair[0] for x in column)
        for x, y in zip(*(sum(columns, []) for columns in pair)):
            worst = max(worst, abs(x - y) / scale)
    a, b = (json.loads((folder / "summary.json").read_text()) for folder in (ours, theirs))
    pairs = [(a["loss"], b["loss"]), (a["epsilon"], b["epsilon"]), *zip(a["explained_variance"], b["explained_variance"])]
    scale = max(abs(x) for x, _ in pairs)
    worst = max([worst, *(abs(x - y) / scale for x, y in pairs)])
    assert math.isfinite(worst)
    return worst


def main() -> None:
    ours, other = [sys.argv[1]], sys.argv[2:]
    differences = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for program, out in ((ours, "a"), (other, "b")):
            run(program, ["demo", "-o", f"{out}-demo"], folder)
        assert (folder / "b-demo" / "report.html").stat().st_size > 100_000
        differences["demo"] = difference(folder / "a-demo", folder / "b-demo")
        for table, words in TABLES.items():
            # Beside the results, since wine knows other paths.
            (folder / table).write_bytes((GOLDEN / table).read_bytes())
            for program, out in ((ours, "a"), (other, "b")):
                run(program, ["fit", table, *words, *FIT, "-o", f"{out}-{table}"], folder)
            differences[table] = difference(folder / f"a-{table}", folder / f"b-{table}")
    for table, worst in differences.items():
        print(f"{table:20} {worst:.1e}")
    above = [table for table, worst in differences.items() if worst > TOLERANCE]
    if above:
        raise SystemExit(f"numbers differ by more than {TOLERANCE}: {', '.join(above)}")
    print(f"the demo and {len(TABLES)} formats: the same numbers to {max(differences.values()):.1e}")


if __name__ == "__main__":
    main()
