"""The tables that benchmarks share."""

import csv
import gzip
import pathlib

import numpy as np


def khan():
    """khan2001, the 63 samples to learn from, and their classes."""
    with gzip.open(pathlib.Path(__file__).resolve().parent.parent / "data" / "khan2001.csv.gz", "rt") as file:
        rows = [row for row in csv.reader(file) if row[1] == "train"]
    return np.array([[float(x) for x in row[3:]] for row in rows]), np.array([row[2] for row in rows])


def wide():
    """151 x 54675, six classes."""
    rng = np.random.default_rng(0)
    centres = 0.5 * rng.normal(size=(6, 54675))
    return 8 + centres[rng.integers(0, 6, 151)] + rng.normal(size=(151, 54675))


def tall():
    """2000 x 50, twenty clusters."""
    rng = np.random.default_rng(1)
    centres = 2 * rng.normal(size=(20, 50))
    return centres[rng.integers(0, 20, 2000)] + rng.normal(size=(2000, 50)) / (1 + np.arange(50) / 5)
