"""The functions of the package: they need nothing but NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional

import numpy as np

from . import _ewca
from ._input import as_seed, as_table, as_threads, as_weights, number, settings, shape, whole
from ._model import Model
from ._plan import Plan
from ._progress import Progress
from ._warnings import warn_about

_POT_SINKHORNS = ("sinkhorn", "sinkhorn_log", "greenkhorn", "sinkhorn_stabilized", "sinkhorn_epsilon_scaling")


def ewca(
    X: Any,
    U0: Any = None,
    reg: float = 1,
    k: int = 2,
    method: str = "BCD",
    sinkhorn_method: str = "sinkhorn",
    stopThr: float = 1e-6,
    maxiter: int = 100,
    maxiter_sink: int = 1000,
    maxiter_MM: int = 10,
    verbose: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """A drop-in for POT's ``ot.dr.ewca``: the plan and the subspace at the regularisation ``reg``.

    Parameters
    ----------
    X : array-like, n x d
        Samples in rows; they are centred here.
    U0 : array-like, d x k, optional
        Where to begin; the principal components by default.
    reg : float
        The regularisation epsilon, in squared units of the data.
    k : int
        The number of components.
    method : {"BCD", "MM"}
        Block coordinate descent, or block majorisation-minimisation with ``maxiter_MM`` steps per plan.
    sinkhorn_method : str
        One of POT's names. They all give the same plan, and so does the one method that is used here whatever the name.
    stopThr : float
        A fit has converged when the residual of every component, relative to itself, is at most this.
    maxiter : int
        The largest number of iterations. Reaching it is a ``ConvergenceWarning``.
    maxiter_sink : int
        Taken for the sake of POT's signature: plans are solved to the accuracy that ``stopThr`` needs.
    verbose : int
        Above 0, shows progress.

    Returns
    -------
    pi : array, n x n
        The transport plan at ``U``: rows and columns sum to 1/n.
    U : array, d x k
        Orthonormal columns, by descending variance of the scores.

    Examples
    --------
    >>> import numpy as np, ewca
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [3, 2, 1, 1]
    >>> pi, U = ewca.ewca(X, reg=0.5, k=2)
    >>> pi.shape, U.shape
    ((30, 30), (4, 2))
    >>> bool(np.allclose(pi.sum(axis=1), 1 / 30))
    True
    """
    if not isinstance(method, str) or method.upper() not in ("BCD", "MM"):
        raise ValueError(f"method is {method!r}: choose 'BCD' or 'MM'")
    if sinkhorn_method.lower() not in _POT_SINKHORNS:
        raise ValueError(f"sinkhorn_method is {sinkhorn_method!r}: choose one of {', '.join(_POT_SINKHORNS)}")
    whole("maxiter_sink", maxiter_sink)
    table = as_table(X)
    start = None
    if U0 is not None:
        start = np.ascontiguousarray(U0, dtype=np.float64)
        if start.shape != (shape(table)[1], k):
            raise ValueError(f"U0 has the shape {start.shape}: expected {(shape(table)[1], k)}, a column per component")
    wanted = settings(
        k,
        epsilon=reg,
        solver=method.lower(),
        inner_steps=whole("maxiter_MM", maxiter_MM),
        tol=stopThr,
        max_iter=maxiter,
        start=start,
    )
    with Progress(verbose, wanted["tol"]) as progress:
        fitted, interrupted = _ewca.fit(table, None, wanted, progress.callback)
    if interrupted is not None:
        raise interrupted
    model = Model(fitted)
    warn_about(model.certificate, model.epsilon, limit="maxiter", tol="stopThr")
    return model.plan().toarray(), np.ascontiguousarray(model.components.T)


@dataclass(frozen=True)
class Path:
    """Fits along epsilon. Arrays have one entry per epsilon."""

    #: The fits.
    models: list[Model]

    def _each(self, name: str) -> np.ndarray:
        return np.array([getattr(model, name) for model in self.models])

    @property
    def epsilons(self) -> np.ndarray:
        """The regularisations."""
        return self._each("epsilon")

    @property
    def perplexities(self) -> np.ndarray:
        """Over how many samples each one spreads: exp of the mean entropy of the plan's rows."""
        return self._each("perplexity")

    @property
    def losses(self) -> np.ndarray:
        """The objectives."""
        return self._each("loss")

    @property
    def explained_variance_ratios(self) -> np.ndarray:
        """The fraction of the variance that each component explains: epsilons x k."""
        return self._each("explained_variance_ratio")

    @property
    def eigenvalues(self) -> np.ndarray:
        """The leading eigenvalues of M: epsilons x k. The last one is the first to fall below 0, at the collapse."""
        return np.array([model.certificate.eigenvalues for model in self.models])

    @property
    def distances_to_pca(self) -> np.ndarray:
        """Grassmann distances to the subspace of PCA."""
        return self._each("distance_to_pca")

    @property
    def collapsed(self) -> np.ndarray:
        """Where epsilon is too large."""
        return np.array([model.certificate.collapsed for model in self.models])

    def __len__(self) -> int:
        return len(self.models)


def path(
    X: Any,
    epsilons: Any = None,
    n_components: int = 2,
    *,
    sample_weight: Any = None,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_jobs: Optional[int] = None,
    verbose: int = 0,
) -> Path:
    """Fits along a sequence of epsilons, each from its smaller neighbour's result: from PCA to the collapse.

    Parameters
    ----------
    X : array-like or sparse, n x d
        Samples in rows.
    epsilons : array-like, optional
        The regularisations, in any order. By default 20 of them, from where neighbours hardly count to just past the collapse
        of Gaussian data.
    n_components : int
        The number of components.
    sample_weight, solver, tol, max_iter, n_jobs, verbose
        As for :class:`ewca.EWCA`.

    Examples
    --------
    >>> import numpy as np, ewca
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [3, 2, 1, 1]
    >>> found = ewca.path(X, [0.1, 1, 10, 100])
    >>> found.collapsed
    array([False, False,  True,  True])
    >>> bool((np.diff(found.perplexities) > 0).all())
    True
    """
    table = as_table(X)
    weights = as_weights(sample_weight, shape(table)[0])
    if epsilons is None:
        epsilons, _ = _ewca.default_epsilons(table, weights, whole("n_components", n_components))
    wanted = settings(n_components, solver=solver, tol=tol, max_iter=max_iter, n_jobs=n_jobs)
    values = [number("an epsilon", e) for e in np.ravel(epsilons)]
    if not values:
        raise ValueError("there are no epsilons: pass at least one")
    with Progress(verbose, wanted["tol"]) as progress:
        models, interrupted = _ewca.path(table, weights, values, wanted, progress.callback)
    if interrupted is not None:
        raise interrupted
    found = Path([Model(model) for model in models])
    for model in found.models:
        # That the end of a path collapses is what it is for.
        if not model.certificate.converged:
            warn_about(model.certificate, model.epsilon, limit="max_iter", tol="tol")
            break
    return found


@dataclass(frozen=True)
class Selection:
    """How well the nearest neighbour tells classes apart, by number of components. Errors are in percent.

    A spread is (mean, lower quartile, median, upper quartile) over the splits.
    """

    #: The epsilons that were tried, ascending.
    epsilons: np.ndarray
    #: The spread of the error in all features, without reduction.
    raw: tuple[float, float, float, float]
    #: For each number of components: ``n_components``, ``epsilon`` (what to use, of those at which the fit does not collapse;
    #: ``stands`` says whether there is any), the spreads ``pca`` and ``ewca``, the epsilons ``chosen`` by each split, the mean error
    #: ``by_epsilon`` and which of them ``collapsed``.
    cells: list[dict[str, Any]]
    #: The place of the best of them.
    best: int

    @property
    def n_components(self) -> int:
        """The number of components with the smallest mean error."""
        return int(self.cells[self.best]["n_components"])

    @property
    def epsilon(self) -> float:
        """The epsilon to use with it."""
        return float(self.cells[self.best]["epsilon"])


def select(
    X: Any,
    y: Any,
    n_components: Iterable[int] = range(_ewca.DEFAULT_COMPONENTS[0], _ewca.DEFAULT_COMPONENTS[1] + 1),
    epsilons: Any = None,
    *,
    n_splits: int = 100,
    n_inner_splits: int = 20,
    random_state: Any = 0,
    n_jobs: Optional[int] = None,
) -> Selection:
    """Which number of components and which epsilon, by the paper's protocol.

    Subspaces are found on all samples, without labels; the nearest neighbour is judged on stratified halves, and epsilon is
    chosen on inner splits of each train half alone.

    Parameters
    ----------
    X : array-like or sparse, n x d
        Samples in rows.
    y : array-like
        The class of each sample.
    n_components : iterable of int
        The numbers of components to judge.
    epsilons : array-like, optional
        The epsilons to choose from. By default 20, from a tenth to four times the variance of the last component of the
        smallest number of components.
    n_splits, n_inner_splits : int
        How many splits to judge on, and to choose on.
    random_state : int
        The seed of all splits.

    Examples
    --------
    >>> import numpy as np, ewca
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 20)
    >>> X = rng.normal(size=(40, 6)) + 3 * (y == "b")[:, None] * [1, 1, 0, 0, 0, 0]
    >>> found = ewca.select(X, y, [1, 2], n_splits=10, n_inner_splits=5)
    >>> found.cells[0]["n_components"], len(found.epsilons)
    (1, 20)
    >>> found.epsilon in found.epsilons
    True
    """
    table = as_table(X)
    labels = [str(label) for label in np.ravel(y)]
    if len(labels) != shape(table)[0]:
        raise ValueError(f"{len(labels)} labels were passed for {shape(table)[0]} samples")
    if len(set(labels)) < 2:
        raise ValueError("all samples have the same label: at least 2 classes are needed")
    ks = [whole("n_components", k) for k in n_components]
    if not ks:
        raise ValueError("n_components is empty: pass at least one number of components")
    if epsilons is None:
        _, epsilons = _ewca.default_epsilons(table, None, min(ks))
    values = [number("an epsilon", e) for e in np.ravel(epsilons)]
    if not values or not all(0 < e < np.inf for e in values):
        raise ValueError("epsilons must be positive and finite, and at least one")
    found = _ewca.select(
        table,
        labels,
        ks,
        values,
        whole("n_splits", n_splits),
        whole("n_inner_splits", n_inner_splits),
        as_seed(random_state),
        as_threads(n_jobs),
    )
    return Selection(**found)


def sinkhorn_self(Z: Any, epsilon: float, weights: Any = None, *, tol: float = 1e-10) -> Plan:
    """The entropic transport plan of points with themselves, by symmetric scaling.

    Fast at any epsilon: a few passes over the pairs, without storing them, and without underflow.

    Parameters
    ----------
    Z : array-like, n x k
        Points in rows; costs are squared Euclidean distances.
    epsilon : float
        The regularisation.
    weights : array-like, optional
        Positive weights of the points, divided here by their sum; uniform by default.
    tol : float
        The marginal error that is good enough: the sum of what rows differ from the weights.

    Examples
    --------
    >>> import numpy as np, ewca
    >>> plan = ewca.sinkhorn_self([[0.0], [1.0], [1.5]], epsilon=0.1)
    >>> plan.marginal_error < 1e-10
    True
    >>> plan.perplexities().round(1)
    array([1. , 1.3, 1.3])
    """
    Z = np.ascontiguousarray(Z, dtype=np.float64)
    if Z.ndim != 2 or 0 in Z.shape:
        raise ValueError(f"Z has the shape {Z.shape}: expected points in rows")
    a = as_weights(weights, len(Z))
    a = np.ones(len(Z)) if a is None else a
    return Plan(_ewca.self_transport(Z, a / a.sum(), number("epsilon", epsilon), number("tol", tol)))
