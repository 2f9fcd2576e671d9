"""EWCA beside what people would run instead, in one run: `python3 bench/price.py` writes bench/PRICE.md.

Each table is fitted by ewca and by scikit-learn's PCA in turn, --repeats times, and short ones several times in a row; the table gives the
least time of each. Tables of the shapes
of single-cell work also go through UMAP and openTSNE, once: on the first 50 principal components where there are more features, as is usual,
with the time of these. --only takes names of tables.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import tempfile
import time

import compare
import numpy as np
import scipy.sparse as sp
from compare import HERE, ROOT, row
from sklearn.decomposition import PCA

import data

# Name, table, k, whether it has the shape of single-cell work.
TABLES = {
    "khan": ("khan2001, 63 x 2308", lambda: data.khan()[0], 5, False),
    "weak": ("151 x 54675, six weak clusters", lambda: data.wide(0.05), 5, False),
    "iris": ("iris, 150 x 4", data.iris, 2, False),
    "digits": ("digits, 1797 x 64", data.digits, 10, True),
    "10k": ("10,000 x 50", lambda: data.clustered(10_000, 50, 20, 1), 10, True),
    "5k": ("5000 x 2000", lambda: data.clustered(5000, 2000, 12, 2), 10, True),
    "pbmc": ("pbmc68k_reduced, 700 x 765", data.pbmc, 50, True),
    "sparse5k": ("sparse 5000 x 2000, 10%", lambda: data.cells(5000, 2000, 12, 0.10, 5), 20, True),
    "sparse5k50": ("sparse 5000 x 2000, 10%", lambda: data.cells(5000, 2000, 12, 0.10, 5), 50, True),
    "sparse20k": ("sparse 20,000 x 2000, 7%", lambda: data.cells(20_000, 2000, 12, 0.07, 6), 20, True),
    "50k": ("50,000 x 500", lambda: data.clustered(50_000, 500, 20, 3), 10, True),
    "100k": ("100,000 x 50", lambda: data.clustered(100_000, 50, 20, 4), 10, True),
}
# Fits in a row, of which the fastest counts, where one takes less than SHORT seconds; one that takes more than LONG is not repeated.
IN_A_ROW = 5
SHORT, LONG = 1, 20


def timed(job):
    clock = time.perf_counter()
    result = job()
    return time.perf_counter() - clock, result


def pca(x, k):
    return PCA(k, svd_solver="arpack" if sp.issparse(x) else "auto", random_state=0).fit_transform(x)


def write(folder, x):
    """The table as ewca-bench reads it."""
    if not sp.issparse(x):
        file = folder / "table.f64"
        np.ascontiguousarray(x, dtype="<f8").tofile(file)
        return file
    x.indptr.astype("<u8").tofile(folder / "offsets")
    x.indices.astype("<u4").tofile(folder / "positions")
    x.data.astype("<f8").tofile(folder / "values")
    return folder


def ewca_fit(file, shape, k, repeats):
    """The fastest of some fits in one process; PCA's are in one process too."""
    binary = ROOT / "target" / "release" / "ewca-bench"
    words = [binary, file, *shape, k, "perplexity", 5, repeats]
    fit = json.loads(subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout)
    assert fit["termination"] == "converged" and fit["relative_gradient"] <= 1e-6, fit
    return fit | {"seconds": min(fit["seconds"])}


def peers(x):
    """Seconds of UMAP and of openTSNE."""
    import umap
    from openTSNE import TSNE

    clock, few = timed(lambda: pca(x, 50) if min(x.shape) > 50 and x.shape[1] > 50 else np.asarray(x))
    two = [lambda: umap.UMAP(n_jobs=os.cpu_count()).fit_transform(few), lambda: TSNE(n_jobs=os.cpu_count(), random_state=0).fit(few)]
    return [clock + timed(job)[0] for job in two]


def seconds(s):
    return f"{1e3 * s:.1f} ms" if s < 0.1 else f"{s:.2f} s" if s < 10 else f"{s:.0f} s"


def measured(name, repeats):
    title, make, k, cells = TABLES[name]
    x = make()
    theirs, fits = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = write(pathlib.Path(folder), x)
        for _ in range(repeats):
            theirs += [timed(lambda: pca(x, k))[0] for _ in range(IN_A_ROW)]
            fits.append(ewca_fit(file, x.shape, k, 1))
            if fits[-1]["seconds"] < SHORT:
                fits.append(ewca_fit(file, x.shape, k, IN_A_ROW))
            if fits[-1]["seconds"] > LONG:
                break
    base, best = min(theirs), min(fits, key=lambda fit: fit["seconds"])
    total = best["seconds"]
    share = lambda part: f"{100 * part / total:.0f}%"  # noqa: E731
    parts = [best["reduction"], best["kernel"], best["iterating"] + best["finish"] - best["kernel"]]
    others = [seconds(s) for s in peers(x)] if cells else ["", ""]
    counts = [best["kernel_passes"], f"{100 * best['kernel_share']:.0f}%"]
    parts = [share(part) for part in [*parts, total - sum(parts), best["finish"]]]
    line = row(title, k, seconds(base), seconds(total), f"{total / base:.2g}", *others, *counts, *parts)
    print(line, flush=True)
    return line, best["simd"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="fits by ewca and by PCA (default 3; one where a fit takes more than 20 s)")
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    args = parser.parse_args()
    subprocess.run(["cargo", "build", "--release", "-q", "--locked", "-p", "ewca-bench"], cwd=ROOT, check=True)
    import openTSNE
    import sklearn
    import umap

    umap.UMAP().fit_transform(np.random.default_rng(0).normal(size=(500, 10)))  # compiles
    only = "" if set(args.only) == set(TABLES) else " --only " + " ".join(args.only)
    heads = ["data", "k", "PCA", "EWCA", "ratio", "UMAP", "openTSNE", "passes", "pairs", "reduction", "kernel", "algebra", "before", "finish"]
    lines = []
    for name in args.only:
        line, simd = measured(name, args.repeats)
        lines.append(line)
        missing = [TABLES[name][0] for name in TABLES if name not in args.only[: len(lines)]]
        text = [
            "# The price of a fit",
            "",
            f"Made by `python3 bench/price.py --repeats {args.repeats}{only}` (`cargo xtask bench` runs it) on {os.cpu_count()} cores ({simd}), Python",
            f"{platform.python_version()}, scikit-learn {sklearn.__version__}, umap-learn {umap.__version__}, openTSNE {openTSNE.__version__}, NumPy {np.__version__}. The machine",
            "is shared: read ratios." + (f" Not measured here: {'; '.join(missing)}." if missing else ""),
            "",
            "Whole fits at the default perplexity, 5, to a relative gradient of 1e-6, from raw numbers to the certificate, beside scikit-learn's",
            "`PCA(k).fit_transform` (arpack where the table is sparse). UMAP and openTSNE begin with 50 principal components where there are more",
            "features, and their time has that of these in it. Pairs: the part of all pairs of samples that passes went over. Then the shares of",
            "EWCA's time: the reduction, the kernel, algebra, what comes before the first iteration (checks, a fit of fewer samples); and of kernel",
            "and algebra together, the finish.",
            "",
            row(*heads),
            row(*["---"] * len(heads)),
            *lines,
            "",
        ]
        # After every row: the last ones take long.
        (HERE / "PRICE.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
