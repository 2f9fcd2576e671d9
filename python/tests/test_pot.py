"""ewca.ewca beside POT's ot.dr.ewca: the same where POT converges, right where it fails."""

import inspect
import sys
import types
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
        ({"k": 9}, "9 components were requested"),
    ]:
        with pytest.raises(ValueError, match=message):
            ewca.ewca(X, **words)
    for name in ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized"):
        assert ewca.ewca(X, reg=8.0, sinkhorn_method=name, maxiter=1000)[0].shape == (40, 40)


def cosines(first, second):
    """Of the angles between two subspaces."""
    return np.linalg.svd(first.T @ second, compute_uv=False)


# POT's own is slow: once is enough to see that the claims are its.
@pytest.mark.parametrize(
    ("solve", "method", "reg"),
    [(ot.dr.ewca, "BCD", 1e-2), (ewca.ewca, "BCD", 1e-2), (ewca.ewca, "MM", 1e-2), (ewca.ewca, "MM", 1e5), (ewca.ewca, "BCD", 1e5)],
    ids=["POT", "BCD", "MM", "MM, last axes", "BCD, last axes"],
)
@pytest.mark.filterwarnings("ignore:EWCA collapsed")
def test_what_pot_claims_of_its_own(capsys, solve, method, reg):
    """Its test of `ot.dr.ewca`, on data of its kind: Gaussian, with variances that fall steeply."""
    rng = np.random.default_rng(0)
    n, d, k = 50, 5, 3
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    scales = np.array([0.8, 0.6, 0.4, 0.2, 0.1]) ** 2
    X = rng.normal(size=(n, d)) * scales @ turn.T
    X -= X.mean(axis=0)
    pi, U = solve(X, reg=reg, k=k, method=method, verbose=1, sinkhorn_method="sinkhorn_log")
    capsys.readouterr()
    assert pi.shape == (n, n) and U.shape == (d, k) and (pi >= 0).all()
    np.testing.assert_allclose(pi.sum(axis=0), 1 / n, atol=1e-3)
    np.testing.assert_allclose(pi.sum(axis=1), 1 / n, atol=1e-3)
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-3)
    # Little regularisation gives the leading principal components, much of it the last ones.
    axes = np.linalg.svd(X, full_matrices=False)[2].T
    np.testing.assert_allclose(cosines(U, axes[:, :k] if reg < 1 else axes[:, -k:]), 1, atol=1e-3)


def test_plans_that_do_not_fit_are_refused_before_the_fit(monkeypatch):
    """12 000 samples were fitted, and the fit was thrown away; the message named arguments that there are none of."""

    def never(*words):
        raise AssertionError("the fit was begun")

    monkeypatch.setattr(ewca._ewca, "fit", never)
    with pytest.raises(MemoryError, match=r"takes 1\.1 GiB for 12000 samples: use ewca\.EWCA\(2, epsilon=1\)\.fit\(X\)"):
        ewca.ewca(np.zeros((12_000, 2)))
    for n, raised in ((11_586, MemoryError), (11_585, AssertionError)):
        with pytest.raises(raised):
            ewca.ewca(np.zeros((n, 2)))


@pytest.fixture(scope="module")
def solved(X):
    start = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 2)))[0]
    return start, ewca.ewca(X, U0=start, reg=3.0)


def check_came_back(found, expected, kind, dtype, rtol):
    for ours, theirs in zip(found, expected):
        assert type(ours) is kind and ours.dtype == dtype and tuple(ours.shape) == theirs.shape
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=rtol, atol=rtol)


def test_types_of_numpy_come_back(X, solved):
    start, expected = solved
    check_came_back(expected, expected, np.ndarray, np.float64, 0)
    single = ewca.ewca(X.astype(np.float32), U0=start, reg=3.0)
    check_came_back(single, expected, np.ndarray, np.float32, 1e-4)
    check_came_back(ewca.ewca(X.tolist(), U0=start.tolist(), reg=3.0), expected, np.ndarray, np.float64, 0)
    assert ewca.ewca(np.arange(40).reshape(10, 4) % 7, reg=0.1)[0].dtype == np.float64


@pytest.mark.parametrize("double", [False, True])
def test_arrays_of_jax_come_back(X, solved, double):
    import jax
    import jax.numpy as jnp

    start, expected = solved
    with jax.enable_x64(double):
        given = jnp.asarray(X)
        assert given.dtype == (jnp.float64 if double else jnp.float32)
        for U0 in (jnp.asarray(start), start):
            found = ewca.ewca(given, U0=U0, reg=3.0)
            check_came_back(found, expected, type(given), given.dtype, 1e-12 if double else 1e-4)
            assert all(one.devices() == given.devices() for one in found)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_arrays_of_the_standard_come_back(X, solved, dtype):
    """array-api-strict has nothing but what the array API standard has."""
    import array_api_strict as xp

    start, expected = solved
    given = xp.asarray(X if dtype != "int64" else np.round(100 * X), dtype=getattr(xp, dtype))
    found = ewca.ewca(given, U0=xp.asarray(start), reg=3.0 if dtype != "int64" else 3e4)
    kind = xp.float32 if dtype == "float32" else xp.float64
    assert all(type(one) is type(given) and one.dtype == kind and one.device == given.device for one in found)
    if dtype != "int64":
        check_came_back(found, expected, type(given), kind, 1e-4 if dtype == "float32" else 1e-12)


class Tensor:
    """As much of torch's tensors as is used: torch itself is too large to test with."""

    def __init__(self, values, device="cpu", grad=True):
        self.values, self.device, self.grad = np.asarray(values), device, grad
        self.dtype = Kind(self.values.dtype)
        self.shape = self.values.shape

    def detach(self):
        return Tensor(self.values, self.device, grad=False)

    def cpu(self):
        return Tensor(self.values, "cpu", self.grad)

    def numpy(self):
        assert self.device == "cpu" and not self.grad, "torch refuses this"
        return self.values

    def to(self, dtype, device):
        return Tensor(self.values.astype(dtype.kind), device, grad=False)

    def __array__(self, *words, **more):
        return self.values


class Kind:
    def __init__(self, kind):
        self.kind = np.dtype(kind)
        self.is_floating_point = self.kind.kind == "f"

    def __eq__(self, other):
        return self.kind == other.kind


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_tensors_of_torch_come_back(monkeypatch, X, solved, device, dtype):
    torch = types.ModuleType("torch")
    torch.float64, torch.from_numpy = Kind(np.float64), lambda array: Tensor(array, grad=False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    start, expected = solved
    whole = dtype is np.int64
    found = ewca.ewca(Tensor((100 * X if whole else X).astype(dtype), device), U0=Tensor(start, device), reg=3e4 if whole else 3.0)
    kind = Kind(np.float64 if whole else dtype)
    assert all(isinstance(one, Tensor) and (one.device, one.grad) == (device, False) and one.dtype == kind for one in found)
    if not whole:
        check_came_back([one.values for one in found], expected, np.ndarray, dtype, 1e-4 if dtype is np.float32 else 1e-12)
