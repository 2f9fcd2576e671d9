"""The scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "ewca.EWCA needs scikit-learn 1.6 or newer: install it with `pip install scikit-learn`. "
        "The functions ewca.ewca, ewca.path, ewca.select and ewca.sinkhorn_self work without it."
    ) from error

from . import _ewca, _pca
from ._input import (
    as_matrix,
    as_seed,
    as_table,
    as_threads,
    as_weights,
    in_memory,
    is_sparse,
    limited,
    number,
    part_bytes,
    settings,
    shape,
    whole,
)
from ._model import Scree, certificate_of, history_of, parameters_of
from ._plan import MAX_BYTES, Plan
from ._progress import Iteration, Progress
from ._source import Parts, opened
from ._warnings import warn_about

if TYPE_CHECKING:
    from ._functions import Path
    from ._report import Report

#: What a fit leaves, all of it made from the model: a pickle holds the model alone.
_FITTED = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
    "n_components_",
    "n_samples_",
    "epsilon_",
    "perplexity_",
    "loss_",
    "n_iter_",
    "history_",
    "certificate_",
    "potential_",
    "embedding_",
)

#: Those that a fit with ``keep_plan=False`` does not leave.
_OF_SAMPLES = ("potential_", "embedding_")

#: The program's preprocessing, and what each step is where it is not asked for.
_STEPS: dict[str, Any] = {"normalize_total": None, "log1p": False, "top_variable": None, "unit_variance": False}


class EWCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Entropic Wasserstein Component Analysis: PCA with a sense of neighbourhood.

    Finds components, as PCA does, but matches each sample with its neighbours, so that groups of samples stay together. One setting,
    ``epsilon`` or ``perplexity``, says how many neighbours: towards epsilon 0 (perplexity 1) the result is PCA; larger values draw groups
    together, and where they are too large the fit collapses (smoothing is too strong: the components no longer reflect the data).

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        The number of components. A float between 0 and 1 asks for as many as PCA needs to explain more than this part of the variance
        (EWCA with this number explains a little less). ``"auto"`` takes as many as explain more variance than chance, by parallel analysis
        (see ``scree_``), as ``ewca fit -k auto`` does. None takes as many as possible.
    epsilon : float, optional
        How strong the smoothing is, in squared units of the data: with a larger value, each sample is matched with more neighbours.
    perplexity : float, optional
        How many neighbours each sample is matched with on average (exp of the mean entropy of the plan's rows); epsilon is then found. It
        sets the same thing as ``epsilon``: give one of them, or neither for a perplexity of 5 (less for fewer than 15 samples).
    solver : {"auto", "lbfgs", "bcd", "mm"}, default="auto"
        The algorithm: Riemannian L-BFGS (auto), or the paper's block coordinate descent or majorisation-minimisation.
    tol : float, default=1e-6
        The fit has converged when the relative gradient of every component is at most this.
    max_iter : int, default=1000
        The most iterations per start, the search for a perplexity included. Reaching it gives a ``ConvergenceWarning``.
    n_init : int, default=1
        The number of starts: the first from PCA, the others from random subspaces; with up to 1000 samples, one more from a fit with a
        smaller epsilon. The fit with the lowest loss is kept.
    random_state : int, RandomState or None, default=None
        The seed for random starts (not used with ``n_init=1``) and for the permutations of ``n_components="auto"`` (there, None means 0).
    n_jobs : int, optional
        The number of threads, at most one per core. By default, and with -1, all cores, or as many as ``OMP_NUM_THREADS`` or
        ``RAYON_NUM_THREADS`` allow (joblib sets these in its worker processes). It does not change the result.
    warm_start : bool, default=False
        Whether the next fit starts from the components of the last one.
    verbose : int, default=0
        1 shows a progress bar (tqdm's where it is installed).
    landmarks : int, optional
        For a million samples or more: approximates the fit with this many landmarks (a subset of the samples); choose a perplexity well
        above n_samples / landmarks. ``certificate_.approximation`` estimates the error on exact rows of the plan, and ``perplexity_`` is
        computed on these rows too. By default, or with at least as many landmarks as samples, the fit is exact.
    preprocessing : dict, optional
        The preprocessing steps of the ``ewca`` program, by name. They are learned from the data of the fit and repeated for new samples:
        ``normalize_total`` (scales samples to this total), ``log1p``, ``top_variable`` (keeps this many features, those with the largest
        variance), ``unit_variance``; in this order. :meth:`load` sets it for a model that was made with steps.
    keep_plan : bool, default=True
        Whether to keep the scores and potentials of the samples, from which the plan is computed. Without them, the estimator and its
        pickle are as small as PCA's; it can still transform, but has no plan and cannot be saved as a model file.
    single_precision : bool, default=True
        Whether early plans are computed in single precision, with more than 1024 samples. The final result is always in double precision.
    skip_far_pairs : bool, default=True
        Whether to skip pairs of samples that are too far apart to matter, with many samples; ``certificate_.skipped_mass`` is an upper
        bound for their share of the plan, usually below rounding error.
    coarse_to_fine : bool, default=True
        Whether a fit of 8192 samples or more starts from a fit of fewer samples. The final tolerance is the same.
    max_memory : int or str, optional
        The most memory that a fit may use in addition to data in memory: bytes, or a text such as ``"4GB"``. A fit that needs more raises a
        ``MemoryError`` before it starts.
    checkpoint : path-like, optional
        A file to save the state of the fit to while it runs: every ``checkpoint_every`` seconds, and when it is interrupted. Checkpoints of
        the ``ewca`` program can be resumed here too.
    checkpoint_every : float, default=60.0
        Seconds between two saved states; 0 saves every iteration.
    resume : bool or path-like, default=False
        Continues from the state saved in this file; True means the file of ``checkpoint``, if it exists. The result is the same as without
        the interruption. Data and parameters must be the same as before.
    callback : callable, optional
        Called in the calling thread with an :class:`ewca.Iteration` after every iteration of the fit. The fit ends there, with the best
        result so far (``certificate_.termination == "interrupted"``), where it returns True; an exception that it raises is raised by
        ``fit``, which leaves the estimator fitted with that result too.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows. Scores are uncorrelated, variances descend, and the loading of largest magnitude is positive. Features are
        those after ``preprocessing``.
    mean_ : ndarray of shape (n_features,)
        The (weighted) mean of each feature.
    explained_variance_ : ndarray of shape (n_components_,)
        The variance of each component, divided by n - 1 as in PCA (N - 1 for sample weights that sum to N, if that is 2 or more).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as a fraction of the total variance of all features.
    singular_values_ : ndarray of shape (n_components_,)
        The norm of each column of the scores.
    noise_variance_ : float
        The mean variance of the directions outside the components, as in PCA.
    n_components_ : int
        The number of components.
    n_samples_ : int
        The number of samples of the fit.
    n_features_in_ : int
        The number of features that samples must have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names that are all strings.
    epsilon_ : float
        The epsilon of the fit.
    perplexity_ : float
        The perplexity of the fit: how many neighbours each sample is matched with on average.
    loss_ : float
        The objective at the result.
    n_iter_ : int
        The number of iterations.
    history_ : structured ndarray
        Every iteration: attempt, iteration, epsilon, loss, relative_gradient, marginal_error, kernel_passes.
    certificate_ : ewca.Certificate
        How accurate the fit is, in numbers that anyone can check.
    scree_ : ewca.Scree
        The variances of the principal components compared with chance; only with ``n_components="auto"``.
    potential_ : ndarray of shape (n_samples_,)
        The potential of the plan; only with ``keep_plan``.
    embedding_ : ndarray of shape (n_samples_, n_components_)
        The scores of the samples of the fit; only with ``keep_plan``.

    See Also
    --------
    ewca.select : Chooses the number of components and epsilon with the help of labels, and says if PCA is as good.
    ewca.path : Fits a series of epsilons, from PCA to the collapse.
    ewca.covariates : Tests which annotations of the samples are associated with which component.
    sklearn.decomposition.PCA : What EWCA is with an epsilon towards 0.

    Notes
    -----
    Ctrl-C during a fit raises ``KeyboardInterrupt`` as everywhere, but the estimator is left fitted with the best result so far
    (``certificate_.termination == "interrupted"``). Before the first iteration there is no result, and the call ends at once, as it does on
    a second Ctrl-C. Work that has started then finishes in the background.

    ``get_feature_names_out`` counts components from 0 (``ewca0``, ``ewca1``, ...), as scikit-learn does for all transformers; the program's
    tables, reports and files count from 1 (``ewca1``, ``ewca2``, ...), as people do.

    Sample weights are counts: a sample of weight 2 counts as two identical samples, also for the perplexity.

    As with PCA, a fit of float32 data has float32 attributes and gives float32 scores. Numbers are computed, and models saved, in
    float64.

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

    @_pca.explains_parameters
    def __init__(
        self,
        n_components: Union[int, float, str, None] = 2,
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
        preprocessing: Optional[Mapping[str, Any]] = None,
        keep_plan: bool = True,
        single_precision: bool = True,
        skip_far_pairs: bool = True,
        coarse_to_fine: bool = True,
        max_memory: Union[int, str, None] = None,
        checkpoint: Union[str, os.PathLike[str], None] = None,
        checkpoint_every: float = 60.0,
        resume: Union[bool, str, os.PathLike[str]] = False,
        callback: Optional[Callable[[Iteration], Any]] = None,
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
        self.preprocessing = preprocessing
        self.keep_plan = keep_plan
        self.single_precision = single_precision
        self.skip_far_pairs = skip_far_pairs
        self.coarse_to_fine = coarse_to_fine
        self.max_memory = max_memory
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.resume = resume
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EWCA:
        """Fits the components and the transport plan.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or data that are not in memory
            float64 and float32 arrays and CSR matrices are not copied. Read some rows at a time, never whole, and fitted exactly: dask
            arrays, arrays that h5py or zarr have opened, ``X`` of a backed AnnData object (CSC is loaded), memory-mapped arrays that
            are larger than the memory, :class:`ewca.Chunks`, a function that returns an iterator of chunks, and any object with ``shape`` and
            ``read(start, stop)``. The name of a file, or :func:`ewca.read_table`, is read by the readers of the ``ewca`` program.
            What fits into 32 MiB is loaded.
        y : Ignored
            Not used, present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            Not negative; samples of weight 0 do not influence the fit, but get scores and a row of the plan.

        Returns
        -------
        self : EWCA
            The fitted estimator.
        """
        self._fit(X, sample_weight)
        if not self.keep_plan:
            self._take(self._model.without_plan())
        return self

    def _fit(self, X: Any, sample_weight: Any) -> None:
        X = self._checked(X, reset=True)
        weights = as_weights(sample_weight, X.shape[0])
        table, steps = self._prepared(X)
        n_components = self._count(table, weights)
        wanted = settings(
            n_components,
            epsilon=self.epsilon,
            perplexity=self.perplexity,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            n_init=self.n_init,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            start=self._warm_components(shape(table)[1], n_components),
            landmarks=self.landmarks,
            single_precision=self.single_precision,
            skip_far_pairs=self.skip_far_pairs,
            coarse_to_fine=self.coarse_to_fine,
            max_memory=self.max_memory,
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
            resume=self.resume,
            callback=self.callback,
        )
        with Progress(self.verbose, wanted["tol"]) as progress, limited(self.n_jobs):
            model, interrupted = _ewca.fit(table, weights, wanted, progress.callback)
            self._dtype = _float_type(X)
            self._take(model if steps is None else model.with_steps(steps))
            progress.done(self.n_iter_, self.epsilon_, self.loss_, self.certificate_.relative_gradient)
        if interrupted is not None:
            raise interrupted
        features = getattr(self, "feature_names_in_", None) if steps is None else steps.features
        warn_about(self.certificate_, self.epsilon_, limit="max_iter", tol="tol", features=features, stacklevel=4)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fits, and returns the scores of the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for :meth:`fit`.
        y : Ignored
            Not used, present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            As for :meth:`fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            A copy of ``embedding_``.
        """
        self._fit(X, sample_weight)
        scores = self.embedding_.copy()
        if not self.keep_plan:
            self._take(self._model.without_plan())
        return scores  # type: ignore[no-any-return]

    def transform(self, X: Any) -> np.ndarray:
        """The scores of samples: (X - mean_) @ components_.T, after the steps of ``preprocessing``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features_in_)
            New samples, with the features of the fit. Data that are not in memory are read some rows at a time, as by :meth:`fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            float32 where both X and the data of the fit are.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        with limited(self.n_jobs):
            return self._typed(self._model.transform(as_table(X)), X)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Samples from scores: X @ components_ + mean_, with the steps of ``preprocessing`` undone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores.

        Returns
        -------
        samples : ndarray of shape (n_samples, n_features_in_)
            Features that ``top_variable`` left out have their mean. ``normalize_total`` cannot be undone: samples have that total.
        """
        check_is_fitted(self)
        scores = check_array(X, dtype=(np.float64, np.float32))
        if scores.shape[1] != self.n_components_:
            raise ValueError(f"X has {scores.shape[1]} columns: expected {self.n_components_}, the scores of each component")
        with limited(self.n_jobs):
            return self._typed(self._model.inverse_transform(scores.astype(np.float64, order="C", copy=False)), scores)

    def get_covariance(self) -> np.ndarray:
        """The covariance of the data by the model: ``explained_variance_`` along the components, ``noise_variance_`` in all other directions.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            As PCA's, with EWCA's components.
        """
        check_is_fitted(self)
        return _pca.covariance(*self._gaussian()).astype(self._dtype, copy=False)

    def get_precision(self) -> np.ndarray:
        """The inverse of :meth:`get_covariance`.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
            Raises a ``ValueError`` if the components explain all the variance, but are fewer than the features.
        """
        check_is_fitted(self)
        return _pca.precision(*self._gaussian()).astype(self._dtype, copy=False)

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of each sample, under a Gaussian with the covariance of :meth:`get_covariance`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features_in_)
            Samples. Data that are not in memory are read some rows at a time, as by :meth:`fit`.

        Returns
        -------
        log_likelihoods : ndarray of shape (n_samples,)
            As PCA's.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        with limited(self.n_jobs):
            return np.concatenate([self._log_likelihoods(part) for part in in_memory(X)])

    def _log_likelihoods(self, X: Any) -> np.ndarray:
        """Those of samples in memory."""
        _, variances, noise = self._gaussian()
        mean = self._model.mean
        scores = self._model.transform(as_table(X))
        squares = _pca.squared_distances(self._as_seen(X), mean)
        return _pca.log_likelihoods(squares, scores, variances, noise, len(mean))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of samples: see :meth:`score_samples`.

        Comparable with PCA's ``score``, and among EWCAs. It measures how much variance a larger perplexity costs; it does not say which
        perplexity is best, because PCA has the highest score for the samples of the fit. To choose a perplexity, let ``GridSearchCV`` score
        what you do with the components: see the guide to choosing k and perplexity.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features_in_)
            Samples.
        y : Ignored
            Not used, present for scikit-learn's conventions.

        Returns
        -------
        score : float
            The mean of :meth:`score_samples`.
        """
        return float(np.mean(self.score_samples(X)))

    def plan(self) -> Plan:
        """The transport plan of the fit: how strongly each sample is matched with every other.

        Returns
        -------
        Plan
            Its entries are computed when they are needed.
        """
        check_is_fitted(self)
        return Plan.of_model(self._model)

    def transport_plan(self, max_bytes: int = MAX_BYTES) -> np.ndarray:
        """The whole plan, n x n. Rows and columns sum to the weights of the samples (1/n).

        Parameters
        ----------
        max_bytes : int, default=2**30
            Above this size, a ``MemoryError`` is raised.

        Returns
        -------
        plan : ndarray of shape (n_samples_, n_samples_)
            Symmetric.
        """
        with limited(self.n_jobs):
            return self.plan().toarray(max_bytes)

    def plan_graph(self, n_neighbors: int = 15) -> Any:
        """The largest entries of each row of the plan, including that of the sample itself.

        Parameters
        ----------
        n_neighbors : int, default=15
            How many of each row.

        Returns
        -------
        graph : scipy.sparse.csr_array of shape (n_samples_, n_samples_)
            Not symmetric: a sample can be among the strongest partners of another, but not the other way round.
        """
        with limited(self.n_jobs):
            return self.plan().graph(n_neighbors)

    def plan_operator(self) -> Any:
        """The plan as an operator, which never stores it.

        Returns
        -------
        operator : scipy.sparse.linalg.LinearOperator of shape (n_samples_, n_samples_)
            For products with vectors and matrices.
        """
        return self.plan().operator()

    def barycentric_transform(self) -> np.ndarray:
        """The scores of each sample of the fit, averaged over its partners.

        Returns
        -------
        scores : ndarray of shape (n_samples_, n_components_)
            Smoother than ``embedding_``.
        """
        with limited(self.n_jobs):
            return self.plan().barycentric()

    def plan_rows(self, X: Any) -> np.ndarray:
        """How strongly new samples are matched with the samples of the fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features_in_)
            New samples, with the features of the fit.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_samples_)
            Rows sum to 1.
        """
        with limited(self.n_jobs):
            return self.plan().shares(self._model.transform(as_table(self._checked(X, reset=False))))

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a model file that the ``ewca`` program can read (``model.safetensors``). The file is never left half written.

        Parameters
        ----------
        path : str or path-like
            The file; an existing file is replaced.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        self._model.save(path, None if names is None else [str(name) for name in names])

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
        """An interactive report of the fit: ``.save("report.html")`` writes it to a file, and a notebook shows it in place.

        The same report as that of the ``ewca`` program: one HTML file that needs no network.

        Parameters
        ----------
        X : array-like or sparse, optional
            The data that were fitted. Without them, the report has no PCA to compare with, and no features to colour by.
        obs : data frame, dictionary or array-like, optional
            The annotations of the samples: columns of classes or numbers, where values may be missing (one column if it is an array). If
            both ``X`` and ``obs`` are pandas frames with row names, rows are matched by name.
        var_names : sequence of str, optional
            Names of the features; by default those of the fit.
        path : ewca.Path or bool, optional
            Fits with a series of epsilons for the slider: the result of :func:`ewca.path`, or True to compute them.
        label : str, optional
            The column of ``obs`` to colour by at first, and whose classes are compared; by default the first column with classes.
        name : str, default="data"
            The name of the data.
        tsne : bool, default=False
            Whether to show t-SNE of the scores too, for up to 3000 samples.
        n_jobs : int, optional
            The number of threads; all cores by default.

        Returns
        -------
        Report
            The page.

        Examples
        --------
        >>> import numpy as np
        >>> from ewca import EWCA
        >>> X = np.random.default_rng(0).normal(size=(40, 4)) * [3, 2, 1, 1]
        >>> page = EWCA(2).fit(X).report(X, obs={"half": [0] * 20 + [1] * 20})
        >>> page  # doctest: +ELLIPSIS
        Report(40 samples, 2 components; ... kB): .save("report.html") writes it, a notebook shows it
        """
        from ._report import report_of

        check_is_fitted(self)
        if X is not None:
            self._checked(X, reset=False)
        names = getattr(self, "feature_names_in_", None) if var_names is None else var_names
        return report_of(self._model, X, obs, names, path, label=label, name=name, tsne=tsne, n_jobs=n_jobs)

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> EWCA:
        """A fitted estimator from a model file of the program or of :meth:`save`, with the parameters of that fit.

        If the program preprocessed the table, :meth:`transform` repeats that for new samples, :meth:`inverse_transform` undoes it, and
        :meth:`fit` learns it again.

        Parameters
        ----------
        path : str or path-like
            The file. ``FileNotFoundError`` where there is none.

        Returns
        -------
        EWCA
            Fitted.
        """
        model = _ewca.Model.load(path)
        estimator = cls(**parameters_of(model, cls._get_param_names()))
        estimator._dtype = np.dtype(np.float64)
        estimator._take(model)
        estimator.n_features_in_ = model.n_features
        if model.feature_names is not None:
            estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return estimator

    def _take(self, model: _ewca.Model) -> None:
        """Makes the attributes of a fit from its model."""
        self._model = model
        kept = {
            "components_": model.components,
            "mean_": model.mean,
            "explained_variance_": model.explained_variance,
            "explained_variance_ratio_": model.explained_variance_ratio,
            "singular_values_": model.singular_values,
        }
        for name in _OF_SAMPLES:
            self.__dict__.pop(name, None)
        if model.has_plan:
            kept.update(potential_=model.potential, embedding_=model.scores)
        for name, values in kept.items():
            setattr(self, name, values.astype(self._dtype, copy=False))
        self.noise_variance_ = self._gaussian()[2]
        self.n_components_ = model.n_components
        self.n_samples_ = model.n_samples
        self.epsilon_ = model.epsilon
        self.perplexity_ = model.perplexity
        self.loss_ = model.loss
        self.n_iter_ = model.n_iter
        self.history_ = history_of(model)
        self.certificate_ = certificate_of(model)

    def _gaussian(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Components, their variances, and that of every other direction, in double precision."""
        model = self._model
        components, variances = model.components, model.explained_variance
        noise = _pca.noise_variance(variances, model.explained_variance_ratio, model.n_samples, components.shape[1])
        return components, variances, noise

    def _typed(self, found: np.ndarray, given: Any) -> np.ndarray:
        """Results in the type of PCA's: single where both the model and what was given are."""
        return found.astype(np.result_type(self._dtype, _float_type(given)), copy=False)

    def _prepared(self, X: Any) -> tuple[Any, Optional[_ewca.Steps]]:
        """The table to fit, after the steps if there are any."""
        table: Any = as_table(X)
        wanted = _steps_wanted(self.preprocessing)
        if wanted is None:
            return table, None
        names = getattr(self, "feature_names_in_", None)
        features = [f"column{at + 1}" for at in range(X.shape[1])] if names is None else [str(name) for name in names]
        steps, table = _ewca.preprocess(table, features, wanted)
        return table, steps

    def _as_seen(self, X: Any) -> Any:
        """Samples as the model sees them: an array, or compressed sparse rows."""
        if self._model.preprocessing is None:
            return X if is_sparse(X) else np.asarray(X, dtype=np.float64)
        return as_matrix(self._model.prepared(as_table(X)))

    def _count(self, table: Any, weights: Optional[np.ndarray]) -> int:
        """How many components, where that is left to the data."""
        wanted: Any = self.n_components
        self.__dict__.pop("scree_", None)
        threads = as_threads(self.n_jobs)
        if wanted is None:
            return _ewca.components_for(table, weights, 1.0, threads)
        if isinstance(wanted, str):
            if wanted != "auto":
                raise ValueError(f"n_components is {wanted!r}: {_COUNTS}" + _NO_MLE.get(wanted, ""))
            seed = 0 if self.random_state is None else as_seed(self.random_state)
            self.scree_ = Scree(**_ewca.scree(table, weights, seed, threads))
            if self.scree_.above == 0:
                warnings.warn(f"n_components='auto': {self.scree_}", UserWarning, stacklevel=4)
            return max(1, self.scree_.above)
        if isinstance(wanted, (float, np.floating)):
            if not 0 < wanted < 1:
                raise TypeError(f"n_components is {wanted!r}: {_COUNTS}")
            return _ewca.components_for(table, weights, float(wanted), threads)
        count = whole("n_components", wanted)
        n, d = shape(table)
        if count > min(n - 1, d):
            raise ValueError(
                f"n_components={count} is too large for n_samples={n} and n_features={d}: choose from 1 to {min(n - 1, d)}"
            )
        return count

    def _checked(self, X: Any, reset: bool) -> Any:
        X = opened(X, part_bytes(self.max_memory))
        if isinstance(X, (Parts, _ewca.Table)):
            return self._checked_parts(X, reset)
        # The core looks for NaN and infinities itself, and says where they are, unless steps change the table before; `as_table` makes
        # the type and the layout right, and copies only where they are not.
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            ensure_all_finite=bool(self.preprocessing),
            ensure_min_samples=2 if reset else 1,
        )

    def _checked_parts(self, X: Union[Parts, _ewca.Table], reset: bool) -> Any:
        """The same for what is not in memory, of which the shape and the names are known."""
        names = X.features if isinstance(X, _ewca.Table) else None
        if reset:
            self.n_features_in_ = X.shape[1]
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return X
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input."
            )
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and names != [str(name) for name in known]:
            raise ValueError("the features of the file are not those of the fit, or are in another order: use a table with the same columns")
        return X

    def _warm_components(self, n_features: int, n_components: int) -> Optional[np.ndarray]:
        if not (self.warm_start and hasattr(self, "_model")):
            return None
        last: np.ndarray = np.ascontiguousarray(self._model.components.T)
        return last if last.shape == (n_features, n_components) else None

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
            # Pickles of earlier versions are of double precision.
            self.__dict__.setdefault("_dtype", np.dtype(np.float64))
            self._take(self._model)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Only asked for what is not there.
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in _pca.ATTRIBUTES:
                text += f": {_pca.ATTRIBUTES[name]}"
            elif name in _FITTED and "_model" not in self.__dict__:
                text += ": call fit first"
            elif name in _OF_SAMPLES:
                text += ": it was fitted with keep_plan=False"
            elif name == "scree_":
                text += ": it exists only with n_components='auto'"
            raise AttributeError(text)

    def _get_doc_link(self) -> str:
        """The address that the diagram in notebooks links to: that of the package's documentation, where it has one."""
        links = metadata.metadata("ewca").get_all("Project-URL") or []
        found = dict(link.split(", ", 1) for link in links if ", " in link)
        return str(found.get("Documentation", ""))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


#: What n_components may be, in words.
_COUNTS = "pass a whole number, a fraction of the variance between 0 and 1, 'auto', or None for all"
_NO_MLE = {"mle": " (PCA's 'mle' assumes the same noise in all directions; 'auto' compares with shuffled data instead)"}


def _float_type(X: Any) -> np.dtype[Any]:
    """Single precision stays; all else is double."""
    # In whatever order its bytes are; what has no type gives doubles.
    dtype = np.dtype(getattr(X, "dtype", np.float64))
    return np.dtype(np.float32 if (dtype.kind, dtype.itemsize) == ("f", 4) else np.float64)


def _steps_wanted(preprocessing: Optional[Mapping[str, Any]]) -> Optional[dict[str, Any]]:
    """All steps with the types that the compiled half takes them in; None where nothing is to be done."""
    if preprocessing is None:
        return None
    if not isinstance(preprocessing, Mapping):
        raise TypeError(f"preprocessing is {preprocessing!r}: pass a dictionary of steps, such as {{'log1p': True}}")
    unknown = [name for name in preprocessing if name not in _STEPS]
    if unknown:
        raise ValueError(f"preprocessing has no step {unknown[0]!r}: choose from {', '.join(_STEPS)}")
    wanted = {**_STEPS, **preprocessing}
    for name in ("log1p", "unit_variance"):
        if not isinstance(wanted[name], (bool, np.bool_)):
            raise TypeError(f"preprocessing: {name} is {wanted[name]!r}: it must be True or False")
        wanted[name] = bool(wanted[name])
    if wanted["normalize_total"] is not None:
        wanted["normalize_total"] = number("preprocessing: normalize_total", wanted["normalize_total"])
    if wanted["top_variable"] is not None:
        # Columns are counted with 32 bits.
        wanted["top_variable"] = whole("preprocessing: top_variable", wanted["top_variable"], most=2**32 - 1)
    return None if wanted == _STEPS else wanted
