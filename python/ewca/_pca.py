"""What users of scikit-learn's PCA look for: the same numbers where they have a meaning here, and words where they have none."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

import numpy as np

_F = TypeVar("_F", bound=Callable[..., None])

#: Parameters of PCA that EWCA does not have, and what to do instead.
PARAMETERS = {
    "whiten": "whitening would change the distances between samples, on which neighbours depend: divide the scores afterwards, "
    "model.transform(X) / numpy.sqrt(model.explained_variance_), or put a StandardScaler after EWCA in a pipeline",
    "svd_solver": "there is no singular value decomposition to choose; `solver` chooses how EWCA is minimised ('auto', 'lbfgs', 'bcd', 'mm')",
    "copy": "X is never changed or copied: remove this argument",
    "iterated_power": "it belongs to PCA's randomised solver, which EWCA does not use: remove this argument",
    "n_oversamples": "it belongs to PCA's randomised solver, which EWCA does not use: remove this argument",
    "power_iteration_normalizer": "it belongs to PCA's randomised solver, which EWCA does not use: remove this argument",
    "batch_size": "fits are exact and use all samples: remove this argument",
}

#: Attributes and methods of PCA and IncrementalPCA that EWCA does not have.
ATTRIBUTES = {
    **{name: text for name, text in PARAMETERS.items() if name != "copy"},
    "partial_fit": (
        "EWCA compares all samples with each other, so it cannot be fitted in batches: call fit with all of them (data larger than memory "
        "are read in parts)"
    ),
}


def explains_parameters(init: _F) -> _F:
    """Lets a constructor say why it does not take one of PCA's parameters. Its signature stays as it is."""

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **words: Any) -> None:
        for name in words:
            if name in PARAMETERS:
                raise TypeError(f"EWCA has no parameter {name!r}, which PCA has: {PARAMETERS[name]}")
        init(self, *args, **words)

    return checked  # type: ignore[return-value]


def noise_variance(variances: np.ndarray, ratios: np.ndarray, n_samples: int, n_features: int) -> float:
    """The mean variance of the directions outside the components, as PCA counts them: min(n_samples, n_features) in all."""
    outside = min(n_samples, n_features) - len(variances)
    if outside <= 0:
        return 0.0
    # All variance is in the ratio of the largest component, which is surely not 0.
    total = variances[0] / ratios[0]
    return max(0.0, float(total - variances.sum())) / outside


def covariance(components: np.ndarray, variances: np.ndarray, noise: float) -> np.ndarray:
    """The covariance of samples whose components have the given variances, and every direction outside them has ``noise``."""
    beyond = np.maximum(variances - noise, 0.0)
    found: np.ndarray = (components.T * beyond) @ components
    found.flat[:: len(found) + 1] += noise
    return found


def precision(components: np.ndarray, variances: np.ndarray, noise: float) -> np.ndarray:
    """The inverse of :func:`covariance`, without inverting anything large."""
    k, d = components.shape
    within = np.maximum(variances, noise)
    if noise == 0.0:
        _check_invertible(k, d, within)
        exact: np.ndarray = (components.T / within) @ components
        return exact
    found: np.ndarray = (components.T * (1 / within - 1 / noise)) @ components
    found.flat[:: d + 1] += 1 / noise
    return found


def log_likelihoods(squares: np.ndarray, scores: np.ndarray, variances: np.ndarray, noise: float, n_features: int) -> np.ndarray:
    """The logarithm of the density of samples with a squared distance from the mean and scores, for the Gaussian of :func:`covariance`."""
    k = len(variances)
    within = np.maximum(variances, noise)
    quadratic = (scores**2 / within).sum(axis=1)
    volume = float(np.log(within).sum())
    if noise == 0.0:
        _check_invertible(k, n_features, within)
    else:
        quadratic += np.maximum(squares - (scores**2).sum(axis=1), 0.0) / noise
        volume += (n_features - k) * float(np.log(noise))
    found: np.ndarray = -0.5 * (quadratic + volume + n_features * np.log(2 * np.pi))
    return found


def _check_invertible(k: int, d: int, within: np.ndarray) -> None:
    if k < d or not within.all():
        raise ValueError(
            "the covariance of this model cannot be inverted: the components explain all the variance, and none is left for the "
            "other directions; fit fewer components"
        )


def squared_distances(X: Any, mean: np.ndarray) -> np.ndarray:
    """How far samples are from the mean, squared; X is an array or compressed sparse rows."""
    if not isinstance(X, np.ndarray):
        # Nothing is filled in: |x|^2 - 2 x m + |m|^2.
        own = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return np.asarray(own - 2 * np.ravel(X @ mean) + mean @ mean)
    found = np.empty(len(X))
    rows = max(1, 2**20 // max(1, X.shape[1]))
    for first in range(0, len(X), rows):
        part = X[first : first + rows] - mean
        found[first : first + rows] = np.einsum("ij,ij->i", part, part)
    return found
