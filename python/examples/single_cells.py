"""Single cells with scanpy: EWCA instead of PCA, and its plan instead of a nearest-neighbour graph."""

import os
import pathlib
import warnings

import matplotlib.pyplot as plt
import scanpy as sc
from sklearn.metrics import adjusted_rand_score

import ewca.plot
import ewca.scanpy

warnings.simplefilter("ignore")  # scanpy and anndata warn of their own future
GALLERY = pathlib.Path(os.environ.get("EWCA_GALLERY", "docs/gallery"))

# 700 blood cells, normalised; the file ships with scanpy.
adata = sc.datasets.pbmc68k_reduced()
ewca.scanpy.ewca(adata, n_comps=20, perplexity=30)
ewca.scanpy.plan_as_neighbors(adata, n_neighbors=30)
sc.tl.leiden(adata, flavor="igraph", n_iterations=2, resolution=0.8, key_added="clusters")
sc.tl.umap(adata, random_state=0)

agreement = adjusted_rand_score(adata.obs["bulk_labels"], adata.obs["clusters"])
print(f"{adata.obs['clusters'].nunique()} clusters, adjusted Rand index with the known types {agreement:.2f}")

figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
for ax, key, title in [(axes[0], "bulk_labels", "UMAP of the plan: known types"), (axes[1], "clusters", "Leiden clusters of the plan")]:
    names = adata.obs[key].cat.categories
    for at, name in enumerate(names):
        points = adata.obsm["X_umap"][adata.obs[key] == name]
        ax.scatter(*points.T, s=9, linewidths=0, color=plt.get_cmap("tab10" if len(names) <= 10 else "tab20")(at), label=name)
    ax.set(title=title, xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.legend(frameon=False, fontsize=7.5, markerscale=2, loc="center left", bbox_to_anchor=(1, 0.5), handletextpad=0.1)
ax = axes[2]
ratio = 100 * adata.uns["ewca"]["variance_ratio"]
ax.bar(range(len(ratio)), ratio)
ax.set_xticks(range(0, len(ratio), 5))
ax.set(title="Explained variance", xlabel="component", ylabel="percent")
ax.spines[["top", "right"]].set_visible(False)
GALLERY.mkdir(parents=True, exist_ok=True)
figure.savefig(GALLERY / "single_cells.png", dpi=80)
