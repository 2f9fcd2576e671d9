"""EWCA for AnnData objects, in the places where scanpy looks.

>>> import anndata, numpy as np, ewca.scanpy
>>> counts = np.random.default_rng(0).normal(size=(50, 8)) * [4, 3, 2, 1, 1, 1, 1, 1]
>>> adata = anndata.AnnData(counts)
>>> ewca.scanpy.ewca(adata, n_comps=3)
>>> adata.obsm["X_ewca"].shape, adata.varm["EWCs"].shape, adata.obsp["ewca_plan"].shape
((50, 3), (8, 3), (50, 50))

Then ``sc.pp.neighbors(adata, use_rep="X_ewca")`` goes on as after PCA, or ``ewca.scanpy.plan_as_neighbors(adata)`` makes the plan itself
the neighbour graph.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _ewca
from ._estimator import EWCA
from ._functions import sinkhorn_self
from ._input import whole

__all__ = ["ewca", "plan_as_neighbors"]


def ewca(
    adata: Any,
    n_comps: int = 20,
    *,
    layer: Optional[str] = None,
    use_highly_variable: Optional[bool] = None,
    key_added: str = "X_ewca",
    n_neighbors: int = 15,
    epsilon: Optional[float] = None,
    perplexity: Optional[float] = None,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_init: int = 1,
    random_state: Any = 0,
    n_jobs: Optional[int] = None,
    verbose: int = 0,
    landmarks: Optional[int] = None,
    copy: bool = False,
) -> Any:
    """Fits EWCA to the cells of an AnnData object.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, normalised and log-transformed as for PCA.
    n_comps : int
        The number of components.
    layer : str, optional
        The layer to use instead of ``adata.X``.
    use_highly_variable : bool, optional
        Whether to use only genes that ``adata.var["highly_variable"]`` marks; by default, if it is there.
    key_added : str
        Where in ``obsm`` the scores go. Other keys than the default also name the other places.
    n_neighbors : int
        How many entries of each row of the plan are kept in ``obsp``, that of the cell itself included.
    epsilon, perplexity, solver, tol, max_iter, n_init, random_state, n_jobs, verbose, landmarks
        As for :class:`ewca.EWCA`.
    copy : bool
        Whether to return a changed copy instead of changing ``adata``.

    Notes
    -----
    Writes ``obsm["X_ewca"]`` (scores), ``varm["EWCs"]`` (loadings; zero for genes that were not used), ``obsp["ewca_plan"]`` (the largest
    entries of the plan) and ``uns["ewca"]``: the places, and in ``uns`` the names, of the ``ewca`` program. Beside ``params`` (``n_comps``,
    ``solver``, ``tol``, ``use_highly_variable``, ``layer`` where one was named), ``variance`` and ``variance_ratio``, as scanpy has them for
    PCA, these are ``version``, ``epsilon``, ``perplexity``, ``loss``, ``termination``, ``marginal_error``, ``relative_gradient`` and
    ``collapsed``, and of fits with landmarks ``approximate_landmarks`` and ``approximate_marginal_error``.
    """
    adata = adata.copy() if copy else adata
    mask = _genes(adata, use_highly_variable)
    X = adata.X if layer is None else adata.layers[layer]
    model = EWCA(
        n_comps,
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
    ).fit(X if mask is None else X[:, mask])
    loadings = np.zeros((adata.n_vars, model.n_components_))
    loadings[slice(None) if mask is None else mask] = model.components_.T
    places = _places(key_added)
    adata.obsm[key_added] = model.embedding_
    adata.varm[places["varm"]] = loadings
    adata.obsp[places["obsp"]] = _csr_matrix(model.plan_graph(n_neighbors))
    adata.uns[places["uns"]] = {
        "version": _ewca.__version__,
        "params": {
            "n_comps": model.n_components_,
            "layer": layer,
            "use_highly_variable": mask is not None,
            "solver": model._model.solver,
            "tol": tol,
        },
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "epsilon": model.epsilon_,
        "perplexity": model.perplexity_,
        "loss": model.loss_,
        "termination": model.certificate_.termination,
        "marginal_error": model.certificate_.marginal_error,
        "relative_gradient": model.certificate_.relative_gradient,
        "collapsed": model.certificate_.collapsed,
    }
    near = model.certificate_.approximation
    if near is not None:
        adata.uns[places["uns"]]["approximate_landmarks"] = near.landmarks
        adata.uns[places["uns"]]["approximate_marginal_error"] = near.marginal_error
    if layer is None:
        # A file cannot hold None.
        del adata.uns[places["uns"]]["params"]["layer"]
    return adata if copy else None


def plan_as_neighbors(
    adata: Any, n_neighbors: int = 15, *, key: str = "X_ewca", key_added: Optional[str] = None, copy: bool = False
) -> Any:
    """Makes the transport plan the neighbour graph that ``sc.tl.leiden`` and ``sc.tl.umap`` use.

    Parameters
    ----------
    adata : AnnData
        After :func:`ewca`.
    n_neighbors : int
        How many of the strongest partners of each cell are linked, the cell itself counted, as scanpy counts.
    key : str
        Where in ``obsm`` the scores are.
    key_added : str, optional
        The name of the neighbours, as in ``sc.pp.neighbors``; by default the one that scanpy looks for.
    copy : bool
        Whether to return a changed copy instead of changing ``adata``.

    Notes
    -----
    Connectivities are made as UMAP makes them, from the plan instead of distances: entries are divided by the largest that the cell
    has with another, and the two directions of a link are joined to r + s - r s. Distances are those between scores.
    """
    from scipy.sparse import csr_matrix

    whole("n_neighbors", n_neighbors, least=2)
    places = _places(key)
    if key not in adata.obsm or places["uns"] not in adata.uns:
        raise KeyError(f"adata has no obsm[{key!r}] with uns[{places['uns']!r}]: run ewca.scanpy.ewca first")
    adata = adata.copy() if copy else adata
    scores, fit = np.asarray(adata.obsm[key]), adata.uns[places["uns"]]
    # Solved anew, which takes a few passes: so it is right also where cells were left out since.
    graph = sinkhorn_self(scores, float(fit["epsilon"])).graph(n_neighbors).tocsr()
    graph.setdiag(0)
    # As UMAP does: a cell's nearest has the strength 1, and a link is one that either of the two cells has.
    # (SciPy's sums leave out what is zero.)
    largest = graph.max(axis=1).toarray().ravel()
    strength = graph.multiply(1 / np.where(largest > 0, largest, 1)[:, np.newaxis]).tocsr()
    strength.data[strength.data < 1e-6] = 0
    links = strength + strength.T - strength.multiply(strength.T)
    links = csr_matrix(links.astype(np.float32))
    rows, columns = links.nonzero()
    lengths = np.linalg.norm(scores[rows] - scores[columns], axis=1)
    names = ("distances", "connectivities") if key_added is None else (f"{key_added}_distances", f"{key_added}_connectivities")
    adata.obsp[names[0]] = csr_matrix((lengths, (rows, columns)), shape=links.shape)
    adata.obsp[names[1]] = links
    adata.uns["neighbors" if key_added is None else key_added] = {
        "connectivities_key": names[1],
        "distances_key": names[0],
        "params": {"n_neighbors": int(n_neighbors), "method": "umap", "metric": "euclidean", "use_rep": key, "random_state": 0},
    }
    return adata if copy else None


def _genes(adata: Any, use_highly_variable: Optional[bool]) -> Optional[np.ndarray]:
    marked = "highly_variable" in adata.var
    if use_highly_variable is None:
        use_highly_variable = marked
    if not use_highly_variable:
        return None
    if not marked:
        raise ValueError("use_highly_variable was asked for, but adata.var has no 'highly_variable': run sc.pp.highly_variable_genes")
    return np.asarray(adata.var["highly_variable"], dtype=bool)


def _places(key: str) -> dict[str, str]:
    if key == "X_ewca":
        return {"varm": "EWCs", "obsp": "ewca_plan", "uns": "ewca"}
    return {"varm": key, "obsp": f"{key}_plan", "uns": key}


def _csr_matrix(graph: Any) -> Any:
    # What older readers of AnnData know.
    from scipy.sparse import csr_matrix

    return csr_matrix(graph)
