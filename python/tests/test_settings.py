"""What people ask for reaches the compiled half, whatever door they come through; and defaults are what the texts say."""

import inspect
import re

import numpy as np
import pytest

import ewca
import ewca.scanpy
from ewca import EWCA, _ewca, _input

#: What the compiled half is asked for where nobody says anything.
DEFAULTS = {
    "n_components": 2,
    "epsilon": None,
    "perplexity": None,
    "solver": "auto",
    "inner_steps": None,
    "tol": 1e-6,
    "max_iter": 1000,
    "n_init": 1,
    "seed": 0,
    "threads": None,
    "start": None,
    "landmarks": None,
    "single_precision": True,
    "skip_far_pairs": True,
    "coarse_to_fine": True,
    "max_memory": None,
    "checkpoint": None,
    "checkpoint_every": 60.0,
    "resume": None,
    "callback": None,
}


@pytest.fixture
def asked(monkeypatch):
    """Calls of the compiled half, which are noted and then made."""
    calls = []

    def note(name):
        real = getattr(_ewca, name)

        def call(*args):
            calls.append((name, args))
            return real(*args)

        monkeypatch.setattr(_ewca, name, call)

    for name in ("fit", "path", "select", "default_epsilons", "self_transport"):
        note(name)
    return calls


def test_an_estimator_asks_for_the_defaults(asked, blobs):
    X, _ = blobs
    EWCA().fit(X)
    [(name, (table, weights, settings, progress))] = asked
    assert name == "fit" and np.shares_memory(table, X) and weights is None and progress is None
    assert settings == DEFAULTS


def test_an_estimator_asks_for_what_it_was_given(asked, blobs):
    X, _ = blobs
    weights = np.arange(1, 91)
    model = EWCA(3, epsilon=2.5, solver="lbfgs", tol=1e-4, max_iter=77, n_init=2, random_state=9, n_jobs=1, landmarks=80)
    model.fit(X, sample_weight=weights)
    (_, (_, given, settings, _)) = asked[-1]
    np.testing.assert_array_equal(given, weights)
    assert settings == {
        **DEFAULTS,
        "n_components": 3,
        "epsilon": 2.5,
        "solver": "lbfgs",
        "tol": 1e-4,
        "max_iter": 77,
        "n_init": 2,
        "seed": 9,
        "threads": 1,
        "landmarks": 80,
    }
    fast = {"single_precision": False, "skip_far_pairs": False, "coarse_to_fine": False}
    EWCA(max_memory="40 MB", **fast).fit(X)
    assert asked[-1][1][2] == {**DEFAULTS, **fast, "max_memory": 40_000_000}
    EWCA(perplexity=8).fit_transform(X, sample_weight=weights)
    (_, (_, given, settings, _)) = asked[-1]
    np.testing.assert_array_equal(given, weights)
    assert settings == {**DEFAULTS, "perplexity": 8.0}
    EWCA().fit(X, sample_weight=2)
    np.testing.assert_array_equal(asked[-1][1][1], np.full(90, 2.0))


def test_seeds_change_attempts(khan):
    X, _ = khan
    first, same, other = (EWCA(5, epsilon=100, n_init=2, random_state=seed).fit(X).history_ for seed in (1, 1, 2))
    second = [history[history["attempt"] == 1]["loss"] for history in (first, same, other)]
    assert len(second[0]) > 1
    np.testing.assert_array_equal(second[0], second[1])
    assert second[0][0] != second[2][0]


def test_warm_starts_begin_at_the_last_components(asked, blobs):
    X, _ = blobs
    model = EWCA(2, epsilon=2.0, warm_start=True).fit(X)
    assert asked[-1][1][2]["start"] is None
    last = model.components_.T.copy()
    model.fit(X)
    start = asked[-1][1][2]["start"]
    np.testing.assert_array_equal(start, last)
    assert start.flags.c_contiguous
    model.fit(X.tolist())
    assert asked[-1][1][2]["start"] is not None
    # Another shape, or nobody asked: anew.
    model.set_params(n_components=3).fit(X)
    assert asked[-1][1][2]["start"] is None
    model.fit(X[:, :7])
    assert asked[-1][1][2]["start"] is None
    model.set_params(warm_start=False).fit(X[:, :7])
    assert asked[-1][1][2]["start"] is None
    with pytest.raises(ValueError, match="1D array"):
        model.set_params(warm_start=True).fit(X[0])


def test_pot_s_words(asked, blobs):
    X, _ = blobs
    start = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 3)))[0]
    with pytest.warns(UserWarning, match="raise maxiter"):
        ewca.ewca(X, start, 3.0, 3, "MM", "Sinkhorn_Log", 1e-5, 4, 10, 6)
    [(_, (table, weights, settings, progress))] = asked
    assert np.shares_memory(table, X) and weights is None and progress is None
    np.testing.assert_array_equal(settings.pop("start"), start)
    wanted = {**DEFAULTS, "n_components": 3, "epsilon": 3.0, "solver": "mm", "inner_steps": 6, "tol": 1e-5, "max_iter": 4}
    del wanted["start"]
    assert settings == wanted
    ewca.ewca(X, method="bcd", maxiter=1000)
    assert asked[-1][1][2] == {**DEFAULTS, "epsilon": 1.0, "solver": "bcd", "inner_steps": 10}


def test_pot_s_start_and_inner_steps_matter(blobs, distance):
    X, _ = blobs
    start = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 2)))[0]
    with pytest.warns(UserWarning):
        from_start = ewca.ewca(X, U0=start, reg=3.0, maxiter=1)[1]
        from_pca = ewca.ewca(X, reg=3.0, maxiter=1)[1]
        few = ewca.ewca(X, U0=start, reg=3.0, method="MM", maxiter=1, maxiter_MM=1)[1]
        many = ewca.ewca(X, U0=start, reg=3.0, method="MM", maxiter=1, maxiter_MM=50)[1]
    assert distance(from_start, from_pca) > 1e-2
    assert distance(few, start) < distance(many, start)


def test_pot_s_words_are_checked(blobs):
    X, _ = blobs
    for words, kind, message in [
        ({"method": 3}, ValueError, "method is 3"),
        ({"maxiter_sink": 0}, ValueError, "maxiter_sink is 0"),
        ({"maxiter_MM": 0}, ValueError, "maxiter_MM is 0"),
        ({"U0": np.eye(12)[:, :3]}, ValueError, r"expected \(12, 2\)"),
    ]:
        with pytest.raises(kind, match=message):
            ewca.ewca(X, **words)
    whole = np.eye(12, dtype=int)[:, :2]
    np.testing.assert_allclose(*(ewca.ewca(X, U0=start, maxiter=1000)[1] for start in (whole, whole.astype(float))))
    for name in ("greenkhorn", "sinkhorn_epsilon_scaling"):
        assert ewca.ewca(X, sinkhorn_method=name, maxiter=1000)[0].shape == (90, 90)


def test_paths_ask_for_what_they_were_given(asked, blobs):
    X, _ = blobs
    weights = np.arange(1.0, 91.0)
    ewca.path(X, [2, 1], 3, sample_weight=weights, solver="bcd", tol=1e-4, max_iter=500, n_jobs=1)
    [(name, (table, given, epsilons, settings, progress))] = asked
    assert name == "path" and np.shares_memory(table, X) and epsilons == [2.0, 1.0] and progress is None
    np.testing.assert_array_equal(given, weights)
    assert settings == {**DEFAULTS, "n_components": 3, "solver": "bcd", "tol": 1e-4, "max_iter": 500, "threads": 1}
    ewca.path(X, [1.0], sample_weight=2)
    np.testing.assert_array_equal(asked[-1][1][1], np.full(90, 2.0))
    ewca.path(X, 1.5)
    (_, (_, given, epsilons, settings, _)) = asked[-1]
    assert given is None and epsilons == [1.5] and settings == DEFAULTS


def test_weights_of_paths_matter(blobs):
    X, _ = blobs
    weights = np.random.default_rng(0).uniform(0.5, 2, size=90)
    model = ewca.path(X, [1.0], sample_weight=weights).models[0]
    np.testing.assert_allclose(model.mean, weights @ X / weights.sum(), rtol=1e-12)
    np.testing.assert_allclose(model.weights, weights / weights.sum(), rtol=1e-12)


def test_epsilons_of_paths_come_from_the_last_component(asked, blobs):
    X, _ = blobs
    # Sparse data have the same.
    for data in (X, X.tolist()):
        ewca.path(data, n_components=3)
        variance = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[2] ** 2 / 90
        np.testing.assert_allclose(asked[-1][1][2], np.geomspace(3.6 * variance / 200, 3.6 * variance, 20), rtol=1e-9)
    # Counts are repetitions, here too.
    counts = np.arange(len(X)) % 3
    ewca.path(X, n_components=3, sample_weight=counts)
    weighted = asked[-1][1][2]
    ewca.path(np.repeat(X, counts, axis=0), n_components=3)
    np.testing.assert_allclose(weighted, asked[-1][1][2], rtol=1e-9)


def test_selections_ask_for_what_they_were_given(asked, blobs):
    X, y = blobs
    ewca.select(X, y, (k for k in (3, 2)), [2, 1], n_splits=4, n_inner_splits=3, random_state=5, n_jobs=1)
    [(name, (table, *rest))] = asked
    assert name == "select" and np.shares_memory(table, X)
    assert rest == [[str(label) for label in y], [3, 2], [2.0, 1.0], 4, 3, 5, 1]
    ewca.select(X, y, [3, 2], n_splits=2, n_inner_splits=2)
    assert [name for name, _ in asked[1:]] == ["default_epsilons", "select"]
    (_, (_, _, _, epsilons, _, _, seed, threads)) = asked[-1]
    variance = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[1] ** 2 / 90
    np.testing.assert_allclose(epsilons, np.geomspace(0.1 * variance, 4 * variance, 20), rtol=1e-9)
    assert (seed, threads) == (0, None)


def test_sinkhorn_self_asks_for_what_it_was_given(asked):
    Z = np.random.default_rng(0).normal(size=(6, 2))
    ewca.sinkhorn_self(Z, 2)
    ewca.sinkhorn_self(Z.tolist(), 2, [1, 2, 3, 4, 5, 6], tol=1e-4)
    for (_, (points, weights, epsilon, tol)), expected in zip(asked[:2], [(np.full(6, 1 / 6), 1e-10), (np.arange(1, 7) / 21, 1e-4)]):
        np.testing.assert_array_equal(points, Z)
        np.testing.assert_allclose(weights, expected[0])
        assert (epsilon, tol) == (2.0, expected[1])
    np.testing.assert_array_equal(ewca.sinkhorn_self(Z, 2, 3.0).weights, ewca.sinkhorn_self(Z, 2).weights)
    whole = np.arange(6).reshape(3, 2)
    np.testing.assert_array_equal(ewca.sinkhorn_self(whole, 1).toarray(), ewca.sinkhorn_self(whole.astype(float), 1).toarray())
    for nonsense in (np.ones(3), np.ones((0, 2)), np.ones((3, 0)), np.ones((2, 2, 2))):
        with pytest.raises(ValueError, match="expected points in rows"):
            ewca.sinkhorn_self(nonsense, 1)


def test_estimators_of_cells_ask_for_what_they_were_given(asked, blobs):
    anndata = pytest.importorskip("anndata")
    X, _ = blobs
    adata = anndata.AnnData(X)
    words = {"tol": 1e-4, "max_iter": 900, "n_init": 2, "random_state": 3, "n_jobs": 1, "landmarks": 85, "solver": "lbfgs"}
    ewca.scanpy.ewca(adata, 3, epsilon=2.0, **words)
    (_, (_, weights, settings, progress)) = asked[-1]
    assert weights is None and progress is None
    assert settings == {
        **DEFAULTS,
        "n_components": 3,
        "epsilon": 2.0,
        "tol": 1e-4,
        "max_iter": 900,
        "n_init": 2,
        "seed": 3,
        "threads": 1,
        "landmarks": 85,
        "solver": "lbfgs",
    }
    ewca.scanpy.ewca(anndata.AnnData(np.random.default_rng(0).normal(size=(60, 30))), perplexity=9)
    assert asked[-1][1][2] == {**DEFAULTS, "n_components": 20, "perplexity": 9.0}


def test_errors_name_what_is_wrong(blobs):
    X, y = blobs
    for call, kind, message in [
        (lambda: ewca.path(X, n_components=2.5), TypeError, "^n_components is 2.5"),
        (lambda: ewca.path(X, [1.0], n_components=2.5), TypeError, "^n_components is 2.5"),
        (lambda: ewca.path(X, ["a"]), TypeError, "^an epsilon is .*a.*: it must be a number"),
        (lambda: ewca.select(X, y, [2.5]), TypeError, "^n_components is 2.5"),
        (lambda: ewca.select(X, y, [2], ["a"]), TypeError, "^an epsilon is .*a.*: it must be a number"),
        (lambda: ewca.select(X, y, [2], []), ValueError, "positive and finite, and at least one"),
        (lambda: ewca.select(X, y, [2], [1.0, 0.0]), ValueError, "positive and finite, and at least one"),
        (lambda: ewca.select(X, y, [2], [1.0, np.inf]), ValueError, "positive and finite, and at least one"),
        (lambda: ewca.select(X, y, [2], n_splits=0), ValueError, "^n_splits is 0"),
        (lambda: ewca.select(X, y, [2], n_inner_splits=0), ValueError, "^n_inner_splits is 0"),
        (lambda: ewca.sinkhorn_self(X, "a"), TypeError, "^epsilon is 'a'"),
        (lambda: ewca.sinkhorn_self(X, 1.0, tol="a"), TypeError, "^tol is 'a'"),
    ]:
        with pytest.raises(kind, match=message):
            call()


def defaults_of(function):
    return {name: p.default for name, p in inspect.signature(function).parameters.items() if p.default is not inspect.Parameter.empty}


def test_defaults_are_those_of_the_text():
    """`name : type, default=value`, or `optional` for None, and what other functions share with the estimator."""
    said = {}
    for name, words in re.findall(r"^(\w+) : (.+)$", inspect.getdoc(EWCA).split("Attributes")[0], re.MULTILINE):
        default = re.search(r"default=(\S+)", words)
        said[name] = eval(default[1]) if default else None  # noqa: S307  (our own text)
    assert said == defaults_of(EWCA) == EWCA().get_params()
    inner = defaults_of(_input.settings)
    assert {name: default for name, default in inner.items() if name in said} == {name: said[name] for name in inner if name in said}
    path = defaults_of(ewca.path)
    shared = {"solver", "tol", "max_iter", "n_jobs", "verbose"}
    assert {name: path.pop(name) for name in shared} == {name: said[name] for name in shared}
    assert path == {"epsilons": None, "n_components": 2, "sample_weight": None}
    cells = defaults_of(ewca.scanpy.ewca)
    shared |= {"epsilon", "perplexity", "n_init", "landmarks"}
    assert {name: cells.pop(name) for name in shared} == {name: said[name] for name in shared}
    # The rest is scanpy's own, and test_scanpy_arguments.py compares them.
    assert cells.pop("n_neighbors") == 15
    which = {"n_comps", "layer", "obsm", "mask_var", "use_highly_variable", "chunked", "chunk_size"}
    assert set(cells) == which | {"zero_center", "svd_solver", "random_state", "return_info", "dtype", "key_added", "copy"}
    assert defaults_of(ewca.scanpy.plan_as_neighbors) == {"n_neighbors": 15, "key": None, "key_added": None, "copy": False}
    places = {"layer": None, "key": None, "key_added": None}
    assert defaults_of(ewca.scanpy.transform) == {**places, "chunk_size": None, "dtype": "float32", "copy": False}
    assert defaults_of(ewca.select) == {
        "n_components": "auto",
        "epsilons": None,
        "n_splits": 100,
        "n_inner_splits": 20,
        "random_state": 0,
        "n_jobs": None,
    }
    assert defaults_of(ewca.sinkhorn_self) == {"weights": None, "tol": 1e-10}
    for fit in (EWCA.fit, EWCA.fit_transform):
        assert defaults_of(fit) == {"y": None, "sample_weight": None}
    gibibyte = 1024**3
    assert defaults_of(EWCA.transport_plan) == defaults_of(ewca.Plan.toarray) == {"max_bytes": gibibyte}
    assert defaults_of(EWCA.plan_graph) == defaults_of(ewca.Plan.graph) == {"n_neighbors": 15}


WAYS = [{"epsilon": 1.0}, {"epsilon": 1.0, "solver": "bcd"}, {"epsilon": 1.0, "solver": "mm"}]


@pytest.mark.parametrize("words", WAYS)
@pytest.mark.parametrize("max_iter", [1, 2])
def test_a_fit_makes_no_more_iterations_than_it_may(blobs, words, max_iter):
    X, _ = blobs
    with pytest.warns(UserWarning, match="raise max_iter"):
        model = EWCA(2, max_iter=max_iter, tol=1e-13, random_state=0, **words).fit(X)
    assert model.n_iter_ == max_iter
    assert model.certificate_.termination == "max_iterations"


@pytest.mark.parametrize("words", [{}, {"perplexity": 30, "n_init": 3}, {"solver": "bcd"}])
@pytest.mark.parametrize("n_samples", [150, 1500])
@pytest.mark.parametrize("max_iter", [1, 3])
def test_moves_of_epsilon_towards_a_perplexity_count_as_iterations(words, n_samples, max_iter):
    # They came on top once: max_iter=1 made 3 iterations. Few samples are fitted from several starts, more than 1000 from one.
    X = np.random.default_rng(0).normal(size=(n_samples, 6)) * [3, 2.5, 2, 1, 1, 1]
    seen = []
    with pytest.warns(UserWarning, match="raise max_iter"):
        model = EWCA(2, max_iter=max_iter, tol=1e-13, random_state=0, callback=lambda now: seen.append(now.iteration), **words).fit(X)
    assert max(seen) == max_iter
    assert model.n_iter_ <= max_iter
    assert model.certificate_.termination == "max_iterations"


def test_a_plan_that_pot_s_function_could_not_return_is_refused_before_the_fit(asked):
    X = np.random.default_rng(0).normal(size=(11586, 2))
    with pytest.raises(MemoryError, match=r"1.0 GiB for 11586 samples: use ewca.EWCA\(1, epsilon=2\).fit\(X\), whose plan_graph\(\)"):
        ewca.ewca(X, reg=2, k=1)
    assert asked == [], "the fit would be lost"
    # What it advises is there.
    named = re.findall(r"(\w+)\(\)", str(pytest.raises(MemoryError, ewca.ewca, X, reg=2, k=1).value))
    assert named == ["plan_graph", "plan_operator", "plan"] and all(hasattr(EWCA, name) for name in named)
