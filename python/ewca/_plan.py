"""Transport plans as people use them: dense, sparse, or as an operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ewca
from ._present import accuracy, html_table, significant

#: Dense plans larger than this are refused unless more is allowed: 1 GiB, about 11 500 samples.
MAX_BYTES = 2**30


class Plan:
    """The transport plan of n samples: a table of how strongly each sample is matched with every other.

    ``pi[i, j] = a[i] * a[j] * exp((g[i] + g[j] - |z[i] - z[j]|**2) / epsilon)``, with the weights ``a``, the scores ``z`` and the
    potential ``g``. Only these are stored; entries are computed when they are needed.

    >>> import numpy as np, ewca
    >>> plan = ewca.sinkhorn_self(np.array([[0.0], [0.1], [5.0]]), epsilon=0.5)
    >>> plan.shape
    (3, 3)
    >>> plan.toarray().sum(axis=1).round(6)
    array([0.333333, 0.333333, 0.333333])
    """

    def __init__(self, plan: _ewca.Plan, source: Any = None) -> None:
        self._plan = plan
        # What a pickle holds instead of the plan: a model, or the arguments of `self_transport`.
        self._source = source

    @classmethod
    def of_model(cls, model: _ewca.Model) -> Plan:
        """The plan of a fit."""
        return cls(model.plan(), model)

    @classmethod
    def of_points(cls, points: np.ndarray, weights: np.ndarray, epsilon: float, tol: float) -> Plan:
        """The plan of points with themselves."""
        given = (points, weights, epsilon, tol)
        return cls(_ewca.self_transport(*given), given)

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._source, tuple):
            # Computed anew: the same bits on the same processor.
            return Plan.of_points, self._source
        if self._source is None:
            raise TypeError("this plan cannot be pickled: it was not made by a fit or by sinkhorn_self")
        return Plan.of_model, (self._source.for_plan(),)

    def __copy__(self) -> Plan:
        # Nothing of it can be changed.
        return self

    def __deepcopy__(self, memo: Any) -> Plan:
        return self

    def __repr__(self) -> str:
        return f"Plan({len(self)} x {len(self)}, epsilon={self.epsilon:.6g}, marginal_error={self.marginal_error:.1e})"

    def _repr_html_(self) -> str:
        # Without the spread, which takes a pass over all pairs: a notebook asks for this unasked.
        row = [f"{len(self)}", significant(self.epsilon), accuracy(self.marginal_error)]
        return html_table("Transport plan", ["samples", "epsilon", "marginal error"], [row])

    def __len__(self) -> int:
        return len(self._plan)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return len(self), len(self)

    @property
    def epsilon(self) -> float:
        """The regularisation."""
        return self._plan.epsilon

    @property
    def potential(self) -> np.ndarray:
        """The potential g of the samples, in units of the cost."""
        return self._plan.potential

    @property
    def weights(self) -> np.ndarray:
        """The weights a of the samples, which sum to 1: what rows and columns should sum to."""
        return self._plan.weights

    @property
    def marginal_error(self) -> float:
        """The error in the plan's row and column sums."""
        return self._plan.marginal_error

    def perplexities(self) -> np.ndarray:
        """How many samples each one is matched with."""
        return self._plan.perplexities()

    def toarray(self, max_bytes: int = MAX_BYTES) -> np.ndarray:
        """The whole plan, n x n.

        Parameters
        ----------
        max_bytes : int, default=2**30
            Above this size, a ``MemoryError`` is raised.

        Returns
        -------
        plan : ndarray of shape (n_samples, n_samples)
            Rows and columns sum to the weights.
        """
        needed = 8 * len(self) ** 2
        if needed > max_bytes:
            raise MemoryError(
                f"the plan of {len(self)} samples takes {needed / 2**30:.1f} GiB as a dense array, more than the "
                f"{max_bytes / 2**30:.2g} GiB allowed: use the strongest partners (plan_graph) or an operator (plan_operator), "
                "or raise max_bytes"
            )
        return self._plan.dense(max_bytes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.toarray(), dtype=dtype)

    def graph(self, n_neighbors: int = 15) -> Any:
        """The largest entries of each row, including that of the sample itself.

        Parameters
        ----------
        n_neighbors : int, default=15
            How many of each row.

        Returns
        -------
        graph : scipy.sparse.csr_array of shape (n_samples, n_samples)
            The entries of the plan, where they are kept.
        """
        from scipy.sparse import csr_array

        positions, shares = self._plan.partners(_positive(n_neighbors))
        n, count = positions.shape
        entries = shares * self.weights[:, np.newaxis]
        offsets = np.arange(0, n * count + 1, count)
        graph = csr_array((entries.ravel(), positions.ravel(), offsets), shape=self.shape)
        graph.sort_indices()
        return graph

    def operator(self) -> Any:
        """The plan as a SciPy ``LinearOperator``: products with vectors and matrices, without ever storing it."""
        from scipy.sparse.linalg import LinearOperator

        def product(columns: np.ndarray) -> np.ndarray:
            # Of vectors too: SciPy gives the product the shape that is wanted.
            flat = np.asarray(columns, dtype=np.float64).reshape(len(self), -1)
            return self._plan.apply(flat)

        return LinearOperator(self.shape, matvec=product, rmatvec=product, matmat=product, rmatmat=product, dtype=np.float64)

    def shares(self, scores: Any) -> np.ndarray:
        """How strongly points with the given scores are matched with the samples.

        Parameters
        ----------
        scores : array-like of shape (n_points, n_components)
            The points.

        Returns
        -------
        shares : ndarray of shape (n_points, n_samples)
            Rows sum to 1.
        """
        return self._plan.shares(np.ascontiguousarray(scores, dtype=np.float64))

    def barycentric(self) -> np.ndarray:
        """The scores of each sample, averaged over its partners."""
        return self._plan.barycentric()


def _positive(n_neighbors: int) -> int:
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors is {n_neighbors}: it must be at least 1")
    return int(n_neighbors)
