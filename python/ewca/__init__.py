"""Entropic Wasserstein Component Analysis: PCA with a sense of neighbourhood.

>>> import numpy as np, ewca
>>> X = np.random.default_rng(0).normal(size=(60, 5)) * [4, 3, 1, 1, 1]
>>> embedding = ewca.EWCA(n_components=2).fit_transform(X)
>>> embedding.shape
(60, 2)

:class:`EWCA` is the scikit-learn estimator. :func:`ewca` is a drop-in for POT's ``ot.dr.ewca``; :func:`path` follows the fit from PCA
to the collapse, :func:`select` chooses the number of components and epsilon by labels, :func:`sinkhorn_self` is the transport of
a point cloud to itself. ``ewca.scanpy`` works on AnnData objects, ``ewca.plot`` draws with matplotlib.

NumPy is all that is needed; EWCA itself needs scikit-learn, ``ewca.plot`` matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._ewca import DEFAULT_PERPLEXITY, __version__
from ._functions import Path, Selection, ewca, path, select, sinkhorn_self
from ._model import Approximation, Certificate, Finding, Model
from ._plan import Plan

if TYPE_CHECKING:
    from . import plot, scanpy
    from ._estimator import EWCA

__all__ = [
    "DEFAULT_PERPLEXITY",
    "EWCA",
    "Approximation",
    "Certificate",
    "Finding",
    "Model",
    "Path",
    "Plan",
    "Selection",
    "__version__",
    "ewca",
    "path",
    "plot",
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
