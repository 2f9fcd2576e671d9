"""A fit, without scikit-learn."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np

from . import _ewca
from ._input import as_table
from ._plan import Plan


@dataclass(frozen=True)
class Approximation:
    """How far a fit with landmarks is from one with the exact kernel, by the exact rows of a sample of the data: estimates."""

    #: The number of landmarks.
    landmarks: int
    #: The number of samples whose rows were computed exactly.
    rows: int
    #: How far the plan of the exact kernel, with the potentials of the fit, is from being a plan.
    marginal_error: float
    #: The largest relative error among the rows.
    worst_row: float
    #: How far the subspace is from being stationary for the exact kernel.
    relative_gradient: float


@dataclass(frozen=True)
class Finding:
    """Something that one should know before believing a fit."""

    #: What it is: not_converged, poor_approximation, collapsed, perplexity_floor, perplexity_missed, skipped_mass, dominant_feature or
    #: omitted_variance.
    kind: str
    #: Its numbers, by name.
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """Numbers by which anyone can judge a fit without trusting the solver."""

    #: Whether the tolerance was met at a minimum.
    converged: bool
    #: Why the fit ended: converged, max_iterations, stalled or interrupted.
    termination: str
    #: How far the plan is from being a plan: the sum of what its rows lack.
    marginal_error: float
    #: An upper bound of what the plan costs above the optimal one.
    duality_gap: float
    #: How far the subspace is from being stationary: the largest of the residuals.
    relative_gradient: float
    #: The same for each component, relative to itself.
    residuals: np.ndarray
    #: The residual that rounding alone may cause, for each component: below it nothing can be told.
    rounding: np.ndarray
    #: About how many degrees each component may still be off; 90 where the data do not determine it.
    angles: np.ndarray
    #: What the eigenvectors of M would still win: positive at a saddle.
    eigen_deficit: float
    #: At most so much of the plan's mass lies between samples too far apart to be looked at.
    skipped_mass: float
    #: The part of the variance outside the principal axes that the fit worked with; 0 but for large data.
    omitted_variance: float
    #: The k leading eigenvalues of M, descending; all are positive unless epsilon is too large.
    eigenvalues: np.ndarray
    #: The eigenvalue after them, if there is one: the smaller the gap, the less the subspace is determined.
    next_eigenvalue: Optional[float]
    #: Whether an eigenvalue is not positive: components shrink the data instead of showing them.
    collapsed: bool
    #: For a fit with landmarks, how far its approximate kernel is from the exact one; all of the above is about the approximate one.
    approximation: Optional[Approximation] = None
    #: What one should know before believing the fit, the gravest first; empty where all is well.
    findings: tuple[Finding, ...] = ()


def certificate_of(model: _ewca.Model) -> Certificate:
    """The certificate of a fit."""
    words = model.certificate
    approximation = words.pop("approximation")
    found = json.loads(words.pop("findings"))
    return Certificate(
        **words,
        approximation=None if approximation is None else Approximation(**approximation),
        findings=tuple(Finding(one.pop("kind"), one) for one in found),
    )


class Model:
    """What a fit found, without scikit-learn: the models of :func:`ewca.path`, and :meth:`Model.load`.

    Variances are divided by the number of samples, as in the ``ewca`` program.

    >>> import numpy as np, ewca
    >>> X = np.random.default_rng(0).normal(size=(40, 4)) * [3, 2, 1, 1]
    >>> model = ewca.path(X, [0.1, 1.0], n_components=2).models[1]
    >>> model.epsilon, model.certificate.converged
    (1.0, True)
    >>> bool(np.allclose(model.transform(X), model.scores))
    True
    """

    def __init__(self, model: _ewca.Model) -> None:
        self._model = model

    def __repr__(self) -> str:
        m = self._model
        certificate = self.certificate
        state = "collapsed" if certificate.collapsed else certificate.termination
        if certificate.approximation is not None:
            state += f", approximate: {certificate.approximation.landmarks} landmarks"
        return f"Model({m.n_samples} x {m.n_features} -> {m.n_components}, epsilon={m.epsilon:.6g}, loss={m.loss:.6g}, {state})"

    @property
    def components(self) -> np.ndarray:
        """The components, one per row (k x d), orthonormal; scores are uncorrelated and variances descend."""
        return self._model.components

    @property
    def mean(self) -> np.ndarray:
        """The weighted mean of each feature."""
        return self._model.mean

    @property
    def scores(self) -> np.ndarray:
        """The scores of the samples, n x k."""
        return self._model.scores

    @property
    def weights(self) -> np.ndarray:
        """The weights of the samples, which sum to 1."""
        return self._model.weights

    @property
    def potential(self) -> np.ndarray:
        """The potential of the plan, in units of the cost."""
        return self._model.potential

    @property
    def explained_variance(self) -> np.ndarray:
        """The variance of each component, divided by n - 1 (N - 1 for sample weights that sum to N, if that is 2 or more)."""
        return self._model.explained_variance

    @property
    def explained_variance_ratio(self) -> np.ndarray:
        """The same as a fraction of the total variance."""
        return self._model.explained_variance_ratio

    @property
    def epsilon(self) -> float:
        """The regularisation."""
        return self._model.epsilon

    @property
    def perplexity(self) -> float:
        """Over how many samples each one spreads: exp of the mean entropy of the plan's rows."""
        return self._model.perplexity

    @property
    def loss(self) -> float:
        """The objective."""
        return self._model.loss

    @property
    def distance_to_pca(self) -> float:
        """The Grassmann distance to the subspace of the leading principal components."""
        return self._model.distance_to_pca

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return self._model.n_iter

    @property
    def certificate(self) -> Certificate:
        """What the fit can prove about itself."""
        return certificate_of(self._model)

    @property
    def history(self) -> np.ndarray:
        """Every iteration, as a structured array: ``pandas.DataFrame(model.history)`` makes a table of it."""
        return history_of(self._model)

    def transform(self, X: Any) -> np.ndarray:
        """The scores of samples."""
        return self._model.transform(as_table(X))

    def inverse_transform(self, scores: Any) -> np.ndarray:
        """Samples from scores."""
        return self._model.inverse_transform(np.ascontiguousarray(scores, dtype=np.float64))

    def plan(self) -> Plan:
        """The transport plan."""
        return Plan(self._model.plan())

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the model file that the ``ewca`` program reads."""
        self._model.save(path)

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Model:
        """Reads a model file."""
        return cls(_ewca.Model.load(path))


def history_of(model: _ewca.Model) -> np.ndarray:
    """The iterations of a fit as a structured array."""
    columns = model.history
    rows = np.empty(len(columns["loss"]), dtype=[(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        rows[name] = values
    return rows
