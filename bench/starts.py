"""How many starts does a small fit need? `python3 bench/starts.py` writes bench/STARTS.md."""

import pathlib
import subprocess
import tempfile

import compare  # noqa: F401  (enters the venv)
import data

ROOT = pathlib.Path(__file__).resolve().parent.parent

AFTER = """
A fit makes the starts of the second row where there are at most 1000 samples, and the first beyond. More would be better on data
without structure, but each random start costs about as many passes as a fit from PCA (by the last column). `--restarts` adds them where the
optimum matters more than the time.
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        x, _ = data.khan()
        file = pathlib.Path(folder) / "khan2001.f64"
        file.write_bytes(x.astype("<f8").tobytes())
        run = ["cargo", "run", "--release", "-q", "-p", "ewca-bench", "--bin", "starts", "--", *map(str, (*x.shape, file))]
        table = subprocess.run(run, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    (ROOT / "bench" / "STARTS.md").write_text(table + AFTER)
    print(table + AFTER)


if __name__ == "__main__":
    main()
