"""A whole analysis of single cells beside scanpy's own, on the data that ship with it."""

import warnings

import anndata
import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import scanpy as sc

import sklearn.decomposition
import sklearn.neighbors

import ewca
import ewca.scanpy
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cells():
    adata = sc.datasets.pbmc68k_reduced()
    ewca.scanpy.ewca(adata, n_comps=20, perplexity=15)
    return adata


def test_results_are_where_scanpy_looks(cells, tmp_path):
    n, d = cells.shape
    assert cells.obsm["X_ewca"].shape == (n, 20) and cells.varm["EWCs"].shape == (d, 20)
    assert cells.obsp["ewca_plan"].shape == (n, n) and cells.obsp["ewca_plan"].nnz == 15 * n
    assert cells.uns["ewca"]["perplexity"] == pytest.approx(15, rel=8.1e-3)
    assert cells.uns["ewca"]["variance_ratio"].shape == (20,)
    used = cells.var["highly_variable"].to_numpy()
    assert (cells.varm["EWCs"][~used] == 0).all()
    X = cells.X[:, used]
    model = ewca.EWCA(20, perplexity=15, random_state=0).fit(X)
    np.testing.assert_array_equal(cells.obsm["X_ewca"], model.embedding_.astype(np.float32))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(anndata.read_h5ad(tmp_path / "cells.h5ad").obsm["X_ewca"], cells.obsm["X_ewca"])


def test_a_whole_pipeline(cells):
    adata = cells.copy()
    sc.pp.neighbors(adata, use_rep="X_ewca", n_neighbors=15)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, key_added="by_scores")
    sc.tl.umap(adata)
    assert np.isfinite(adata.obsm["X_umap"]).all()
    ewca.scanpy.plan_as_neighbors(adata)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, key_added="by_plan")
    sc.tl.umap(adata)
    assert np.isfinite(adata.obsm["X_umap"]).all() and adata.obsm["X_umap"].shape == (700, 2)
    # As near to the cell types that came with the data as scanpy's own way from PCA.
    sc.pp.pca(adata, n_comps=20)
    sc.pp.neighbors(adata, use_rep="X_pca", n_neighbors=15)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, key_added="by_pca")
    truth = adata.obs["bulk_labels"]
    agreement = {key: adjusted_rand_score(truth, adata.obs[key]) for key in ("by_scores", "by_plan", "by_pca")}
    assert agreement["by_scores"] > 0.85 * agreement["by_pca"], agreement
    assert agreement["by_plan"] > 0.85 * agreement["by_pca"], agreement


def test_the_plan_s_graph_holds_together_at_the_default_perplexity():
    # It broke these cells into 3 components and 20 clusters.
    adata = sc.datasets.pbmc68k_reduced()
    ewca.scanpy.ewca(adata)
    ewca.scanpy.plan_as_neighbors(adata)
    assert connected_components(adata.obsp["connectivities"])[0] == 1
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2)
    assert adata.obs["leiden"].nunique() <= 14
    sc.tl.paga(adata, groups="leiden")
    sc.tl.diffmap(adata)
    assert adata.uns["paga"]["connectivities"].shape[0] == adata.obs["leiden"].nunique() and "X_diffmap" in adata.obsm


def test_the_neighbour_graph_is_sound(cells):
    adata = ewca.scanpy.plan_as_neighbors(cells, n_neighbors=10, key_added="plan", copy=True)
    assert "plan" not in cells.uns and "neighbors" in cells.uns
    links = adata.obsp["plan_connectivities"]
    assert (links != links.T).nnz == 0 and links.diagonal().sum() == 0
    assert 0 < links.data.min() and links.data.max() <= 1
    np.testing.assert_allclose(links.max(axis=1).toarray(), 1)
    # Rows of 9 partners, and those that have the cell as theirs.
    assert links.getnnz(axis=1).min() >= 9
    distances = adata.obsp["plan_distances"]
    rows, columns = distances.nonzero()
    scores = adata.obsm["X_ewca"]
    assert (distances.getnnz(axis=1) == 9).all()
    np.testing.assert_allclose(distances.data, np.linalg.norm(scores[rows] - scores[columns], axis=1), rtol=1e-5)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, neighbors_key="plan")
    # After leaving out cells.
    few = adata[adata.obs["bulk_labels"] != "Dendritic"].copy()
    ewca.scanpy.plan_as_neighbors(few)
    assert few.obsp["connectivities"].shape == (few.n_obs, few.n_obs)


def test_layers_keys_and_genes(cells):
    adata = cells[:, :100].copy()
    adata.layers["other"] = 2 * adata.X
    adata.var["highly_variable"] = np.arange(100) < 50
    other = ewca.scanpy.ewca(adata, 3, layer="other", key_added="twice", use_highly_variable=False, copy=True)
    assert "twice" in other.obsm and "twice" in other.varm and "twice_plan" in other.obsp and "twice" not in adata.obsm
    plain = ewca.EWCA(3).fit(adata.X)
    np.testing.assert_allclose(other.obsm["twice"], 2 * plain.embedding_, atol=1e-3)
    ewca.scanpy.plan_as_neighbors(other, key="twice")
    del adata.var["highly_variable"]
    with pytest.raises(ValueError, match="highly_variable"):
        ewca.scanpy.ewca(adata, 3, use_highly_variable=True)
    with pytest.raises(KeyError, match="run ewca.scanpy.ewca first"):
        ewca.scanpy.plan_as_neighbors(anndata.AnnData(np.ones((3, 3))))


def test_scanpy_draws_it(cells):
    import matplotlib.pyplot as plt

    adata = cells.copy()
    adata.uns["pca"], adata.varm["PCs"] = {"variance_ratio": np.ones(3)}, np.ones((adata.n_vars, 3))
    seen = ewca.scanpy.as_pca(adata)
    plt.close("all")
    sc.pl.pca_variance_ratio(seen, show=False)
    labels = plt.gca().texts
    assert len(labels) == 20
    drawn = np.array([text.get_position()[1] for text in labels])
    np.testing.assert_allclose(drawn, adata.uns["ewca"]["variance_ratio"], rtol=1e-6)
    plt.close("all")
    sc.pl.pca_loadings(seen, components=[1, 2], include_lowest=False, n_points=5, show=False)
    for k, axes in enumerate(plt.gcf().axes):
        # scanpy draws one more than it was asked for.
        best = np.argsort(-adata.varm["EWCs"][:, k])[:5]
        assert [text.get_text() for text in axes.texts[:5]] == list(adata.var_names[best])
    plt.close("all")
    axes = sc.pl.embedding(adata, "X_ewca", color="bulk_labels", show=False)
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), adata.obsm["X_ewca"][:, :2])
    axes = sc.pl.pca(seen, show=False)
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), adata.obsm["X_ewca"][:, :2])
    plt.close("all")
    # Nothing has changed, and nothing was copied.
    assert (adata.uns["pca"]["variance_ratio"] == 1).all() and "X_pca" in cells.obsm and (adata.varm["PCs"] == 1).all()
    assert np.shares_memory(seen.X, adata.X) and seen.raw.shape == adata.raw.shape
    with pytest.raises(KeyError, match="run ewca.scanpy.ewca first"):
        ewca.scanpy.as_pca(adata, key="other")


def test_new_cells_are_ingested(cells):
    known, new = cells[::2].copy(), cells[1::2].copy()
    for adata in (known, new):
        # Of all cells, in a form that ingest does not read.
        del adata.uns["pca"], adata.obsm["X_ewca"], adata.obsm["X_umap"]
    ewca.scanpy.ewca(known)
    ewca.scanpy.plan_as_neighbors(known)
    sc.tl.umap(known)
    ewca.scanpy.transform(new, known)
    truth = new.obs["bulk_labels"].astype(str).to_numpy()
    del new.obs["bulk_labels"]
    sc.tl.ingest(new, known, obs="bulk_labels", embedding_method="umap")
    assert new.obsm["X_umap"].shape == (350, 2) and np.isfinite(new.obsm["X_umap"]).all()
    ours = (new.obs["bulk_labels"].astype(str) == truth).mean()
    # As good as nearest neighbours of PCA.
    pca = sklearn.decomposition.PCA(20).fit(known.X)
    nearest = sklearn.neighbors.KNeighborsClassifier(15).fit(pca.transform(known.X), known.obs["bulk_labels"].astype(str))
    assert ours > nearest.score(pca.transform(new.X), truth) - 0.05
