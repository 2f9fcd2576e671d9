"""Data that several tests fit, and the one checker that every fit goes through."""

import copy
import csv
import gzip
import os
import pathlib

# Before anything imports SciPy: scikit-learn then checks array API input too, instead of skipping it.
os.environ["SCIPY_ARRAY_API"] = "1"

import matplotlib  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
import recomputed  # noqa: E402

matplotlib.use("Agg")
ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def khan():
    """The 63 training samples of khan2001 and their classes."""
    with gzip.open(ROOT / "data" / "khan2001.csv.gz", "rt") as file:
        header, *rows = csv.reader(file)
    train = [row for row in rows if row[header.index("split")] == "train"]
    X = np.array([[float(x) for x in row[3:]] for row in train])
    return X, np.array([row[header.index("class")] for row in train])


@pytest.fixture(scope="session")
def blobs():
    """Three groups in 12 dimensions."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, size=90)
    centres = 3 * rng.normal(size=(3, 12))
    return centres[y] + rng.normal(size=(90, 12)), y


@pytest.fixture(scope="session")
def binary():
    """The ewca program; `cargo xtask test` says where it is."""
    path = os.environ.get("EWCA_BINARY")
    assert path, "set EWCA_BINARY to the ewca program (cargo build --release; target/release/ewca)"
    return path


@pytest.fixture(scope="session")
def check_fit():
    return _check_fit


def _check_fit(model, X, weights=None, tol=1e-6):
    """What must hold of every fit, by definition and not by the solver's word."""
    model = _in_double_precision(model)
    X = np.asarray(X.todense()) if hasattr(X, "todense") else np.asarray(X, dtype=float)
    a = recomputed.weights_of(len(X), weights)
    U, z, mean = model.components_.T, model.embedding_, model.mean_
    scale = np.sqrt((a[:, None] * (X - a @ X) ** 2).sum())
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-12)
    np.testing.assert_allclose(mean, a @ X, atol=1e-12 * scale + 1e-12 * np.abs(X).max())
    np.testing.assert_allclose(z, (X - mean) @ U, atol=1e-11 * scale)
    assert (U[np.abs(U).argmax(axis=0), range(U.shape[1])] > 0).all()
    moments = z.T @ (a[:, None] * z)
    np.testing.assert_allclose(moments, np.diag(np.diag(moments)), atol=1e-10 * scale**2)
    assert (np.diff(np.diag(moments)) <= 1e-12 * scale**2).all()
    plan = model.transport_plan()
    np.testing.assert_allclose(plan, plan.T, rtol=1e-12)
    np.testing.assert_allclose(plan, recomputed.plan_of(z, a, model.potential_, model.epsilon_), rtol=1e-7, atol=1e-15)
    assert np.abs(plan.sum(axis=1) - a).sum() <= 1e-3 * tol + 1e-12
    np.testing.assert_allclose(model.loss_, recomputed.loss_of(X, U, a, plan, model.epsilon_), rtol=1e-5)
    # Stationary, and no saddle: the subspace is that of the leading eigenvectors of M.
    if model.certificate_.converged:
        recomputed.check_certificate(model.certificate_, X, U, a, plan)
        expected, _ = recomputed.certificate_of(X, U, a, plan)
        assert expected["relative_gradient"] <= 3 * tol
        if not expected["collapsed"]:
            assert expected["eigen_deficit"] <= 1e-8


def _in_double_precision(model):
    """A fit of single-precision data is a double-precision one, rounded: what is checked is that one."""
    if model.embedding_.dtype == np.float64:
        return model
    double = copy.copy(model)
    double._dtype = np.dtype(np.float64)
    double._take(model._model)
    for name in ("components_", "mean_", "embedding_", "potential_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(double, name).astype(np.float32), err_msg=name)
    return double


def subspace_distance(first, second):
    """The largest sine of the angles between two subspaces given by orthonormal columns."""
    return np.linalg.norm(second - first @ (first.T @ second), 2)


@pytest.fixture(scope="session")
def distance():
    return subspace_distance
