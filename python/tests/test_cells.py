"""EWCA on AnnData: every entry that it writes, recomputed. (test_scanpy.py goes through a whole analysis.)"""

import anndata
import numpy as np
import pytest
import recomputed
import scipy.sparse

import ewca
import ewca.scanpy
from ewca import EWCA

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def adata(blobs):
    return anndata.AnnData(blobs[0].copy())


@pytest.fixture(scope="module")
def model(blobs):
    return EWCA(3, epsilon=2.0, tol=1e-5, random_state=0).fit(blobs[0])


def fitted(adata, **words):
    return ewca.scanpy.ewca(adata, 3, epsilon=2.0, tol=1e-5, **words)


def test_everything_is_written(adata, model):
    assert fitted(adata, n_neighbors=6) is None
    np.testing.assert_array_equal(adata.obsm["X_ewca"], model.embedding_)
    np.testing.assert_array_equal(adata.varm["EWCs"], model.components_.T)
    plan = adata.obsp["ewca_plan"]
    assert isinstance(plan, scipy.sparse.csr_matrix)
    np.testing.assert_array_equal(plan.toarray(), model.plan_graph(6).toarray())
    told = adata.uns["ewca"]
    np.testing.assert_array_equal(told.pop("variance"), model.explained_variance_)
    np.testing.assert_array_equal(told.pop("variance_ratio"), model.explained_variance_ratio_)
    certificate = model.certificate_
    assert told == {
        "version": ewca.__version__,
        "params": {"n_comps": 3, "use_highly_variable": False, "solver": "lbfgs", "tol": 1e-5},
        "epsilon": 2.0,
        "perplexity": model.perplexity_,
        "loss": model.loss_,
        "termination": "converged",
        "marginal_error": certificate.marginal_error,
        "relative_gradient": certificate.relative_gradient,
        "collapsed": False,
    }
    assert set(adata.obsm) == {"X_ewca"} and set(adata.varm) == {"EWCs"} and set(adata.obsp) == {"ewca_plan"} and set(adata.uns) == {"ewca"}


def test_copies(adata, model):
    made = fitted(adata, copy=True)
    assert "X_ewca" not in adata.obsm and "ewca" not in adata.uns
    np.testing.assert_array_equal(made.obsm["X_ewca"], model.embedding_)
    assert made.obsp["ewca_plan"].nnz == 15 * 90


def test_progress(adata, capsys):
    fitted(adata)
    assert capsys.readouterr().err == ""
    fitted(adata, verbose=1)
    assert "EWCA" in capsys.readouterr().err


def test_layers(adata, model):
    adata.layers["twice"] = 2 * adata.X
    ewca.scanpy.ewca(adata, 3, epsilon=8.0, layer="twice", solver="lbfgs")
    np.testing.assert_allclose(adata.obsm["X_ewca"], 2 * model.embedding_, atol=1e-3)
    assert adata.uns["ewca"]["params"] == {"n_comps": 3, "layer": "twice", "use_highly_variable": False, "solver": "lbfgs", "tol": 1e-6}


def test_other_names(adata):
    fitted(adata, key_added="mine")
    assert set(adata.obsm) == {"mine"} and set(adata.varm) == {"mine"} and set(adata.obsp) == {"mine_plan"} and set(adata.uns) == {"mine"}


def test_genes(adata, blobs):
    X, _ = blobs
    chosen = np.arange(12) % 3 != 0
    adata.var["highly_variable"] = chosen
    few, all_of_them = EWCA(3, epsilon=2.0, tol=1e-5).fit(X[:, chosen]), EWCA(3, epsilon=2.0, tol=1e-5).fit(X)
    for asked, fit, mask in [(None, few, chosen), (True, few, chosen), (False, all_of_them, np.ones(12, dtype=bool))]:
        made = fitted(adata, use_highly_variable=asked, copy=True)
        np.testing.assert_array_equal(made.obsm["X_ewca"], fit.embedding_)
        np.testing.assert_array_equal(made.varm["EWCs"][mask], fit.components_.T)
        assert (made.varm["EWCs"][~mask] == 0).all()
        assert made.uns["ewca"]["params"]["use_highly_variable"] is (fit is few)
    # Marks as they come from files.
    adata.var["highly_variable"] = chosen.astype(int)
    np.testing.assert_array_equal(fitted(adata, copy=True).obsm["X_ewca"], few.embedding_)
    del adata.var["highly_variable"]
    with pytest.raises(ValueError, match="adata.var has no 'highly_variable'"):
        fitted(adata, use_highly_variable=True)


def test_approximate_fits_say_so(blobs):
    adata = anndata.AnnData(np.random.default_rng(0).normal(size=(200, 4)) * [4, 3, 1, 1])
    ewca.scanpy.ewca(adata, 2, epsilon=20.0, landmarks=150)
    near = EWCA(2, epsilon=20.0, landmarks=150, random_state=0).fit(adata.X).certificate_.approximation
    assert adata.uns["ewca"]["approximate_landmarks"] == 150
    assert adata.uns["ewca"]["approximate_marginal_error"] == near.marginal_error


def test_what_is_written_can_be_saved(adata, tmp_path):
    fitted(adata)
    ewca.scanpy.plan_as_neighbors(adata)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns["ewca"]["epsilon"] == 2.0
    np.testing.assert_array_equal(again.obsp["connectivities"].toarray(), adata.obsp["connectivities"].toarray())


def links_of(scores, epsilon, n_neighbors):
    """UMAP's union of strengths, from the plan."""
    n = len(scores)
    plan = recomputed.sinkhorn(scores, np.full(n, 1 / n), epsilon)
    strength = np.zeros((n, n))
    for i in range(n):
        nearest = np.argsort(-plan[i])[:n_neighbors]
        strength[i, nearest] = plan[i, nearest]
    np.fill_diagonal(strength, 0)
    strength /= strength.max(axis=1, keepdims=True)
    strength[strength < 1e-6] = 0
    return strength + strength.T - strength * strength.T


@pytest.mark.parametrize(("epsilon", "n_neighbors"), [(2.0, 8), (0.3, 30)])
def test_the_plan_as_neighbours(adata, epsilon, n_neighbors):
    ewca.scanpy.ewca(adata, 2, epsilon=epsilon)
    assert ewca.scanpy.plan_as_neighbors(adata, n_neighbors) is None
    scores = adata.obsm["X_ewca"]
    links, lengths = adata.obsp["connectivities"], adata.obsp["distances"]
    assert isinstance(links, scipy.sparse.csr_matrix) and links.dtype == np.float32
    expected = links_of(scores, epsilon, n_neighbors)
    np.testing.assert_allclose(links.toarray(), expected, atol=1e-5)
    # Nothing is stored that is no link.
    assert links.nnz == (expected > 0).sum() == lengths.nnz and links.data.min() > 0
    assert isinstance(lengths, scipy.sparse.csr_matrix)
    distances = np.sqrt(recomputed.costs(scores))
    np.testing.assert_allclose(lengths.toarray(), np.where(expected > 0, distances, 0), atol=1e-9)
    assert adata.uns["neighbors"] == {
        "connectivities_key": "connectivities",
        "distances_key": "distances",
        "params": {"n_neighbors": n_neighbors, "method": "umap", "metric": "euclidean", "use_rep": "X_ewca", "random_state": 0},
    }


def test_neighbours_under_other_names(adata):
    fitted(adata, key_added="mine")
    made = ewca.scanpy.plan_as_neighbors(adata, key="mine", key_added="near", copy=True)
    assert set(adata.obsp) == {"mine_plan"} and set(adata.uns) == {"mine"}
    assert set(made.obsp) == {"mine_plan", "near_connectivities", "near_distances"}
    assert made.uns["near"]["connectivities_key"] == "near_connectivities" and made.uns["near"]["distances_key"] == "near_distances"
    assert made.uns["near"]["params"]["use_rep"] == "mine" and made.uns["near"]["params"]["n_neighbors"] == 15
    np.testing.assert_allclose(made.obsp["near_connectivities"].toarray(), links_of(made.obsm["mine"], 2.0, 15), atol=1e-5)


def test_neighbours_need_a_fit(adata):
    with pytest.raises(KeyError, match=r"no obsm\['X_ewca'\] with uns\['ewca'\]: run ewca.scanpy.ewca first"):
        ewca.scanpy.plan_as_neighbors(adata)
    fitted(adata)
    with pytest.raises(ValueError, match="n_neighbors is 1: it must be at least 2"):
        ewca.scanpy.plan_as_neighbors(adata, 1)
    ewca.scanpy.plan_as_neighbors(adata, 2)
    assert adata.obsp["connectivities"].getnnz(axis=1).min() >= 1
    for place, key in [(adata.obsm, "X_ewca"), (adata.uns, "ewca")]:
        kept = place.pop(key)
        with pytest.raises(KeyError, match="run ewca.scanpy.ewca first"):
            ewca.scanpy.plan_as_neighbors(adata)
        place[key] = kept


def test_a_cell_far_from_all_has_no_links(adata):
    fitted(adata)
    scores = adata.obsm["X_ewca"].copy()
    scores[-1] = 1e5
    adata.obsm["X_ewca"] = scores
    ewca.scanpy.plan_as_neighbors(adata, 8)
    links = adata.obsp["connectivities"].toarray()
    assert np.isfinite(links).all() and not links[-1].any() and not links[:, -1].any()
    assert (links[:-1].max(axis=1) == 1).all() and adata.obsp["distances"].shape == (90, 90)
