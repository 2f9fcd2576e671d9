"""The plan in its forms, and symmetric Sinkhorn beside POT's."""

import copy
import pickle

import numpy as np
import ot
import pytest
import recomputed
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


def test_plans_are_their_definition(fitted):
    _, model = fitted
    plan = model.plan()
    assert plan.epsilon == model.epsilon_ and len(plan) == 90 and plan.shape == (90, 90)
    np.testing.assert_array_equal(plan.potential, model.potential_)
    expected = recomputed.plan_of(model.embedding_, np.full(90, 1 / 90), plan.potential, plan.epsilon)
    np.testing.assert_allclose(plan.toarray(), expected, rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(plan.perplexities(), recomputed.row_perplexities(expected), rtol=1e-7)
    np.testing.assert_allclose(plan.marginal_error, np.abs(expected.sum(axis=1) - 1 / 90).sum(), rtol=0.02, atol=1e-13)
    assert repr(plan) == f"Plan(90 x 90, epsilon={plan.epsilon:.6g}, marginal_error={plan.marginal_error:.1e})"


def test_the_dense_plan_needs_eight_bytes_an_entry(fitted):
    _, model = fitted
    assert model.transport_plan(8 * 90 * 90).shape == model.plan().toarray(max_bytes=8 * 90 * 90).shape == (90, 90)
    with pytest.raises(MemoryError, match="plan of 90 samples takes 0.0 GiB as a dense array, more than the 6e-05 GiB allowed"):
        model.transport_plan(8 * 90 * 90 - 1)


def test_the_words_about_large_plans(fitted, monkeypatch):
    """Of 20 000 samples, which nobody computes here."""
    plan = fitted[1].plan()
    monkeypatch.setattr(ewca.Plan, "__len__", lambda self: 20_000)
    with pytest.raises(MemoryError, match="takes 3.0 GiB as a dense array, more than the 1 GiB allowed: use the strongest partners"):
        plan.toarray()


def test_plans_are_arrays(fitted):
    _, model = fitted
    plan = model.plan()
    np.testing.assert_array_equal(np.asarray(plan), plan.toarray())
    assert np.asarray(plan).dtype == np.float64 and np.asarray(plan, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(np.asarray(plan, dtype=np.float32), plan.toarray().astype(np.float32))
    assert plan.__array__(np.float32).dtype == np.float32 and plan.__array__().dtype == np.float64


def test_graphs_are_sound(fitted):
    _, model = fitted
    dense = model.transport_plan()
    graph = model.plan_graph(1)
    assert graph.nnz == 90 and graph.shape == (90, 90)
    np.testing.assert_allclose(graph.max(axis=1).toarray(), dense.max(axis=1), rtol=1e-8)
    graph = model.plan_graph()
    assert graph.nnz == 90 * 15 and graph.has_sorted_indices
    for i in range(90):
        assert (np.diff(graph.indices[graph.indptr[i] : graph.indptr[i + 1]]) > 0).all()
    # Points of which the last ones are nobody's nearest.
    alone = ewca.sinkhorn_self(np.array([[0.0], [0.1], [9.0]]), 0.5, [1, 1, 1e-9]).graph(2)
    assert alone.shape == (3, 3)
    for nonsense in (0, -1):
        with pytest.raises(ValueError, match=f"n_neighbors is {nonsense}: it must be at least 1"):
            model.plan_graph(nonsense)
    assert model.plan_graph(np.int64(3)).nnz == 270


def test_operators_take_vectors_and_matrices(fitted):
    _, model = fitted
    dense, operator = model.transport_plan(), model.plan_operator()
    assert operator.shape == (90, 90) and operator.dtype == np.float64
    whole = np.arange(180).reshape(90, 2)
    for given in (whole, whole.astype(float), np.asfortranarray(whole), whole[:, :1]):
        np.testing.assert_allclose(operator.matmat(given), dense @ given, atol=1e-12)
        np.testing.assert_allclose(operator.rmatmat(given), dense @ given, atol=1e-12)
    for given in (whole[:, 0], whole[:, 0].astype(float)):
        np.testing.assert_allclose(operator.matvec(given), dense @ given, atol=1e-12)
        np.testing.assert_allclose(operator.rmatvec(given), dense @ given, atol=1e-12)
    assert operator.matvec(whole[:, :1]).shape == (90, 1) and operator.matvec(whole[:, 0]).shape == (90,)


def test_an_operator_makes_one_pass_for_all_columns(fitted, monkeypatch):
    plan = fitted[1].plan()
    compiled, passes = plan._plan, []

    class Counted:
        def apply(self, columns):
            passes.append(columns.shape)
            return compiled.apply(columns)

        def __len__(self):
            return 90

    monkeypatch.setattr(plan, "_plan", Counted())
    operator = plan.operator()
    assert passes == []
    operator.matmat(np.ones((90, 4)))
    operator.rmatmat(np.ones((90, 3)))
    assert passes == [(90, 4), (90, 3)]


def test_shares_of_any_points(fitted):
    _, model = fitted
    points = model.embedding_[:4]
    expected = 90 * model.transport_plan()[:4]
    for given in (points, points.tolist(), np.asfortranarray(points)):
        np.testing.assert_allclose(model.plan().shares(given), expected, atol=1e-8)
    np.testing.assert_allclose(model.plan().shares(points.astype(np.float32)), expected, atol=1e-4)


def test_plans_can_be_pickled_and_copied(fitted, blobs):
    """Neither that of a fit nor that of points could be."""
    _, model = fitted
    rng = np.random.default_rng(0)
    approximate = ewca.EWCA(2, epsilon=20.0, landmarks=150).fit(rng.normal(size=(200, 4)) * [4, 3, 1, 1])
    weighted = ewca.EWCA(2, epsilon=2.0).fit(blobs[0], sample_weight=rng.integers(0, 3, size=90))
    plans = [model.plan(), approximate.plan(), weighted.plan(), ewca.path(blobs[0], [1.0]).models[0].plan()]
    plans += [ewca.sinkhorn_self(rng.normal(size=(30, 3)), 0.7), ewca.sinkhorn_self(rng.normal(size=(30, 1)), 0.1, rng.uniform(1, 2, size=30), tol=1e-4)]
    for plan in plans:
        for other in (pickle.loads(pickle.dumps(plan)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(plan)))), copy.deepcopy(plan), copy.copy(plan)):
            np.testing.assert_array_equal(other.toarray(), plan.toarray())
            np.testing.assert_array_equal(other.potential, plan.potential)
            np.testing.assert_array_equal(other.barycentric(), plan.barycentric())
            np.testing.assert_array_equal(other.perplexities(), plan.perplexities())
            assert (other.epsilon, other.marginal_error, repr(other)) == (plan.epsilon, plan.marginal_error, repr(plan))
    # Features take no room in it.
    wide = ewca.EWCA(2, epsilon=9.0).fit(np.tile(blobs[0], 400) + rng.normal(size=(90, 4800)))
    assert len(pickle.dumps(wide.plan())) < 90 * 60 + 10_000
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(ewca.Plan(model.plan()._plan))
