"""The scikit-learn estimator."""

from __future__ import annotations

import os
from typing import Any, Optional, Union

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "ewca.EWCA needs scikit-learn 1.6 or newer: install it with `pip install scikit-learn`. "
        "The functions ewca.ewca, ewca.path, ewca.select and ewca.sinkhorn_self work without it."
    ) from error

from . import _ewca
from ._input import as_table, as_weights, settings
from ._model import certificate_of, history_of
from ._plan import MAX_BYTES, Plan
from ._progress import Progress
from ._warnings import warn_about

#: What a fit leaves, all of it made from the model: a pickle holds the model alone.
_FITTED = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "n_components_",
    "epsilon_",
    "perplexity_",
    "loss_",
    "n_iter_",
    "history_",
    "certificate_",
    "potential_",
    "embedding_",
)


class EWCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Entropic Wasserstein Component Analysis: PCA with a sense of neighbourhood.

    Finds the linear subspace in which the cloud of samples loses least, when each sample may be represented by a mix of its
    neighbours' projections. One knob, ``epsilon`` or ``perplexity``, says how wide a neighbourhood is: towards 0 (perplexity 1)
    the result is PCA; as it grows, the subspace turns towards directions along which groups of samples stay together.

    Parameters
    ----------
    n_components : int, default=2
        The number of components.
    epsilon : float, optional
        How far a sample's mass spreads, in squared units of the data.
    perplexity : float, optional
        Over how many samples each one spreads (exp of the mean entropy of the plan's rows); epsilon is then found. The same knob
        as ``epsilon``: give one of them, or none for a perplexity of 5 (less below 15 samples).
    solver : {"auto", "lbfgs", "bcd", "mm"}, default="auto"
        The algorithm: Riemannian L-BFGS (auto), or the paper's block coordinate descent or majorisation-minimisation.
    tol : float, default=1e-6
        A fit has converged when the residual of every component, relative to itself, is at most this.
    max_iter : int, default=1000
        The largest number of iterations. Reaching it is a ``ConvergenceWarning``.
    n_init : int, default=1
        The number of starts: the first from PCA, others from random subspaces; up to 1000 samples one more by continuation from
        smaller epsilons. The lowest loss is kept.
    random_state : int, RandomState or None, default=None
        The seed of the random subspaces; unused with ``n_init=1``.
    n_jobs : int, optional
        The number of threads; all cores by default. It does not change the result.
    warm_start : bool, default=False
        Whether the next fit begins at the components of the last one.
    verbose : int, default=0
        1 shows a progress bar (tqdm's where it is installed).
    landmarks : int, optional
        For a million samples and more: approximates the kernel by so many of the samples, with a perplexity well above n_samples /
        landmarks. The result is approximate; ``certificate_.approximation`` estimates its error by exact rows of a sample of the
        data, of which ``perplexity_`` is as well. Exact by default, and with no fewer landmarks than samples.

    Attributes
    ----------
    components_ : array, n_components x n_features
        Orthonormal rows. Scores are uncorrelated, variances descend, and the loading of largest magnitude is positive.
    mean_ : array, n_features
        The (weighted) mean of each feature.
    explained_variance_, explained_variance_ratio_, singular_values_ : array, n_components
        As in scikit-learn's PCA: variances are divided by n - 1 (N - 1 for sample weights that sum to N, if that is 2 or more).
    n_components_, n_features_in_, feature_names_in_
        As in scikit-learn.
    epsilon_, perplexity_ : float
        The knob by both names.
    loss_ : float
        The objective at the result.
    n_iter_ : int
        The number of iterations.
    history_ : structured array
        Every iteration: attempt, iteration, epsilon, loss, relative_gradient, marginal_error, kernel_passes.
    certificate_ : ewca.Certificate
        What the fit can prove about itself.
    potential_ : array, n_samples
        The potential of the plan.
    embedding_ : array, n_samples x n_components
        The scores of the samples of the fit.

    Notes
    -----
    Ctrl-C during a fit raises ``KeyboardInterrupt`` as everywhere, but the estimator is left fitted with the best result so far
    (``certificate_.termination == "interrupted"``).

    ``get_feature_names_out`` counts components from 0 (``ewca0``, ``ewca1``, ...), as scikit-learn does for all transformers; the program's
    tables, reports and files count from 1 (``ewca1``, ``ewca2``, ...), as people do.

    Sample weights are counts: a sample of weight 2 is as good as the same sample twice, also where a perplexity is wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from ewca import EWCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8)) + 4 * rng.integers(0, 2, size=(60, 1)) * np.eye(8)[0]
    >>> model = EWCA(n_components=2, perplexity=8).fit(X)
    >>> model.embedding_.shape
    (60, 2)
    >>> model.certificate_.converged
    True
    >>> model.plan_graph(n_neighbors=5).shape
    (60, 60)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: Optional[float] = None,
        perplexity: Optional[float] = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: Optional[int] = None,
        warm_start: bool = False,
        verbose: int = 0,
        landmarks: Optional[int] = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.perplexity = perplexity
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.landmarks = landmarks

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EWCA:
        """Finds the subspace and the plan.

        Parameters
        ----------
        X : array-like or sparse, n_samples x n_features
            float64 and float32 arrays and CSR matrices are not copied.
        y : ignored
        sample_weight : array-like, optional
            Not negative; samples of weight 0 take no part, but get scores and a row of the plan.
        """
        start = self._warm_components(X)
        X = self._checked(X, reset=True)
        self._check_room(X)
        wanted = settings(
            self.n_components,
            epsilon=self.epsilon,
            perplexity=self.perplexity,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            n_init=self.n_init,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            start=start,
            landmarks=self.landmarks,
        )
        weights = as_weights(sample_weight, X.shape[0])
        with Progress(self.verbose, wanted["tol"]) as progress:
            model, interrupted = _ewca.fit(as_table(X), weights, wanted, progress.callback)
            self._take(model)
            progress.done(self.n_iter_, self.epsilon_, self.loss_, self.certificate_.relative_gradient)
        if interrupted is not None:
            raise interrupted
        features = getattr(self, "feature_names_in_", None)
        warn_about(self.certificate_, self.epsilon_, limit="max_iter", tol="tol", features=features)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fits, and returns the scores of the samples."""
        return self.fit(X, y, sample_weight=sample_weight).embedding_.copy()

    def transform(self, X: Any) -> np.ndarray:
        """The scores of samples: (X - mean_) @ components_.T."""
        check_is_fitted(self)
        return self._model.transform(as_table(self._checked(X, reset=False)))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Samples from scores: X @ components_ + mean_."""
        check_is_fitted(self)
        return self._model.inverse_transform(check_array(X, dtype=np.float64))

    def plan(self) -> Plan:
        """The transport plan of the fit: who is near whom."""
        check_is_fitted(self)
        return Plan(self._model.plan())

    def transport_plan(self, max_bytes: int = MAX_BYTES) -> np.ndarray:
        """The whole plan, n x n. Rows and columns sum to the weights of the samples (1/n).

        A ``MemoryError`` where it takes more than ``max_bytes`` (1 GiB by default).
        """
        return self.plan().toarray(max_bytes)

    def plan_graph(self, n_neighbors: int = 15) -> Any:
        """The largest entries of each row of the plan, as a SciPy CSR array; that of the sample itself is one of them."""
        return self.plan().graph(n_neighbors)

    def plan_operator(self) -> Any:
        """The plan as a SciPy ``LinearOperator``, which never stores it."""
        return self.plan().operator()

    def barycentric_transform(self) -> np.ndarray:
        """The scores of each sample of the fit, averaged over its partners."""
        return self.plan().barycentric()

    def plan_rows(self, X: Any) -> np.ndarray:
        """How new samples spread over those of the fit: rows of shares, which sum to 1."""
        return self.plan().shares(self._model.transform(as_table(self._checked(X, reset=False))))

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the model file that the ``ewca`` program reads (``model.safetensors``), whole or not at all."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        self._model.save(path, None if names is None else [str(name) for name in names])

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> EWCA:
        """A fitted estimator from a model file of the program or of :meth:`save`.

        Where the program preprocessed the table, :meth:`transform` does the same to new samples.
        """
        model = _ewca.Model.load(path)
        near = certificate_of(model).approximation
        landmarks = None if near is None else near.landmarks
        estimator = cls(model.n_components, epsilon=model.epsilon, solver=model.solver, landmarks=landmarks)
        estimator._take(model)
        estimator.n_features_in_ = model.n_features
        if model.feature_names is not None:
            estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return estimator

    def _take(self, model: _ewca.Model) -> None:
        """Makes the attributes of a fit from its model."""
        self._model = model
        self.components_ = model.components
        self.mean_ = model.mean
        self.explained_variance_ = model.explained_variance
        self.explained_variance_ratio_ = model.explained_variance_ratio
        self.n_components_ = model.n_components
        self.epsilon_ = model.epsilon
        self.perplexity_ = model.perplexity
        self.loss_ = model.loss
        self.n_iter_ = model.n_iter
        self.history_ = history_of(model)
        self.certificate_ = certificate_of(model)
        self.potential_ = model.potential
        self.embedding_ = model.scores
        self.singular_values_ = np.sqrt(model.count * (model.weights @ self.embedding_**2))

    def _checked(self, X: Any, reset: bool) -> Any:
        # The core looks for NaN and infinities itself, and says where they are; `as_table` makes the type and the layout right, and
        # copies only where they are not.
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )

    def _check_room(self, X: Any) -> None:
        n, d = X.shape
        if isinstance(self.n_components, int) and self.n_components > min(n - 1, d):
            raise ValueError(
                f"n_components={self.n_components} is too large for n_samples={n} and n_features={d}: "
                f"choose from 1 to {min(n - 1, d)}"
            )

    def _warm_components(self, X: Any) -> Optional[np.ndarray]:
        if not (self.warm_start and hasattr(self, "components_")):
            return None
        last = np.ascontiguousarray(self.components_.T)
        same = np.ndim(X) == 2 and last.shape == (np.shape(X)[1], self.n_components)
        return last if same else None

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_model" in state:
            state = {name: value for name, value in state.items() if name not in _FITTED}
        return state  # type: ignore[no-any-return]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in self.__dict__:
            self._take(self._model)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
