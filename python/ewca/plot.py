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

from typing import Any, Optional, Sequence

import numpy as np

from ._functions import Path

try:
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection
except ImportError as error:
    raise ImportError("ewca.plot needs matplotlib: install it with `pip install matplotlib`") from error

__all__ = ["embedding", "loadings", "path", "plan"]


def embedding(
    model: Any,
    labels: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    links: int = 3,
    ax: Any = None,
    size: Optional[float] = None,
    legend: bool = True,
) -> Any:
    """The scores as points, with lines to the strongest partners: the more mass, the darker.

    Parameters
    ----------
    model : EWCA or Model
        A fit.
    labels : array-like, optional
        The class of each sample, for colours.
    components : (int, int)
        What to draw across and up.
    links : int
        How many partners of each sample to link; 0 for none.
    """
    scores, ratio = _scores(model), _ratio(model)
    ax = _axes(ax, (6, 5))
    points = scores[:, list(components)]
    if links:
        _draw_links(ax, points, model.plan().graph(links + 1))
    size = size or float(np.clip(4000 / len(points), 4, 40))
    if labels is None:
        ax.scatter(*points.T, s=size, linewidths=0, zorder=2)
    else:
        labels = np.asarray(labels)
        classes = np.unique(labels)
        for at, name in enumerate(classes):
            ax.scatter(*points[labels == name].T, s=size, linewidths=0, zorder=2, color=_colour(at, len(classes)), label=str(name))
        if legend:
            ax.legend(frameon=False, markerscale=max(1.0, np.sqrt(20 / size)))
    for axis, component in zip("xy", components):
        getattr(ax, f"set_{axis}label")(f"ewca{component} ({100 * ratio[component]:.1f}%)")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plan(model: Any, labels: Any = None, *, ax: Any = None) -> Any:
    """The plan as a picture, in shares of each row; samples sorted by label and first score, groups separated by lines.

    Meant for up to a few thousand samples.
    """
    dense = model.plan().toarray()
    masses = dense.sum(axis=1, keepdims=True)
    shares = dense / np.where(masses > 0, masses, 1)
    first = _scores(model)[:, 0]
    ax = _axes(ax, (6, 5))
    if labels is None:
        order = np.argsort(first)
    else:
        # In the order of their names.
        classes, numbers = np.unique(labels, return_inverse=True)
        order = np.lexsort((first, numbers))
        ends = np.cumsum(np.bincount(numbers))
        for end in ends[:-1]:
            for line in (ax.axhline, ax.axvline):
                line(end - 0.5, color="0.6", linewidth=0.6)
        middles = ends - np.bincount(numbers) / 2 - 0.5
        ax.set_xticks(middles, [str(c) for c in classes], rotation=45 if len(classes) > 6 else 0)
        ax.set_yticks(middles, [str(c) for c in classes])
        ax.tick_params(length=0)
    shown = shares[np.ix_(order, order)]
    # The square root shows faint partners beside the strong ones.
    image = ax.imshow(np.sqrt(shown), cmap="Blues", vmin=0, interpolation="nearest")
    bar = ax.figure.colorbar(image, ax=ax, label="share of the row's mass", fraction=0.045, pad=0.03)
    top = float(np.sqrt(shown).max())
    ticks = np.linspace(0, top, 5)
    bar.set_ticks(ticks, labels=[f"{round(100 * t * t, 1 if t < 0.3 else None):g}%" for t in ticks])
    ax.set_xlabel("partner")
    ax.set_ylabel("sample")
    return ax


def path(path: Path, *, ax: Any = None) -> Any:
    """How a fit changes with epsilon: explained variance, perplexity and distance to PCA. Where it collapses is shaded."""
    ax = _axes(ax, (6.5, 4))
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
    collapsed = path.collapsed[order]
    if collapsed.any():
        first = int(np.argmax(collapsed))
        begin = epsilons[first] if first == 0 else np.sqrt(epsilons[first] * epsilons[first - 1])
        ax.axvspan(begin, epsilons[-1] * 1.05, color="0.9", zorder=0)
        ax.text(begin, 0.03, "collapsed ", transform=ax.get_xaxis_transform(), color="0.4", ha="right", va="bottom")
    for axes in (ax, other):
        axes.spines["top"].set_visible(False)
    return ax


def loadings(
    model: Any, component: int = 0, *, n_features: int = 15, names: Optional[Sequence[str]] = None, ax: Any = None
) -> Any:
    """The features with the largest loadings of a component, as bars.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the features; by default those of the fit, or numbers.
    """
    weights = _components(model)[component]
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"feature {j}" for j in range(len(weights))]
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


def _colour(at: int, count: int) -> Any:
    return plt.get_cmap("tab10" if count <= 10 else "tab20")(at % 20)


def _scores(model: Any) -> np.ndarray:
    return np.asarray(model.embedding_ if hasattr(model, "embedding_") else model.scores)


def _ratio(model: Any) -> np.ndarray:
    return np.asarray(model.explained_variance_ratio_ if hasattr(model, "embedding_") else model.explained_variance_ratio)


def _components(model: Any) -> np.ndarray:
    return np.asarray(model.components_ if hasattr(model, "embedding_") else model.components)
