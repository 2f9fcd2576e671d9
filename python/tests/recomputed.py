"""What a fit must be, computed anew from the definitions with NumPy. Each definition is written once, here."""

import numpy as np


def weights_of(n, weights=None):
    """Weights that sum to 1."""
    return np.full(n, 1 / n) if weights is None else np.asarray(weights, dtype=float) / np.sum(weights)


def costs(z):
    """Squared distances between all rows."""
    return ((z[:, None] - z[None]) ** 2).sum(axis=2)


def plan_of(z, a, potential, epsilon):
    """The plan that a potential stands for."""
    return np.outer(a, a) * np.exp((potential[:, None] + potential[None] - costs(z)) / epsilon)


def sinkhorn(z, a, epsilon, steps=20000):
    """The plan of points with themselves, by plain symmetric scaling in the log domain."""
    f = np.zeros(len(z))
    for _ in range(steps):
        exponents = np.log(a)[None] + (f[None] - costs(z)) / epsilon
        top = exponents.max(axis=1)
        new = -epsilon * (top + np.log(np.exp(exponents - top[:, None]).sum(axis=1)))
        moved = np.abs(new - f).max()
        f = (f + new) / 2
        if moved < 1e-13 * epsilon:
            break
    return plan_of(z, a, f, epsilon)


def row_perplexities(plan):
    """Over how many samples each row spreads."""
    shares = plan / plan.sum(axis=1, keepdims=True)
    return np.exp(-(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1))


def perplexity_of(plan):
    """The perplexity of a fit without weights: exp of the mean entropy of its rows."""
    return np.exp(np.log(row_perplexities(plan)).mean())


def loss_of(X, U, a, plan, epsilon):
    """Transport between samples and projections, plus epsilon times the relative entropy of the plan."""
    centred = X - a @ X
    cost = ((centred[:, None] - (centred @ U @ U.T)[None]) ** 2).sum(axis=2)
    ratio = plan / np.outer(np.where(a > 0, a, 1), np.where(a > 0, a, 1))
    return (plan * cost).sum() + epsilon * (plan * np.log(np.where(plan > 0, ratio, 1))).sum()


def certificate_of(X, U, a, plan):
    """The numbers of a certificate that follow from the subspace and the plan; and the scale that gradients are measured by."""
    k = U.shape[1]
    centred = X - a @ X
    M = centred.T @ (2 * plan - np.diag(a)) @ centred
    values = np.linalg.eigvalsh(M)[::-1]
    largest = np.linalg.eigvalsh(centred.T @ (a[:, None] * centred))[-1]
    inside = U.T @ M @ U
    mu, turn = np.linalg.eigh((inside + inside.T) / 2)
    mu, turn = mu[::-1], turn[:, ::-1]
    leaving = np.linalg.norm((M @ U - U @ inside) @ turn, axis=0)
    variances = np.linalg.eigvalsh(U.T @ centred.T @ (a[:, None] * centred) @ U)[::-1]
    residuals = leaving / np.maximum(np.abs(mu), variances)
    leading = values[:k].sum()
    return {
        "marginal_error": np.abs(plan.sum(axis=1) - a).sum(),
        "relative_gradient": residuals.max(),
        "residuals": residuals,
        "eigen_deficit": (leading - np.trace(U.T @ M @ U)) / abs(leading),
        "eigenvalues": values[:k],
        "next_eigenvalue": values[k] if k < len(values) else None,
        "collapsed": bool(values[k - 1] <= 0),
    }, largest


def check_certificate(certificate, X, U, a, plan):
    """Compares each number of a certificate with its definition."""
    expected, largest = certificate_of(X, U, a, plan)
    np.testing.assert_allclose(certificate.eigenvalues, expected["eigenvalues"], atol=1e-5 * largest)
    if certificate.next_eigenvalue is None:
        # The components are all that the samples span: beside them M is nothing.
        assert abs(expected["next_eigenvalue"] or 0.0) <= 1e-9 * largest
    else:
        np.testing.assert_allclose(certificate.next_eigenvalue, expected["next_eigenvalue"], atol=1e-5 * largest)
    assert certificate.collapsed is expected["collapsed"]
    # Small differences of large numbers: as near as rounding allows.
    np.testing.assert_allclose(certificate.relative_gradient, expected["relative_gradient"], rtol=0.02, atol=1e-8)
    np.testing.assert_allclose(certificate.residuals, expected["residuals"], rtol=0.02, atol=1e-8)
    assert certificate.relative_gradient == certificate.residuals.max()
    assert np.all((certificate.rounding > 0) & (certificate.rounding < 1e-6))
    assert np.all((certificate.angles >= 0) & (certificate.angles <= 90))
    assert certificate.omitted_variance == 0
    np.testing.assert_allclose(certificate.marginal_error, expected["marginal_error"], rtol=0.02, atol=1e-13)
    np.testing.assert_allclose(certificate.eigen_deficit, expected["eigen_deficit"], rtol=0.02, atol=1e-10)
    assert 0 <= certificate.duality_gap <= 10 * certificate.marginal_error * np.abs(X).max() ** 2
