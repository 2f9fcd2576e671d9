"""Quick start: EWCA compared with PCA on three groups of points, and the plan: how strongly points are matched with each other."""

import os
import pathlib

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import ewca
import ewca.plot

GALLERY = pathlib.Path(os.environ.get("EWCA_GALLERY", "docs/gallery"))

# Three groups that differ in two of ten directions.
rng = np.random.default_rng(1)
groups = np.repeat(["a", "b", "c"], 40)
centres = {"a": (0, 0), "b": (5, 0), "c": (2.5, 4.5)}
X = rng.normal(size=(120, 10))
X[:, 1:3] += [centres[g] for g in groups]

model = ewca.EWCA(n_components=2, perplexity=10).fit(X)
print(f"epsilon {model.epsilon_:.3g}, {100 * model.explained_variance_ratio_.sum():.0f}% of the variance")
print("converged:", model.certificate_.converged)

# The share of each sample's mass that stays within its group.
plan = model.transport_plan()
same = groups[:, None] == groups[None]
print(f"{100 * plan[same].sum():.0f}% of the mass stays within its group")

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
scores = PCA(2).fit_transform(X)
for name in "abc":
    axes[0].scatter(*scores[groups == name].T, s=33, linewidths=0)
axes[0].set(title="PCA", xlabel="pca0", ylabel="pca1")
axes[0].spines[["top", "right"]].set_visible(False)
ewca.plot.embedding(model, groups, ax=axes[1]).set_title("EWCA, with the strongest partners")
ewca.plot.plan(model, groups, ax=axes[2]).set_title("The plan")
GALLERY.mkdir(parents=True, exist_ok=True)
figure.savefig(GALLERY / "quick_start.png", dpi=80)
