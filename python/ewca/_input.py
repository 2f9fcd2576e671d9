"""What people pass, as the compiled half takes it. Arrays that are right already are not copied."""

from __future__ import annotations

import numbers
import os
from typing import Any, Optional, Union

import numpy as np

#: A C-contiguous array of float64 or float32; or (memory, rows, columns, row stride, column stride) of one in another order; or
#: (offsets, positions, values, columns) of compressed sparse rows.
Table = Union[np.ndarray, tuple[np.ndarray, int, int, int, int], tuple[np.ndarray, np.ndarray, np.ndarray, int]]


def is_sparse(x: Any) -> bool:
    """Whether ``x`` is a SciPy sparse matrix or array."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def as_table(x: Any) -> Table:
    """Samples in rows: a NumPy array, a SciPy sparse matrix, a pandas or polars frame, or nested lists."""
    if is_sparse(x):
        return _compressed_rows(x)
    x = np.asarray(x)
    if x.ndim != 2:
        raise ValueError(f"X has {x.ndim} dimensions: expected 2, samples in rows and features in columns")
    if np.iscomplexobj(x):
        raise ValueError("Complex data not supported: X holds complex numbers")
    if x.dtype not in (np.float64, np.float32):
        x = x.astype(np.float64)
    return x if x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative else _strided(x)


def _strided(x: np.ndarray) -> Table:
    """The array where it is, whatever its order; a copy where its values lie backwards, or not at whole places."""
    places = [stride // x.itemsize for stride in x.strides]
    whole_places = all(stride >= 0 and stride % x.itemsize == 0 for stride in x.strides)
    if not (whole_places and x.size and x.flags.aligned and x.dtype.isnative):
        return np.ascontiguousarray(x, dtype=x.dtype.newbyteorder("="))
    length = 1 + sum((count - 1) * step for count, step in zip(x.shape, places))
    # All that is in between belongs to the same array, of which x shows a part.
    memory = np.lib.stride_tricks.as_strided(x, (length,), (x.itemsize,), writeable=False)
    return memory, x.shape[0], x.shape[1], places[0], places[1]


def _compressed_rows(x: Any) -> Table:
    x = x.tocsr()
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    values = x.data if x.data.dtype in (np.float64, np.float32) else x.data.astype(np.float64)
    # SciPy counts columns with signed numbers; none is negative, so that their bits can stay as they are.
    indices = x.indices
    positions = indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32)
    return x.indptr.astype(np.uintp), np.ascontiguousarray(positions), np.ascontiguousarray(values), x.shape[1]


def shape(table: Table) -> tuple[int, int]:
    """The number of samples and of features."""
    if not isinstance(table, tuple):
        return table.shape[0], table.shape[1]
    if len(table) == 5:
        return table[1], table[2]
    return len(table[0]) - 1, table[3]


def as_weights(weights: Any, n_samples: int) -> Optional[np.ndarray]:
    """One weight per sample, or nothing. A single number is the weight of all."""
    if weights is None:
        return None
    if isinstance(weights, numbers.Number):
        return np.full(n_samples, weights, dtype=np.float64)
    given: np.ndarray = np.ascontiguousarray(weights, dtype=np.float64)
    if given.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, but they have {given.ndim} dimensions")
    return given


def as_seed(random_state: Any, needed: bool = True) -> int:
    """A seed from what scikit-learn takes as ``random_state``. An integer is the seed that the program takes as ``--seed``."""
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    if random_state is None:
        # As in scikit-learn: from NumPy's global state, but only where anything is random.
        return int(np.random.randint(np.iinfo(np.int32).max)) if needed else 0
    for draw in ("randint", "integers"):
        if hasattr(random_state, draw):
            return int(getattr(random_state, draw)(np.iinfo(np.int32).max))
    raise ValueError(f"random_state is {random_state!r}: pass None, a non-negative integer, or a NumPy generator")


def as_threads(n_jobs: Any) -> Optional[int]:
    """The number of threads, or None for all. Negative numbers count from the number of cores, as in joblib."""
    if n_jobs is None or n_jobs == -1:
        return None
    if not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}: pass None or -1 for all cores, or a number other than 0")
    count = int(n_jobs)
    return count if count > 0 else max(1, (os.cpu_count() or 1) + 1 + count)


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number, not below ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}: it must be a whole number")
    if value < least:
        raise ValueError(f"{name} is {value}: it must be at least {least}")
    return int(value)


def number(name: str, value: Any) -> float:
    """A real number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}: it must be a number")
    return float(value)


def settings(
    n_components: Any,
    *,
    epsilon: Any = None,
    perplexity: Any = None,
    solver: Any = "auto",
    inner_steps: Optional[int] = None,
    tol: Any = 1e-6,
    max_iter: Any = 1000,
    n_init: Any = 1,
    random_state: Any = None,
    n_jobs: Any = None,
    start: Optional[np.ndarray] = None,
    landmarks: Any = None,
) -> dict[str, Any]:
    """The keys that the compiled half takes, with the types that it takes them in. Ranges are checked there."""
    if epsilon is not None and perplexity is not None:
        raise ValueError("epsilon and perplexity were both given: they are two names of one knob, pass one of them")
    if not isinstance(solver, str):
        raise TypeError(f"solver is {solver!r}: choose 'auto', 'lbfgs', 'bcd' or 'mm'")
    n_init = whole("n_init", n_init)
    return {
        "n_components": whole("n_components", n_components),
        "epsilon": None if epsilon is None else number("epsilon", epsilon),
        "perplexity": None if perplexity is None else number("perplexity", perplexity),
        "solver": solver,
        "inner_steps": inner_steps,
        "tol": number("tol", tol),
        "max_iter": whole("max_iter", max_iter),
        "n_init": n_init,
        "seed": as_seed(random_state, needed=n_init > 1),
        "threads": as_threads(n_jobs),
        "start": start,
        "landmarks": None if landmarks is None else whole("landmarks", landmarks),
    }
