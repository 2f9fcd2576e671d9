"""A fit, without scikit-learn."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _ewca
from ._input import as_table
from ._plan import Plan
from ._present import accuracy, html_table, significant, text_table

if TYPE_CHECKING:
    from ._functions import Path
    from ._report import Report


@dataclass(frozen=True)
class Approximation:
    """How accurate a fit with landmarks is: estimates from exact rows of the plan for some of the samples."""

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
    """Something to know before relying on a fit."""

    #: What it is: not_converged, poor_approximation, collapsed, perplexity_floor, perplexity_missed, skipped_mass, dominant_feature or
    #: omitted_variance.
    kind: str
    #: Its numbers, by name.
    values: dict[str, Any] = field(default_factory=dict)


class _Numbers:
    """Equality of what holds arrays: value by value, where NaN is equal to itself."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))  # type: ignore[arg-type]

    # As for arrays and lists: what is equal by its values has no hash that could stay.
    __hash__ = None  # type: ignore[assignment]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.shape(one) == np.shape(other) and np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind in "fc")
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other or (one != one and other != other))


@dataclass(frozen=True, eq=False)
class Scree(_Numbers):
    """The variances of the principal components compared with chance: parallel analysis."""

    #: How many leading components are above chance; 0 where none is.
    above: int
    #: The variance of each principal component, as a part of the total.
    variances: np.ndarray
    #: The quantile of the variances that components of the same number have in tables whose features were permuted, likewise.
    permuted: np.ndarray
    #: Which quantile that is.
    quantile: float
    #: The number of permuted tables.
    permutations: int

    def __str__(self) -> str:
        taken = max(1, self.above)
        text = f"{taken} component{'s' if taken > 1 else ''}"
        if self.above == len(self.variances):
            return f"{text}: all that were tested explain more variance than chance"
        own, chance = 100 * self.variances[self.above], 100 * self.permuted[self.above]
        if self.above == 0:
            return f"{text}, although none explains more variance than chance ({own:.1f}%, chance {chance:.1f}%)"
        return f"{text}; component {self.above + 1} explains {own:.1f}% of the variance, no more than chance ({chance:.1f}%)"


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(_Numbers):
    """How accurate a fit is, in numbers that anyone can check without trusting the solver.

    >>> import numpy as np, ewca
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [3, 2, 1, 1]
    >>> certificate = ewca.path(X, [1.0]).models[0].certificate
    >>> certificate.converged, certificate.collapsed
    (True, False)
    >>> print(repr(certificate).splitlines()[0])
    Certificate: converged, not collapsed
    """

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
    #: The residual that rounding alone may cause, for each component: smaller residuals mean nothing.
    rounding: np.ndarray
    #: About how many degrees each component may still be off; 90 where the data do not determine it.
    angles: np.ndarray
    #: What the eigenvectors of M would still win: positive at a saddle.
    eigen_deficit: float
    #: An upper bound for the share of the plan between samples that are too far apart to be computed.
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

    def __repr__(self) -> str:
        return text_table(*self._words())

    def _repr_html_(self) -> str:
        return html_table(*self._words())

    def _words(self) -> tuple[str, list[str], list[list[str]], list[str]]:
        state = "converged" if self.converged else f"not converged ({self.termination.replace('_', ' ')})"
        head = ["component", "residual", "rounding", "may be off", "eigenvalue of M"]
        each = zip(self.residuals, self.rounding, self.angles, self.eigenvalues)
        rows = [
            [str(at), accuracy(residual), accuracy(rounding), f"{angle:.2g} deg", significant(eigenvalue)]
            for at, (residual, rounding, angle, eigenvalue) in enumerate(each)
        ]
        notes = [
            f"plan: marginal error {accuracy(self.marginal_error)}, duality gap {accuracy(self.duality_gap)}, "
            f"skipped mass {accuracy(self.skipped_mass)}",
            f"subspace: relative gradient {accuracy(self.relative_gradient)}, eigenvectors of M would win {self.eigen_deficit:.0e}",
        ]
        if self.next_eigenvalue is not None:
            notes.append(f"next eigenvalue of M: {significant(self.next_eigenvalue)}")
        if self.omitted_variance:
            notes.append(f"variance outside the principal components that the fit used: {accuracy(self.omitted_variance)}")
        if self.approximation is not None:
            near = self.approximation
            notes.append(f"approximate: {near.landmarks} landmarks, plan off by {accuracy(near.marginal_error)} (checked on exact rows)")
        notes.append("findings: " + (", ".join(finding.kind for finding in self.findings) or "none"))
        return f"Certificate: {state}, {'collapsed' if self.collapsed else 'not collapsed'}", head, rows, notes


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


#: What a fit was asked for, by the names of the core: the parameter of the estimator, and how it gets there.
_PARAMETERS = {
    "tolerance": "tol",
    "max_iterations": "max_iter",
    "landmarks": "landmarks",
    "single_precision": "single_precision",
    "skip_far_pairs": "skip_far_pairs",
    "coarse_to_fine": "coarse_to_fine",
}


def parameters_of(model: _ewca.Model, known: Iterable[str]) -> dict[str, Any]:
    """The parameters of an estimator that would make this fit, of those that it knows."""
    asked = json.loads(model.params)
    found: dict[str, Any] = {ours: asked[theirs] for theirs, ours in _PARAMETERS.items() if theirs in asked}
    solver = asked["solver"] if isinstance(asked["solver"], str) else next(iter(asked["solver"]))
    found.update(n_components=model.n_components, solver=solver.lower(), preprocessing=model.steps_wanted)
    for theirs, ours in (("Epsilon", "epsilon"), ("Perplexity", "perplexity")):
        if isinstance(asked["smoothing"], dict) and theirs in asked["smoothing"]:
            found[ours] = asked["smoothing"][theirs]
    if asked["restarts"]:
        found.update(n_init=asked["restarts"] + 1, random_state=asked["seed"])
    return {name: value for name, value in found.items() if name in set(known)}


class Model:
    """The result of a fit, without scikit-learn: the models of :func:`ewca.path`, and :meth:`Model.load`.

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
        """How many neighbours each sample is matched with on average: exp of the mean entropy of the plan's rows."""
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
        """How accurate the fit is, in numbers that anyone can check."""
        return certificate_of(self._model)

    @property
    def history(self) -> np.ndarray:
        """Every iteration, as a structured array: ``pandas.DataFrame(model.history)`` makes a table of it."""
        return history_of(self._model)

    def transform(self, X: Any) -> np.ndarray:
        """The scores of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples in rows, with the features of the fit.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
            In double precision.
        """
        return self._model.transform(as_table(X))

    def inverse_transform(self, scores: Any) -> np.ndarray:
        """Samples from scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_components)
            A score for each component.

        Returns
        -------
        samples : ndarray of shape (n_samples, n_features)
            With steps that the program did before the fit undone, as :meth:`ewca.EWCA.inverse_transform` does.
        """
        return self._model.inverse_transform(np.ascontiguousarray(scores, dtype=np.float64))

    def plan(self) -> Plan:
        """The transport plan."""
        return Plan.of_model(self._model)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the model file that the ``ewca`` program reads.

        Parameters
        ----------
        path : str or path-like
            The file; an existing file is replaced.
        """
        self._model.save(path)

    def report(
        self,
        X: Any = None,
        obs: Any = None,
        var_names: Any = None,
        path: Union[Path, bool, None] = None,
        *,
        label: Optional[str] = None,
        name: str = "data",
        tsne: bool = False,
        n_jobs: Optional[int] = None,
    ) -> Report:
        """An interactive report of the fit; see :meth:`ewca.EWCA.report`.

        >>> import numpy as np, ewca
        >>> X = np.random.default_rng(0).normal(size=(40, 4)) * [3, 2, 1, 1]
        >>> path = ewca.path(X, [0.1, 1.0, 3.0])
        >>> page = path.models[1].report(X, obs={"half": [0] * 20 + [1] * 20}, path=path)
        >>> page  # doctest: +ELLIPSIS
        Report(40 samples, 2 components; ... kB): .save("report.html") writes it, a notebook shows it
        """
        from ._report import report_of

        return report_of(self._model, X, obs, var_names, path, label=label, name=name, tsne=tsne, n_jobs=n_jobs)

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Model:
        """Reads a model file.

        Parameters
        ----------
        path : str or path-like
            A file of the program, or of :meth:`save`.

        Returns
        -------
        Model
            What was saved.
        """
        return cls(_ewca.Model.load(path))


def history_of(model: _ewca.Model) -> np.ndarray:
    """The iterations of a fit as a structured array."""
    columns = model.history
    rows = np.empty(len(columns["loss"]), dtype=[(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        rows[name] = values
    return rows
