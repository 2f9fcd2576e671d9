"""The tables that benchmarks share."""

import csv
import gzip
import pathlib

import numpy as np
import scipy.sparse as sp


def khan():
    """khan2001, the 63 samples to learn from, and their classes."""
    with gzip.open(pathlib.Path(__file__).resolve().parent.parent / "data" / "khan2001.csv.gz", "rt") as file:
        rows = [row for row in csv.reader(file) if row[1] == "train"]
    return np.array([[float(x) for x in row[3:]] for row in rows]), np.array([row[2] for row in rows])


def wide(apart=0.5):
    """151 x 54675, six classes that are so far apart."""
    rng = np.random.default_rng(0)
    centres = apart * rng.normal(size=(6, 54675))
    return 8 + centres[rng.integers(0, 6, 151)] + rng.normal(size=(151, 54675))


def tall():
    """2000 x 50, twenty clusters."""
    return clustered(2000, 50, 20, 1)


def clustered(samples, features, clusters, seed):
    """Clusters with noise that falls from feature to feature."""
    rng = np.random.default_rng(seed)
    centres = 2 * rng.normal(size=(clusters, features))
    noise = rng.normal(size=(samples, features)) / (1 + np.arange(features) / 5)
    return centres[rng.integers(0, clusters, samples)] + noise


def cells(samples, genes, types, density, seed):
    """Counts of genes in cells of some types, so dense, as single-cell work has them: scaled to the median depth, and log(1 + x) of them; sparse."""
    rng = np.random.default_rng(seed)
    base = rng.lognormal(0, 1.2, size=genes)
    marked = [base * np.exp(rng.normal(0, 1.2, size=genes) * (rng.random(genes) < 0.1)) for _ in range(types)]
    profiles = np.stack([profile / profile.sum() for profile in marked])
    kinds, depths = rng.integers(0, types, samples), rng.lognormal(0, 0.35, size=samples)
    some = profiles[kinds[:500]] * depths[:500, None]
    low, high = 1.0, 1e5
    for _ in range(40):  # the depth that gives the density
        depth = np.sqrt(low * high)
        low, high = (depth, high) if (1 - np.exp(-depth * some)).mean() < density else (low, depth)
    parts = []
    for start in range(0, samples, 2000):
        part = slice(start, min(start + 2000, samples))
        mean = depth * profiles[kinds[part]] * depths[part, None]
        parts.append(sp.csr_matrix(rng.poisson(mean * rng.gamma(4, 0.25, size=mean.shape)).astype(float)))
    x = sp.vstack(parts).tocsr()
    totals = np.maximum(np.asarray(x.sum(1)).ravel(), 1)
    x = (sp.diags(np.median(totals) / totals) @ x).tocsr()
    x.sort_indices()
    x.data = np.log1p(x.data)
    return x


def iris():
    from sklearn.datasets import load_iris

    return load_iris().data


def digits():
    from sklearn.datasets import load_digits

    return load_digits().data


def pbmc():
    """scanpy's pbmc68k_reduced: 700 cells, 765 genes."""
    import scanpy

    return np.asarray(scanpy.datasets.pbmc68k_reduced().X, dtype=float)
