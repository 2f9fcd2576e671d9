"""What the way it was built costs: processor seconds of whole commands, by several programs in turn.

    python bench/programs.py before=OLD/ewca now=target/release/ewca shipped=target/shipped/ewca

The least of 5 runs, the programs one after the other in each round. "Read" is a fit of one iteration, of the same 5000 x 500 numbers in
each format; needs h5py, hdf5plugin, pandas and pyarrow. Prints a table for bench/BUILD.md.
"""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import hdf5plugin
import numpy as np
import pandas as pd

ROUNDS = 5
READ = "-k 2 --epsilon 1 --max-iterations 1 --allow-unconverged --threads 1 -q".split()


def main() -> None:
    programs = dict(word.split("=", 1) for word in sys.argv[1:])
    if not programs:
        sys.exit(__doc__)
    programs = {name: str(pathlib.Path(path).resolve()) for name, path in programs.items()}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        jobs = {"`ewca demo`": ["demo"], **{f"read {name}": ["fit", file, *READ] for name, file in tables().items()}}
        jobs["fit, k = 5"] = "fit x.npy -k 5 --threads 1 -q".split()
        jobs["fit, k = 3"] = "fit x.npy -k 3 --perplexity 100 --tolerance 1e-8 --threads 1 -q".split()
        jobs["`ewca inspect` of the .csv"] = ["inspect", "x.csv"]
        print(f"| | {' | '.join(programs)} |\n|---|{'---|' * len(programs)}")
        for name, words in jobs.items():
            least = dict.fromkeys(programs, float("inf"))
            for _ in range(ROUNDS):
                for program, path in programs.items():
                    least[program] = min(least[program], seconds([path, *words]))
            print(f"| {name} | {' | '.join(f'{time:.2f}' for time in least.values())} |", flush=True)


def tables() -> "dict[str, str]":
    """The same numbers in each format: its name, and the file."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(5, 500))
    x = centres[rng.integers(0, 5, size=5000)] + rng.normal(size=(5000, 500))
    np.save("x.npy", x)
    frame = pd.DataFrame(x, columns=[f"f{at}" for at in range(500)])
    frame.to_csv("x.csv", index=False)
    pathlib.Path("x.csv.gz").write_bytes(gzip.compress(pathlib.Path("x.csv").read_bytes(), 6))
    frame.to_parquet("snappy.parquet", compression="snappy")
    frame.to_parquet("zstd.parquet", compression="zstd")
    frame.to_feather("zstd.feather", compression="zstd")
    filters = {"gzip": {"compression": "gzip"}, "zstd": dict(hdf5plugin.Zstd()), "lzf": {"compression": "lzf"}}
    for name, options in filters.items():
        with h5py.File(f"{name}.h5ad", "w") as file:
            file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
            file.create_dataset("X", data=x, chunks=(500, 500), **options).attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
            for axis, count, start in (("obs", 5000, "s"), ("var", 500, "f")):
                group = file.create_group(axis)
                group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
                group.attrs["column-order"] = np.array([], dtype="S1")
                group.create_dataset("_index", data=[f"{start}{at}" for at in range(count)]).attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
    return {
        ".npy": "x.npy", ".csv": "x.csv", ".csv.gz": "x.csv.gz",
        ".parquet (snappy)": "snappy.parquet", ".parquet (zstd)": "zstd.parquet", ".feather (zstd)": "zstd.feather",
        ".h5ad (gzip)": "gzip.h5ad", ".h5ad (zstd)": "zstd.h5ad", ".h5ad (LZF)": "lzf.h5ad",
    }  # fmt: skip


def seconds(words: "list[str]") -> float:
    """Processor seconds of a command, which must end well."""
    before = os.times()
    done = subprocess.run([*words, "-o", "out"] if words[1] != "inspect" else words, capture_output=True, text=True)
    after = os.times()
    if done.returncode:
        sys.exit(f"{words}: {done.stderr}")
    subprocess.run(["rm", "-rf", "out"], check=True)
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()
