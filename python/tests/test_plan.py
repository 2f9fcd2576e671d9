"""The plan in its forms, and symmetric Sinkhorn beside POT's."""

import numpy as np
import ot
import pytest
from scipy.sparse import issparse

import ewca


@pytest.fixture(scope="module")
def fitted(blobs):
    X, _ = blobs
    return X, ewca.EWCA(2, perplexity=6).fit(X)


def test_dense_graph_and_operator_agree(fitted):
    X, model = fitted
    dense = model.transport_plan()
    graph = model.plan_graph(8)
    assert issparse(graph) and graph.format == "csr" and graph.shape == (90, 90) and graph.nnz == 90 * 8
    for i in range(90):
        chosen = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        assert set(dense[i, chosen].round(14)) == set(np.sort(dense[i])[-8:].round(14))
        np.testing.assert_allclose(graph.data[graph.indptr[i] : graph.indptr[i + 1]], dense[i, chosen], rtol=1e-8)
    np.testing.assert_allclose(model.plan_graph(90).toarray(), dense, atol=1e-10)
    assert model.plan_graph(1000).nnz == 90 * 90
    operator = model.plan_operator()
    W = np.random.default_rng(0).normal(size=(90, 3))
    np.testing.assert_allclose(operator @ W, dense @ W, atol=1e-14)
    np.testing.assert_allclose(operator @ W[:, 0], dense @ W[:, 0], atol=1e-14)
    np.testing.assert_allclose(operator.rmatvec(W[:, 1]), dense @ W[:, 1], atol=1e-14)
    np.testing.assert_allclose(model.barycentric_transform(), 90 * dense @ model.embedding_, atol=1e-7)


def test_rows_of_new_samples(fitted):
    X, model = fitted
    rows = model.plan_rows(X)
    np.testing.assert_allclose(rows, 90 * model.transport_plan(), atol=1e-8)
    new = model.plan_rows(X[:3] + 0.01)
    assert new.shape == (3, 90)
    np.testing.assert_allclose(new.sum(axis=1), 1, rtol=1e-12)


def test_a_plan_that_does_not_fit_is_refused(fitted):
    _, model = fitted
    with pytest.raises(MemoryError, match="plan_graph"):
        model.transport_plan(max_bytes=1000)
    with pytest.raises(ValueError, match="n_neighbors is 0"):
        model.plan_graph(0)


@pytest.mark.filterwarnings("error")  # POT warns where it does not converge; it does not below 0.5
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_sinkhorn_self_beside_pot(epsilon, weighted):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(60, 3))
    a = rng.uniform(0.5, 2, size=60) if weighted else np.ones(60)
    plan = ewca.sinkhorn_self(Z, epsilon, a if weighted else None, tol=1e-13)
    a = a / a.sum()
    peer = ot.bregman.sinkhorn_log(a, a, ot.dist(Z, Z), epsilon, stopThr=1e-13, numItermax=200000)
    np.testing.assert_allclose(plan.toarray(), peer, atol=1e-10)
    np.testing.assert_allclose(np.asarray(plan).sum(axis=0), a, atol=1e-12)
    assert plan.marginal_error < 1e-12
    np.testing.assert_allclose(plan.weights, a)


def test_the_dual_value_is_pot_s():
    Z = np.random.default_rng(2).normal(size=(40, 2))
    a = np.full(40, 1 / 40)
    plan = ewca.sinkhorn_self(Z, 0.5, tol=1e-12)
    peer = ot.solve(ot.dist(Z, Z), a, a, reg=0.5, reg_type="KL", tol=1e-10, max_iter=100000)
    np.testing.assert_allclose(2 * a @ plan.potential, peer.value, rtol=1e-6)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 1e-3, 1e3, 1e9])
def test_any_epsilon_is_easy(epsilon):
    Z = np.random.default_rng(2).normal(size=(50, 2))
    plan = ewca.sinkhorn_self(Z, epsilon, tol=1e-12).toarray()
    assert np.abs(plan.sum(axis=1) - 1 / 50).sum() < 1e-11


def test_sinkhorn_self_refuses_nonsense():
    with pytest.raises(ValueError, match="epsilon is 0"):
        ewca.sinkhorn_self(np.ones((3, 2)), 0)
    with pytest.raises(ValueError, match="expected points in rows"):
        ewca.sinkhorn_self(np.ones(3), 1)
    with pytest.raises(ValueError, match="row 1, column 0 is NaN"):
        ewca.sinkhorn_self([[0.0], [np.nan]], 1)
    with pytest.raises(ValueError, match="weights"):
        ewca.sinkhorn_self(np.ones((3, 2)), 1, [1, 2])
