"""EWCA on AnnData: every entry that it writes, recomputed. (test_scanpy.py goes through a whole analysis.)"""

import anndata
import numpy as np
import pytest
import recomputed
import scipy.optimize
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
    assert adata.obsm["X_ewca"].dtype == np.float32
    np.testing.assert_array_equal(adata.obsm["X_ewca"], model.embedding_.astype(np.float32))
    np.testing.assert_array_equal(adata.varm["EWCs"], model.components_.T)
    np.testing.assert_array_equal(adata.varm["ewca_mean"], model.mean_[:, np.newaxis])
    plan = adata.obsp["ewca_plan"]
    assert isinstance(plan, scipy.sparse.csr_matrix)
    # SciPy 1.17 refuses indices of another type than offsets.
    assert plan.indices.dtype == plan.indptr.dtype == np.int32
    np.testing.assert_array_equal(plan.toarray(), model.plan_graph(6).toarray())
    told = adata.uns["ewca"]
    np.testing.assert_array_equal(told.pop("variance"), model.explained_variance_)
    np.testing.assert_array_equal(told.pop("variance_ratio"), model.explained_variance_ratio_)
    certificate = model.certificate_
    assert told == {
        "version": ewca.__version__,
        "params": {"n_comps": 3, "zero_center": True, "use_highly_variable": False, "solver": "lbfgs", "tol": 1e-5},
        "epsilon": 2.0,
        "perplexity": model.perplexity_,
        "loss": model.loss_,
        "termination": "converged",
        "marginal_error": certificate.marginal_error,
        "relative_gradient": certificate.relative_gradient,
        "collapsed": False,
    }
    assert set(adata.obsm) == {"X_ewca"} and set(adata.varm) == {"EWCs", "ewca_mean"}
    assert set(adata.obsp) == {"ewca_plan"} and set(adata.uns) == {"ewca"}


def test_copies(adata, model):
    made = fitted(adata, copy=True)
    assert "X_ewca" not in adata.obsm and "ewca" not in adata.uns
    np.testing.assert_array_equal(made.obsm["X_ewca"], model.embedding_.astype(np.float32))
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
    params = {"n_comps": 3, "zero_center": True, "layer": "twice", "use_highly_variable": False, "solver": "lbfgs", "tol": 1e-6}
    assert adata.uns["ewca"]["params"] == params
    with pytest.raises(KeyError, match="adata.layers has no 'other'; it has 'twice'"):
        fitted(adata, layer="other")


def test_other_names(adata):
    fitted(adata, key_added="mine")
    assert set(adata.obsm) == {"mine"} and set(adata.varm) == {"mine", "mine_mean"}
    assert set(adata.obsp) == {"mine_plan"} and set(adata.uns) == {"mine"}


def test_genes(adata, blobs):
    X, _ = blobs
    chosen = np.arange(12) % 3 != 0
    adata.var["highly_variable"] = chosen
    few, all_of_them = EWCA(3, epsilon=2.0, tol=1e-5).fit(X[:, chosen]), EWCA(3, epsilon=2.0, tol=1e-5).fit(X)
    for asked, fit, mask in [(None, few, chosen), (True, few, chosen), (False, all_of_them, np.ones(12, dtype=bool))]:
        made = fitted(adata, use_highly_variable=asked, copy=True)
        np.testing.assert_array_equal(made.obsm["X_ewca"], fit.embedding_.astype(np.float32))
        np.testing.assert_array_equal(made.varm["EWCs"][mask], fit.components_.T)
        assert (made.varm["EWCs"][~mask] == 0).all()
        np.testing.assert_array_equal(made.varm["ewca_mean"][mask, 0], fit.mean_)
        assert np.isnan(made.varm["ewca_mean"][~mask]).all()
        assert made.uns["ewca"]["params"]["use_highly_variable"] is (fit is few)
    # Marks as they come from files.
    adata.var["highly_variable"] = chosen.astype(int)
    np.testing.assert_array_equal(fitted(adata, copy=True).obsm["X_ewca"], few.embedding_.astype(np.float32))
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


def partners_of(scores, epsilon, n_neighbors):
    """Who the strongest partners of each cell are, and how strong, by the logarithms of the plan's entries."""
    n = len(scores)
    plan = recomputed.sinkhorn(scores, np.full(n, 1 / n), epsilon)
    # The diagonal has the potential, and with it entries that are too small for a number have logarithms.
    potential = np.log(n**2 * np.diag(plan)) / 2
    logs = potential[:, np.newaxis] + potential - recomputed.costs(scores) / epsilon
    np.testing.assert_allclose(np.exp(logs) / n**2, plan, rtol=1e-6, atol=1e-300)
    np.fill_diagonal(logs, -np.inf)
    return np.argsort(-logs, axis=1)[:, : n_neighbors - 1], logs


def links_of(scores, epsilon, n_neighbors):
    """UMAP's union of strengths, from the plan: each cell's to the power at which they sum to log2(n_neighbors)."""
    n = len(scores)
    nearest, logs = partners_of(scores, epsilon, n_neighbors)
    strength = np.zeros((n, n))
    for i in range(n):
        steps = logs[i, nearest[i]] - logs[i].max()
        power = scipy.optimize.brentq(lambda power: np.exp(power * steps).sum() - np.log2(n_neighbors), 1e-9, 1e9)
        strength[i, nearest[i]] = np.exp(power * steps)
    return strength + strength.T - strength * strength.T


@pytest.mark.parametrize(("epsilon", "n_neighbors"), [(2.0, 8), (0.3, 30)])
def test_the_plan_as_neighbours(adata, epsilon, n_neighbors):
    ewca.scanpy.ewca(adata, 2, epsilon=epsilon, dtype="float64")
    assert ewca.scanpy.plan_as_neighbors(adata, n_neighbors) is None
    scores = adata.obsm["X_ewca"]
    links, lengths = adata.obsp["connectivities"], adata.obsp["distances"]
    assert isinstance(links, scipy.sparse.csr_matrix) and links.dtype == np.float32
    np.testing.assert_allclose(links.toarray(), links_of(scores, epsilon, n_neighbors), atol=1e-5)
    assert links.data.min() > 0 and links.diagonal().sum() == 0
    # As many distances in each row, as scanpy has them.
    assert isinstance(lengths, scipy.sparse.csr_matrix) and (lengths.getnnz(axis=1) == n_neighbors - 1).all()
    near = np.zeros((90, 90), dtype=bool)
    np.put_along_axis(near, partners_of(scores, epsilon, n_neighbors)[0], True, axis=1)
    np.testing.assert_allclose(lengths.toarray(), np.where(near, np.sqrt(recomputed.costs(scores)), 0), atol=1e-9)
    for matrix in (links, lengths):
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert adata.uns["neighbors"] == {
        "connectivities_key": "connectivities",
        "distances_key": "distances",
        "params": {"n_neighbors": n_neighbors, "method": "umap", "metric": "euclidean", "use_rep": "X_ewca", "random_state": 0},
    }


@pytest.mark.parametrize("perplexity", [1.5, 5, 40])
def test_neighbours_are_as_wide_as_scanpy_s_whatever_the_fit(adata, perplexity):
    # At the default perplexity cells in sparse places had one link that counted, and the graph fell apart.
    ewca.scanpy.ewca(adata, 3, perplexity=perplexity)
    ewca.scanpy.plan_as_neighbors(adata)
    links = adata.obsp["connectivities"]
    # The largest of a cell's own links is 1, and they sum to log2(15); those that others have with it come on top.
    assert (links.max(axis=1).toarray() > 0.999).all() and np.asarray(links.sum(axis=1)).min() > np.log2(15) - 1e-3


def test_neighbours_under_other_names(adata):
    fitted(adata, key_added="mine")
    made = ewca.scanpy.plan_as_neighbors(adata, key="mine", key_added="near", copy=True)
    assert set(adata.obsp) == {"mine_plan"} and set(adata.uns) == {"mine"}
    assert set(made.obsp) == {"mine_plan", "near_connectivities", "near_distances"}
    assert made.uns["near"]["connectivities_key"] == "near_connectivities" and made.uns["near"]["distances_key"] == "near_distances"
    assert made.uns["near"]["params"]["use_rep"] == "mine" and made.uns["near"]["params"]["n_neighbors"] == 15
    scores = made.obsm["mine"].astype(float)
    np.testing.assert_allclose(made.obsp["near_connectivities"].toarray(), links_of(scores, 2.0, 15), atol=1e-5)


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


def test_a_cell_far_from_all_is_linked_with_its_nearest(adata):
    # All its shares but its own are too small for a number.
    fitted(adata)
    scores = adata.obsm["X_ewca"].astype(float)
    scores[-1] = 1e5
    adata.obsm["X_ewca"] = scores
    ewca.scanpy.plan_as_neighbors(adata, 8)
    links, lengths = adata.obsp["connectivities"].toarray(), adata.obsp["distances"]
    assert np.isfinite(links).all() and links[-1].max() == 1 and (lengths.getnnz(axis=1) == 7).all()
    potential = ewca.sinkhorn_self(scores, 2.0).potential
    order = np.argsort(((scores - scores[-1]) ** 2).sum(axis=1)[:-1] - potential[:-1])[:7]
    assert set(lengths[-1].indices) == set(order)


def test_few_cells_and_cells_alike(adata):
    few = adata[:6].copy()
    ewca.scanpy.ewca(few, 2)
    ewca.scanpy.plan_as_neighbors(few)
    assert few.uns["neighbors"]["params"]["n_neighbors"] == 4 and (few.obsp["distances"].getnnz(axis=1) == 3).all()
    fitted(adata)
    adata.obsm["X_ewca"] = np.ones((90, 3), dtype=np.float32)
    ewca.scanpy.plan_as_neighbors(adata)
    # Distances of 0 are stored too.
    assert (adata.obsp["distances"].getnnz(axis=1) == 14).all() and (adata.obsp["connectivities"].data == 1).all()
    adata.obsm["X_ewca"][3, 1] = np.nan
    with pytest.raises(ValueError, match="cells without scores"):
        ewca.scanpy.plan_as_neighbors(adata)
