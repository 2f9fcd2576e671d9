"""Data that are not in memory: read some rows at a time, and fitted as if they were."""

import subprocess
import sys

import anndata
import dask.array
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import zarr

import ewca
import ewca.scanpy
from ewca import EWCA, _ewca, _input, _source

ROWS, COLUMNS = 210, 12


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, size=ROWS)
    return (3 * rng.normal(size=(3, COLUMNS)))[y] + rng.normal(size=(ROWS, COLUMNS)) + 100


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, size=ROWS)
    return rng.poisson(np.array([0.2, 1.0, 3.0])[(y[:, None] + np.arange(COLUMNS)) % 3]).astype(np.float32)


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of at most 32 rows."""
    monkeypatch.setattr(_source, "PART", 8 * COLUMNS * 32)


def in_chunks(X, size=25):
    return (X[start : start + size] for start in range(0, len(X), size))


class Again:
    """Chunks that can be iterated over again and again; it counts how often."""

    def __init__(self, X, size=25):
        self.X, self.size, self.walks = X, size, 0

    def __iter__(self):
        self.walks += 1
        return in_chunks(self.X, self.size)


class Rows:
    """A source: rows by number. It notes what it was asked for."""

    def __init__(self, X):
        self.X, self.shape, self.asked = X, X.shape, []

    def read(self, start, stop):
        self.asked.append((start, stop))
        return self.X[start:stop]


def stored(X, folder):
    """The ways in which an array can be outside of the memory, each as a function of nothing."""
    h5 = h5py.File(folder / "table.h5", "w")
    h5.create_dataset("x", data=X, chunks=(20, 5))
    group = zarr.create_array(str(folder / "table.zarr"), shape=X.shape, chunks=(17, 12), dtype=X.dtype)
    group[:] = X
    np.save(folder / "table.npy", X)
    return {
        "function": lambda: lambda: in_chunks(X),
        "iterable": lambda: Again(X),
        "chunks of any size": lambda: ewca.Chunks([X[:1], X[1:1], X[1:100], X[100:101].tolist(), pd.DataFrame(X[101:])]),
        "chunks of a known shape": lambda: ewca.Chunks(lambda: in_chunks(X, 60), shape=X.shape),
        "source": lambda: Rows(X),
        "hdf5": lambda: h5["x"],
        "zarr": lambda: group,
        "dask": lambda: dask.array.from_array(X, chunks=(23, 5)),
        "file": lambda: ewca.read_table(folder / "table.npy", in_parts=True),
    }


WAYS = ["function", "iterable", "chunks of any size", "chunks of a known shape", "source", "hdf5", "zarr", "dask", "file"]


@pytest.mark.parametrize("way", WAYS)
def test_a_fit_in_parts_is_a_fit(way, X, tmp_path, small_parts, check_fit, distance):
    given = stored(X, tmp_path)[way]
    table = _input.as_table(given())
    assert _input.is_in_parts(table) and _input.shape(table) == X.shape
    # Files have parts of their own size.
    assert isinstance(table, _ewca.Table) or table.part_rows <= 32
    model = EWCA(3, perplexity=8, tol=1e-8).fit(given())
    check_fit(model, X, tol=1e-8)
    whole = EWCA(3, perplexity=8, tol=1e-8).fit(X)
    assert distance(model.components_.T, whole.components_.T) < 1e-6
    np.testing.assert_allclose(model.embedding_, whole.embedding_, atol=1e-4)
    assert model.n_features_in_ == COLUMNS
    np.testing.assert_allclose(model.transform(given()), (X - model.mean_) @ model.components_.T, atol=1e-10)
    np.testing.assert_allclose(whole.plan_rows(given()), whole.plan_rows(X), atol=1e-12)
    # What PCA's users ask of samples, part by part: it was an error once.
    np.testing.assert_allclose(whole.score_samples(given()), whole.score_samples(X), rtol=1e-10)
    assert whole.score(given()) == pytest.approx(whole.score(X), rel=1e-12)


@pytest.mark.parametrize("way", ["function", "hdf5", "dask", "file"])
def test_the_number_of_components_is_chosen_of_what_is_read_in_parts(way, X, tmp_path, small_parts):
    given = stored(X, tmp_path)[way]
    auto, whole = EWCA("auto", random_state=3).fit(given()), EWCA("auto", random_state=3).fit(X)
    assert auto.n_components_ == whole.n_components_
    np.testing.assert_allclose(auto.scree_.variances, whole.scree_.variances, rtol=1e-9)
    np.testing.assert_allclose(auto.scree_.permuted, whole.scree_.permuted, rtol=1e-9)
    share, whole = EWCA(0.9).fit(given()), EWCA(0.9).fit(X)
    assert share.n_components_ == whole.n_components_ > 1


@pytest.mark.parametrize("way", ["file", "sparse file"])
def test_the_likelihood_of_samples_in_a_file(way, counts, tmp_path, small_parts):
    file = tmp_path / "cells.h5ad"
    anndata.AnnData(counts if way == "file" else scipy.sparse.csr_matrix(counts)).write_h5ad(file)
    model = EWCA(2, perplexity=6).fit(counts)
    wanted = model.score_samples(counts)
    for in_parts in (True, False):
        table = ewca.read_table(file, in_parts=in_parts)
        assert (table._table.n_parts > 1) == in_parts
        np.testing.assert_allclose(model.score_samples(table), wanted, rtol=1e-5)
    with pytest.raises(IndexError, match="part 1 of 1"):
        ewca.read_table(file, in_parts=False)._table.part(1)


@pytest.mark.parametrize("form", ["csr", "mixed"])
def test_sparse_chunks(form, counts, small_parts, check_fit):
    def chunks():
        for number, chunk in enumerate(in_chunks(counts)):
            yield chunk if form == "mixed" and number % 3 == 0 else scipy.sparse.csr_array(chunk)

    model = EWCA(2, perplexity=6, tol=1e-8).fit(chunks)
    check_fit(model, counts, tol=1e-8)
    np.testing.assert_allclose(model.transform(chunks), (counts - model.mean_) @ model.components_.T, atol=1e-10)


@pytest.mark.parametrize("form", ["dense", "csr", "csc"])
def test_backed_cells(form, counts, tmp_path, small_parts, check_fit, distance):
    make = {"dense": np.asarray, "csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix}[form]
    adata = anndata.AnnData(make(counts))
    adata.layers["twice"] = make(2 * counts)
    adata.var["highly_variable"] = np.arange(COLUMNS) % 4 != 1
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert backed.isbacked
    model = EWCA(2, perplexity=6, tol=1e-8).fit(backed.X)
    check_fit(model, counts, tol=1e-8)
    np.testing.assert_allclose(model.transform(backed.X), (counts - model.mean_) @ model.components_.T, atol=1e-10)
    # Some columns of what is on disk.
    kept = adata.var["highly_variable"].to_numpy()
    ewca.scanpy.ewca(backed, 2, perplexity=6, tol=1e-8)
    ewca.scanpy.ewca(adata, 2, perplexity=6, tol=1e-8)
    assert distance(backed.varm["EWCs"], adata.varm["EWCs"]) < 1e-6
    assert not backed.varm["EWCs"][np.arange(COLUMNS) % 4 == 1].any()
    check_fit(EWCA(2, perplexity=6, tol=1e-8).fit(_source.columns_of(backed.X, kept)), counts[:, kept], tol=1e-8)
    # The same file, by its name.
    by_name = EWCA(2, perplexity=6, tol=1e-8).fit(ewca.read_table(tmp_path / "cells.h5ad", in_parts=None if form == "csc" else True))
    check_fit(by_name, counts, tol=1e-8)
    assert by_name.feature_names_in_.tolist() == list(adata.var_names)
    twice = EWCA(2, epsilon=1.0).fit(ewca.read_table(tmp_path / "cells.h5ad", layer="twice"))
    np.testing.assert_allclose(twice.mean_, 2 * counts.mean(axis=0), rtol=1e-6)


def test_what_fits_into_one_part_is_loaded_and_gives_the_same_bits(X, tmp_path):
    expected = EWCA(2, perplexity=8).fit(X)
    for way, given in stored(X, tmp_path).items():
        found = EWCA(2, perplexity=8).fit(given())
        if way != "file":
            np.testing.assert_array_equal(found.components_, expected.components_, err_msg=way)
    # A file that fits into the memory is read whole, unless it is asked otherwise.
    assert not ewca.read_table(tmp_path / "table.npy").in_parts
    np.testing.assert_array_equal(EWCA(2, perplexity=8).fit(str(tmp_path / "table.npy")).components_, expected.components_)
    np.testing.assert_array_equal(EWCA(2, perplexity=8).fit(tmp_path / "table.npy").components_, expected.components_)


def test_weights_and_paths_of_what_is_read_in_parts(X, small_parts, check_fit):
    weights = np.arange(ROWS) % 4
    check_fit(EWCA(2, epsilon=5.0, tol=1e-8).fit(lambda: in_chunks(X), sample_weight=weights), X, weights, tol=1e-8)
    found = ewca.path(lambda: in_chunks(X), n_components=2)
    np.testing.assert_allclose(found.epsilons, ewca.path(X, n_components=2).epsilons, rtol=1e-9)
    with pytest.raises(ValueError, match="select needs the data in memory"):
        ewca.select(lambda: in_chunks(X), np.arange(ROWS) % 2, [1])


def test_the_data_are_walked_over_a_few_times_and_never_held_whole(X, small_parts):
    chunks, source = Again(X), Rows(X)
    EWCA(2, perplexity=8).fit(chunks)
    assert chunks.walks <= 4
    EWCA(2, perplexity=8).fit(source)
    assert max(stop - start for start, stop in source.asked) <= 32
    assert sum(stop - start for start, stop in source.asked) <= 3 * ROWS


def test_dask_blocks_are_computed_one_by_one(X, small_parts):
    seen = []

    def note(block):
        seen.append(block.shape)
        return block

    lazy = dask.array.from_array(X, chunks=(30, COLUMNS)).map_blocks(note, meta=np.empty((0, 0)))
    EWCA(2, perplexity=8).fit(lazy)
    assert set(seen) == {(30, COLUMNS)} and len(seen) <= 3 * 7
    unknown = lazy[lazy[:, 0] > 100]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        EWCA(2).fit(unknown)
    known = unknown.compute_chunk_sizes()
    assert EWCA(2).fit(known).embedding_.shape == ((X[:, 0] > 100).sum(), 2)


def test_memory_maps(X, tmp_path, monkeypatch, small_parts, check_fit):
    mapped = np.memmap(tmp_path / "x.bin", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    assert np.shares_memory(_input.as_table(mapped), mapped), "borrowed where there is room"
    # Whole numbers would have to be copied, which is done in parts.
    counts = np.memmap(tmp_path / "n.bin", dtype=np.int16, mode="w+", shape=X.shape)
    counts[:] = np.round(10 * X)
    assert isinstance(_input.as_table(counts), _source.Parts)
    check_fit(EWCA(2, perplexity=8, tol=1e-8).fit(counts), np.asarray(counts), tol=1e-8)
    monkeypatch.setattr(_ewca, "available_memory", lambda: 1000)
    assert isinstance(_input.as_table(mapped), _source.Parts)
    check_fit(EWCA(2, perplexity=8, tol=1e-8).fit(mapped), X, tol=1e-8)


def test_one_walk_is_not_enough(X):
    for once in (in_chunks(X), iter([X]), ewca.Chunks.__iter__(ewca.Chunks([X]))):
        with pytest.raises(TypeError, match="can be read only once.*pass a function that makes a new iterator"):
            EWCA(2).fit(once)
    with pytest.raises(TypeError, match="can be read only once"):
        ewca.Chunks(in_chunks(X))
    with pytest.raises(TypeError, match="pass a function that returns an iterator"):
        ewca.Chunks(3)
    # A function that gives the same generator again.
    generator = in_chunks(X)
    with pytest.raises(ValueError, match="ended after 0 rows of 210: they must be the same each time they are read"):
        EWCA(2).fit(lambda: generator)


def test_chunks_that_change_or_do_not_fit_together(X, small_parts):
    walks = []

    def growing():
        walks.append(1)
        return in_chunks(X if len(walks) == 1 else np.vstack([X, X[:1]]))

    with pytest.raises(ValueError, match="more than 210 rows this time"):
        EWCA(2).fit(growing)
    for chunks, message in [
        (lambda: [X[:50], X[50:, :5]], "the chunk at row 50 has 5 columns, but the chunks before it have 12"),
        (lambda: [X[0]], "came with 1 dimensions"),
        (lambda: [], "the chunks are empty"),
        (lambda: [X[:0]], "the chunks are empty"),
    ]:
        with pytest.raises(ValueError, match=message):
            EWCA(2).fit(chunks)
    with pytest.raises(ValueError, match="ended after 210 rows of 500"):
        EWCA(2).fit(ewca.Chunks(lambda: in_chunks(X), shape=(500, COLUMNS)))

    class Wrong(Rows):
        def read(self, start, stop):
            return self.X[start : stop - 1]

    with pytest.raises(ValueError, match=r"rows 0 to 32 of X came as 31 x 12, not as 32 x 12"):
        EWCA(2).fit(Wrong(X))


def test_errors_of_a_source_are_raised_as_they_are(X, small_parts):
    class Broken(Rows):
        def read(self, start, stop):
            if start > 100:
                raise ConnectionError("the disk is gone")
            return self.X[start:stop]

    with pytest.raises(ConnectionError, match="the disk is gone"):
        EWCA(2).fit(Broken(X))
    model = EWCA(2).fit(X)
    with pytest.raises(ConnectionError, match="the disk is gone"):
        model.transform(Broken(X))
    bad = X.copy()
    bad[57, 3] = np.nan
    with pytest.raises(ValueError, match="57.*3"):
        EWCA(2).fit(lambda: in_chunks(bad))
    with pytest.raises(ValueError, match="X has 12 features, but EWCA is expecting 11 features"):
        EWCA(2).fit(X[:, :11]).transform(lambda: in_chunks(X))


def test_python_code_of_a_source_may_use_the_package(X, small_parts):
    """Its threads are all waiting for that very code."""
    base = EWCA(COLUMNS, epsilon=1e-9).fit(X)

    class Turned(Rows):
        def read(self, start, stop):
            return base.transform(self.X[start:stop])

    model = EWCA(2, perplexity=8, n_jobs=1).fit(Turned(X))
    assert model.embedding_.shape == (ROWS, 2)


def test_files_of_other_kinds(X, tmp_path, check_fit):
    frame = pd.DataFrame(X, columns=[f"gene{i}" for i in range(COLUMNS)])
    frame.insert(0, "name", [f"cell{i}" for i in range(ROWS)])
    frame["kind"] = np.where(np.arange(ROWS) % 2, "a", "b")
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=50)
    for file, in_parts in [("table.csv", None), ("table.parquet", None), ("table.parquet", True)]:
        table = ewca.read_table(tmp_path / file, label="kind", id="name", in_parts=in_parts)
        assert table.in_parts is bool(in_parts) and table.shape == X.shape
        assert table.features == [f"gene{i}" for i in range(COLUMNS)]
        assert table.ids == frame["name"].tolist() and table.labels == frame["kind"].tolist()
        assert repr(table).startswith("TableFile(") and ("in parts" in repr(table)) is bool(in_parts)
        model = EWCA(2, epsilon=5.0, tol=1e-8).fit(table)
        check_fit(model, X, tol=1e-8)
        assert model.feature_names_in_.tolist() == table.features
        np.testing.assert_allclose(model.transform(frame[table.features]), model.embedding_, atol=1e-9)
        with pytest.raises(ValueError, match="not those of the fit"):
            model.transform(renamed(tmp_path, frame))
    with pytest.raises(ValueError, match="kind"):
        EWCA(2).fit(tmp_path / "table.csv")
    with pytest.raises(OSError, match="nothing.csv"):
        EWCA(2).fit(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match="missing is 'zero'"):
        ewca.read_table(tmp_path / "table.csv", missing="zero")
    with pytest.raises(ValueError, match="cannot be read in parts"):
        ewca.read_table(tmp_path / "table.csv", label="kind", id="name", in_parts=True)


def renamed(folder, frame):
    frame.rename(columns={"gene3": "other"}).to_csv(folder / "other.csv", index=False)
    return ewca.read_table(folder / "other.csv", label="kind", id="name")


def test_a_zarr_folder_by_its_name(counts, tmp_path, check_fit):
    anndata.AnnData(scipy.sparse.csr_matrix(counts)).write_zarr(tmp_path / "cells.zarr")
    check_fit(EWCA(2, perplexity=6, tol=1e-8).fit(tmp_path / "cells.zarr"), counts, tol=1e-8)


def test_an_anndata_object_is_no_table(counts):
    with pytest.raises(TypeError, match="adata.X.*ewca.scanpy.ewca"):
        EWCA(2).fit(anndata.AnnData(counts))


MEMORY = """
import resource, numpy as np, ewca
def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n, d, step = 400, 20_000, 50
base = np.random.default_rng(0).normal(size=(step, d))
def chunks():
    for number in range(n // step):
        yield base * (1 + 0.1 * number)
ewca.EWCA(2, epsilon=1.0).fit(base[:, :40])
before = peak()
model = ewca.EWCA(2, epsilon=1.0, tol=1e-2, max_memory="50MB").fit(ewca.Chunks(chunks, shape=(n, d)))
print(8 * n * d, peak() - before, *model.embedding_.shape)
"""


def test_no_more_memory_is_taken_than_is_allowed():
    out = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True).stdout
    data, grown, rows, components = map(int, out.split())
    assert (rows, components) == (400, 2)
    assert grown < 50e6 < data
