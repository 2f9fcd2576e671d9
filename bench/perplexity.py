"""Which perplexity is a good default? `python3 bench/perplexity.py` writes bench/PERPLEXITY.md.

For labelled data sets and several numbers of components: the leave-one-out error of the nearest neighbour in the scores, against
the wanted perplexity. Labels serve the judgement only; no fit sees them.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import compare  # enters the venv

import numpy as np
import scanpy
from sklearn import datasets

import data

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERPLEXITIES = (None, 2, 3, 4, 5, 7, 10, 15, 20, 30)
#: The program: EWCA in the environment, or built here.
PROGRAM = os.environ.get("EWCA")


def sets():
    """(name, X, labels, numbers of components)"""
    yield "khan2001", *data.khan(), (2, 3, 4, 5, 6, 8, 10, 12)
    for name, ks in (("iris", (1, 2)), ("wine", (2, 3, 5)), ("breast_cancer", (2, 3, 5, 8)), ("digits", (2, 5, 10))):
        x, y = getattr(datasets, "load_" + name)(return_X_y=True)
        if name in ("wine", "breast_cancer"):
            x = (x - x.mean(0)) / x.std(0)
        yield name, x, y, ks
    cells = scanpy.datasets.pbmc68k_reduced()
    yield "pbmc68k", np.asarray(cells.X), np.asarray(cells.obs["bulk_labels"]), (2, 5, 10, 20)


def scores(x, k, perplexity, folder):
    np.savetxt(folder / "x.csv", x, delimiter=",", header=",".join(f"f{j}" for j in range(x.shape[1])), comments="")
    knob = ["--epsilon", str(1e-9 * x.var(0).sum())] if perplexity is None else ["--perplexity", str(perplexity)]
    words = ["fit", folder / "x.csv", "-k", k, *knob, "-o", folder / "out", "-q"]
    done = subprocess.run([PROGRAM or ROOT / "target" / "release" / "ewca", *map(str, words)], stderr=subprocess.DEVNULL)
    if done.returncode not in (0, 3):
        sys.exit(f"ewca failed on {words}")
    return np.loadtxt(folder / "out" / "scores.csv", delimiter=",", skiprows=1, ndmin=2)[:, 1:]


def neighbour_error(z, labels):
    d = ((z[:, None] - z[None]) ** 2).sum(-1) if len(z) < 3000 else None
    np.fill_diagonal(d, np.inf)
    return 100 * np.mean(labels[d.argmin(1)] != labels)


def main():
    if PROGRAM is None:
        subprocess.run(["cargo", "build", "--release", "-q"], cwd=ROOT, check=True)
    names = ["PCA", *map(str, PERPLEXITIES[1:])]
    lines = [
        "# Which perplexity is a good default?",
        "",
        "Made by `python3 bench/perplexity.py`. Leave-one-out error (%) of the nearest neighbour in the scores, against the wanted",
        "perplexity; no fit sees a label. The last rows average over the numbers of components.",
        "",
        compare.row("data", "k", *names),
        compare.row(*["---"] * (2 + len(names))),
    ]
    means = []
    with tempfile.TemporaryDirectory() as folder:
        for name, x, labels, ks in sets():
            table = []
            for k in ks:
                usable = [p for p in PERPLEXITIES if p is None or p < len(x) / 2]
                errors = [neighbour_error(scores(x, k, p, pathlib.Path(folder)), labels) for p in usable]
                errors += [float("nan")] * (len(PERPLEXITIES) - len(errors))
                table.append(errors)
                lines.append(compare.row(name, k, *(f"{e:.1f}" for e in errors)))
                print(lines[-1], flush=True)
            means.append(compare.row(f"**{name}**", "mean", *(f"{statistics.fmean(c):.1f}" for c in zip(*table))))
    (ROOT / "bench" / "PERPLEXITY.md").write_text("\n".join([*lines, *means, ""]))
    print(*means, sep="\n")


main()
