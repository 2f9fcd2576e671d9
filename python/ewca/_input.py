"""What people pass, as the compiled half takes it. Arrays that are right already are not copied."""

from __future__ import annotations

import contextlib
import numbers
import os
import re
from collections.abc import Iterator
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _ewca, _source
from ._progress import Iteration
from ._source import Parts, opened

#: No more repetitions of anything than this: they would never end.
MOST_REPETITIONS = 1_000_000

#: A C-contiguous array of float64 or float32; or (memory, rows, columns, row stride, column stride) of one in another order; or
#: (offsets, positions, values, columns) of compressed sparse rows; or what is read part by part.
Table = Union[
    np.ndarray,
    tuple[np.ndarray, int, int, int, int],
    tuple[np.ndarray, np.ndarray, np.ndarray, int],
    Parts,
    _ewca.Table,
]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def is_sparse(x: Any) -> bool:
    """Whether ``x`` is a SciPy sparse matrix or array."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def as_table(x: Any, part_bytes: Optional[int] = None) -> Table:
    """Samples in rows: a NumPy array, a SciPy sparse matrix, a pandas or polars frame, nested lists; or data that are not in memory."""
    x = opened(x, part_bytes)
    if isinstance(x, (Parts, _ewca.Table)):
        return x
    if is_sparse(x):
        return _compressed_rows(x)
    x = np.asarray(x)
    if x.ndim != 2:
        raise ValueError(f"X has {x.ndim} dimensions: expected 2, samples in rows and features in columns")
    check_real("X", x)
    if x.dtype not in (np.float64, np.float32):
        x = x.astype(np.float64)
    return x if x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative else _strided(x)


def as_points(name: str, x: Any) -> np.ndarray:
    """Points in rows: a C-contiguous array of float64."""
    if is_sparse(x):
        raise TypeError(f"{name} is a sparse matrix: pass {name}.toarray()")
    x = np.asarray(x)
    check_real(name, x)
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"{name} has the shape {x.shape}: expected points in rows")
    return np.ascontiguousarray(x, dtype=np.float64)


def check_real(name: str, x: np.ndarray) -> None:
    """Refuses what NumPy would make real numbers of in silence."""
    if np.iscomplexobj(x):
        raise ValueError(f"Complex data not supported: {name} contains complex numbers")
    if x.dtype.kind in "mM":
        raise ValueError(f"{name} contains dates or times: turn them into numbers first, such as days since the first one")


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
        return int(table.shape[0]), int(table.shape[1])
    if len(table) == 5:
        return table[1], table[2]
    return len(table[0]) - 1, table[3]


def is_in_parts(table: Table) -> bool:
    """Whether the samples are read part by part."""
    return isinstance(table, Parts) or (isinstance(table, _ewca.Table) and table.in_parts)


def in_memory(x: Any) -> Iterator[Any]:
    """What was opened, as arrays or compressed sparse rows: some rows after the others where it is read in parts, otherwise all."""
    if isinstance(x, Parts):
        for start in range(0, x.shape[0], x.part_rows):
            yield x.rows(start, min(start + x.part_rows, x.shape[0]))
    elif isinstance(x, _ewca.Table):
        for part in range(x.n_parts):
            yield as_matrix(x.part(part))
    else:
        yield x


def as_matrix(table: Any) -> Any:
    """An array as it is, and compressed sparse rows as SciPy has them."""
    if isinstance(table, np.ndarray):
        return table
    from scipy.sparse import csr_array

    offsets, positions, values, columns = table
    return csr_array((values, positions.view(np.int32), offsets.astype(np.int64)), shape=(len(offsets) - 1, columns))


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
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 2**64:
        raise ValueError(f"random_state is {random_state}: it must be below 2**64")
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
    """The number of threads, or None for all that the environment allows. Negative numbers count from the number of cores, as in joblib.

    More threads than cores would only be in each other's way, and results do not depend on their number.
    """
    if n_jobs is None or n_jobs == -1:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}: pass None or -1 for all cores, or a number other than 0")
    count, cores = int(n_jobs), _ewca.available_cores()
    return min(count, cores) if count > 0 else max(1, cores + 1 + count)


@contextlib.contextmanager
def limited(n_jobs: Any) -> Iterator[None]:
    """Calls of the compiled half inside use so many threads, where they do not say how many themselves."""
    before = _ewca.limit_threads(as_threads(n_jobs))
    try:
        yield
    finally:
        _ewca.limit_threads(before)


def as_bytes(name: str, value: Any) -> Optional[int]:
    """A number of bytes: a whole number, or a text such as ``"4GB"`` (4e9) or ``"500 MiB"``; None for no limit."""
    if value is None:
        return None
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", value.lower())
        if found is None or found[2] not in _UNITS:
            raise ValueError(f"{name} is {value!r}: pass a number of bytes, or a text such as '4GB' or '500MiB'")
        return int(float(found[1]) * _UNITS[found[2]])
    return whole(name, value)


def part_bytes(max_memory: Any) -> int:
    """The bytes of the rows that are read at a time, where not all are in memory."""
    most = as_bytes("max_memory", max_memory)
    return _source.PART if most is None else max(1, min(_source.PART, most // 16))


def whole(name: str, value: Any, least: int = 1, most: Optional[int] = None) -> int:
    """A whole number, not below ``least`` nor above ``most``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}: it must be a whole number")
    if value < least:
        raise ValueError(f"{name} is {value}: it must be at least {least}")
    if most is not None and int(value) > most:
        raise ValueError(f"{name} is {value}: it must be at most {most}")
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
    single_precision: bool = True,
    skip_far_pairs: bool = True,
    coarse_to_fine: bool = True,
    max_memory: Any = None,
    checkpoint: Any = None,
    checkpoint_every: Any = 60.0,
    resume: Any = False,
    callback: Optional[Callable[[Iteration], Any]] = None,
) -> dict[str, Any]:
    """The keys that the compiled half takes, with the types that it takes them in. Ranges are checked there."""
    if epsilon is not None and perplexity is not None:
        raise ValueError("epsilon and perplexity were both passed, but they set the same thing: pass only one of them")
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
        "single_precision": bool(single_precision),
        "skip_far_pairs": bool(skip_far_pairs),
        "coarse_to_fine": bool(coarse_to_fine),
        "max_memory": as_bytes("max_memory", max_memory),
        "checkpoint": _as_path("checkpoint", checkpoint),
        "checkpoint_every": _as_seconds("checkpoint_every", checkpoint_every),
        "resume": _state_to_resume(resume, checkpoint),
        "callback": _as_callback(callback),
    }


def _as_path(name: str, value: Any) -> Optional[str]:
    if value is None:
        return None
    if isinstance(value, bytes) or not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is {value!r}: it must be the name of a file")
    return os.fspath(value)


def _as_seconds(name: str, value: Any) -> float:
    seconds = number(name, value)
    if not 0 <= seconds < 1e9:
        raise ValueError(f"{name} is {value}: it must be a number of seconds, not negative")
    return seconds


def _state_to_resume(resume: Any, checkpoint: Any) -> Optional[str]:
    """The file to go on from. With True that of ``checkpoint``, once it is there: so one and the same script begins and goes on."""
    if resume is None or resume is False:
        return None
    if resume is not True:
        return _as_path("resume", resume)
    if checkpoint is None:
        raise ValueError("resume is True, but there is no checkpoint file: pass its name as checkpoint=... or resume=...")
    file = _as_path("checkpoint", checkpoint)
    return file if file is not None and os.path.exists(file) else None


def _as_callback(callback: Any) -> Optional[Callable[..., bool]]:
    if callback is None:
        return None
    if not callable(callback):
        raise TypeError(f"callback is {callback!r}: it must be a function, or None")
    return lambda *words: bool(callback(Iteration(*words)))
