"""The example files of the site's pages: made by these few lines, the same in every run.

`python docs/tools/examples.py FOLDER` makes all of them.
"""

from __future__ import annotations

import csv
import gzip
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RNG_SEED = 20


def _khan() -> tuple[list[str], list[list[str]]]:
    with gzip.open(ROOT / "data" / "khan2001.csv.gz", "rt") as file:
        header, *rows = csv.reader(file)
    return header, rows


def _write(file: Path, header: list[str], rows: list[list[str]], delimiter: str = ",") -> None:
    with file.open("w", newline="") as out:
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])


def tumours_csv(file: Path) -> None:
    """The 63 training samples of khan2001."""
    _split(file, "train")


def new_tumours_csv(file: Path) -> None:
    """Its 20 test samples."""
    _split(file, "test")


def _split(file: Path, split: str) -> None:
    header, rows = _khan()
    _write(file, ["sample", "class", *header[3:]], [[row[0], row[2], *row[3:]] for row in rows if row[1] == split])


def missing_csv(file: Path) -> None:
    """The training samples of khan2001 with 200 genes, of which 1 cell in 100 is empty."""
    header, rows = _khan()
    rng = np.random.default_rng(RNG_SEED)
    rows = [[row[0], row[2], *row[3:203]] for row in rows if row[1] == "train"]
    for row in rows:
        for column in range(2, len(row)):
            if rng.random() < 0.01:
                row[column] = ""
    _write(file, ["sample", "class", *header[3:203]], rows)


def genes_in_rows_tsv(file: Path) -> None:
    """The training samples of khan2001 with a gene in each row, as many tools for expressions write it."""
    header, rows = _khan()
    rows = [row for row in rows if row[1] == "train"]
    genes = [[header[column], *(row[column] for row in rows)] for column in range(3, len(header))]
    _write(file, ["gene", *(row[0] for row in rows)], genes, delimiter="\t")


def samples_csv(file: Path) -> None:
    """What is known of the training samples: class, batch and RNA quality (the last two are made up)."""
    _, rows = _khan()
    rng = np.random.default_rng(RNG_SEED)
    known = [[row[0], row[2], "AB"[i % 2], f"{rng.uniform(6, 10):.1f}"] for i, row in enumerate(r for r in rows if r[1] == "train")]
    _write(file, ["sample", "class", "batch", "quality"], known)


def batches_csv(file: Path) -> None:
    """The training samples of khan2001 with 300 genes, half of them measured in a batch that shifts every gene a little."""
    header, rows = _khan()
    rng = np.random.default_rng(RNG_SEED)
    shift = rng.normal(scale=0.8, size=300)
    made = []
    for number, row in enumerate(r for r in rows if r[1] == "train"):
        batch = "second" if number % 2 else "first"
        genes = [f"{float(cell) + (change if number % 2 else 0.0):.4f}" for cell, change in zip(row[3:303], shift)]
        made.append([row[0], row[2], batch, *genes])
    _write(file, ["sample", "class", "batch", *header[3:303]], made)


def units_csv(file: Path) -> None:
    """120 patients with five measurements in different units (made up): one of them in thousands."""
    rng = np.random.default_rng(RNG_SEED)
    group = rng.integers(0, 2, size=120)
    rows = [
        [
            f"p{i:03}",
            "case" if g else "control",
            f"{rng.normal(250 + 20 * g, 60):.0f}e3",
            f"{rng.normal(4.6 + 1.2 * g, 0.5):.2f}",
            f"{rng.normal(1.0 + 0.5 * g, 0.2):.3f}",
            f"{rng.normal(37.0 + 0.6 * g, 0.4):.1f}",
            f"{rng.normal(14.0 - 1.5 * g, 1.0):.1f}",
        ]
        for i, g in enumerate(group)
    ]
    _write(file, ["patient", "group", "platelets_per_ul", "potassium_mM", "creatinine_mg_dl", "temperature_C", "haemoglobin_g_dl"], rows)


def cells_h5ad(file: Path) -> None:
    """20,000 cells with counts of 300 genes, of five kinds (made up), as AnnData."""
    import anndata
    import pandas as pd
    import scipy.sparse

    rng = np.random.default_rng(RNG_SEED)
    kinds = rng.integers(0, 5, size=20_000)
    # Every kind has 20 genes of its own.
    rate = np.full((5, 300), 0.08)
    for kind in range(5):
        rate[kind, 20 * kind : 20 * kind + 20] = 1.5
    depth = rng.lognormal(sigma=0.3, size=20_000)
    counts = rng.poisson(rate[kinds] * depth[:, None]).astype(np.float32)
    names = ["B cell", "T cell", "NK cell", "monocyte", "dendritic cell"]
    obs = pd.DataFrame({"kind": pd.Categorical([names[k] for k in kinds])}, index=[f"cell{i}" for i in range(20_000)])
    var = pd.DataFrame(index=[f"gene{i}" for i in range(300)])
    anndata.AnnData(scipy.sparse.csr_matrix(counts), obs=obs, var=var).write_h5ad(file)


FILES = {
    "tumours.csv": tumours_csv,
    "new-tumours.csv": new_tumours_csv,
    "missing.csv": missing_csv,
    "genes-in-rows.tsv": genes_in_rows_tsv,
    "samples.csv": samples_csv,
    "batches.csv": batches_csv,
    "units.csv": units_csv,
    "cells.h5ad": cells_h5ad,
}


def named_in(text: str) -> list[str]:
    """The example files that a page links to."""
    return [name for name in FILES if f"(examples/{name})" in text]


def make(folder: Path, text: str | None = None) -> None:
    """Makes the files that a page links to, or all."""
    for name in FILES if text is None else named_in(text):
        FILES[name](folder / name)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    make(target)
