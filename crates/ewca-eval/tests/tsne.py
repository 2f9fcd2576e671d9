"""t-SNE by scikit-learn, beside ours: `tsne.py points DIR` writes data, `tsne.py check DIR` judges what tsne.rs made of them."""

import sys
from pathlib import Path

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.datasets import load_digits, load_iris
from sklearn.manifold import TSNE
from sklearn.manifold._t_sne import _joint_probabilities, _kl_divergence
from sklearn.metrics.pairwise import euclidean_distances

PERPLEXITY = {"iris": 20.0, "digits": 30.0}


def read(path):
    return np.loadtxt(path, delimiter=",", ndmin=2)


def check(folder, name):
    points, ours = read(folder / f"{name}.csv"), read(folder / f"{name}-map.csv")
    affinities = read(folder / f"{name}-affinities.csv")
    value = float((folder / f"{name}-divergence.txt").read_text())
    n = len(points)

    distances = euclidean_distances(points, squared=True).astype(np.float32)
    condensed = _joint_probabilities(distances, PERPLEXITY[name], 0)
    # scikit-learn works in single precision and stops its search at an entropy that is off by 1e-5.
    difference = np.abs(squareform(condensed) - affinities).max() / condensed.max()
    assert difference < 1e-4, f"{name}: affinities differ by {difference}"

    theirs, _ = _kl_divergence(ours.ravel(), condensed, 1, n, 2)
    assert abs(theirs - value) < 1e-3 * value, f"{name}: our divergence {value}, scikit-learn's of the same map {theirs}"

    fitted = TSNE(perplexity=PERPLEXITY[name], method="exact", init="pca", random_state=0).fit(points)
    print(f"{name}: divergence {value:.4f}, scikit-learn's own map {fitted.kl_divergence_:.4f}")
    assert value < 1.03 * fitted.kl_divergence_, f"{name}: {value} against {fitted.kl_divergence_}"


folder = Path(sys.argv[2])
if sys.argv[1] == "points":
    np.savetxt(folder / "iris.csv", load_iris().data, delimiter=",")
    np.savetxt(folder / "digits.csv", load_digits().data[:300], delimiter=",")
else:
    for name in PERPLEXITY:
        check(folder, name)
