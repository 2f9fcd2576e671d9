"""How the time of a fit grows with n, d and k: `python3 bench/growth.py` writes bench/GROWTH.md.

Whole fits at a fixed perplexity of samples in 20 clusters (`many-samples`), all pairs of samples computed and no start with fewer samples
(the most that a fit can take), and once more as they come by default. One of n, d, k grows at a time. Exponents are slopes of a line
through the logarithms, by least squares.

Build first: `cargo build --release -p ewca-bench`.
"""

import json
import math
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "release" / "many-samples"

SERIES = {
    "n": [(n, 50, 10) for n in (5000, 7500, 10_000, 15_000, 20_000, 30_000)],
    "d": [(8000, d, 10) for d in (25, 50, 100, 200, 400)],
    "k": [(8000, 50, k) for k in (2, 4, 6, 8, 10, 12)],
}


def fit(n, d, k, default):
    words = [BINARY, n, d, k, 30, 20, int(default), int(default)]
    runs = [json.loads(subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True).stdout) for _ in range(2)]
    best = min(runs, key=lambda run: run["seconds"])
    assert best["termination"] == "converged", best
    return best


def slope(xs, ys):
    xs, ys = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def main():
    text = f"""# How the time of a fit grows

Made by `python3 bench/growth.py` on {os.cpu_count()} cores of a shared machine: whole fits of samples in 20 clusters at perplexity 30, the better of two
runs. "All pairs": nothing left out, no start with fewer samples. "Reduction" is the Gram product and its eigen-decomposition.

"""
    for name, cases in SERIES.items():
        at = "ndk".index(name)
        text += f"## {name}\n\n| n | d | k | all pairs: time | passes | time of a pass | reduction | default: time | passes | pairs computed |\n"
        text += "|---|---|---|---|---|---|---|---|---|---|\n"
        whole, passes, default = [], [], []
        for case in cases:
            full, usual = fit(*case, False), fit(*case, True)
            one = (full["seconds"] - full["reduction"]) / full["kernel_passes"]
            whole.append(full["seconds"])
            passes.append(one)
            default.append(usual["seconds"])
            line = f"| {case[0]:,} | {case[1]} | {case[2]} | {full['seconds']:.2f} s | {full['kernel_passes']} | {1000 * one:.1f} ms | "
            line += f"{1000 * full['reduction']:.0f} ms | {usual['seconds']:.2f} s | {usual['kernel_passes']} | {100 * usual['kernel_share']:.0f}% |"
            print(line, flush=True)
            text += line + "\n"
        xs = [case[at] for case in cases]
        text += f"\nTime grows as {name}^{slope(xs, whole):.2f} with all pairs (a pass as {name}^{slope(xs, passes):.2f}), "
        text += f"and as {name}^{slope(xs, default):.2f} by default.\n\n"
    (HERE / "GROWTH.md").write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
