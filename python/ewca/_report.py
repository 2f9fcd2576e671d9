"""Reports: one HTML page that shows what a fit found, to keep as a file or to look at in a notebook."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _ewca
from ._functions import Path
from ._functions import path as fit_path
from ._input import as_table, as_threads, is_in_parts, limited, number, settings, shape

#: Steps of a path beyond its usual end, where it has not collapsed by then; as many as the program makes.
FURTHER = 10
#: How high a report is in a notebook, in pixels.
HEIGHT = 800


class Report:
    """An interactive report of a fit: embedding, transport plan, loadings, accuracy, and which annotations are associated with which component.

    Made by :meth:`ewca.EWCA.report`, :meth:`ewca.Model.report` and :func:`ewca.report`. It is one HTML file that needs no network. As the
    last line of a notebook cell, it is shown in place.

    >>> import numpy as np, ewca, tempfile, pathlib
    >>> X = np.random.default_rng(0).normal(size=(40, 4)) * [3, 2, 1, 1]
    >>> report = ewca.path(X, [1.0]).models[0].report(X)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> report.save(file)
    >>> file.read_text() == report.html
    True
    """

    def __init__(self, report: _ewca.Report, words: str) -> None:
        self._report = report
        self._words = words

    @property
    def html(self) -> str:
        """The page, as the text of an HTML file."""
        return self._report.html

    def save(self, path: Union[str, os.PathLike[str]] = "report.html", *, overwrite: bool = False) -> None:
        """Writes the report to a file. The file is never left half written.

        An existing report is replaced; any other file only with ``overwrite=True`` (otherwise a ``FileExistsError`` is raised).
        """
        name = os.fspath(path)
        if not name.lower().endswith((".html", ".htm")):
            raise ValueError(f"{name}: expected a file name that ends in .html")
        self._report.save(path, overwrite)

    def __repr__(self) -> str:
        size = len(self.html.encode())
        return f'Report({self._words}; {size / 1000:.0f} kB): .save("report.html") writes it, a notebook shows it'

    def _repr_html_(self) -> str:
        # In a frame of its own: the page and the notebook share no style and no script. The page's own policy forbids it any network;
        # downloads are the figures that it saves.
        page = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" title="EWCA report" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #ccc"></iframe>'
        )


def report_of(
    model: _ewca.Model,
    X: Any,
    obs: Any,
    var_names: Any,
    path: Any,
    *,
    label: Optional[str],
    name: str,
    tsne: bool,
    n_jobs: Optional[int],
) -> Report:
    """The report of a model. ``X`` are the data that it was fitted on."""
    table = None if X is None else as_table(X)
    if table is not None and is_in_parts(table):
        raise ValueError("a report needs the data in memory: load X, or make the report without X")
    expected = model.n_samples, model.n_features
    if table is not None and shape(table) != expected:
        raise ValueError(
            f"X has {shape(table)[0]} samples and {shape(table)[1]} features, but the fit has {expected[0]} and {expected[1]}: "
            "pass the data that were fitted"
        )
    ids = _index(X)
    features = _names(X, var_names)
    columns = None
    if obs is not None:
        obs, ids = _joined(obs, ids)
        columns = [_column(key, values) for key, values in _columns(obs)]
    if label is not None:
        columns = _first(label, columns)
    beside = {
        "name": str(name),
        "columns": columns,
        "ids": ids,
        "features": features,
        "path": _steps(path, model, X, n_jobs),
        "tsne": bool(tsne),
        "threads": as_threads(n_jobs),
    }
    with limited(n_jobs):
        made = _ewca.report(model, table, beside)
    return Report(made, f"{model.n_samples} samples, {model.n_components} components")


def report(
    adata: Any,
    *,
    key: str = "X_ewca",
    label: Optional[str] = None,
    path: Union[Path, bool, None] = None,
    name: Optional[str] = None,
    tsne: bool = False,
    n_jobs: Optional[int] = None,
) -> Report:
    """A report of the fit in an AnnData object, made by :func:`ewca.scanpy.ewca` or by ``ewca fit --write-anndata``.

    Parameters
    ----------
    adata : AnnData
        Cells with the scores of a fit, and the data that were fitted. All columns of ``adata.obs`` are in the report, with the
        colours that scanpy has given to their classes.
    key : str
        Where in ``obsm`` the scores are.
    label : str, optional
        The column of ``adata.obs`` that cells are coloured by at first, and whose classes are compared; by default the first that has
        classes.
    path, tsne, n_jobs
        As for :meth:`ewca.EWCA.report`.
    name : str, optional
        What the data are called; by default the name of the file, or "cells".

    Notes
    -----
    An AnnData object does not store how accurate the fit is, so the fit is repeated from its result at the same epsilon, which takes an
    iteration or two.

    Examples
    --------
    >>> import anndata, numpy as np, ewca
    >>> adata = anndata.AnnData(np.random.default_rng(0).normal(size=(50, 8)) * [4, 3, 2, 1, 1, 1, 1, 1])
    >>> adata.obs["batch"] = ["a", "b"] * 25
    >>> ewca.scanpy.ewca(adata, n_comps=3)
    >>> page = ewca.report(adata, label="batch")
    >>> "EWCA report" in page.html
    True
    """
    if not (hasattr(adata, "obsm") and hasattr(adata, "varm")):
        raise TypeError(f"ewca.report takes an AnnData object, not {type(adata).__name__}: for a fitted model, use model.report(X)")
    X, names, model = _taken_up(adata, key, n_jobs)
    columns = {str(c): _coloured(adata, c) for c in adata.obs.columns}
    made = report_of(
        model,
        X,
        _Cells(columns, [str(cell) for cell in adata.obs_names]),
        names,
        path,
        label=label,
        name=name or os.path.basename(str(getattr(adata, "filename", None) or "cells")),
        tsne=tsne,
        n_jobs=n_jobs,
    )
    return made


class _Cells(dict):  # type: ignore[type-arg]
    """Columns, and the names of the cells."""

    def __init__(self, columns: dict[str, Any], index: list[str]) -> None:
        super().__init__(columns)
        self.index = index


class _Coloured:
    """A column with the colours of its classes."""

    def __init__(self, values: Any, colours: list[str]) -> None:
        self.values, self.colours = values, colours


def _coloured(adata: Any, column: Any) -> Any:
    colours = adata.uns.get(f"{column}_colors")
    values = adata.obs[column]
    return values if colours is None else _Coloured(values, [str(colour) for colour in colours])


def _taken_up(adata: Any, key: str, n_jobs: Optional[int]) -> tuple[Any, list[str], _ewca.Model]:
    """The data of a fit, the names of the features that it used, and its model."""
    varm, uns = ("EWCs", "ewca") if key == "X_ewca" else (key, key)
    fit = adata.uns.get(uns, {})
    params = fit.get("params", {})
    # A fit of what is in obsm is not one of genes.
    kept, place = (fit, "components") if "obsm" in params else (adata.varm, varm)
    if key not in adata.obsm or place not in kept or "epsilon" not in fit:
        raise KeyError(f"adata has no obsm[{key!r}] with varm[{varm!r}] and uns[{uns!r}]: run ewca.scanpy.ewca first")
    if "preprocessing" in params:
        raise ValueError(f"the program fitted these cells after preprocessing ({params['preprocessing']}): use `ewca report` with its model")
    loadings = np.asarray(kept[place], dtype=np.float64)
    # Genes that were not used have no loadings; one that was used and has none does not vary.
    mask = (loadings != 0).any(axis=1)
    X, names = _data_of(adata, params)
    X, used = X[:, mask], np.ascontiguousarray(loadings[mask])
    wanted = settings(
        used.shape[1],
        epsilon=number("epsilon", float(fit["epsilon"])),
        tol=float(params.get("tol", 1e-6)),
        # One that had not converged stays where it is, as far as a fit can.
        max_iter=1000 if str(fit.get("termination", "converged")) == "converged" else 1,
        start=used,
        n_jobs=n_jobs,
        landmarks=None if "approximate_landmarks" not in fit else int(fit["approximate_landmarks"]),
    )
    model, interrupted = _ewca.fit(as_table(X), None, wanted, None)
    if interrupted is not None:
        raise interrupted
    # The scores by the frame that adata has: another sign, or another order of two that vary alike, is no other fit.
    scores = model.scores @ (model.components @ used)
    held = np.asarray(adata.obsm[key], dtype=np.float64)
    if np.abs(scores - held).max() > 1e-2 * np.abs(held).max():
        raise ValueError(
            f"obsm[{key!r}] does not have the scores of these cells and genes: the data changed since the fit, or it had not converged. "
            "Run ewca.scanpy.ewca again"
        )
    return X, [name for name, is_used in zip(names, mask) if is_used], model


def _data_of(adata: Any, params: Any) -> tuple[Any, list[str]]:
    """What was fitted, in memory, and the names of its columns."""
    if "obsm" in params:
        name = str(params["obsm"])
        X = adata.obsm[name]
        return np.asarray(X), [f"{name} {j}" for j in range(X.shape[1])]
    X = adata.X if params.get("layer") is None else adata.layers[params["layer"]]
    X = X.to_memory() if hasattr(X, "to_memory") else X
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X), [str(gene) for gene in adata.var_names]


def _steps(path: Any, model: _ewca.Model, X: Any, n_jobs: Optional[int]) -> list[_ewca.Model]:
    """The fits along epsilon that are wanted."""
    if path is None or path is False:
        return []
    if path is True:
        if X is None:
            raise ValueError("path=True needs X: pass the data that were fitted")
        if model.preprocessing is not None:
            raise ValueError("path=True cannot repeat the preprocessing of the program: use `ewca report --path`")
        return _fitted_steps(model, X, n_jobs)
    if isinstance(path, Path):
        return [step._model for step in path.models]
    raise TypeError(f"path is {path!r}: pass the result of ewca.path, or True to compute it; a file name belongs to .save(name)")


def _fitted_steps(model: _ewca.Model, X: Any, n_jobs: Optional[int]) -> list[_ewca.Model]:
    """A path from PCA to just past the collapse, as the program fits it for a report."""
    weights = None if np.ptp(model.weights) == 0 else model.weights * model.count
    found = fit_path(X, n_components=model.n_components, sample_weight=weights, n_jobs=n_jobs)
    steps, epsilons = [step._model for step in found.models], found.epsilons
    if not found.collapsed.any():
        # Data in groups collapse later than those that the epsilons were chosen for.
        further = epsilons[-1] * (epsilons[1] / epsilons[0]) ** np.arange(FURTHER + 1)
        found = fit_path(X, further, model.n_components, sample_weight=weights, n_jobs=n_jobs)
        end = int(np.argmax(found.collapsed)) if found.collapsed.any() else FURTHER
        steps += [step._model for step in found.models[1 : end + 1]]
    return steps


def _index(table: Any) -> Optional[list[str]]:
    """The names of the rows of a frame, unless they are numbers that nobody gave."""
    index = getattr(table, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [str(name) for name in index]


def _names(X: Any, var_names: Any) -> Optional[list[str]]:
    if var_names is None:
        var_names = getattr(X, "columns", None)
    return None if var_names is None else [str(name) for name in var_names]


def _joined(obs: Any, ids: Optional[list[str]]) -> tuple[Any, Optional[list[str]]]:
    """The annotations of the samples, in their order: by their names, where both have names and they differ."""
    own = _index(obs)
    if ids is None or own is None or own == ids:
        return obs, own if ids is None else ids
    places = {name: at for at, name in enumerate(own)}
    absent = [name for name in ids if name not in places]
    if absent or len(places) < len(own):
        why = f"no row named {absent[0]!r}" if absent else "the same name twice"
        raise ValueError(f"obs cannot be matched to X by row names: obs has {why}")
    return obs.iloc[[places[name] for name in ids]], ids


def _columns(obs: Any) -> list[tuple[str, Any]]:
    """The columns of a frame, of a dictionary, or a single one."""
    if isinstance(obs, dict):
        return [(str(key), values) for key, values in obs.items()]
    if hasattr(obs, "columns"):
        return [(str(key), obs[key]) for key in obs.columns]
    if np.ndim(obs) == 1:
        return [(str(getattr(obs, "name", None) or "label"), obs)]
    raise TypeError(f"obs is of type {type(obs).__name__}: pass a data frame, a dictionary of columns, or one value per sample")


def _column(name: str, values: Any) -> tuple[Any, ...]:
    """A column as the compiled half takes it: classes by number, numbers or texts."""
    colours: list[str] = []
    if isinstance(values, _Coloured):
        values, colours = values.values, values.colours
    categories = getattr(values, "cat", values)
    if hasattr(categories, "categories") and hasattr(categories, "codes"):
        return _classes(name, categories, colours)
    cells = np.asarray(values)
    if cells.ndim != 1:
        raise ValueError(f"the column {name!r} of obs has {cells.ndim} dimensions: expected one value per sample")
    if cells.dtype.kind in "mM":
        return name, ["" if np.isnat(cell) else str(cell) for cell in cells]
    if cells.dtype.kind not in "iuf":
        objects = [None if is_missing(cell) else cell for cell in np.asarray(values, dtype=object)]
        if not all(cell is None or is_number(cell) for cell in objects) or all(cell is None for cell in objects):
            return name, ["" if cell is None else str(cell) for cell in objects]
        cells = np.array([np.nan if cell is None else float(cell) for cell in objects])
    return name, np.ascontiguousarray(cells, dtype=np.float64)


def _classes(name: str, values: Any, colours: list[str]) -> tuple[Any, ...]:
    """A column of categories, without those that no sample has."""
    codes, names = np.asarray(values.codes, dtype=np.int64), [str(category) for category in values.categories]
    used = np.unique(codes[codes >= 0])
    colours = [colours[code] for code in used] if len(colours) == len(names) else []
    return name, [names[code] for code in used], np.where(codes < 0, -1, np.searchsorted(used, codes)), colours


def is_number(cell: Any) -> bool:
    """Whether a cell of a column of objects is a number; True and False are none."""
    return isinstance(cell, (int, float, np.integer, np.floating)) and not isinstance(cell, bool)


def is_missing(cell: Any) -> bool:
    """Whether a cell of a column of objects is empty: None, NaN, or one of pandas' own."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, (float, np.floating)) and bool(cell != cell))


def _first(label: str, columns: Optional[Sequence[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """The columns, that of the label first."""
    names = [column[0] for column in columns or []]
    if label not in names:
        known = ", ".join(names) if names else "none"
        raise ValueError(f"obs has no column {label!r} to colour by; its columns: {known}")
    return sorted(columns or [], key=lambda column: bool(column[0] != label))
