"""A fit from Python beside scikit-learn's PCA, in one run: `python3 bench/python_price.py` writes bench/PYTHON_PRICE.md.

Run it with a Python that has the ewca wheel and scikit-learn (`cargo xtask python` makes one: target/test-venv/bin/python; install the wheel of
`cargo xtask wheel` into it). Every measurement has a process of its own, since a process never gives back what it took at most. EWCA and PCA
take turns, --repeats times; the table gives the least time of each, and the memory that a fit took beside the data. --only takes names.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent

# Name: title, table, k.
TABLES = {
    "iris": ("iris, 150 x 4", lambda data: data.iris(), 2),
    "digits": ("digits, 1797 x 64", lambda data: data.digits(), 10),
    "wide": ("200 x 20,000, six clusters", lambda data: data.clustered(200, 20_000, 6, 7), 5),
    "10k": ("10,000 x 50", lambda data: data.clustered(10_000, 50, 20, 1), 10),
    "5k": ("5000 x 2000", lambda data: data.clustered(5000, 2000, 12, 2), 10),
    "sparse20k": ("sparse 20,000 x 2000, 7%", lambda data: data.cells(20_000, 2000, 12, 0.07, 6), 20),
}
METHODS = ("pca", "ewca")
IMPORTS = {"import numpy": "numpy", "import ewca": "ewca", "import sklearn.decomposition": "sklearn.decomposition", "from ewca import EWCA": "ewca._estimator"}


def peak():
    """The most memory that this process ever had, in bytes."""
    import resource

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(name, method):
    """One fit, in this process: its seconds, and the bytes that it took beside the data."""
    sys.path.insert(0, str(HERE))
    import numpy as np
    import scipy.sparse as sp
    from sklearn.decomposition import PCA

    import data
    import ewca

    _, make, k = TABLES[name]
    x = make(data)
    solver = "arpack" if sp.issparse(x) else "auto"
    models = {"pca": lambda: PCA(k, svd_solver=solver, random_state=0), "ewca": lambda: ewca.EWCA(k)}
    # What is loaded and started at the first fit is not what a fit costs.
    models[method]().set_params(n_components=2).fit(np.random.default_rng(0).normal(size=(50, 3)))
    before = peak()
    clock = time.perf_counter()
    model = models[method]().fit(x)
    seconds = time.perf_counter() - clock
    grown = peak() - before
    if method == "ewca":
        assert model.certificate_.converged, model.certificate_
    size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes if sp.issparse(x) else x.nbytes
    print(json.dumps({"seconds": seconds, "bytes": grown, "data": size}))


def in_its_own_process(*words):
    return json.loads(subprocess.run([sys.executable, __file__, *words], check=True, capture_output=True, text=True).stdout)


def import_seconds(module, repeats):
    """The median time of an import in a fresh process, without that of Python itself."""
    code = f"import time; clock = time.perf_counter(); import {module}; print(time.perf_counter() - clock)"
    return statistics.median(float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) for _ in range(repeats))


def seconds(s):
    return f"{1e3 * s:.1f} ms" if s < 0.1 else f"{s:.2f} s" if s < 10 else f"{s:.0f} s"


def megabytes(b):
    return f"{b / 1e6:.1f} MB" if b < 1e7 else f"{b / 1e6:.0f} MB"


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def compared(name, repeats):
    title, _, k = TABLES[name]
    found = {method: [] for method in METHODS}
    for _ in range(repeats):
        for method in METHODS:
            found[method].append(in_its_own_process("--measure", name, method))
    best = {method: min(f["seconds"] for f in found[method]) for method in METHODS}
    grown = {method: min(f["bytes"] for f in found[method]) for method in METHODS}
    size = found["pca"][0]["data"]
    return row(
        title,
        k,
        megabytes(size),
        seconds(best["pca"]),
        seconds(best["ewca"]),
        f"{best['ewca'] / best['pca']:.2g}",
        megabytes(grown["pca"]),
        megabytes(grown["ewca"]),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="how often EWCA and PCA take turns (default 5)")
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "PYTHON_PRICE.md")
    parser.add_argument("--measure", nargs=2, metavar=("TABLE", "METHOD"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(*args.measure)
        return
    import numpy as np
    import sklearn

    only = "" if set(args.only) == set(TABLES) else " --only " + " ".join(args.only)
    heads = ["data", "k", "size", "PCA", "EWCA", "ratio", "memory of PCA", "memory of EWCA"]
    imports = [row(f"`{words}`", seconds(import_seconds(module, 2 * args.repeats + 1))) for words, module in IMPORTS.items()]
    lines = []
    for name in args.only:
        lines.append(compared(name, args.repeats))
        print(lines[-1], flush=True)
        missing = [TABLES[name][0] for name in TABLES if name not in args.only[: len(lines)]]
        text = [
            "# The price of a fit from Python",
            "",
            f"Made by `python3 bench/python_price.py --repeats {args.repeats}{only}` on {os.cpu_count()} cores, Python {platform.python_version()},",
            f"NumPy {np.__version__}, scikit-learn {sklearn.__version__}. The machine is shared: read ratios." + (f" Not measured here: {'; '.join(missing)}." if missing else ""),
            "",
            "`ewca.EWCA(k).fit(X)`, at the default perplexity, to a relative gradient of 1e-6, beside scikit-learn's `PCA(k).fit(X)` (arpack where",
            "the table is sparse). The two take turns, each fit in a process of its own, after a first fit of something small; the least time of each.",
            "Memory is what the peak of the process grows by during the fit, beside the data; results are in it.",
            "",
            row(*heads),
            row(*["---"] * len(heads)),
            *lines,
            "",
            "Imports, each in a fresh process, without the start of Python itself (medians). `import ewca` needs NumPy alone; the estimator",
            "brings scikit-learn.",
            "",
            row("import", "time"),
            row("---", "---"),
            *imports,
            "",
        ]
        # After every row: the last ones take long.
        args.output.write_text("\n".join(text))


if __name__ == "__main__":
    main()
