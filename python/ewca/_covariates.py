"""Which annotations of the samples are associated with which component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _ewca
from ._input import MOST_REPETITIONS, as_seed, whole

#: p-values above are chance, as is usual.
_BELIEVED = 0.05


@dataclass(frozen=True)
class Covariates:
    """Which annotations of the samples are associated with which components: the result of :func:`ewca.covariates`.

    ``pandas.DataFrame(found.tests)`` makes a table of it.
    """

    #: A structured array, column after column and component after component: ``component`` (from 0), ``column``, ``measure`` ("eta
    #: squared" or "rank correlation"), ``effect`` (from 0 to 1), ``samples`` (of which the column is known), ``p``, and
    #: ``p_corrected`` for the number of tests.
    tests: np.ndarray
    #: Why columns were not compared, by name.
    skipped: dict[str, str]

    def believed(self, level: float = _BELIEVED) -> np.ndarray:
        """The tests with a corrected p-value of at most ``level``, the surest and strongest first."""
        sure = self.tests[self.tests["p_corrected"] <= level]
        return sure[np.lexsort((-sure["effect"], sure["p_corrected"]))]

    def __len__(self) -> int:
        return len(self.tests)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Covariates):
            return NotImplemented
        return self.skipped == other.skipped and np.array_equal(self.tests, other.tests)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        def row(test: Any) -> str:
            return (
                f"  component {test['component']} is associated with {test['column']}: {test['measure']} {test['effect']:.2f}, "
                f"corrected p = {test['p_corrected']:.3g}"
            )

        sure = self.believed()
        lines = [f"Covariates({len(self.tests)} tests, {len(sure)} with a corrected p of at most {_BELIEVED})"]
        lines += [row(test) for test in sure[:8]]
        lines += [f"  {len(sure) - 8} more: believed() has them"] if len(sure) > 8 else []
        lines += [f"  {name} was not tested: {why}" for name, why in self.skipped.items()]
        return "\n".join(lines)


def covariates(model: Any, obs: Any, *, n_permutations: int = 999, random_state: Any = 0) -> Covariates:
    """Tests which annotations of the samples are associated with which component, as ``ewca fit`` does for ``covariates.csv``.

    A component and classes are compared by eta squared, the part of its variance that lies between the classes; a component and
    numbers by the absolute value of Spearman's rank correlation. p-values are by permutation of the samples, and corrected for the
    number of tests (the largest standardised effect of all of them in each permutation).

    Parameters
    ----------
    model : EWCA, Model or array of shape (n_samples, n_components)
        A fit, or scores.
    obs : DataFrame, mapping or array-like
        The annotations of the samples, one per column, in the order of the fit, such as ``adata.obs``. Text, booleans and categories are
        classes, and so are whole numbers with at most 12 different values; other numbers are numbers. Missing values are left out of the
        test of their column.
    n_permutations : int, default=999
        How often samples are permuted: no p-value is below 1 / (n_permutations + 1).
    random_state : int, default=0
        The seed of the permutations; 0 is the program's.

    Returns
    -------
    Covariates
        All tests, and the columns that could not be tested.

    Examples
    --------
    >>> import numpy as np, ewca
    >>> rng = np.random.default_rng(0)
    >>> batch = np.repeat(["a", "b"], 30)
    >>> X = rng.normal(size=(60, 5)) + 5 * (batch == "b")[:, None] * np.eye(5)[0]
    >>> model = ewca.EWCA(n_components=2, perplexity=5).fit(X)
    >>> found = ewca.covariates(model, {"batch": batch, "age": rng.normal(size=60)})
    >>> [(int(test["component"]), str(test["column"])) for test in found.believed()]
    [(0, 'batch')]
    """
    scores = _scores_of(model)
    columns = [_column(name, cells) for name, cells in _columns_of(obs)]
    names = [name for name, _, _ in columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"two columns of obs are named {repeated[0]!r}: rename one")
    for name, cells, _ in columns:
        if len(cells) != len(scores):
            raise ValueError(
                f"column {name!r} of obs has {len(cells)} values, but there are {len(scores)} samples: obs needs one row per sample of the fit"
            )
    permutations = whole("n_permutations", n_permutations, most=MOST_REPETITIONS)
    rows, skipped = _ewca.covariates(scores, columns, permutations, as_seed(random_state))
    kind = [
        ("component", np.int64),
        ("column", object),
        ("measure", object),
        ("effect", np.float64),
        ("samples", np.int64),
        ("p", np.float64),
        ("p_corrected", np.float64),
    ]
    tests = np.array([(component, names[column], *rest) for component, column, *rest in rows], dtype=kind)
    return Covariates(tests, {names[column]: why for column, why in skipped})


def _scores_of(model: Any) -> np.ndarray:
    scores = model
    if hasattr(model, "fit") or hasattr(model, "certificate"):
        scores = getattr(model, "embedding_", None) if hasattr(model, "fit") else model.scores
        if scores is None:
            raise ValueError("the model has no scores of its samples: fit it first, with keep_plan=True, or pass the scores themselves")
    array = np.ascontiguousarray(scores, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"the scores have {array.ndim} dimensions: expected 2, samples in rows and components in columns")
    if not np.isfinite(array).all():
        raise ValueError("the scores contain NaN or infinity: remove these samples")
    return array


def _columns_of(obs: Any) -> list[tuple[str, Any]]:
    """The columns of a pandas or polars frame, a mapping, a structured array, a series, or one or two dimensions of cells."""
    names: Any = getattr(getattr(obs, "dtype", None), "names", None)
    if names is None and (isinstance(obs, Mapping) or hasattr(obs, "columns")):
        names = list(obs) if isinstance(obs, Mapping) else list(obs.columns)
    if names is not None:
        # By place, since a frame may have a name twice.
        by_place = hasattr(obs, "iloc")
        return [(str(name), obs.iloc[:, at] if by_place else obs[name]) for at, name in enumerate(names)]
    if getattr(obs, "name", None) is not None:
        return [(str(obs.name), obs)]
    cells = np.asarray(obs, dtype=object)
    if cells.ndim == 1:
        return [("obs", cells)]
    if cells.ndim == 2:
        return [(f"column{at + 1}", cells[:, at]) for at in range(cells.shape[1])]
    raise ValueError(f"obs has {cells.ndim} dimensions: pass a frame, a mapping of columns, or one column")


def _column(name: str, cells: Any) -> tuple[str, list[str], bool]:
    """A column as the program reads it: its cells as text, empty where they are missing; and whether they are classes for sure."""
    kind = getattr(cells, "dtype", None)
    # Polars has its types with what they are made of: Enum(categories=[...]).
    classes = str(kind).partition("(")[0] in ("category", "bool", "boolean", "Categorical", "Enum", "Boolean")
    values = np.asarray(cells)
    if values.ndim != 1:
        raise ValueError(f"column {name!r} of obs has {values.ndim} dimensions: expected one value per sample")
    if values.dtype.kind in "mM":
        # Times are numbers: they are in an order. A few of them are classes, as whole numbers are.
        known = ~np.isnat(values)
        return name, [str(int(time)) if ok else "" for time, ok in zip(values.astype("int64"), known)], classes
    # What is missing is told by its words (None, nan, <NA>, NaT), as in a text table.
    return name, [str(cell) for cell in values.tolist()], classes
