"""What people pass by mistake, and what is small, flat or odd: a right answer, or an error that says what is wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import ewca
from ewca import EWCA

# That a fit has collapsed, or that samples repeat, is as it should be here.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def table(n=40, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1)


def read_only(X):
    X.flags.writeable = False
    return X


#: Each with the number of components to fit.
RIGHT = {
    "two samples": (lambda: table(2), 1),
    "three samples, all of them": (lambda: table(3), 2),
    "as many components as the rank": (lambda: table(30, 4), 4),
    "one feature": (lambda: table(20, 1), 1),
    "repeated rows": (lambda: np.repeat(table(5), 6, axis=0), 3),
    "two places": (lambda: np.repeat(table(2), 10, axis=0), 1),
    "bits": (lambda: (table(40, 8) > 0).astype(np.uint8), 3),
    "truth values": (lambda: table(40, 8) > 0, 3),
    "constant columns": (lambda: np.hstack([table(), np.full((40, 3), 7.0)]), 3),
    "a constant beside which all else is small": (lambda: table() + 1e8, 2),
    "one sample far away": (lambda: np.vstack([table(), np.full((1, 5), 1e3)]), 2),
    "float16": (lambda: table().astype(np.float16), 2),
    "int8": (lambda: np.round(10 * table()).clip(-128, 127).astype(np.int8), 2),
    "uint64": (lambda: np.abs(np.round(10 * table())).astype(np.uint64), 2),
    "long double": (lambda: table().astype(np.longdouble), 2),
    "other bytes": (lambda: table().astype(">f8"), 2),
    "objects that are numbers": (lambda: table().astype(object), 2),
    "lists": (lambda: table().tolist(), 2),
    "read-only": (lambda: read_only(table()), 2),
    "columns first": (lambda: np.asfortranarray(table()), 2),
    "every other row, backwards": (lambda: table(80)[::-2], 2),
    "the same row throughout, but for one": (lambda: np.vstack([np.ones((20, 4)), [[1, 2, 3, 4]]]), 1),
    "a frame": (lambda: pd.DataFrame(table(), columns=list("abcde")), 2),
    "a frame of polars": (lambda: pl.DataFrame(table(), schema=list("abcde")), 2),
    "a frame of whole numbers that may be missing": (lambda: pd.DataFrame(np.round(9 * table())).astype("Int64"), 2),
    **{
        f"sparse {kind}": (lambda kind=kind: scipy.sparse.random(40, 12, 0.3, random_state=0).asformat(kind), 2)
        for kind in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
    },
    "sparse array": (lambda: scipy.sparse.csr_array(scipy.sparse.random(40, 12, 0.3, random_state=0)), 2),
    "sparse with entries twice": (lambda: scipy.sparse.coo_matrix((np.arange(1.0, 61), (np.arange(60) % 20, np.arange(60) % 7)), (20, 7)), 2),
    "sparse whole numbers": (lambda: scipy.sparse.random(40, 12, 0.3, random_state=0).astype(np.int32) + scipy.sparse.eye(40, 12, dtype=np.int32), 2),
}


@pytest.mark.parametrize("what", RIGHT)
def test_odd_data_are_fitted(what, check_fit):
    make, k = RIGHT[what]
    X = make()
    model = EWCA(k, epsilon=0.5).fit(X)
    dense = X.toarray() if hasattr(X, "toarray") else X
    dense = np.asarray(dense.to_numpy() if hasattr(dense, "to_numpy") else dense, dtype=np.float64)
    check_fit(model, dense)
    np.testing.assert_allclose(model.transform(X), (dense - model.mean_) @ model.components_.T, atol=1e-6 * max(1, np.abs(dense).max()))


@pytest.mark.parametrize("what", RIGHT)
def test_odd_data_have_a_perplexity_too(what):
    make, k = RIGHT[what]
    X = make()
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    model = EWCA(k, perplexity=min(5, 1 + (n - 1) / 2)).fit(X)
    assert 1 <= model.perplexity_ <= n and np.isfinite(model.embedding_).all()


def holed(value):
    X = table()
    X[3, 2] = value
    return X


#: What is wrong, and a word that the message must have.
WRONG = {
    "one sample": (lambda: table(1), "sample"),
    "no samples": (lambda: np.empty((0, 5)), "sample"),
    "no features": (lambda: np.empty((40, 0)), "feature"),
    "one dimension": (lambda: table()[:, 0], "dimension|1D"),
    "three dimensions": (lambda: table()[None], "dim"),
    "a number": (lambda: 3.0, "dimension|scalar"),
    "nothing": (lambda: None, "None|array|object|number|float|dimension|shape"),
    "missing": (lambda: holed(np.nan), "NaN|missing"),
    "infinite": (lambda: holed(np.inf), "inf"),
    "minus infinite": (lambda: holed(-np.inf), "inf"),
    "all the same": (lambda: np.ones((20, 4)), "vary|constant|same|rank|variance"),
    "texts": (lambda: np.array([["a", "b"], ["c", "d"], ["e", "f"]]), "convert|string|numeric"),
    "texts that are objects": (lambda: np.array([["a", 1], ["c", 2]], dtype=object), "convert|string"),
    "complex": (lambda: table() * 1j, "[Cc]omplex"),
    "dates": (lambda: np.array([["2020-01-01"] * 3] * 4, dtype="datetime64[D]"), "dates or times|dtype|DType|convert"),
    "lists of unequal length": (lambda: [[1.0, 2.0], [3.0]], "inhomogeneous|sequence|shape|dimension"),
    "categories of words": (lambda: pd.DataFrame({"a": pd.Categorical(["x", "y"] * 20), "b": np.arange(40.0)}), "convert|string"),
    "a frame with a gap": (lambda: pd.DataFrame(holed(np.nan)), "NaN|missing"),
    "a frame of polars with a gap": (lambda: pl.DataFrame({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 4.0]}), "NaN|missing"),
    "sparse with a gap": (lambda: scipy.sparse.csr_matrix(holed(np.nan)), "NaN|missing"),
    "sparse without a row": (lambda: scipy.sparse.csr_matrix((0, 5)), "sample"),
    "a file that is not there": (lambda: "no-such-table.csv", "no-such-table.csv"),
    "a set": (lambda: {1.0, 2.0, 3.0}, "set|array|dim|number|float"),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("of", ["fit", "path", "select", "sinkhorn_self"])
def test_what_is_no_table_is_refused(what, of):
    make, words = WRONG[what]
    calls = {
        "fit": lambda X: EWCA(1).fit(X),
        "path": lambda X: ewca.path(X, [1.0], n_components=1),
        "select": lambda X: ewca.select(X, np.arange(getattr(X, "shape", [40])[0]) % 2, [1], n_splits=2),
        "sinkhorn_self": lambda X: ewca.sinkhorn_self(X, 1.0),
    }
    if of == "sinkhorn_self" and what in ("all the same", "one sample"):
        # Points may be at one place, or one alone.
        assert calls[of](make()).marginal_error < 1e-6
        return
    # Points have no names for their rows and columns.
    words += "|has the shape|is a sparse matrix" if of == "sinkhorn_self" else ""
    with pytest.raises((ValueError, TypeError, OSError), match=words):
        calls[of](make())


WEIGHTS = {
    "negative": (lambda: np.r_[-1.0, np.ones(39)], "negative"),
    "all zero": (lambda: np.zeros(40), "zero|weight"),
    "only one": (lambda: np.r_[1.0, np.zeros(39)], "vary|sample|rank|weight|variance|same"),
    "too few": (lambda: np.ones(39), "39"),
    "too many": (lambda: np.ones(41), "41"),
    "missing": (lambda: np.r_[np.nan, np.ones(39)], "NaN|nan|finite|number"),
    "infinite": (lambda: np.r_[np.inf, np.ones(39)], "inf|finite"),
    "words": (lambda: ["a"] * 40, "convert|float|string"),
    "a column": (lambda: np.ones((40, 1)), "1D|dimension"),
}


@pytest.mark.parametrize("what", WEIGHTS)
def test_what_are_no_weights_is_refused(what):
    make, words = WEIGHTS[what]
    with pytest.raises((ValueError, TypeError), match=words):
        EWCA(2).fit(table(), sample_weight=make())


def test_samples_of_weight_zero_are_like_new_samples():
    X = table()
    weights = np.r_[np.zeros(10), np.ones(30)]
    model, without = EWCA(2, epsilon=0.5).fit(X, sample_weight=weights), EWCA(2, epsilon=0.5).fit(X[10:])
    np.testing.assert_allclose(np.abs(model.components_ @ without.components_.T), np.eye(2), atol=1e-5)
    np.testing.assert_allclose(model.embedding_[:10], model.transform(X[:10]), atol=1e-9)


@pytest.mark.parametrize("words", [{"perplexity": 1}, {"perplexity": 40}, {"perplexity": np.nan}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": np.inf}])
def test_knobs_out_of_range_are_refused(words):
    with pytest.raises(ValueError, match=next(iter(words))):
        EWCA(2, **words).fit(table())


@pytest.mark.parametrize("X", [table(7, 5), table(39, 6), holed(np.nan), table().astype(str), table()[:, :4]])
def test_new_samples_that_are_none(X):
    model = EWCA(2).fit(table())
    if X.shape[1] == 5 and X.dtype == np.float64 and np.isfinite(X).all():
        assert model.transform(X).shape == (7, 2)
        return
    with pytest.raises(ValueError):
        model.transform(X)
