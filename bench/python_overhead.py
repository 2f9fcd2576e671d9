"""What a fit from Python costs beyond the Rust fit: `python3 bench/python_overhead.py` writes bench/PYTHON.md.

Run it with a Python that has the ewca wheel and scikit-learn (`cargo xtask python` makes one: target/test-venv/bin/python; install the wheel of
`cargo xtask wheel` into it, and build with `cargo build --release -p ewca-bench`). Rust and
Python fits of the same matrix alternate; the table gives medians of whole fits and of the differences.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

import numpy as np
import sklearn

import data
import ewca

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BINARY = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "ewca-bench"


def rust_fit(file, X, perplexity, repeats):
    words = [BINARY, file, *X.shape, 5, "perplexity", perplexity, repeats]
    return json.loads(subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout)


def python_fit(X, perplexity, repeats):
    seconds = []
    for _ in range(repeats):
        model = ewca.EWCA(5, perplexity=perplexity)
        clock = time.perf_counter()
        model.fit(X)
        seconds.append(time.perf_counter() - clock)
    return seconds, model


def compare(name, X, perplexity, rounds, repeats):
    rust, python = [], []
    with tempfile.NamedTemporaryFile(suffix=".f64") as file:
        X.astype("<f8").tofile(file.name)
        for _ in range(rounds):
            found = rust_fit(file.name, X, perplexity, repeats)
            seconds, model = python_fit(X, perplexity, repeats)
            assert model.loss_ == found["loss"], "not the same fit"
            rust.append(min(found["seconds"]))
            python.append(min(seconds))
    r, p = statistics.median(rust), statistics.median(python)
    extra = statistics.median(b - a for a, b in zip(rust, python))
    return f"| {name} | {1e3 * r:.2f} ms | {1e3 * p:.2f} ms | {1e3 * extra:+.2f} ms | {100 * extra / r:+.1f}% |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="how often Rust and Python take turns (default 15)")
    args = parser.parse_args()
    lines = [
        "# A fit from Python beside the same fit from Rust",
        "",
        f"Made by `python3 bench/python_overhead.py --rounds {args.rounds}` on {os.cpu_count()} cores, Python {platform.python_version()},",
        f"NumPy {np.__version__}, scikit-learn {sklearn.__version__}. Whole fits, k = 5: `EWCA(5, perplexity=p).fit(X)` against `Params::fit`.",
        "Each round takes the fastest of a few fits of either side; medians over rounds. The machine is shared: read differences.",
        "",
        "| data | Rust | Python | difference | of the fit |",
        "|---|---|---|---|---|",
        compare("khan2001, 63 x 2308, perplexity 5", data.khan()[0], 5, args.rounds, 20),
        compare("151 x 54675 (synthetic), perplexity 10", data.wide(), 10, args.rounds, 5),
        "",
    ]
    print(*lines[-4:], sep="\n")
    (HERE / "PYTHON.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
