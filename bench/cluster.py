"""Fits that 1, 2 and 4 processes share, beside the model of their time: `python3 bench/cluster.py` writes bench/CLUSTER.md.

Every process has one thread. Made data: samples in 20 clusters (50 features, 10 components, perplexity 30), all pairs computed, no start with
fewer samples. The model has three constants, which are measured in the same run: the time of a pair on one core, from one process; the time
to move a number between processes, from fits so small that little else takes time; and what does not share.

Build first: `cargo build --release -p ewca-cli --features mpi`. Needs Open MPI and NumPy.
"""

import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "release" / "ewca"
ENV = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
D, K = 50, 10


def table(folder, n):
    noise = np.random.default_rng(n)
    axes = noise.normal(size=(12, D)) / D**0.5
    centres = 4 * noise.normal(size=(20, 12)) @ axes
    np.save(folder / f"{n}.npy", centres[np.arange(n) % 20] + noise.normal(size=(n, D)))


def fit(folder, n, processes, default=False):
    words = ["mpirun", "-n", processes, BINARY, "fit", f"{n}.npy", "-k", K, "--perplexity", 30, "--distributed", "--threads", 1, "-o", "out", "-q"]
    if not default:
        words += ["--all-pairs", "--no-coarse-start"]
    subprocess.run([str(w) for w in words], cwd=folder, env=ENV, check=True, capture_output=True)
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["converged"]
    return summary["seconds"]["iterations"] + summary["seconds"]["finish"], summary["kernel_passes"]


def main():
    cores = os.cpu_count()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sizes = (4000, 8000, 16_000)
        for n in sizes:
            table(folder, n)
        times = {(n, p): min(fit(folder, n, p) for _ in range(2)) for n in sizes for p in (1, 2, 4)}
    # The last pass is for M, with all d columns: counted as one of (K + D) / K more work would be; small beside some fifty.
    n = sizes[-1]
    pair = times[n, 1][0] / times[n, 1][1] / (n * n / 2)
    # What is left of the smallest fit by 2 processes, per number that moves: twice n (k + 1) in and out, in every pass.
    small = sizes[0]
    seconds, passes = times[small, 2]
    left = max(seconds / passes - pair * small * small / 2 / min(2, cores), 0)
    number = left / (2 * small * (K + 1))
    lines = []
    for n in sizes:
        for p in (1, 2, 4):
            seconds, passes = times[n, p]
            moved = 2 * n * (K + 1) * number * (p > 1) * max(1, p / cores)
            model = passes * (pair * n * n / 2 / min(p, cores) + moved)
            lines.append(f"| {n:,} | {p} | {seconds:.2f} s | {passes} | {times[n, 1][0] / seconds:.2f} | {model:.2f} s | {seconds / model:.2f} |")
            print(lines[-1], flush=True)
    (HERE / "CLUSTER.md").write_text(f"""# Fits that processes share

Made by `python3 bench/cluster.py` on {cores} cores of a shared machine: d = {D}, k = {K}, perplexity 30, 20 clusters, all pairs computed; one thread per
process, so that 4 processes share {cores} cores; the better of two runs, without reading and reduction.

The model of a fit by P processes with c cores in all, s the share of pairs that is computed:

    T = passes * (t_pair * s * n^2 / (2 c) + 2 n (k + 1) * t_number)

with t_pair = {1e9 * pair:.2f} ns (one core, from one process at n = {sizes[-1]:,}) and t_number = {1e9 * number:.1f} ns (memory of this machine, from 2 processes at
n = {small:,}; beyond {cores} processes they take turns). The other rows are predictions.

| n | processes | time | passes | speed-up | model | time / model |
|---|---|---|---|---|---|---|
""" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
