"""A whole analysis of single cells beside scanpy's own, on the data that ship with it."""

import warnings

import anndata
import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import scanpy as sc

import ewca
import ewca.scanpy
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
    assert cells.uns["ewca"]["perplexity"] == pytest.approx(15, rel=5e-3)
    assert cells.uns["ewca"]["variance_ratio"].shape == (20,)
    used = cells.var["highly_variable"].to_numpy()
    assert (cells.varm["EWCs"][~used] == 0).all()
    X = cells.X[:, used]
    model = ewca.EWCA(20, perplexity=15, random_state=0).fit(X)
    np.testing.assert_array_equal(cells.obsm["X_ewca"], model.embedding_)
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
    assert agreement["by_plan"] > 0.7 * agreement["by_pca"], agreement


def test_the_neighbour_graph_is_sound(cells):
    adata = ewca.scanpy.plan_as_neighbors(cells, n_neighbors=10, key_added="plan", copy=True)
    assert "plan" not in cells.uns and "neighbors" in cells.uns
    links = adata.obsp["plan_connectivities"]
    assert (links != links.T).nnz == 0 and links.diagonal().sum() == 0
    assert 0 < links.data.min() and links.data.max() <= 1
    np.testing.assert_allclose(links.max(axis=1).toarray(), 1)
    # Rows of 9 partners, and those that have the cell as theirs; only partners without any mass worth the name are missing.
    assert np.median(links.getnnz(axis=1)) >= 9
    distances = adata.obsp["plan_distances"]
    rows, columns = distances.nonzero()
    scores = adata.obsm["X_ewca"]
    np.testing.assert_allclose(distances.data, np.linalg.norm(scores[rows] - scores[columns], axis=1))
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
