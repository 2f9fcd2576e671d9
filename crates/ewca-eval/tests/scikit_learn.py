"""Prints, as JSON, what scikit-learn and scipy compute on fixed data: scikit_learn.rs compares."""

import json

import numpy as np
from scipy.stats import PermutationMethod, spearmanr, wilcoxon
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.neighbors import KNeighborsClassifier


def case(data):
    points = data.data
    # Train and test interleave; every third sample is a question.
    test = np.arange(len(points)) % 3 == 1
    nearest = KNeighborsClassifier(1).fit(points[~test], data.target[~test])
    clusters = {}
    for count in (2, 3, 5):
        found = KMeans(count, n_init=50, random_state=0, tol=0, max_iter=1000).fit(points)
        clusters[count] = {
            "labels": found.labels_.tolist(),
            "inertia": found.inertia_,
            "ari": adjusted_rand_score(data.target, found.labels_),
            "silhouette": silhouette_score(points, found.labels_),
        }
    return {
        "points": points.tolist(),
        "classes": data.target.tolist(),
        "test": np.flatnonzero(test).tolist(),
        "errors": int((nearest.predict(points[test]) != data.target[test]).sum()),
        "silhouette": silhouette_score(points, data.target),
        "clusters": clusters,
    }


def differences():
    random = np.random.default_rng(0)
    for n in (5, 8, 12):
        plain = random.normal(0.4, 1, n)
        yield plain, wilcoxon(plain, method="exact").pvalue
        # Ties: all sign patterns are counted.
        tied = np.where(random.random(n) < 0.4, -1, 1) * random.integers(1, 5, n).astype(float)
        yield tied, wilcoxon(tied, method=PermutationMethod(n_resamples=np.inf)).pvalue
    large = random.normal(0.3, 1, 37)
    yield large, wilcoxon(large, method="exact").pvalue


def correlated(x, y):
    return {"x": x.tolist(), "y": y.tolist(), "rho": float(spearmanr(x, y).statistic)}


print(
    json.dumps(
        {
            "cases": [case(load_iris()), case(load_wine())],
            "spearman": [correlated(load_iris().data[:, i], load_iris().data[:, 2]) for i in (0, 1, 3)],
            "wilcoxon": [{"differences": d.tolist(), "p": float(p)} for d, p in differences()],
        }
    )
)
