"""Data that are not in memory: some rows are read at a time, as often as a fit walks over them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _ewca

#: The bytes of the rows that are read at a time; some four times as many are held at once.
PART = 32 * 2**20

_ONE_WALK = (
    "X is an iterator, which can be read only once, but a fit reads its data several times: pass a function that makes a new "
    "iterator whenever it is called (lambda: read_chunks(...)), or an object that can be iterated over repeatedly"
)


class Parts:
    """Rows of a table that are read when they are needed: what the compiled half takes in place of an array."""

    def __init__(self, shape: tuple[int, int], part_rows: int, rows: Callable[[int, int], Any]) -> None:
        self.shape = (int(shape[0]), int(shape[1]))
        self.part_rows = max(1, int(part_rows))
        self._rows = rows

    def read(self, start: int, stop: int) -> Any:
        """These rows, as a table in memory, for the compiled half."""
        from ._input import as_table

        return as_table(self.rows(start, stop))

    def rows(self, start: int, stop: int) -> Any:
        """These rows, as an array or a sparse matrix."""
        part = _two_dimensional(self._rows(start, stop))
        if part.shape != (stop - start, self.shape[1]):
            raise ValueError(
                f"rows {start} to {stop} of X came as {part.shape[0]} x {part.shape[1]}, not as {stop - start} x {self.shape[1]}: "
                "a source must return the requested rows, and the same rows each time"
            )
        return part


class Chunks:
    """Samples in chunks, for data that are larger than the memory.

    A fit reads them a few times (two to five; more often if ``max_memory`` is small). The result is the same as from one array: nothing is
    left out or averaged.

    Parameters
    ----------
    chunks : callable or iterable
        A function that returns an iterator of chunks whenever it is called, or an object that can be iterated over again and again.
        A chunk is an array, a SciPy sparse matrix or a frame with some rows of the data, in their order; chunks need not be of one size.
    shape : (int, int), optional
        The number of samples and of features, where they are known: this saves reading the data once to count them.

    Examples
    --------
    >>> import numpy as np, ewca
    >>> def chunks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(5):
    ...         yield rng.normal(size=(40, 6)) * [5, 3, 1, 1, 1, 1]
    >>> X = ewca.Chunks(chunks)
    >>> X.shape
    (200, 6)
    >>> ewca.EWCA(n_components=2).fit(X).embedding_.shape
    (200, 2)
    """

    def __init__(
        self, chunks: Union[Callable[[], Iterable[Any]], Iterable[Any]], shape: Optional[tuple[int, int]] = None
    ) -> None:
        if hasattr(chunks, "__next__"):
            raise TypeError(_ONE_WALK)
        if not callable(chunks) and not hasattr(chunks, "__iter__"):
            raise TypeError(f"chunks is {chunks!r}: pass a function that returns an iterator, or an iterable")
        self._chunks = chunks
        self._shape = None if shape is None else (int(shape[0]), int(shape[1]))
        self._largest = 1

    def __iter__(self) -> Iterator[Any]:
        walk = iter(self._chunks() if callable(self._chunks) else self._chunks)
        return (_two_dimensional(chunk) for chunk in walk)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features. If they were not given, the chunks are read once to count them."""
        if self._shape is None:
            rows, columns = 0, None
            for chunk in self:
                if columns is not None and chunk.shape[1] != columns:
                    raise ValueError(
                        f"the chunk at row {rows} has {chunk.shape[1]} columns, but the chunks before it have {columns}: all chunks need the "
                        "same columns"
                    )
                rows, columns = rows + chunk.shape[0], chunk.shape[1]
                self._largest = max(self._largest, chunk.shape[0])
            if rows == 0:
                raise ValueError("the chunks are empty: pass at least 2 samples")
            self._shape = (rows, int(columns or 0))
        return self._shape

    def _parts(self, part_bytes: int) -> Parts:
        n, d = self.shape
        return Parts((n, d), _whole_multiple(_rows_in(part_bytes, d), self._largest), _Walk(self, n).rows)


class _Walk:
    """Gives rows of chunks in their order, and starts again when earlier ones are needed."""

    def __init__(self, chunks: Chunks, n_rows: int) -> None:
        self._chunks = chunks
        self._n_rows = n_rows
        self._iterator: Iterator[Any] = iter(())
        self._next = n_rows
        self._left: Any = None

    def rows(self, start: int, stop: int) -> Any:
        if start < self._next:
            self._iterator, self._next, self._left = iter(self._chunks), 0, None
        while self._next < start:
            self._take(start - self._next)
        pieces = []
        while self._next < stop:
            pieces.append(self._take(stop - self._next))
        if stop == self._n_rows and self._has_more():
            raise ValueError(f"the chunks have more than {self._n_rows} rows this time: the chunks must be the same each time they are read")
        return _joined(pieces)

    def _take(self, most: int) -> Any:
        """Some rows, at least one and at most so many."""
        chunk = self._left if self._left is not None else next(self._iterator, None)
        while chunk is not None and chunk.shape[0] == 0:
            chunk = next(self._iterator, None)
        if chunk is None:
            raise ValueError(
                f"the chunks ended after {self._next} rows of {self._n_rows}: they must be the same each time they are read "
                "(a generator can be read only once; pass the function that makes it)"
            )
        taken, self._left = chunk[:most], chunk[most:] if chunk.shape[0] > most else None
        self._next += taken.shape[0]
        return taken

    def _has_more(self) -> bool:
        return self._left is not None or any(chunk.shape[0] for chunk in self._iterator)


class TableFile:
    """A table in a file, read by the readers of the ``ewca`` program. Made by :func:`read_table`, which has an example."""

    def __init__(self, table: _ewca.Table, path: str) -> None:
        self._table = table
        self.path = path

    def __repr__(self) -> str:
        held = "read in parts" if self.in_parts else "in memory"
        return f"TableFile({self.path!r}, {self.shape[0]} x {self.shape[1]}, {held})"

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        return self._table.shape

    @property
    def in_parts(self) -> bool:
        """Whether rows are read when they are needed, so that the table need not fit into the memory."""
        return self._table.in_parts

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return self._table.features

    @property
    def ids(self) -> Optional[list[str]]:
        """The names of the samples, where there are any. For a table that is read in parts, this reads the file once."""
        return self._table.ids

    @property
    def labels(self) -> Optional[list[str]]:
        """The classes of the samples, where ``label`` was given. For a table that is read in parts, this reads the file once."""
        return self._table.labels


def read_table(
    path: Union[str, os.PathLike[str]],
    *,
    label: Optional[str] = None,
    id: Optional[str] = None,  # noqa: A002  (as the program calls it)
    ignore: Iterable[str] = (),
    layer: Optional[str] = None,
    transpose: bool = False,
    missing: str = "error",
    in_parts: Optional[bool] = None,
) -> TableFile:
    """Opens a table with the readers of the ``ewca`` program, to pass it as ``X``.

    Understands CSV and TSV (also compressed), .npy, .npz, Parquet, Arrow, MATLAB, Matrix Market, 10x folders and .h5 files, Excel
    workbooks, AnnData in .h5ad files and Zarr folders. ``EWCA().fit("cells.h5ad")`` is short for ``EWCA().fit(ewca.read_table("cells.h5ad"))``.

    Parameters
    ----------
    path : str or path-like
        The file, or the folder.
    label : str, optional
        The column with the classes; not used as a feature.
    id : str, optional
        The column with the sample names; not used as a feature.
    ignore : iterable of str
        Columns to leave out.
    layer : str, optional
        The layer of an AnnData object, the array of an .npz or .mat file, or the sheet of a workbook.
    transpose : bool, default=False
        Whether the file has features in rows and samples in columns.
    missing : {"error", "drop-rows", "drop-columns", "mean"}, default="error"
        What to do with missing values.
    in_parts : bool, optional
        Whether to read some rows at a time whenever they are needed: .npy (in C order), Parquet and .h5ad (dense, or sparse by rows) can
        be read so. By default, this is done if the table would take more than half of the free memory.

    Examples
    --------
    >>> import os, tempfile, numpy as np, ewca
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = os.path.join(folder.name, "table.npy")
    >>> np.save(file, np.random.default_rng(0).normal(size=(80, 6)) * [5, 3, 1, 1, 1, 1])
    >>> table = ewca.read_table(file, in_parts=True)
    >>> table.shape, table.features[0]
    ((80, 6), 'column1')
    >>> ewca.EWCA(n_components=2).fit_transform(table).shape
    (80, 2)
    """
    options = {
        "label": label,
        "id": id,
        "ignore": [ignore] if isinstance(ignore, str) else [str(name) for name in ignore],
        "array": layer,
        "transpose": bool(transpose),
        "missing": missing,
    }
    return TableFile(_ewca.Table.open(os.fspath(path), options, in_parts, PART), os.fspath(path))


def opened(x: Any, part_bytes: Optional[int] = None) -> Any:
    """:class:`Parts` or a table in a file for what is not in memory, unless one part holds all of it: then that part. What is in memory is
    returned as it is."""
    if isinstance(x, (Parts, _ewca.Table)):
        return x
    if isinstance(x, TableFile):
        return x._table
    if isinstance(x, (str, os.PathLike)):
        return read_table(x)._table
    part_bytes = PART if part_bytes is None else part_bytes
    parts = _parts_of(x, part_bytes)
    if parts is None:
        return x
    return parts.rows(0, parts.shape[0]) if _fits(parts.shape, part_bytes) else parts


def _parts_of(x: Any, part_bytes: int) -> Optional[Parts]:
    from ._input import is_sparse

    if is_sparse(x):
        return None
    if isinstance(x, np.ndarray):
        return _mapped(x, part_bytes) if isinstance(x, np.memmap) else None
    if isinstance(x, Chunks):
        return x._parts(part_bytes)
    if _is_dask(x):
        return _of_dask(x)._parts(part_bytes)
    if _is_stored(x):
        return _stored(x, part_bytes)
    if hasattr(x, "read") and hasattr(x, "shape"):
        n, d = _shape_of(x)
        return Parts((n, d), getattr(x, "part_rows", _rows_in(part_bytes, d)), x.read)
    if hasattr(x, "__next__"):
        raise TypeError(_ONE_WALK)
    if callable(x) and not isinstance(x, type) and not hasattr(x, "__array__"):
        return Chunks(x)._parts(part_bytes)
    in_memory = ("__len__", "__array__", "__dataframe__", "__array_namespace__", "shape")
    if hasattr(x, "__iter__") and not any(hasattr(x, name) for name in in_memory):
        return Chunks(x)._parts(part_bytes)
    return None


def columns_of(x: Any, mask: Optional[np.ndarray], rows: Optional[int] = None) -> Any:
    """Some columns of ``x``, which may not be in memory: they are then taken of each part, of so many rows where that is said."""
    if mask is None and rows is None:
        return x
    parts = _parts_of(x, PART)
    if parts is None:
        return x if mask is None else x[:, mask]
    kept = slice(None) if mask is None else np.flatnonzero(mask)
    width = parts.shape[1] if mask is None else int(np.count_nonzero(mask))
    return Parts((parts.shape[0], width), rows or parts.part_rows, lambda start, stop: parts.rows(start, stop)[:, kept])


def _mapped(x: np.memmap[Any, Any], part_bytes: int) -> Optional[Parts]:
    """A memory-mapped array that cannot be borrowed, or is larger than the memory that is free; None where it can be borrowed."""
    if x.ndim != 2 or np.iscomplexobj(x):
        return None
    borrowed = x.dtype in (np.float64, np.float32) and x.dtype.isnative
    if borrowed and x.nbytes <= _ewca.available_memory():
        return None
    return Parts(_shape_of(x), _rows_in(part_bytes, x.shape[1]), lambda start, stop: np.array(x[start:stop]))


def _module_of(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def _is_dask(x: Any) -> bool:
    return _module_of(x) == "dask" and hasattr(x, "blocks")


def _of_dask(x: Any) -> Chunks:
    """Rows of blocks, each computed when the walk comes to it."""
    n, d = _shape_of(x)
    chunks = Chunks(lambda: (x.blocks[i].compute() for i in range(x.numblocks[0])), (n, d))
    chunks._largest = max(x.chunks[0])
    return chunks


def _is_stored(x: Any) -> bool:
    """Whether ``x`` is an array in a file that h5py, zarr or anndata have opened."""
    return _module_of(x) in ("h5py", "zarr", "anndata") and len(getattr(x, "shape", ())) == 2 and hasattr(x, "__getitem__")


def _is_by_columns(x: Any) -> bool:
    return getattr(x, "format", None) == "csc"


def _stored(x: Any, part_bytes: int) -> Optional[Parts]:
    if hasattr(x, "obs_names"):
        raise TypeError("X is an AnnData object: pass its values (adata.X), or the whole to ewca.scanpy.ewca")
    n, d = _shape_of(x)
    if _is_by_columns(x):
        # Rows of it cannot be read without the rest.
        whole = x.to_memory().tocsr()
        return Parts((n, d), n, lambda start, stop: whole[start:stop])
    chunk_rows = (getattr(x, "chunks", None) or (1,))[0]
    return Parts((n, d), _whole_multiple(_rows_in(part_bytes, d), chunk_rows), lambda start, stop: x[start:stop])


def _shape_of(x: Any) -> tuple[int, int]:
    if len(x.shape) != 2:
        raise ValueError(f"X has {len(x.shape)} dimensions: expected 2, samples in rows and features in columns")
    if any(count != count for count in x.shape):
        raise ValueError("the shape of X is not known: let dask find it with X.compute_chunk_sizes()")
    return int(x.shape[0]), int(x.shape[1])


def _rows_in(part_bytes: int, columns: int) -> int:
    return max(1, part_bytes // (8 * max(1, columns)))


def _whole_multiple(rows: int, of: int) -> int:
    """At most ``rows``, and whole chunks where that is possible, so that none is read for two parts."""
    return rows - rows % of if rows > of > 0 else rows


def _fits(shape: tuple[int, int], part_bytes: int) -> bool:
    return 8 * shape[0] * shape[1] <= part_bytes


def _two_dimensional(chunk: Any) -> Any:
    from ._input import is_sparse

    chunk = chunk.tocsr() if is_sparse(chunk) else np.asarray(chunk)
    if chunk.ndim != 2:
        raise ValueError(f"some rows of X came with {chunk.ndim} dimensions: expected 2, samples in rows and features in columns")
    return chunk


def _joined(pieces: list[Any]) -> Any:
    from ._input import is_sparse

    if len(pieces) == 1:
        return pieces[0]
    if not all(is_sparse(piece) for piece in pieces):
        return np.concatenate([piece.toarray() if is_sparse(piece) else piece for piece in pieces])
    from scipy.sparse import vstack

    return vstack(pieces, format="csr")
