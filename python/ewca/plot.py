"""Figures with matplotlib. Each function draws into ``ax`` (or a new figure) and returns it.

>>> import matplotlib, numpy as np, ewca.plot
>>> matplotlib.use("Agg")
>>> X = np.random.default_rng(0).normal(size=(40, 5)) * [4, 3, 1, 1, 1]
>>> model = ewca.EWCA().fit(X)
>>> ax = ewca.plot.embedding(model)
>>> ax.get_xlabel()
'ewca0 (48.3%)'
"""

from __future__ import annotations

import numbers
from typing import Any, Iterable, Optional, Sequence, Union

import numpy as np

from ._functions import Path
from ._report import is_missing, is_number

try:
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection
except ImportError as error:
    raise ImportError("ewca.plot needs matplotlib: install it with `pip install matplotlib`") from error

__all__ = ["embedding", "loadings", "path", "plan"]

#: Whole numbers with more different values than this are no classes.
MOST_CLASSES = 60


def embedding(
    model: Any,
    labels: Any = None,
    *,
    components: Union[int, Sequence[int], None] = None,
    links: int = 3,
    ax: Any = None,
    size: Optional[float] = None,
    legend: bool = True,
    cmap: Any = None,
) -> Any:
    """The scores as points, with lines to the samples that each one is matched with most strongly: darker lines are stronger.

    Parameters
    ----------
    model : EWCA or Model
        A fit.
    labels : array-like, optional
        What to colour by, one value per sample. Texts, categories, booleans and whole numbers are classes, with a legend (categories in
        their own order); other numbers, and whole ones of more than 60 values, have a scale. Missing values (None, NaN) are grey.
    components : int or (int, int), optional
        The components on the X axis and the Y axis, counted from 0; the first two by default. A single component is drawn on the X axis
        without links, and points are scattered vertically so that they do not overlap.
    links : int
        How many partners of each sample to link; 0 for none.
    size : float, optional
        The size of points, as in ``scatter``; by default less for more points.
    legend : bool
        Whether classes have a legend, and numbers a scale.
    cmap : str or Colormap, optional
        The colours: tab10 or tab20 for classes, viridis for numbers by default.

    Examples
    --------
    >>> import matplotlib, numpy as np, ewca.plot
    >>> matplotlib.use("Agg")
    >>> X = np.random.default_rng(0).normal(size=(40, 5)) * [4, 3, 1, 1, 1]
    >>> ax = ewca.plot.embedding(ewca.EWCA().fit(X), labels=["a", None] * 20)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'missing']
    """
    scores, ratio = _scores(model), _ratio(model)
    shown = _components_shown(components, scores.shape[1])
    ax = _axes(ax, (6, 5))
    points = scores[:, shown] if len(shown) == 2 else np.c_[scores[:, shown], _scattered(len(scores))]
    if links and len(shown) == 2:
        _draw_links(ax, points, model.plan().graph(links + 1))
    size = size or float(np.clip(4000 / len(points), 4, 40))
    if labels is None:
        ax.scatter(*points.T, s=size, linewidths=0, zorder=2)
    else:
        _draw_labelled(ax, points, _Labels(labels, len(points)), size, legend, cmap)
    for axis, component in zip("xy", shown):
        getattr(ax, f"set_{axis}label")(f"ewca{component} ({100 * ratio[component]:.1f}%)")
    if len(shown) == 1:
        ax.set_yticks([])
    ax.spines[["top", "right"] if len(shown) == 2 else ["top", "right", "left"]].set_visible(False)
    return ax


def plan(model: Any, labels: Any = None, *, ax: Any = None) -> Any:
    """The plan as a picture, in shares of each row; samples sorted by label and first score, groups separated by lines.

    Meant for up to a few thousand samples. Labels are as for :func:`embedding`; samples without one come last, and numbers have no lines.

    >>> import matplotlib, numpy as np, ewca.plot
    >>> matplotlib.use("Agg")
    >>> X = np.random.default_rng(0).normal(size=(40, 5)) * [4, 3, 1, 1, 1]
    >>> ewca.plot.plan(ewca.EWCA().fit(X)).get_ylabel()
    'sample'
    """
    dense = model.plan().toarray()
    masses = dense.sum(axis=1, keepdims=True)
    shares = dense / np.where(masses > 0, masses, 1)
    first = _scores(model)[:, 0]
    ax = _axes(ax, (6, 5))
    if labels is None:
        order = np.argsort(first)
    elif (given := _Labels(labels, len(first))).numbers is not None:
        # NaN comes last.
        order = np.lexsort((first, given.numbers))
    else:
        classes, codes = given.groups()
        order = np.lexsort((first, codes))
        ends = np.cumsum(np.bincount(codes))
        for end in ends[:-1]:
            for line in (ax.axhline, ax.axvline):
                line(end - 0.5, color="0.6", linewidth=0.6)
        middles = ends - np.bincount(codes) / 2 - 0.5
        ax.set_xticks(middles, classes, rotation=45 if len(classes) > 6 else 0)
        ax.set_yticks(middles, classes)
        ax.tick_params(length=0)
    shown = shares[np.ix_(order, order)]
    # The square root shows faint partners beside the strong ones.
    image = ax.imshow(np.sqrt(shown), cmap="Blues", vmin=0, interpolation="nearest")
    bar = ax.figure.colorbar(image, ax=ax, label="share of each sample's matching", fraction=0.045, pad=0.03)
    top = float(np.sqrt(shown).max())
    ticks = np.linspace(0, top, 5)
    bar.set_ticks(ticks, labels=[f"{round(100 * t * t, 1 if t < 0.3 else None):g}%" for t in ticks])
    ax.set_xlabel("partner")
    ax.set_ylabel("sample")
    return ax


def path(path: Path, *, ax: Any = None) -> Any:
    """How a fit changes with epsilon: explained variance, perplexity and distance to PCA. Where it collapses is shaded.

    Each has an axis of its own: explained variance at the left, the others at the right.

    >>> import matplotlib, numpy as np, ewca.plot
    >>> matplotlib.use("Agg")
    >>> X = np.random.default_rng(0).normal(size=(40, 5)) * [4, 3, 1, 1, 1]
    >>> ax = ewca.plot.path(ewca.path(X, [0.1, 1, 10]))
    >>> [axes.get_ylabel() for axes in ax.figure.axes]
    ['explained variance (%)', 'perplexity (samples)', 'distance to PCA']
    """
    ax = _axes(ax, (7, 4))
    order = np.argsort(path.epsilons)
    epsilons = path.epsilons[order]
    explained = 100 * path.explained_variance_ratios.sum(axis=1)[order]
    ax.plot(epsilons, explained, marker="o", markersize=3, color="C0")
    ax.set_xscale("log")
    ax.set_xlabel("epsilon")
    ax.set_ylabel("explained variance (%)", color="C0")
    ax.set_ylim(0, 1.08 * explained.max())
    other = ax.twinx()
    other.plot(epsilons, path.perplexities[order], marker="s", markersize=3, color="C1")
    other.set_yscale("log")
    other.set_ylabel("perplexity (samples)", color="C1")
    third = ax.twinx()
    # Beside the other axis at the right, with room for its numbers and its name.
    third.spines["right"].set_position(("outward", 52))
    third.plot(epsilons, path.distances_to_pca[order], marker="^", markersize=3, color="C2")
    third.set_ylabel("distance to PCA", color="C2")
    third.set_ylim(bottom=0)
    collapsed = path.collapsed[order]
    if collapsed.any():
        first = int(np.argmax(collapsed))
        begin = epsilons[first] if first == 0 else np.sqrt(epsilons[first] * epsilons[first - 1])
        ax.axvspan(begin, epsilons[-1] * 1.05, color="0.9", zorder=0)
        ax.text(begin, 0.03, "collapsed ", transform=ax.get_xaxis_transform(), color="0.4", ha="right", va="bottom")
    for axes in (ax, other, third):
        axes.spines["top"].set_visible(False)
    return ax


def loadings(
    model: Any, component: int = 0, *, n_features: int = 15, names: Optional[Sequence[str]] = None, ax: Any = None
) -> Any:
    """The features with the largest loadings of a component, as bars.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the features; by default those of the fit, or numbers. Where the ``ewca`` program kept only the most variable features,
        those of all features or of the kept ones.

    Examples
    --------
    >>> import matplotlib, numpy as np, ewca.plot
    >>> matplotlib.use("Agg")
    >>> X = np.random.default_rng(0).normal(size=(40, 5)) * [4, 3, 1, 1, 1]
    >>> ax = ewca.plot.loadings(ewca.EWCA().fit(X), names=list("abcde"), n_features=1)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a']
    """
    weights = _components(model)[component]
    names = _feature_names(model, names, len(weights))
    chosen = np.argsort(-np.abs(weights))[:n_features]
    chosen = chosen[np.argsort(weights[chosen])]
    ax = _axes(ax, (5, 0.6 + 0.26 * len(chosen)))
    ax.barh(np.arange(len(chosen)), weights[chosen], color=["C0" if w > 0 else "C3" for w in weights[chosen]])
    ax.set_yticks(np.arange(len(chosen)), [str(names[j]) for j in chosen])
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set_xlabel(f"loading on ewca{component}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(y=0.01)
    return ax


def _draw_links(ax: Any, points: np.ndarray, graph: Any) -> None:
    graph = graph.tocoo()
    pairs = graph.row != graph.col
    rows, columns, mass = graph.row[pairs], graph.col[pairs], graph.data[pairs]
    # Where nobody has a partner, links have no mass.
    strength = np.sqrt(mass / max(mass.max(), np.finfo(float).tiny))
    colours = np.full((len(mass), 4), 0.35)
    colours[:, 3] = 0.6 * strength
    segments = np.stack([points[rows], points[columns]], axis=1)
    ax.add_collection(LineCollection(list(segments), colors=colours, linewidths=0.3 + 0.9 * strength, zorder=1))


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def _colour(at: int, count: int, cmap: Any) -> Any:
    if cmap is None:
        return plt.get_cmap("tab10" if count <= 10 else "tab20")(at % 20)
    colours = plt.get_cmap(cmap)
    # Maps of single colours are taken one by one, others in even steps.
    return colours(at % colours.N) if colours.N <= 20 else colours(at / max(count - 1, 1))


def _draw_labelled(ax: Any, points: np.ndarray, labels: _Labels, size: float, legend: bool, cmap: Any) -> None:
    style = {"s": size, "linewidths": 0}
    missing = labels.missing
    if labels.numbers is not None:
        known = ax.scatter(*points[~missing].T, c=labels.numbers[~missing], cmap=cmap, zorder=2, **style)
        if legend:
            ax.figure.colorbar(known, ax=ax, label=labels.title, fraction=0.045, pad=0.03)
    for at, name in enumerate(labels.names):
        ax.scatter(*points[labels.codes == at].T, zorder=2, color=_colour(at, len(labels.names), cmap), label=name, **style)
    if missing.any():
        # Below all others.
        ax.scatter(*points[missing].T, color="0.8", label="missing", zorder=1.5, **style)
    if legend and (labels.names or missing.any()):
        ax.legend(frameon=False, markerscale=max(1.0, np.sqrt(20 / size)))


class _Labels:
    """What samples are coloured by: classes, or numbers; with gaps."""

    def __init__(self, labels: Any, n_samples: int) -> None:
        #: What the numbers are called, where somebody has said it.
        self.title = str(getattr(labels, "name", None) or "")
        #: The numbers, NaN where they are missing; None where there are classes.
        self.numbers: Optional[np.ndarray] = None
        #: The names of the classes, and the class of each sample, -1 where it is missing.
        self.names: list[str] = []
        self.codes = np.full(n_samples, -1)
        categories = getattr(labels, "cat", labels)
        if hasattr(categories, "categories") and hasattr(categories, "codes"):
            codes = np.asarray(categories.codes, dtype=int)
            used = np.unique(codes[codes >= 0])
            self.names = [str(categories.categories[code]) for code in used]
            self.codes = np.where(codes < 0, -1, np.searchsorted(used, codes))
        else:
            self._read(np.asarray(labels, dtype=object))
        found = len(self.codes if self.numbers is None else self.numbers)
        if found != n_samples:
            raise ValueError(f"there are {found} labels, but {n_samples} samples: pass one label per sample")

    def _read(self, cells: np.ndarray) -> None:
        if cells.ndim != 1:
            raise ValueError(f"labels have {cells.ndim} dimensions: pass one for each sample")
        known = np.array([not is_missing(cell) for cell in cells], dtype=bool)
        if known.any() and all(is_number(cell) for cell in cells[known]):
            values = cells[known].astype(float)
            known[known] = np.isfinite(values)
            values = values[np.isfinite(values)]
            distinct, codes = np.unique(values, return_inverse=True)
            if (distinct % 1 != 0).any() or len(distinct) > MOST_CLASSES:
                self.numbers = np.full(len(cells), np.nan)
                self.numbers[known] = values
                return
            self.names = [f"{value:.0f}" for value in distinct]
        else:
            texts, codes = np.unique([str(cell) for cell in cells[known]], return_inverse=True)
            self.names = [str(text) for text in texts]
        self.codes = np.full(len(cells), -1)
        self.codes[known] = codes

    @property
    def missing(self) -> np.ndarray:
        """Which samples have no label."""
        return self.codes < 0 if self.numbers is None else np.isnan(self.numbers)

    def groups(self) -> tuple[list[str], np.ndarray]:
        """The names of all groups and the group of each sample; those without a label are the last one."""
        if not self.missing.any():
            return self.names, self.codes
        return [*self.names, "missing"], np.where(self.codes < 0, len(self.names), self.codes)


def _components_shown(components: Union[int, Sequence[int], None], count: int) -> list[int]:
    if components is None:
        return list(range(min(count, 2)))
    wanted: list[Any] = list(components) if isinstance(components, Iterable) else [components]
    if len(wanted) not in (1, 2):
        raise ValueError(f"components is {components!r}: pass one or two component numbers")
    for one in wanted:
        if not isinstance(one, numbers.Integral) or not 0 <= int(one) < count:
            raise ValueError(f"there is no component {one!r}: the fit has {count}, from 0 to {count - 1}")
    return [int(one) for one in wanted]


def _scattered(count: int) -> np.ndarray:
    """Heights for points that have none, the same every time."""
    return np.random.default_rng(0).uniform(-1, 1, count)


def _feature_names(model: Any, names: Optional[Sequence[str]], count: int) -> Sequence[str]:
    """The names of the features that the components have."""
    fitted: Any = getattr(model, "_model", None)
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None and fitted is not None:
        names = fitted.feature_names
    kept = None if fitted is None else fitted.kept
    if names is None:
        places = range(count) if kept is None else kept
        return [f"feature {j}" for j in places]
    if kept is not None and len(names) != count:
        if len(names) != fitted.n_features:
            raise ValueError(f"there are {len(names)} names for {fitted.n_features} features, of which the fit kept {count}")
        return [names[j] for j in kept]
    if len(names) != count:
        raise ValueError(f"there are {len(names)} names for {count} features: pass one for each")
    return names


def _scores(model: Any) -> np.ndarray:
    return np.asarray(model.embedding_ if hasattr(model, "embedding_") else model.scores)


def _ratio(model: Any) -> np.ndarray:
    return np.asarray(model.explained_variance_ratio_ if hasattr(model, "embedding_") else model.explained_variance_ratio)


def _components(model: Any) -> np.ndarray:
    return np.asarray(model.components_ if hasattr(model, "embedding_") else model.components)
