"""ewca.ewca beside POT's ot.dr.ewca: the same where POT converges, right where it fails."""

import inspect
import warnings

import numpy as np
import ot.dr
import pytest
from sklearn.exceptions import ConvergenceWarning

import ewca


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(7)
    groups = 3 * rng.normal(size=(3, 8))
    return 5 + groups[rng.integers(0, 3, size=40)] + rng.normal(size=(40, 8))


def loss(X, U, reg):
    """The objective at a subspace, with an exact plan."""
    x = X - X.mean(axis=0)
    z = x @ U
    return ((x**2).sum() - (z**2).sum()) / len(z) + 2 * ewca.sinkhorn_self(z, reg, tol=1e-13).potential.mean()


def certified(X, pi, U, reg):
    """Whether (pi, U) is a solution, from the definition: a plan, optimal for U, with U optimal for it."""
    n = len(X)
    x = X - X.mean(axis=0)
    z = x @ U
    M = x.T @ (2 * pi - np.eye(n) / n) @ x
    best = np.linalg.eigvalsh(M)[::-1][: U.shape[1]].sum()
    largest = np.linalg.eigvalsh(x.T @ x / n)[-1]
    return (
        np.abs(pi.sum(axis=1) - 1 / n).sum() < 1e-6
        and np.abs(pi.sum(axis=0) - 1 / n).sum() < 1e-6
        and np.abs(ewca.sinkhorn_self(z, reg).toarray() - pi).max() < 1e-6 / n
        and best - np.trace(U.T @ M @ U) < 1e-6 * largest
        and np.abs(U.T @ U - np.eye(U.shape[1])).max() < 1e-10
    )


@pytest.mark.parametrize("method", ["BCD", "MM"])
@pytest.mark.parametrize(("reg", "k"), [(3.0, 2), (8.0, 2), (20.0, 1), (1e4, 2)])
def test_where_pot_converges_we_agree(X, distance, reg, k, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # POT's only sign of trouble
        theirs = ot.dr.ewca(X, reg=reg, k=k, method=method, stopThr=1e-6, maxiter=1000)
    assert np.isfinite(theirs[0]).all()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="EWCA collapsed")
        ours = ewca.ewca(X, reg=reg, k=k, method=method, stopThr=1e-6, maxiter=1000)
    assert certified(X, *ours, reg)
    assert loss(X, ours[1], reg) <= loss(X, theirs[1], reg) * (1 + 1e-9)
    np.testing.assert_allclose(loss(X, theirs[1], reg), loss(X, ours[1], reg), rtol=1e-8)
    assert distance(theirs[1], ours[1]) < 1e-4
    # POT's plans are as accurate as its 1000 iterations of Sinkhorn get them.
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-3 / len(X))


@pytest.mark.parametrize("method", ["BCD", "MM"])
def test_pot_returns_a_wrong_subspace_where_its_kernel_underflows(X, method):
    reg = 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pi, U = ot.dr.ewca(X, reg=reg, k=2, method=method)
    assert not certified(X, pi, U, reg)
    pi, V = ewca.ewca(X, reg=reg, k=2, method=method)
    assert certified(X, pi, V, reg)
    # Tiny epsilons are PCA.
    pca = np.linalg.svd(X - X.mean(axis=0))[2][:2].T
    assert np.linalg.norm(V - pca @ (pca.T @ V)) < 1e-3
    assert loss(X, V, reg) < loss(X, U, reg) + 1e-9


def test_pot_cannot_take_a_start_with_mm(X):
    start = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 2)))[0]
    with pytest.raises(Exception):  # noqa: B017  (an UnboundLocalError, today)
        ot.dr.ewca(X, U0=start, reg=8.0, method="MM")
    for method in ("BCD", "MM"):
        pi, U = ewca.ewca(X, U0=start, reg=8.0, method=method, maxiter=1000)
        assert certified(X, pi, U, 8.0)


def test_pot_hits_its_limit_in_silence_with_a_plan_of_another_subspace(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pi, U = ot.dr.ewca(X, reg=8.0, k=2, maxiter=1)
    plan = ewca.sinkhorn_self((X - X.mean(axis=0)) @ U, 8.0).toarray()
    assert np.abs(plan - pi).max() > 1e-4 / len(X), "pi is the plan of the U before"
    with pytest.warns(ConvergenceWarning, match="raise maxiter"):
        pi, U = ewca.ewca(X, reg=8.0, k=2, maxiter=1)
    plan = ewca.sinkhorn_self((X - X.mean(axis=0)) @ U, 8.0).toarray()
    np.testing.assert_allclose(pi, plan, atol=1e-8 / len(X))


def test_the_signature_is_pot_s(X):
    ours, theirs = (inspect.signature(f).parameters for f in (ewca.ewca, ot.dr.ewca))
    assert list(ours) == list(theirs)
    assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]
    for words, message in [
        ({"method": "SGD"}, "choose 'BCD' or 'MM'"),
        ({"sinkhorn_method": "knopp"}, "choose one of"),
        ({"U0": np.eye(3)}, r"U0 has the shape \(3, 3\)"),
        ({"reg": 0}, "epsilon is 0"),
        ({"k": 9}, "9 components were asked for"),
    ]:
        with pytest.raises(ValueError, match=message):
            ewca.ewca(X, **words)
    for name in ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized"):
        assert ewca.ewca(X, reg=8.0, sinkhorn_method=name, maxiter=1000)[0].shape == (40, 40)
