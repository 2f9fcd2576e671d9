"""What people pass, as it reaches the compiled half."""

import numpy as np
import pytest
import scipy.sparse

import ewca
from ewca import _ewca, _input, _source

LARGEST_SEED = 2**31 - 1


def test_dense_tables():
    for given in ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]], dtype=np.uint8)):
        table = _input.as_table(given)
        assert table.dtype == np.float64 and table.flags.c_contiguous
        np.testing.assert_array_equal(table, [[1, 2], [3, 4]])
        assert _input.shape(table) == (2, 2)
    assert _input.as_table(np.array([[1, 2]], dtype=np.float16)).dtype == np.float64
    single = np.ones((3, 2), dtype=np.float32)
    assert _input.as_table(single) is single
    columns = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    memory, *places = _input.as_table(columns)
    assert np.shares_memory(memory, columns) and memory.tolist() == [0, 2, 4, 1, 3, 5] and places == [3, 2, 1, 3]
    assert _input.shape(_input.as_table(columns)) == (3, 2)
    with pytest.raises(ValueError, match="X has 3 dimensions: expected 2"):
        _input.as_table(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="Complex data not supported"):
        _input.as_table(np.ones((2, 2)) + 0j)


def records(x):
    """The array as one field of records, whose values do not lie at whole places."""
    table = np.zeros(x.shape, dtype=np.dtype([("flag", "u1"), ("value", x.dtype)]))
    table["value"] = x
    return table["value"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_in_any_order_give_the_same_bits(dtype):
    rng = np.random.default_rng(5)
    x = (rng.normal(size=(30, 6)) * np.arange(1, 7)).astype(dtype)
    wide = np.full((60, 20), np.nan, dtype=dtype)
    wide[1::2, 2:14:2] = x
    tall = np.full((40, 9), np.nan, dtype=dtype, order="F")
    tall[3:33, 1:7] = x
    borrowed = [np.asfortranarray(x), wide[1::2, 2:14:2], tall[3:33, 1:7], np.ascontiguousarray(x.T).T]
    copied = [np.ascontiguousarray(x[::-1])[::-1], np.ascontiguousarray(x[:, ::-1])[:, ::-1], records(x), x.astype(x.dtype.newbyteorder())]
    expected = ewca.EWCA(2, epsilon=1.0).fit(x)
    for array in borrowed + copied:
        table = _input.as_table(array)
        memory = table[0] if isinstance(table, tuple) else table
        assert np.shares_memory(memory, array) == any(array is other for other in borrowed)
        assert _input.shape(table) == x.shape
        found = ewca.EWCA(2, epsilon=1.0).fit(array)
        np.testing.assert_array_equal(found.embedding_, expected.embedding_)
        np.testing.assert_array_equal(found.components_, expected.components_)
        np.testing.assert_array_equal(expected.transform(array), expected.transform(x))
        np.testing.assert_array_equal(expected.transform(array[:1]), expected.transform(x[:1]))


def test_strides_that_lead_out_of_the_memory_are_refused():
    for places in [(3, 2, 2, 1), (2, 2, 2, 2), (2**63, 2, 2, 1), (2, 2, 2**64 - 1, 1), (0, 2, 2, 1), (2, 0, 2, 1)]:
        with pytest.raises(ValueError, match="the strides lead out of the memory"):
            _ewca.fit((np.zeros(4), *places), None, _input.settings(1, random_state=0))


def test_sparse_tables():
    dense = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
        for dtype, kept in [(np.float64, np.float64), (np.float32, np.float32), (np.int64, np.float64), (np.int8, np.float64)]:
            offsets, positions, values, columns = table = _input.as_table(kind(dense.astype(dtype)))
            assert (offsets.dtype, positions.dtype, values.dtype) == (np.uintp, np.uint32, kept)
            assert (offsets.tolist(), positions.tolist(), values.tolist(), columns) == ([0, 1, 3], [1, 0, 2], [2, 1, 3], 3)
            assert _input.shape(table) == (2, 3)
    assert _input.shape(_input.as_table(scipy.sparse.csr_array(np.ones((4, 6))))) == (4, 6)


def test_sparse_indices_of_other_widths():
    wide = scipy.sparse.csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    offsets, positions, values, _ = _input.as_table(wide)
    assert positions.dtype == np.uint32 and positions.tolist() == [1, 0, 2]
    assert offsets.dtype == np.uintp and offsets.tolist() == [0, 1, 3]


def test_entries_given_twice_are_added_in_a_copy():
    twice = scipy.sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    offsets, positions, values, _ = _input.as_table(twice)
    assert (offsets.tolist(), positions.tolist(), values.tolist()) == ([0, 1, 2], [1, 0], [3.0, 4.0])
    assert twice.data.tolist() == [1.0, 2.0, 4.0], "the caller's matrix stays as it is"
    sound = scipy.sparse.csr_array(np.eye(3))
    assert sound.has_canonical_format and np.shares_memory(_input.as_table(sound)[2], sound.data)


def test_sparse_values_with_gaps_become_contiguous():
    matrix = scipy.sparse.csr_array(np.eye(3))
    matrix.data = np.repeat(matrix.data, 2)[::2]
    matrix.indices = np.repeat(matrix.indices, 2)[::2]
    offsets, positions, values, _ = _input.as_table(matrix)
    assert positions.flags.c_contiguous and values.flags.c_contiguous
    assert positions.tolist() == [0, 1, 2] and values.tolist() == [1, 1, 1]


def test_what_is_sparse():
    assert _input.is_sparse(scipy.sparse.csr_array(np.eye(2))) is True
    assert _input.is_sparse(np.eye(2)) is False

    class Half:
        tocsr = None

    assert _input.is_sparse(Half()) is False


def test_weights():
    assert _input.as_weights(None, 3) is None
    for scalar in (2, 2.0, np.float64(2)):
        np.testing.assert_array_equal(_input.as_weights(scalar, 3), [2.0, 2.0, 2.0])
    assert _input.as_weights(2, 3).dtype == np.float64
    weights = _input.as_weights([1, 2, 3], 3)
    assert weights.dtype == np.float64 and weights.tolist() == [1, 2, 3]
    assert _input.as_weights(np.arange(6.0)[::2], 3).flags.c_contiguous
    with pytest.raises(ValueError, match="1D array or scalar, but they have 2 dimensions"):
        _input.as_weights([[1, 2]], 2)


def test_seeds():
    assert _input.as_seed(0) == 0 and _input.as_seed(7) == 7 and _input.as_seed(np.int64(2**40)) == 2**40
    assert type(_input.as_seed(np.int64(3))) is int
    # The next number that the generator would have drawn.
    assert _input.as_seed(np.random.RandomState(3)) == np.random.RandomState(3).randint(LARGEST_SEED)
    assert _input.as_seed(np.random.default_rng(3)) == np.random.default_rng(3).integers(LARGEST_SEED)
    # Without a state: from NumPy's global one, if there is any need.
    np.random.seed(4)
    assert _input.as_seed(None) == np.random.RandomState(4).randint(LARGEST_SEED)
    assert _input.as_seed(None, needed=False) == 0
    for nonsense in (-1, 1.5, "x"):
        with pytest.raises(ValueError, match="pass None, a non-negative integer, or a NumPy generator"):
            _input.as_seed(nonsense)


def test_threads(monkeypatch):
    monkeypatch.setattr(_ewca, "available_cores", lambda: 8)
    assert _input.as_threads(None) is None and _input.as_threads(-1) is None
    # More than there are cores would only be in each other's way.
    assert [_input.as_threads(n) for n in (1, 3, np.int32(8), 9, 100000, -2, -8, -9, -100)] == [1, 3, 8, 8, 8, 7, 1, 1, 1]
    monkeypatch.setattr(_ewca, "available_cores", lambda: 1)
    assert _input.as_threads(-2) == 1
    for nonsense in (0, 1.5, "2", True):
        with pytest.raises(ValueError, match="pass None or -1 for all cores, or a number other than 0"):
            _input.as_threads(nonsense)


def test_bytes():
    words = {"4GB": 4_000_000_000, "500 MiB": 500 * 2**20, "1.5k": 1500, "12": 12, "2 tib": 2**41, "7b": 7, " 3 Gi ": 3 * 2**30}
    assert {word: _input.as_bytes("x", word) for word in words} == words
    assert _input.as_bytes("x", None) is None and _input.as_bytes("x", np.int64(9)) == 9
    for nonsense in ("", "GB", "-1GB", "1 XB", "1e3", "i", "4 ib"):
        with pytest.raises(ValueError, match="x is .*pass a number of bytes, or a text such as '4GB'"):
            _input.as_bytes("x", nonsense)
    for nonsense, kind in [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)]:
        with pytest.raises(kind, match=f"x is {nonsense}"):
            _input.as_bytes("x", nonsense)
    part = _source.PART
    assert [_input.part_bytes(n) for n in (None, 16 * part, "1TB", 1600, 1)] == [part, part, part, 100, 1]


def test_numbers():
    assert _input.whole("n", np.int64(3)) == 3 and type(_input.whole("n", np.int64(3))) is int
    assert _input.whole("n", 1) == 1 and _input.whole("n", 5, least=5) == 5 and _input.whole("n", 0, least=0) == 0
    for value, least in [(0, 1), (4, 5), (-1, 0)]:
        with pytest.raises(ValueError, match=f"n is {value}: it must be at least {least}"):
            _input.whole("n", value, least)
    with pytest.raises(ValueError, match="at least 1"):
        _input.whole("n", 0)
    for nonsense in (2.0, "2", True, None):
        with pytest.raises(TypeError, match="n is .*: it must be a whole number"):
            _input.whole("n", nonsense)
    for value in (2, np.float32(2), np.int8(2)):
        assert _input.number("x", value) == 2.0 and type(_input.number("x", value)) is float
    for nonsense in ("2", True, None, 1j):
        with pytest.raises(TypeError, match="x is .*: it must be a number"):
            _input.number("x", nonsense)


def test_settings_of_every_kind():
    start = np.eye(3)[:, :2]
    words = _input.settings(
        np.int64(2), epsilon=3, solver="mm", inner_steps=4, tol=1e-3, max_iter=5, n_init=6, random_state=7, n_jobs=1, start=start, landmarks=9
    )
    assert words.pop("start") is start
    assert words == {
        "n_components": 2,
        "epsilon": 3.0,
        "perplexity": None,
        "solver": "mm",
        "inner_steps": 4,
        "tol": 1e-3,
        "max_iter": 5,
        "n_init": 6,
        "seed": 7,
        "threads": 1,
        "landmarks": 9,
        "single_precision": True,
        "skip_far_pairs": True,
        "coarse_to_fine": True,
        "max_memory": None,
        "checkpoint": None,
        "checkpoint_every": 60.0,
        "resume": None,
        "callback": None,
    }
    assert {name: type(value) for name, value in words.items() if value is not None} == {
        "n_components": int,
        "epsilon": float,
        "solver": str,
        "inner_steps": int,
        "tol": float,
        "max_iter": int,
        "n_init": int,
        "seed": int,
        "threads": int,
        "landmarks": int,
        "single_precision": bool,
        "skip_far_pairs": bool,
        "coarse_to_fine": bool,
        "checkpoint_every": float,
    }
    assert _input.settings(2, perplexity=np.int32(8))["perplexity"] == 8.0
    for words, kind, message in [
        ({"epsilon": 1, "perplexity": 2}, ValueError, "both passed"),
        ({"solver": 1}, TypeError, "choose 'auto'"),
        ({"epsilon": "1"}, TypeError, "epsilon is '1'"),
        ({"perplexity": "1"}, TypeError, "perplexity is '1'"),
        ({"tol": None}, TypeError, "tol is None"),
        ({"max_iter": 0}, ValueError, "max_iter is 0"),
        ({"n_init": 0}, ValueError, "n_init is 0"),
        ({"landmarks": 1.5}, TypeError, "landmarks is 1.5"),
        ({"max_memory": "much"}, ValueError, "max_memory is 'much'"),
        ({"checkpoint": 3}, TypeError, "checkpoint is 3: it must be the name of a file"),
        ({"checkpoint": b"state"}, TypeError, "it must be the name of a file"),
        ({"checkpoint_every": -1}, ValueError, "checkpoint_every is -1"),
        ({"checkpoint_every": np.nan}, ValueError, "checkpoint_every is nan"),
        ({"checkpoint_every": "1"}, TypeError, "checkpoint_every is '1'"),
        ({"resume": 3}, TypeError, "resume is 3: it must be the name of a file"),
        ({"resume": True}, ValueError, "resume is True, but there is no checkpoint file"),
        ({"callback": 3}, TypeError, "callback is 3: it must be a function"),
    ]:
        with pytest.raises(kind, match=message):
            _input.settings(2, **words)
    with pytest.raises(TypeError, match="n_components is 2.0"):
        _input.settings(2.0)


def test_a_seed_is_drawn_only_where_anything_is_random():
    state = np.random.RandomState(1)
    assert _input.settings(2, n_init=2, random_state=state)["seed"] == np.random.RandomState(1).randint(LARGEST_SEED)
    np.random.seed(2)
    assert _input.settings(2, n_init=1)["seed"] == 0
    assert _input.settings(2, n_init=2)["seed"] == np.random.RandomState(2).randint(LARGEST_SEED)
