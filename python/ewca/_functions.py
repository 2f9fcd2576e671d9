"""The functions of the package: they need nothing but NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional, Union

import numpy as np

from . import _ewca
from ._backends import as_numpy
from ._input import MOST_REPETITIONS, as_points, as_seed, as_table, as_threads, as_weights, is_in_parts, limited, number, settings, shape, whole
from ._model import Model, _Numbers
from ._plan import MAX_BYTES, Plan
from ._present import html_table, significant, text_table
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
) -> tuple[Any, Any]:
    """A drop-in for POT's ``ot.dr.ewca``: the plan and the subspace at the regularisation ``reg``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows; they are centred here. What POT's backends take is taken too: with torch's tensors and JAX's arrays the
        results are such, of the type and on the device of X, without gradients.
    U0 : array-like of shape (n_features, k), optional
        The start of the fit; by default, the principal components.
    reg : float, default=1
        The regularisation epsilon, in squared units of the data.
    k : int, default=2
        The number of components.
    method : {"BCD", "MM"}, default="BCD"
        Block coordinate descent, or block majorisation-minimisation with ``maxiter_MM`` steps per plan.
    sinkhorn_method : str, default="sinkhorn"
        One of POT's names. They all give the same plan; the same method is used here whatever the name.
    stopThr : float, default=1e-6
        The fit has converged when the relative gradient of every component is at most this.
    maxiter : int, default=100
        The most iterations. Reaching it gives a ``ConvergenceWarning``.
    maxiter_sink : int, default=1000
        Accepted for compatibility with POT, but not used: plans are computed to the accuracy that ``stopThr`` needs.
    maxiter_MM : int, default=10
        The steps per plan of the method "MM".
    verbose : int, default=0
        Above 0, shows progress.

    Returns
    -------
    pi : array of shape (n_samples, n_samples)
        The transport plan at ``U``: rows and columns sum to 1/n. If it would take more than 1 GiB (above 11 585 samples), a ``MemoryError``
        is raised before anything is computed; :class:`ewca.EWCA` never stores the whole plan.
    U : array of shape (n_features, k)
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
    X, back = as_numpy(X)
    table = as_table(X)
    _check_dense(shape(table)[0], k, reg)
    start = None
    if U0 is not None:
        start = np.ascontiguousarray(as_numpy(U0)[0], dtype=np.float64)
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
    return back(model.plan().toarray()), back(model.components.T)


def _check_dense(n: int, k: Any, reg: Any) -> None:
    if 8 * n * n > MAX_BYTES:
        raise MemoryError(
            f"ewca.ewca returns the plan as a dense array, which takes {8 * n * n / 2**30:.1f} GiB for {n} samples: use "
            f"ewca.EWCA({k}, epsilon={reg}).fit(X), whose plan_graph(), plan_operator() and plan() never store it"
        )


@dataclass(frozen=True, repr=False)
class Path:
    """Fits with a series of epsilons: the result of :func:`ewca.path`. Arrays have one entry per epsilon.

    >>> import numpy as np, ewca
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [3, 2, 1, 1]
    >>> ewca.path(X, [1, 100])
    Path of 2 fits along epsilon
      epsilon  perplexity  explained variance  distance to PCA   loss      state
            1       5.171               84.2%          0.02621  4.883  converged
          100       49.98               15.7%            2.221   14.6  collapsed
    """

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
        """How many neighbours each sample is matched with on average: exp of the mean entropy of the plan's rows."""
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
        """Where epsilon is too large: the components no longer reflect the data."""
        return np.array([model.certificate.collapsed for model in self.models])

    def __len__(self) -> int:
        return len(self.models)

    def __repr__(self) -> str:
        return text_table(*self._words())

    def _repr_html_(self) -> str:
        return html_table(*self._words())

    def _words(self) -> tuple[str, list[str], list[list[str]]]:
        head = ["epsilon", "perplexity", "explained variance", "distance to PCA", "loss", "state"]
        rows = []
        for model in self.models:
            certificate = model.certificate
            state = "collapsed" if certificate.collapsed else certificate.termination.replace("_", " ")
            numbers = [significant(x) for x in (model.distance_to_pca, model.loss)]
            explained = f"{100 * model.explained_variance_ratio.sum():.1f}%"
            rows.append([significant(model.epsilon), significant(model.perplexity), explained, *numbers, state])
        return f"Path of {len(self)} {'fit' if len(self) == 1 else 'fits'} along epsilon", head, rows


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
    """Fits a series of epsilons, from PCA to the collapse; each fit starts from the one with the next smaller epsilon.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples in rows.
    epsilons : array-like, optional
        The regularisations, in any order. By default 20 of them, from almost PCA to just beyond the collapse of Gaussian data.
    n_components : int, default=2
        The number of components.
    sample_weight, solver, tol, max_iter, n_jobs, verbose
        As for :class:`ewca.EWCA`.

    Returns
    -------
    Path
        The fits, by ascending epsilon.

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
        with limited(n_jobs):
            epsilons, _ = _ewca.default_epsilons(table, weights, whole("n_components", n_components))
    wanted = settings(n_components, solver=solver, tol=tol, max_iter=max_iter, n_jobs=n_jobs)
    values = [number("an epsilon", e) for e in np.ravel(epsilons)]
    if not values:
        raise ValueError("epsilons is empty: pass at least one")
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
class Recommendation:
    """What to use by the errors of both methods, each at its best number of components."""

    #: "ewca" where it is better, otherwise "pca", which is simpler.
    method: str
    #: Its number of components.
    n_components: int
    #: The epsilon to fit with; for PCA one that is too small to matter.
    epsilon: float
    #: The perplexity of that fit; 1 for PCA, where each sample keeps to itself.
    perplexity: float
    #: Its mean error, in percent.
    error: float
    #: The other method's number of components and mean error; None where EWCA collapses at all epsilons.
    other: Optional[tuple[int, float]]
    #: The splits in which the recommended method has fewer errors than the other.
    ahead: int
    #: The splits in which it has more.
    behind: int
    #: By how many points it is better; None where the two are as good as each other or cannot be compared.
    better_by: Optional[float]


@dataclass(frozen=True, eq=False, repr=False)
class Selection(_Numbers):
    """How often the nearest neighbour has another class, for each number of components. Errors are in percent.

    A spread is (mean, lower quartile, median, upper quartile) over the splits.

    >>> import numpy as np, ewca
    >>> y = np.repeat(["a", "b"], 20)
    >>> X = np.random.default_rng(0).normal(size=(40, 6)) + 3 * (y == "b")[:, None] * [1, 1, 0, 0, 0, 0]
    >>> ewca.select(X, y, [1, 2], [1.0], n_splits=10, n_inner_splits=5)
    Selection: mean error of the nearest neighbour
      components  epsilon   EWCA    PCA
               1        1  0.50%  0.50%  best
               2        1  5.00%  5.00%
    without reduction: 8.50%
    """

    #: The epsilons that were tried, ascending.
    epsilons: np.ndarray
    #: The spread of the error in all features, without reduction.
    raw: tuple[float, float, float, float]
    #: For each number of components: ``n_components``, ``epsilon`` (what to use, of those at which the fit does not collapse;
    #: ``stands`` says whether there is any), the spreads ``pca`` and ``ewca``, the epsilons ``chosen`` by each split, the mean error
    #: ``by_epsilon``, which of them ``collapsed`` and their ``perplexities``.
    cells: list[dict[str, Any]]
    #: The place of the best of them for EWCA.
    best: int
    #: What to use: EWCA where it is better than PCA, otherwise PCA.
    recommended: Optional[Recommendation] = None

    @property
    def method(self) -> str:
        """Which method to use: "ewca", or "pca" where it is as good."""
        return "ewca" if self.recommended is None else self.recommended.method

    @property
    def n_components(self) -> int:
        """The number of components to use: the one with the smallest mean error of that method."""
        return int(self.cells[self.best]["n_components"] if self.recommended is None else self.recommended.n_components)

    @property
    def epsilon(self) -> float:
        """The epsilon to use with it; if PCA is recommended, one so small that EWCA gives PCA."""
        return float(self.cells[self.best]["epsilon"] if self.recommended is None else self.recommended.epsilon)

    def __repr__(self) -> str:
        return text_table(*self._words())

    def _repr_html_(self) -> str:
        return html_table(*self._words())

    def _words(self) -> tuple[str, list[str], list[list[str]], list[str]]:
        rows = [
            [
                str(cell["n_components"]),
                significant(cell["epsilon"]) if cell["stands"] else "all collapse",
                f"{cell['ewca'][0]:.2f}%",
                f"{cell['pca'][0]:.2f}%",
                "best" if at == self.best else "",
            ]
            for at, cell in enumerate(self.cells)
        ]
        notes = [f"without reduction: {self.raw[0]:.2f}%"]
        return "Selection: mean error of the nearest neighbour", ["components", "epsilon", "EWCA", "PCA", ""], rows, notes


def select(
    X: Any,
    y: Any,
    n_components: Union[str, Iterable[int]] = "auto",
    epsilons: Any = None,
    *,
    n_splits: int = 100,
    n_inner_splits: int = 20,
    random_state: Any = 0,
    n_jobs: Optional[int] = None,
) -> Selection:
    """Chooses the number of components and epsilon by the paper's protocol, and says if PCA is as good.

    The components are fitted on all samples, without labels. Then samples are split in half many times, with classes in proportion: epsilon
    is chosen on splits of the training half alone, and each sample of the test half gets the class of its nearest neighbour in the training
    half. PCA is tested on the same halves, and is recommended unless EWCA is better: by a tenth of a percentage point on average, and in
    more splits than it is worse.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples in rows.
    y : array-like of shape (n_samples,)
        The class of each sample: text, whole numbers or booleans, none missing.
    n_components : "auto" or iterable of int, default="auto"
        The numbers of components to compare. By default from 1 to as many as explain more variance than chance (parallel analysis).
    epsilons : array-like, optional
        The epsilons to choose from. By default 20, from a tenth to four times the variance of the last component of the
        smallest number of components.
    n_splits : int, default=100
        The number of splits.
    n_inner_splits : int, default=20
        The number of splits within each training half.
    random_state : int, default=0
        The seed for all splits, and for parallel analysis.
    n_jobs : int, optional
        The number of threads; all cores by default.

    Returns
    -------
    Selection
        The errors of both methods, and ``recommended``.

    Examples
    --------
    >>> import numpy as np, ewca
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 20)
    >>> X = rng.normal(size=(40, 6)) + 3 * (y == "b")[:, None] * [1, 1, 0, 0, 0, 0]
    >>> found = ewca.select(X, y, [1, 2], n_splits=10, n_inner_splits=5)
    >>> found.cells[0]["n_components"], len(found.epsilons)
    (1, 20)
    >>> found.method, found.n_components
    ('pca', 1)
    """
    table = as_table(X)
    if is_in_parts(table):
        raise ValueError("select needs the data in memory, since it compares all samples with each other: load them, or some of the samples")
    labels = _labels(y, shape(table)[0])
    threads, seed = as_threads(n_jobs), as_seed(random_state)
    ks = _counts(n_components, table, seed, threads)
    if epsilons is None:
        with limited(n_jobs):
            _, epsilons = _ewca.default_epsilons(table, None, min(ks))
    values = [number("an epsilon", e) for e in np.ravel(epsilons)]
    if not values or not all(0 < e < np.inf for e in values):
        raise ValueError("epsilons must be positive and finite, and at least one")
    found = _ewca.select(
        table,
        labels,
        ks,
        values,
        whole("n_splits", n_splits, most=MOST_REPETITIONS),
        whole("n_inner_splits", n_inner_splits, most=MOST_REPETITIONS),
        seed,
        threads,
    )
    return Selection(**{**found, "recommended": Recommendation(**found["recommended"])})


def _counts(n_components: Any, table: Any, seed: int, threads: Optional[int]) -> list[int]:
    """The numbers of components to judge, each once."""
    if isinstance(n_components, str):
        if n_components != "auto":
            raise ValueError(f"n_components is {n_components!r}: pass 'auto', or the numbers to compare, such as range(1, 11)")
        return list(range(1, max(1, _ewca.scree(table, None, seed, threads)["above"]) + 1))
    given = [n_components] if np.ndim(n_components) == 0 and not hasattr(n_components, "__iter__") else n_components
    ks = list(dict.fromkeys(whole("n_components", k) for k in given))
    if not ks:
        raise ValueError("n_components is empty: pass at least one number of components")
    n, d = shape(table)
    if max(ks) > min(n - 1, d):
        raise ValueError(f"n_components={max(ks)} is too large for {n} samples and {d} features: choose from 1 to {min(n - 1, d)}")
    return ks


def _labels(y: Any, n_samples: int) -> list[str]:
    """One class per sample, as text."""
    given = np.ravel(np.asarray(y))
    if len(given) != n_samples:
        raise ValueError(f"{len(given)} labels were passed for {n_samples} samples")
    missing = [place for place, label in enumerate(given.tolist()) if label is None or str(label) in ("nan", "<NA>", "NaT")]
    if missing:
        raise ValueError(f"{len(missing)} labels are missing, the first at position {missing[0]}: leave these samples out of both X and y")
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.round(given)).all()):
        raise ValueError("y contains numbers that are not whole: pass the class of each sample, not a measurement")
    labels = [str(label) for label in given]
    classes = len(set(labels))
    if classes < 2:
        raise ValueError("all samples have the same label: pass at least 2 classes")
    if classes == n_samples:
        raise ValueError("every sample has a different label: pass the class of each sample, with several samples per class")
    return labels


def sinkhorn_self(Z: Any, epsilon: float, weights: Any = None, *, tol: float = 1e-10) -> Plan:
    """The entropic transport plan of points with themselves: how strongly each point is matched with every other.

    Fast at any epsilon: a few passes over the pairs, without storing them, and without underflow.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
        Points in rows; costs are squared Euclidean distances.
    epsilon : float
        The regularisation.
    weights : array-like of shape (n_samples,), optional
        Positive weights of the points, in any unit; uniform by default.
    tol : float, default=1e-10
        The accepted error in the plan's row and column sums.

    Returns
    -------
    Plan
        The plan; its entries are computed when they are needed.

    Examples
    --------
    >>> import numpy as np, ewca
    >>> plan = ewca.sinkhorn_self([[0.0], [1.0], [1.5]], epsilon=0.1)
    >>> plan.marginal_error < 1e-10
    True
    >>> plan.perplexities().round(1)
    array([1. , 1.3, 1.3])
    """
    Z = as_points("Z", Z)
    a = as_weights(weights, len(Z))
    a = np.ones(len(Z)) if a is None else a
    return Plan.of_points(Z, a / a.sum(), number("epsilon", epsilon), number("tol", tol))
