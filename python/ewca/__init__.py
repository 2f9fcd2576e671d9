"""Entropic Wasserstein Component Analysis: PCA with a sense of neighbourhood.

>>> import numpy as np, ewca
>>> X = np.random.default_rng(0).normal(size=(60, 5)) * [4, 3, 1, 1, 1]
>>> embedding = ewca.EWCA(n_components=2).fit_transform(X)
>>> embedding.shape
(60, 2)

:class:`EWCA` is the scikit-learn estimator. :func:`ewca` is a drop-in for POT's ``ot.dr.ewca``; :func:`path` fits a series of epsilons,
from PCA to the collapse; :func:`select` chooses the number of components and epsilon with the help of labels; :func:`covariates` tests
which annotations of the samples are associated with which component; :func:`sinkhorn_self` computes the transport plan of a point cloud
with itself. ``ewca.scanpy`` works on AnnData objects, ``ewca.plot`` draws with
matplotlib, and :func:`report` shows a fit as a page.

Only NumPy is required; ``EWCA`` also needs scikit-learn, and ``ewca.plot`` needs matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._ewca import DEFAULT_PERPLEXITY, __version__
from ._covariates import Covariates, covariates
from ._functions import Path, Recommendation, Selection, ewca, path, select, sinkhorn_self
from ._model import Approximation, Certificate, Finding, Model, Scree
from ._plan import Plan
from ._progress import Iteration
from ._report import Report, report
from ._source import Chunks, TableFile, read_table

if TYPE_CHECKING:
    from . import plot, scanpy
    from ._estimator import EWCA

__all__ = [
    "DEFAULT_PERPLEXITY",
    "EWCA",
    "Approximation",
    "Certificate",
    "Chunks",
    "Covariates",
    "Finding",
    "Iteration",
    "Model",
    "Path",
    "Plan",
    "Recommendation",
    "Report",
    "Scree",
    "Selection",
    "TableFile",
    "__version__",
    "covariates",
    "ewca",
    "path",
    "plot",
    "read_table",
    "report",
    "scanpy",
    "select",
    "sinkhorn_self",
]


def __getattr__(name: str) -> Any:
    # What needs more than NumPy is imported when it is first used.
    if name in ("plot", "scanpy"):
        return importlib.import_module(f"{__name__}.{name}")
    if name == "EWCA":
        from ._estimator import EWCA

        globals()[name] = EWCA
        return EWCA
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
