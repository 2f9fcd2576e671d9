"""EWCA for AnnData objects, with results in the places where scanpy expects them.

>>> import anndata, numpy as np, ewca.scanpy
>>> counts = np.random.default_rng(0).normal(size=(50, 8)) * [4, 3, 2, 1, 1, 1, 1, 1]
>>> adata = anndata.AnnData(counts)
>>> ewca.scanpy.ewca(adata, n_comps=3)
>>> adata.obsm["X_ewca"].shape, adata.varm["EWCs"].shape, adata.obsp["ewca_plan"].shape
((50, 3), (8, 3), (50, 50))

Then ``sc.pp.neighbors(adata, use_rep="X_ewca")`` goes on as after PCA, or ``ewca.scanpy.plan_as_neighbors(adata)`` makes a transport plan
the neighbour graph. ``ewca.scanpy.transform(new_cells, adata)`` gives the scores of other cells, and ``ewca.scanpy.as_pca(adata)`` is for
functions of scanpy that look for a PCA, such as ``sc.pl.pca_loadings``.
"""

from __future__ import annotations

import warnings
from typing import Any, Iterator, NamedTuple, Optional, Union

import numpy as np

from . import _ewca
from ._functions import sinkhorn_self
from ._input import is_sparse, whole
from ._plan import Plan
from ._source import columns_of

__all__ = ["as_pca", "ewca", "plan_as_neighbors", "transform"]

#: How many components there are by default, where the data have as many.
N_COMPS = 20
#: How many cells, or genes, of a file are read at a time; AnnData's own number.
CHUNK_SIZE = 6000


class _NotGiven:
    """What stands for an argument that was not passed, where None means something."""

    def __repr__(self) -> str:
        return "<the genes that adata.var['highly_variable'] marks, where it is there>"


_NOT_GIVEN = _NotGiven()


def ewca(
    data: Any,
    n_comps: Optional[int] = None,
    *,
    layer: Optional[str] = None,
    obsm: Optional[str] = None,
    zero_center: bool = True,
    svd_solver: Optional[str] = None,
    chunked: bool = False,
    chunk_size: Optional[int] = None,
    random_state: Any = 0,
    return_info: bool = False,
    mask_var: Union[np.ndarray, str, None, _NotGiven] = _NOT_GIVEN,
    use_highly_variable: Optional[bool] = None,
    dtype: Any = "float32",
    key_added: Optional[str] = None,
    copy: bool = False,
    n_neighbors: int = 15,
    epsilon: Optional[float] = None,
    perplexity: Optional[float] = None,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_init: int = 1,
    n_jobs: Optional[int] = None,
    verbose: int = 0,
    landmarks: Optional[int] = None,
    **settings: Any,
) -> Any:
    """Fits EWCA to cells, with the arguments of ``sc.pp.pca``.

    Parameters
    ----------
    data : AnnData, array or sparse matrix
        Cells in rows, normalised and log-transformed as for PCA. An AnnData object may be backed by a file.
    n_comps : int, optional
        The number of components: 20 by default, or as many as the cells and genes allow. More than that are cut down to it, with a
        warning.
    layer : str, optional
        The layer to use instead of ``adata.X``.
    obsm : str, optional
        The entry of ``adata.obsm`` to use instead of ``adata.X``.
    zero_center : bool
        Cells are always centred; False is an error.
    svd_solver : str, optional
        Accepted for compatibility with ``sc.pp.pca``, but not used (``solver`` is a different setting); passing it gives a warning.
    chunked : bool
        Accepted for compatibility with ``sc.pp.pca``; the result is the same. Data in a file are read some cells at a time, and never held
        whole, where the file stores them cell by cell (dense, or CSR). Where it stores them gene by gene (CSC), some genes are read at a time,
        and all genes that are used are held in memory, as a sparse matrix. Data in memory are used directly.
    chunk_size : int, optional
        How many cells of a file, or genes of one that holds them gene by gene (CSC), are read at a time.
    random_state : int, RandomState or None
        The seed of the random subspaces; unused with ``n_init=1``.
    return_info : bool
        Of an array or a sparse matrix only: whether to return more than the scores, see below.
    mask_var : str or array of bool, optional
        Which genes to use: a column of ``adata.var`` or one truth value per gene; None for all. By default those that
        ``adata.var["highly_variable"]`` marks, if it is there.
    use_highly_variable : bool, optional
        The older name of ``mask_var="highly_variable"`` (True) and ``mask_var=None`` (False).
    dtype : str or dtype
        The type of the scores. The fit itself is in double precision.
    key_added : str, optional
        Where results go: ``obsm[key_added]``, ``varm[key_added]``, ``varm[key_added + "_mean"]``, ``obsp[key_added + "_plan"]`` and
        ``uns[key_added]`` instead of the places below.
    copy : bool
        Whether to return a changed copy instead of changing ``adata``.
    n_neighbors : int
        How many entries of each row of the plan are kept in ``obsp``, that of the cell itself included.
    epsilon, perplexity, solver, tol, max_iter, n_init, n_jobs, verbose, landmarks, **settings
        As for :class:`ewca.EWCA`.

    Returns
    -------
    Of an AnnData object: nothing, or the changed copy. Of an array or a sparse matrix: the scores, or with ``return_info`` the scores, the
    components (one per row), the ratios of the variance and the variances, as ``sc.pp.pca`` has them.

    Notes
    -----
    Writes ``obsm["X_ewca"]`` (scores), ``varm["EWCs"]`` (loadings; zero for genes that were not used), ``varm["ewca_mean"]`` (the mean of
    each gene; NaN for genes that were not used), ``obsp["ewca_plan"]`` (the largest entries of the plan) and ``uns["ewca"]``: the places,
    and in ``uns`` the names, of the ``ewca`` program. With ``obsm``, components and means are in ``uns`` instead of ``varm``. Beside
    ``params`` (``n_comps``, ``solver``, ``tol``, and as scanpy has them ``zero_center``, ``use_highly_variable``, ``mask_var``, ``layer``
    and ``obsm``, the last three where they were used), ``variance`` and ``variance_ratio``, these are ``version``, ``epsilon``,
    ``perplexity``, ``loss``, ``termination``, ``marginal_error``, ``relative_gradient`` and ``collapsed``, and of fits with landmarks
    ``approximate_landmarks`` and ``approximate_marginal_error``.

    Examples
    --------
    >>> import anndata, numpy as np, ewca.scanpy
    >>> adata = anndata.AnnData(np.random.default_rng(0).normal(size=(50, 8)) * [4, 3, 2, 1, 1, 1, 1, 1])
    >>> ewca.scanpy.ewca(adata, n_comps=3, perplexity=8, mask_var=np.arange(8) < 5)
    >>> adata.obsm["X_ewca"].dtype, adata.varm["EWCs"].shape, int((adata.varm["EWCs"] != 0).any(axis=1).sum())
    (dtype('float32'), (8, 3), 5)
    """
    # Not before: what needs no fit needs no scikit-learn.
    from ._estimator import EWCA

    _check_taken_for_granted(zero_center, svd_solver, chunked, chunk_size)
    dtype = _score_type(dtype)
    if not hasattr(data, "obs_names"):
        mask_var = None if isinstance(mask_var, _NotGiven) else mask_var
        for name, value in [("layer", layer), ("obsm", obsm), ("mask_var", mask_var), ("key_added", key_added)]:
            if value is not None:
                raise ValueError(f"{name} works only with AnnData objects: remove it")
        adata, X, genes = None, data, _Genes(None, None)
    else:
        adata = _copy(data) if copy else data
        genes = _genes(adata, mask_var, use_highly_variable, obsm)
        X = _chosen(_matrix(adata, layer, obsm), genes.mask, chunk_size)
    model = EWCA(
        _components(n_comps, *np.shape(X)[:2]),
        epsilon=epsilon,
        perplexity=perplexity,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        n_init=n_init,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
        landmarks=landmarks,
        **settings,
    ).fit(X)
    scores = _as_type(model.embedding_, dtype)
    if adata is None:
        info = (scores, model.components_, model.explained_variance_ratio_, model.explained_variance_)
        return info if return_info else scores
    places = _Places.of(key_added)
    told = _told(model, genes, layer, obsm, tol)
    adata.obsm[places.obsm] = scores
    adata.obsp[places.obsp] = _csr_matrix(model.plan_graph(n_neighbors))
    if obsm is None:
        used = slice(None) if genes.mask is None else genes.mask
        loadings = np.zeros((adata.n_vars, model.n_components_))
        loadings[used] = model.components_.T
        means = np.full((adata.n_vars, 1), np.nan)
        means[used, 0] = model.mean_
        adata.varm[places.varm], adata.varm[places.mean] = loadings, means
    else:
        # Those of an earlier fit, of genes, would seem to belong to this one.
        adata.varm.pop(places.varm, None)
        adata.varm.pop(places.mean, None)
        told.update(components=np.ascontiguousarray(model.components_.T), mean=model.mean_)
    adata.uns[places.uns] = told
    return adata if copy else None


def transform(
    adata: Any,
    reference: Any,
    *,
    layer: Optional[str] = None,
    key: Optional[str] = None,
    key_added: Optional[str] = None,
    chunk_size: Optional[int] = None,
    dtype: Any = "float32",
    copy: bool = False,
) -> Any:
    """Computes the scores of other cells on the components of a reference.

    Genes are found by their names, in whatever order they are; genes that the components do not use are left out. Genes of the reference
    that ``adata`` does not have are set to their means in the reference, and a warning says how many they are and how much of the
    components they make up. If all are missing, this is an error.

    Parameters
    ----------
    adata : AnnData
        The new cells, normalised as those of the reference were. May be backed by a file.
    reference : AnnData
        After :func:`ewca`, or written by ``ewca fit --write-anndata``.
    layer : str, optional
        The layer of ``adata`` to use; by default the one that the reference was fitted on. ``"X"`` is ``adata.X``.
    key : str, optional
        The ``key_added`` of the reference, if it had one.
    key_added : str, optional
        Where in ``adata.obsm`` the scores go; by default where the reference has its own.
    chunk_size : int, optional
        How many cells are worked on at a time.
    dtype : str or dtype
        The type of the scores.
    copy : bool
        Whether to return a changed copy instead of changing ``adata``.

    Examples
    --------
    >>> import anndata, numpy as np, ewca.scanpy
    >>> cells = anndata.AnnData(np.random.default_rng(0).normal(size=(60, 8)) * [4, 3, 2, 1, 1, 1, 1, 1])
    >>> known, new = cells[:50].copy(), cells[50:, ::-1].copy()
    >>> ewca.scanpy.ewca(known, n_comps=3)
    >>> ewca.scanpy.transform(new, known)
    >>> new.obsm["X_ewca"].shape
    (10, 3)
    """
    places = _Places.of(key)
    dtype = _score_type(dtype)
    if places.uns not in reference.uns or "params" not in reference.uns[places.uns]:
        raise KeyError(f"the reference has no uns[{places.uns!r}] of a fit: run ewca.scanpy.ewca on it first")
    fit = reference.uns[places.uns]
    params = fit["params"]
    if "preprocessing" in params:
        raise ValueError(
            f"the reference was fitted by the program with preprocessing ({params['preprocessing']}), which was not applied to adata: "
            "use `ewca transform` with the model of that fit, or preprocess all cells with scanpy and fit them without preprocessing"
        )
    adata = _copy(adata) if copy else adata
    if "obsm" in params:
        X, columns = _matrix(adata, None, str(params["obsm"])), None
        loadings, mean = np.asarray(fit["components"]), np.asarray(fit["mean"])
        if np.shape(X)[1] != len(loadings):
            raise ValueError(f"adata.obsm[{params['obsm']!r}] has {np.shape(X)[1]} columns, but that of the reference has {len(loadings)}")
    else:
        columns, loadings, mean = _shared_genes(adata, reference, places)
        X = _matrix(adata, _layer_of(adata, params, layer), None)
    origin = mean @ loadings
    blocks = [np.asarray(block @ loadings) - origin for block in _blocks(X, columns, chunk_size)]
    scores = np.concatenate(blocks) if blocks else np.zeros((0, loadings.shape[1]))
    bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if len(bad):
        raise ValueError(f"the cell {adata.obs_names[bad[0]]!r} has missing or infinite values: fill them in, or leave the cell out")
    adata.obsm[places.obsm if key_added is None else key_added] = _as_type(scores, dtype)
    return adata if copy else None


def as_pca(adata: Any, *, key: Optional[str] = None) -> Any:
    """The same cells with EWCA in the place of PCA, for functions of scanpy that use only PCA.

    ``sc.pl.pca_variance_ratio``, ``sc.pl.pca_loadings`` and ``sc.pl.pca`` draw what is in ``uns["pca"]``, ``varm["PCs"]`` and
    ``obsm["X_pca"]``. This returns a new object, which shares the matrices of ``adata``: nothing in ``adata`` changes.

    Parameters
    ----------
    adata : AnnData
        After :func:`ewca`.
    key : str, optional
        Its ``key_added``, if it had one.

    Examples
    --------
    >>> import anndata, numpy as np, ewca.scanpy
    >>> adata = anndata.AnnData(np.random.default_rng(0).normal(size=(50, 8)) * [4, 3, 2, 1, 1, 1, 1, 1])
    >>> ewca.scanpy.ewca(adata, n_comps=3)
    >>> ewca.scanpy.as_pca(adata).varm["PCs"].shape
    (8, 3)
    """
    import anndata

    places = _Places.of(key)
    _check_fitted(adata, places)
    uns, obsm, varm = dict(adata.uns), dict(adata.obsm), dict(adata.varm)
    uns["pca"], obsm["X_pca"] = adata.uns[places.uns], adata.obsm[places.obsm]
    varm.pop("PCs", None)
    if places.varm in adata.varm:
        varm["PCs"] = adata.varm[places.varm]
    raw: dict[str, Any] = {} if adata.raw is None else {"raw": {"X": adata.raw.X, "var": adata.raw.var, "varm": dict(adata.raw.varm)}}
    X = None if adata.isbacked else adata.X
    parts: dict[str, Any] = {"obs": adata.obs, "var": adata.var, "uns": uns, "obsm": obsm, "varm": varm}
    pairs: dict[str, Any] = {"layers": _named(adata.layers), "obsp": dict(adata.obsp), "varp": dict(adata.varp)}
    return anndata.AnnData(X, **parts, **pairs, **raw)


def plan_as_neighbors(
    adata: Any, n_neighbors: int = 15, *, key: Optional[str] = None, key_added: Optional[str] = None, copy: bool = False
) -> Any:
    """Uses the transport plan as the neighbour graph for ``sc.tl.leiden``, ``sc.tl.umap``, ``sc.tl.paga`` and others.

    ``sc.pp.neighbors(adata, use_rep="X_ewca")`` is the usual way, and clusters at least as well in what was measured (bench/NEIGHBORS.md).
    Use this one if the graph should be that of the fit itself, as in ``obsp["ewca_plan"]``, where cells in dense regions do not collect the
    links of all others.

    Parameters
    ----------
    adata : AnnData
        After :func:`ewca`.
    n_neighbors : int
        How many of the strongest partners each cell is linked with, the cell itself counted, as scanpy counts; it is also how wide the
        links spread, whatever the perplexity of the fit was. With fewer cells than that, half of them.
    key : str, optional
        The ``key_added`` of :func:`ewca`, if it had one.
    key_added : str, optional
        The name of the neighbours, as in ``sc.pp.neighbors``; by default the one that scanpy looks for.
    copy : bool
        Whether to return a changed copy instead of changing ``adata``.

    Notes
    -----
    Connectivities are made as UMAP makes them, from the plan instead of distances. The entries of a cell's partners are divided by the
    largest, raised to the power at which they sum to log2(n_neighbors), which gives every cell a width of its own, and the two directions
    of a link are joined to r + s - r s. Distances are those between scores, of the same partners: as many in each row, as
    ``sc.tl.ingest`` needs them.

    Examples
    --------
    >>> import anndata, numpy as np, ewca.scanpy
    >>> adata = anndata.AnnData(np.random.default_rng(0).normal(size=(50, 8)) * [4, 3, 2, 1, 1, 1, 1, 1])
    >>> ewca.scanpy.ewca(adata, n_comps=3)
    >>> ewca.scanpy.plan_as_neighbors(adata, n_neighbors=10)
    >>> adata.obsp["connectivities"].shape, adata.obsp["distances"].nnz
    ((50, 50), 450)
    """
    n_neighbors = whole("n_neighbors", n_neighbors, least=2)
    places = _Places.of(key)
    _check_fitted(adata, places)
    adata = _copy(adata) if copy else adata
    scores = np.asarray(adata.obsm[places.obsm], dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ValueError(f"obsm[{places.obsm!r}] has cells without scores: remove these cells first")
    n = len(scores)
    n_neighbors = n_neighbors if n_neighbors <= n else 1 + n // 2
    # Solved anew, which takes a few passes: so it is right also where cells were left out since.
    plan = sinkhorn_self(scores, float(adata.uns[places.uns]["epsilon"]))
    positions = _partners(plan, scores, n_neighbors)
    lengths = np.sqrt(_squared_lengths(scores, positions))
    names = ("distances", "connectivities") if key_added is None else (f"{key_added}_distances", f"{key_added}_connectivities")
    adata.obsp[names[0]] = _rows_of(lengths, positions)
    adata.obsp[names[1]] = _links(_strengths(plan, scores, positions), positions)
    adata.uns["neighbors" if key_added is None else key_added] = {
        "connectivities_key": names[1],
        "distances_key": names[0],
        "params": {"n_neighbors": n_neighbors, "method": "umap", "metric": "euclidean", "use_rep": places.obsm, "random_state": 0},
    }
    return adata if copy else None


def _partners(plan: Plan, scores: np.ndarray, n_neighbors: int) -> np.ndarray:
    """The strongest partners of each cell other than itself: n x (n_neighbors - 1), in ascending order of their places."""
    n = len(scores)
    found, shares = plan._plan.partners(n_neighbors)
    # A share that is too small for a number says nothing of who comes next: the exponents do.
    for row in np.flatnonzero((shares == 0).any(axis=1)):
        found[row] = np.argsort(_exponents(plan, scores, row, slice(None)), kind="stable")[:n_neighbors]
    # Where a cell is not among its own partners, the weakest of them makes room.
    is_self = found == np.arange(n)[:, np.newaxis]
    is_self[~is_self.any(axis=1), -1] = True
    return np.asarray(np.sort(found[~is_self].reshape(n, n_neighbors - 1), axis=1))


def _exponents(plan: Plan, scores: np.ndarray, row: Any, partners: Any) -> np.ndarray:
    """Minus the logarithms of the shares, but for a number of each cell."""
    return np.asarray((_squared_lengths(scores[row], partners, scores) - plan.potential[partners]) / plan.epsilon)


def _squared_lengths(points: np.ndarray, partners: Any, scores: Optional[np.ndarray] = None) -> np.ndarray:
    scores = points if scores is None else scores
    # Component by component: all differences at once would take n x partners x components numbers.
    return np.asarray(sum((points[..., k, np.newaxis] - scores[partners, k]) ** 2 for k in range(scores.shape[1])))


def _strengths(plan: Plan, scores: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The plan's entries as strengths from 0 to 1, which sum to the same for every cell, as in UMAP."""
    steps = _exponents(plan, scores, slice(None), positions)
    steps -= steps.min(axis=1, keepdims=True)
    wanted = np.log2(positions.shape[1] + 1)
    mean = steps.mean(axis=1)
    # Widths between which the sum goes from the number of nearest ones to that of all. Bisection of the logarithms.
    low, high = (np.where(mean > 0, factor * mean, 1.0) for factor in (1e-3, 1e3))
    for _ in range(50):
        width = np.sqrt(low * high)
        too_wide = np.exp(-steps / width[:, np.newaxis]).sum(axis=1) > wanted
        low, high = np.where(too_wide, low, width), np.where(too_wide, width, high)
    return np.asarray(np.exp(-steps / width[:, np.newaxis]))


def _links(strengths: np.ndarray, positions: np.ndarray) -> Any:
    """A link is one that either of two cells has."""
    one_way = _rows_of(strengths, positions)
    links = one_way + one_way.T - one_way.multiply(one_way.T)
    links = _csr_matrix(links.astype(np.float32))
    links.eliminate_zeros()
    return links


def _rows_of(values: np.ndarray, positions: np.ndarray) -> Any:
    """A sparse matrix with as many entries in each row, also where they are zero."""
    from scipy.sparse import csr_matrix

    n, count = positions.shape
    offsets = np.arange(0, n * count + 1, count, dtype=positions.dtype)
    return _csr_matrix(csr_matrix((values.ravel(), positions.ravel(), offsets), shape=(n, n)))


class _Places(NamedTuple):
    """Where results are."""

    obsm: str
    varm: str
    mean: str
    obsp: str
    uns: str

    @classmethod
    def of(cls, key: Optional[str]) -> _Places:
        """As scanpy has it: one key names all places."""
        if key is None or key == "X_ewca":
            return cls("X_ewca", "EWCs", "ewca_mean", "ewca_plan", "ewca")
        return cls(key, key, f"{key}_mean", f"{key}_plan", key)


class _Genes(NamedTuple):
    """Which genes to use: as it was said, and one truth value per gene; None for all."""

    said: Any
    mask: Optional[np.ndarray]


def _check_fitted(adata: Any, places: _Places) -> None:
    if places.obsm not in adata.obsm or places.uns not in adata.uns:
        raise KeyError(f"adata has no obsm[{places.obsm!r}] with uns[{places.uns!r}]: run ewca.scanpy.ewca first")


def _check_taken_for_granted(zero_center: Any, svd_solver: Any, chunked: Any, chunk_size: Any) -> None:
    if zero_center is not True:
        raise ValueError("zero_center=False is not possible: EWCA always centres the data")
    if svd_solver is not None:
        warnings.warn(f"svd_solver={svd_solver!r} has no meaning for EWCA, and is ignored", UserWarning, stacklevel=3)
    if not isinstance(chunked, (bool, np.bool_)):
        raise TypeError(f"chunked is {chunked!r}: it must be True or False")
    if chunk_size is not None:
        whole("chunk_size", chunk_size)


def _score_type(dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype is {dtype.name!r}: choose 'float32' or 'float64'")
    return dtype


def _as_type(scores: np.ndarray, dtype: Any) -> np.ndarray:
    if scores.size and np.abs(scores).max() > np.finfo(dtype).max:
        raise ValueError(f"scores are too large for {dtype.name}: pass dtype='float64'")
    return scores.astype(dtype)


def _copy(adata: Any) -> Any:
    if adata.isbacked:
        raise ValueError("copy=True is not possible where adata is backed by a file: load it with adata.to_memory(), or leave copy out")
    return adata.copy()


def _components(n_comps: Any, cells: int, genes: int) -> Any:
    most = min(cells - 1, genes)
    if n_comps is None:
        return max(1, min(N_COMPS, most))
    if isinstance(n_comps, (int, np.integer)) and n_comps > most >= 1:
        message = f"n_comps is {n_comps}, but {cells} cells and {genes} genes have no more than {most} components: {most} are computed"
        warnings.warn(message, UserWarning, stacklevel=3)
        return most
    return n_comps


def _genes(adata: Any, mask_var: Any, use_highly_variable: Optional[bool], obsm: Optional[str]) -> _Genes:
    if isinstance(mask_var, _NotGiven):
        if use_highly_variable is None:
            use_highly_variable = obsm is None and "highly_variable" in adata.var
        mask_var = "highly_variable" if use_highly_variable else None
    elif use_highly_variable is not None:
        raise ValueError("mask_var and use_highly_variable were both passed, but they set the same thing: pass only mask_var")
    if mask_var is None:
        return _Genes(None, None)
    if obsm is not None:
        raise ValueError("mask_var selects genes, but the columns of obsm are not genes: pass only one of them")
    if isinstance(mask_var, str):
        return _Genes(mask_var, _marks_of(adata, mask_var))
    mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        raise ValueError(f"mask_var must be a column of adata.var, or an array of {adata.n_vars} truth values, one per gene")
    _check_marks(mask, "mask_var")
    return _Genes(mask, mask)


def _marks_of(adata: Any, name: str) -> np.ndarray:
    if name not in adata.var:
        advice = "run sc.pp.highly_variable_genes" if name == "highly_variable" else "name one of its columns"
        raise ValueError(f"genes marked by {name!r} were asked for, but adata.var has no {name!r}: {advice}")
    marks = adata.var[name]
    values = np.asarray(marks)
    # Marks from files may be numbers. Words are not: "False" would count as true.
    if bool(marks.isna().any()) or not all(value in (0, 1) for value in set(values.tolist())):
        raise ValueError(f"adata.var[{name!r}] must be True or False for every gene")
    mask = values.astype(bool)
    _check_marks(mask, f"adata.var[{name!r}]")
    return mask


def _check_marks(mask: np.ndarray, what: str) -> None:
    if not mask.any():
        raise ValueError(f"{what} selects no genes")


def _matrix(adata: Any, layer: Optional[str], obsm: Optional[str]) -> Any:
    """The matrix that was asked for, where it is."""
    if layer is not None and obsm is not None:
        raise ValueError("layer and obsm were both passed: pass only one of them")
    for name, key, there in [("layers", layer, adata.layers), ("obsm", obsm, adata.obsm)]:
        if key is not None:
            if key not in there:
                raise KeyError(f"adata.{name} has no {key!r}; it has {', '.join(map(repr, _named(there))) or 'nothing'}")
            return there[key]
    if adata.X is None:
        raise ValueError("adata has no X: choose a layer, or an entry of obsm")
    return adata.X


def _named(matrices: Any) -> dict[str, Any]:
    """AnnData 0.13 has X among the layers, under no name."""
    return {name: matrices[name] for name in matrices if name is not None}


def _in_file(x: Any) -> bool:
    """Whether a matrix is in a file: AnnData's sparse ones, and what h5py and zarr have."""
    return hasattr(x, "to_memory") or type(x).__module__.partition(".")[0] in ("h5py", "zarr")


def _chosen(x: Any, mask: Optional[np.ndarray], chunk_size: Optional[int]) -> Any:
    """The columns that are used, in memory; of what a file has cell by cell, where it is."""
    if not _in_file(x):
        return x if mask is None else x[:, mask]
    if getattr(x, "format", None) != "csc":
        return columns_of(x, mask, chunk_size)
    columns = None if mask is None else np.flatnonzero(mask)
    blocks = list(_blocks(x, columns, chunk_size))
    if blocks and is_sparse(blocks[0]):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return np.concatenate(blocks) if blocks else np.zeros((0, np.shape(x)[1] if columns is None else len(columns)))


def _blocks(x: Any, columns: Optional[np.ndarray], chunk_size: Optional[int]) -> Iterator[Any]:
    """Some cells after the others, in memory, with these columns in this order."""
    size = chunk_size or CHUNK_SIZE
    rows = np.shape(x)[0]
    if _in_file(x) and getattr(x, "format", None) == "csc":
        # Stored by genes: to look for a few cells, all of it would be read again and again.
        yield _by_genes(x, columns, size)
        return
    values = x.to_numpy() if hasattr(x, "to_numpy") else x
    for start in range(0, rows, size):
        block = values[start : min(start + size, rows)]
        block = block.compute() if hasattr(block, "compute") else block
        yield block if columns is None else block[:, columns]


def _by_genes(x: Any, columns: Optional[np.ndarray], size: int) -> Any:
    from scipy.sparse import hstack

    columns = np.arange(x.shape[1]) if columns is None else columns
    order = np.sort(columns)
    blocks = []
    for start in range(0, x.shape[1], size):
        wanted = order[(order >= start) & (order < start + size)]
        if len(wanted):
            blocks.append(x[:, start : min(start + size, x.shape[1])][:, wanted - start])
    return hstack(blocks, format="csr")[:, np.searchsorted(order, columns)]


def _layer_of(adata: Any, params: Any, layer: Optional[str]) -> Optional[str]:
    if layer is not None:
        return None if layer == "X" and "X" not in adata.layers else layer
    layer = params.get("layer")
    if layer is not None and layer not in adata.layers:
        raise KeyError(f"the reference was fitted on layers[{str(layer)!r}], which adata does not have: choose a layer, or layer='X'")
    return None if layer is None else str(layer)


def _shared_genes(adata: Any, reference: Any, places: _Places) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where in ``adata`` the genes of the reference are, with their loadings and means."""
    for name in (places.varm, places.mean):
        if name not in reference.varm:
            raise KeyError(f"the reference has no varm[{name!r}]: run ewca.scanpy.ewca on it again")
    loadings, means = np.asarray(reference.varm[places.varm]), np.asarray(reference.varm[places.mean]).ravel()
    used = np.isfinite(means)
    names, loadings, means = reference.var_names[used], loadings[used], means[used]
    for which, known in (("the reference", names), ("adata", adata.var_names[adata.var_names.isin(names)])):
        if not known.is_unique:
            twice = str(known[known.duplicated()][0])
            raise ValueError(f"{which} has the gene {twice!r} more than once: make names unique, with var_names_make_unique")
    places_of = {name: place for place, name in enumerate(adata.var_names)}
    positions = np.array([places_of.get(name, -1) for name in names], dtype=np.intp)
    found = positions >= 0
    if not found.any():
        own = str(next(iter(adata.var_names), ""))
        message = f"adata has none of the {len(names)} genes of the reference"
        raise ValueError(f"{message}: its names are like {own!r}, those of the reference like {str(names[0])!r}")
    if not found.all():
        _warn_of_missing(names[~found], len(names), float((loadings[~found] ** 2).sum() / (loadings**2).sum()))
    return positions[found], loadings[found], means[found]


def _warn_of_missing(missing: Any, count: int, share: float) -> None:
    few = ", ".join(map(str, missing[:3])) + (", ..." if len(missing) > 3 else "")
    warnings.warn(
        f"adata does not have {len(missing)} of the {count} genes of the reference ({few}): they are set to their means in the "
        f"reference. They make up {share:.1%} of the components",
        UserWarning,
        stacklevel=4,
    )


def _told(model: Any, genes: _Genes, layer: Optional[str], obsm: Optional[str], tol: float) -> dict[str, Any]:
    """What is worth keeping of a fit, in ``uns``. A file cannot hold None, so what was not said is not there."""
    params = {
        "n_comps": model.n_components_,
        "zero_center": True,
        "use_highly_variable": isinstance(genes.said, str) and genes.said == "highly_variable",
        "solver": model._model.solver,
        "tol": tol,
    }
    params.update((name, value) for name, value in [("mask_var", genes.said), ("layer", layer), ("obsm", obsm)] if value is not None)
    certificate = model.certificate_
    told = {
        "version": _ewca.__version__,
        "params": params,
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "epsilon": model.epsilon_,
        "perplexity": model.perplexity_,
        "loss": model.loss_,
        "termination": certificate.termination,
        "marginal_error": certificate.marginal_error,
        "relative_gradient": certificate.relative_gradient,
        "collapsed": certificate.collapsed,
    }
    near = certificate.approximation
    if near is not None:
        told.update(approximate_landmarks=near.landmarks, approximate_marginal_error=near.marginal_error)
    return told


def _csr_matrix(graph: Any) -> Any:
    """What older readers of AnnData know, with places of one type, of 32 bits where they are enough: as the program writes it.

    SciPy makes one or two types of them, depending on its version, and refuses two types from 1.17 on.
    """
    from scipy.sparse import csr_matrix

    graph = csr_matrix(graph)
    enough = max(graph.nnz, *graph.shape) <= np.iinfo(np.int32).max
    kind = np.int32 if enough else np.int64
    graph.indices, graph.indptr = graph.indices.astype(kind, copy=False), graph.indptr.astype(kind, copy=False)
    return graph
