"""Transport plans as people use them: dense, sparse, or as an operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ewca

#: Dense plans larger than this are refused unless more is allowed: 1 GiB, about 11 500 samples.
MAX_BYTES = 2**30


class Plan:
    """The transport plan of n samples with themselves: who is near whom.

    ``pi[i, j] = a[i] * a[j] * exp((g[i] + g[j] - |z[i] - z[j]|**2) / epsilon)``, with the weights ``a``, the scores ``z`` and the
    potential ``g``. Only these are held; entries are computed when they are asked for.

    >>> import numpy as np, ewca
    >>> plan = ewca.sinkhorn_self(np.array([[0.0], [0.1], [5.0]]), epsilon=0.5)
    >>> plan.shape
    (3, 3)
    >>> plan.toarray().sum(axis=1).round(6)
    array([0.333333, 0.333333, 0.333333])
    """

    def __init__(self, plan: _ewca.Plan) -> None:
        self._plan = plan

    def __repr__(self) -> str:
        return f"Plan({len(self)} x {len(self)}, epsilon={self.epsilon:.6g}, marginal_error={self.marginal_error:.1e})"

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
        """The sum of what rows differ from the weights."""
        return self._plan.marginal_error

    def perplexities(self) -> np.ndarray:
        """Over how many samples each one spreads."""
        return self._plan.perplexities()

    def toarray(self, max_bytes: int = MAX_BYTES) -> np.ndarray:
        """The whole plan, n x n. A ``MemoryError`` where it takes more than ``max_bytes``."""
        needed = 8 * len(self) ** 2
        if needed > max_bytes:
            raise MemoryError(
                f"the plan of {len(self)} samples takes {needed / 2**30:.1f} GiB as a dense array, more than the "
                f"{max_bytes / 2**30:.2g} GiB allowed: use a graph of the nearest (plan_graph) or an operator (plan_operator), "
                "or raise the limit"
            )
        return self._plan.dense(max_bytes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.toarray(), dtype=dtype)

    def graph(self, n_neighbors: int = 15) -> Any:
        """The ``n_neighbors`` largest entries of each row (that of the sample with itself is one of them), as a SciPy CSR array."""
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
        """How points with the given scores spread over the samples: rows that sum to 1."""
        return self._plan.shares(np.ascontiguousarray(scores, dtype=np.float64))

    def barycentric(self) -> np.ndarray:
        """The scores of each sample, averaged over its partners."""
        return self._plan.barycentric()


def _positive(n_neighbors: int) -> int:
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors is {n_neighbors}: it must be at least 1")
    return int(n_neighbors)
