"""Choosing epsilon: the path from PCA to the collapse, and what labels say about it."""

import os
import pathlib

import matplotlib.pyplot as plt
import numpy as np
import pandas

import ewca
import ewca.plot

GALLERY = pathlib.Path(os.environ.get("EWCA_GALLERY", "docs/gallery"))
DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "khan2001.csv.gz"

table = pandas.read_csv(DATA)
train = table[table["split"] == "train"]
X, y = train.drop(columns=["sample", "split", "class"]).to_numpy(), train["class"].to_numpy()

# Without labels: stay well below the collapse.
path = ewca.path(X, np.geomspace(2, 400, 24), n_components=5)
safe = path.epsilons[~path.collapsed].max()
print(f"5 components do not collapse up to epsilon {safe:.0f} (perplexity {path.perplexities[~path.collapsed].max():.0f})")

# With labels: the paper's protocol.
found = ewca.select(X, y, n_components=[3, 4, 5, 6, 7, 8], epsilons=np.geomspace(2, 200, 15), n_splits=50)
best = found.cells[found.best]
print(f"EWCA's nearest neighbours do best with {best['n_components']} components at epsilon {best['epsilon']:.0f}")
print(f"use {found.method.upper()}: {found.recommended.error:.1f} % wrong with {found.n_components} components")

figure, axes = plt.subplots(1, 3, figsize=(16, 4.4), width_ratios=[1.3, 1, 1], layout="constrained")
ewca.plot.path(path, ax=axes[0]).set_title("From PCA to the collapse (5 components)")
ks = [cell["n_components"] for cell in found.cells]
for key, colour, name in [("pca", "0.5", "PCA"), ("ewca", "C0", "EWCA, epsilon chosen on inner splits")]:
    mean, low, _, high = np.array([cell[key] for cell in found.cells]).T
    axes[1].plot(ks, mean, marker="o", color=colour, label=name)
    axes[1].fill_between(ks, low, high, color=colour, alpha=0.15, linewidth=0)
axes[1].set(title="Error of the nearest neighbour", xlabel="components", ylabel="percent, mean and quartiles", ylim=(0, None))
axes[1].legend(frameon=False)
axes[1].spines[["top", "right"]].set_visible(False)
for cell, colour in zip(found.cells, plt.get_cmap("viridis")(np.linspace(0, 0.9, len(ks)))):
    axes[2].plot(found.epsilons, cell["by_epsilon"], color=colour, label=f"k = {cell['n_components']}")
axes[2].set(title="The same along epsilon", xlabel="epsilon", ylabel="mean error (percent)", xscale="log", ylim=(0, None))
axes[2].legend(frameon=False, ncols=2)
axes[2].spines[["top", "right"]].set_visible(False)
GALLERY.mkdir(parents=True, exist_ok=True)
figure.savefig(GALLERY / "choosing_epsilon.png", dpi=80)
