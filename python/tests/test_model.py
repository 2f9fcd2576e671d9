"""Models and estimators hold what the fit found, by recomputation; whatever they are copied or saved to."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas
import pytest
import recomputed
import scipy.sparse
from sklearn.exceptions import NotFittedError

import ewca
from ewca import EWCA

EPSILON = 2.0


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(1).uniform(0.5, 2, size=90)


@pytest.fixture(scope="module")
def both(blobs, weights):
    """The same fit as a model and as an estimator."""
    X, _ = blobs
    # To the last digits: the estimator makes a start by continuation as well, and ends where the path does by other steps.
    path = ewca.path(X, [EPSILON], 3, sample_weight=weights, tol=1e-10)
    return path.models[0], EWCA(3, epsilon=EPSILON, tol=1e-10).fit(X, sample_weight=weights)


def test_models_hold_what_the_fit_found(both, blobs, weights, distance):
    X, _ = blobs
    model, estimator = both
    a = recomputed.weights_of(90, weights)
    U = model.components.T
    centred = X - a @ X
    np.testing.assert_allclose(model.weights, a, rtol=1e-12)
    np.testing.assert_allclose(model.mean, a @ X, atol=1e-12)
    np.testing.assert_allclose(model.scores, centred @ U, atol=1e-11)
    variances = a @ (centred @ U) ** 2
    np.testing.assert_allclose(model.explained_variance, variances * weights.sum() / (weights.sum() - 1), rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio, variances / (a @ centred**2).sum(), rtol=1e-10)
    plan = recomputed.plan_of(model.scores, a, model.potential, EPSILON)
    np.testing.assert_allclose(plan, model.plan().toarray(), rtol=1e-8)
    np.testing.assert_allclose(plan, recomputed.sinkhorn(model.scores, a, EPSILON), atol=1e-8)
    assert model.epsilon == EPSILON
    np.testing.assert_allclose(model.loss, recomputed.loss_of(X, U, a, plan, EPSILON), rtol=1e-6)
    recomputed.check_certificate(model.certificate, X, U, a, plan)
    # The angles between the subspaces of EWCA and PCA.
    pca = np.linalg.eigh(centred.T @ (a[:, None] * centred))[1][:, -3:]
    angles = np.arccos(np.clip(np.linalg.svd(pca.T @ U, compute_uv=False), 0, 1))
    np.testing.assert_allclose(model.distance_to_pca, np.linalg.norm(angles), rtol=1e-6)
    assert distance(pca, U) > 1e-3


def test_estimators_hold_the_same(both, weights):
    model, estimator = both
    count = weights.sum()
    for name in ["components", "mean", "potential", "explained_variance_ratio", "epsilon", "perplexity", "loss"]:
        np.testing.assert_allclose(getattr(estimator, f"{name}_"), getattr(model, name), rtol=1e-6, err_msg=name)
    # The last steps are those of the best start.
    for history, n_iter, loss in [(model.history, model.n_iter, model.loss), (estimator.history_, estimator.n_iter_, estimator.loss_)]:
        assert history["iteration"][-1] == n_iter > 0
        assert history["loss"][-1] == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(estimator.embedding_, model.scores, atol=1e-9)
    # As scikit-learn's PCA has them, of samples that are repeated so often: n - 1.
    np.testing.assert_allclose(estimator.explained_variance_, model.explained_variance, rtol=1e-10)
    np.testing.assert_allclose(estimator.singular_values_, np.sqrt(model.explained_variance * (count - 1)), rtol=1e-10)
    assert estimator.n_components_ == 3 and estimator.n_features_in_ == 12


def test_histories_are_tables(blobs):
    X, _ = blobs
    model = EWCA(2, epsilon=EPSILON, n_init=2, random_state=0).fit(X)
    table = pandas.DataFrame(model.history_)
    assert list(table) == ["attempt", "iteration", "epsilon", "loss", "relative_gradient", "marginal_error", "kernel_passes"]
    assert table["attempt"].dtype == table["iteration"].dtype == table["kernel_passes"].dtype == np.int64
    # PCA, one random start, and one by continuation from smaller epsilons.
    assert set(table["attempt"]) == {0, 1, 2} and (table["epsilon"] == EPSILON)[table["attempt"] < 2].all()
    continued = table["epsilon"][table["attempt"] == 2]
    assert continued.iloc[0] < EPSILON and continued.iloc[-1] == EPSILON and continued.is_monotonic_increasing
    np.testing.assert_allclose(table["loss"][table["epsilon"] == EPSILON].min(), model.loss_, rtol=1e-6)
    assert (table["kernel_passes"].diff().dropna() >= 0).all() and table["kernel_passes"].iloc[-1] > 0
    best = table.groupby("attempt")["iteration"].max()
    assert model.n_iter_ in set(best)


def test_what_models_say(both, blobs):
    X, _ = blobs
    model, _ = both
    assert repr(model) == f"Model(90 x 12 -> 3, epsilon=2, loss={model.loss:.6g}, converged)"
    with pytest.warns(UserWarning, match="raise max_iter"):
        early = ewca.path(X, [EPSILON], max_iter=1).models[0]
    assert repr(early).endswith(", max_iterations)")
    assert repr(ewca.path(X, [1e6]).models[0]).endswith(", collapsed)")


def test_what_approximate_models_say(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 4)) * [4, 3, 1, 1]
    estimator = EWCA(2, epsilon=20.0, landmarks=150).fit(X)
    estimator.save(tmp_path / "m.safetensors")
    model = ewca.Model.load(tmp_path / "m.safetensors")
    assert repr(model).endswith(", converged, approximate: 150 landmarks)")
    near = model.certificate.approximation
    assert near == estimator.certificate_.approximation
    assert (near.landmarks, near.rows) == (150, 200) and 0 < near.marginal_error <= near.worst_row and near.relative_gradient > 0
    plan = model.plan().toarray()
    np.testing.assert_allclose(near.marginal_error, np.abs(plan.sum(axis=1) - 1 / 200).sum(), rtol=1e-6)
    np.testing.assert_allclose(near.worst_row, np.abs(200 * plan.sum(axis=1) - 1).max(), rtol=1e-6)
    # An estimator from a file has the settings of the fit.
    again = EWCA.load(tmp_path / "m.safetensors")
    assert again.get_params() == {**EWCA().get_params(), "epsilon": 20.0, "landmarks": 150}


@pytest.mark.parametrize(
    "words",
    [
        {"n_components": 3, "perplexity": 7, "solver": "bcd", "max_iter": 20000},
        {"n_components": 2, "epsilon": 2.5, "tol": 1e-4, "n_init": 3, "random_state": 2**63 + 1},
        {"n_components": 4, "solver": "mm", "max_iter": 30000, "preprocessing": {"top_variable": 9, "unit_variance": True}},
        {},
    ],
)
def test_estimators_from_files_have_the_settings_of_the_fit(blobs, tmp_path, words):
    """The perplexity, the tolerance, the limit, the starts and the seed were lost."""
    X, _ = blobs
    model = EWCA(**words).fit(X)
    model.save(tmp_path / "m.safetensors")
    again = EWCA.load(tmp_path / "m.safetensors")
    assert again.get_params() == model.get_params()
    assert again.n_features_in_ == 12 and again.n_components_ == model.n_components_
    # So the same fit can be made again, and cloned.
    from sklearn.base import clone

    np.testing.assert_array_equal(clone(again).fit(X).embedding_, model.embedding_)
    # A number that was found is what a file has of it.
    EWCA(0.5).fit(X).save(tmp_path / "m.safetensors")
    assert EWCA.load(tmp_path / "m.safetensors").n_components == EWCA(0.5).fit(X).n_components_


def test_files_that_cannot_be_opened(blobs, tmp_path):
    for opened in (EWCA.load, ewca.Model.load):
        with pytest.raises(FileNotFoundError, match="nothing.safetensors"):
            opened(tmp_path / "nothing.safetensors")
        with pytest.raises((IsADirectoryError, OSError, ValueError), match=str(tmp_path)):
            opened(tmp_path)
    with pytest.raises(FileNotFoundError, match="no"):
        EWCA().fit(blobs[0]).save(tmp_path / "no" / "m.safetensors")


STEPS = [
    {"top_variable": 5},
    {"unit_variance": True},
    {"log1p": True, "top_variable": 5, "unit_variance": True},
    {"normalize_total": 100.0},
    {"normalize_total": 100.0, "log1p": True, "top_variable": 5, "unit_variance": True},
]


def by_hand(steps, X):
    """The steps by their definition: what comes out, which features are kept, and what they are divided by."""
    x = X * (steps["normalize_total"] / X.sum(axis=1, keepdims=True)) if "normalize_total" in steps else X
    x = np.log1p(x) if steps.get("log1p") else x
    variances = x.var(axis=0, ddof=1)
    kept = np.sort(np.argsort(-variances)[: steps.get("top_variable", X.shape[1])])
    scales = np.sqrt(variances[kept]) if steps.get("unit_variance") else np.ones(len(kept))
    return x[:, kept] / scales, kept, scales


@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: "+".join(steps))
@pytest.mark.parametrize("sparse", [False, True])
def test_steps_before_a_fit(blobs, tmp_path, check_fit, steps, sparse):
    """A model with steps had an `inverse_transform` of too few columns, and a `fit` that forgot them."""
    X = np.exp(blobs[0] / 3)
    X[X < 0.8] = 0
    given = scipy.sparse.csr_array(X) if sparse else X
    after, kept, scales = by_hand(steps, X)
    plain = EWCA(2, epsilon=0.5).fit(after)
    fitted = EWCA(2, epsilon=0.5, preprocessing=steps).fit(given)
    fitted.save(tmp_path / "m.safetensors")
    loaded = EWCA.load(tmp_path / "m.safetensors")
    for model in (fitted, loaded, loaded.fit(given), pickle.loads(pickle.dumps(fitted))):
        assert model.preprocessing == steps and model.n_features_in_ == 12
        np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-6)
        assert model.components_.shape == (2, len(kept))
        np.testing.assert_allclose(model.transform(given), model.embedding_, atol=1e-9)
        np.testing.assert_allclose(model.score_samples(given), plain.score_samples(after), rtol=1e-5)
        back = model.inverse_transform(model.embedding_)
        assert back.shape == X.shape
        expected = (model.embedding_ @ model.components_ + model.mean_) * scales
        expected = np.expm1(expected) if steps.get("log1p") else expected
        np.testing.assert_allclose(back[:, kept], expected, rtol=1e-9, atol=1e-9)
        left_out = np.setdiff1d(range(12), kept)
        means = X.mean(axis=0) * (100 / X.mean(axis=0).sum() if "normalize_total" in steps else 1)
        np.testing.assert_allclose(back[:, left_out], np.tile(means[left_out], (90, 1)), rtol=1e-9)
        hole = X.copy()
        hole[5, left_out[0] if len(left_out) else 0] = np.nan
        with pytest.raises(ValueError, match="contains NaN"):
            model.transform(hole)
        if "normalize_total" not in steps:
            # Scores come back from what they stand for.
            np.testing.assert_allclose(model.transform(back), model.embedding_, atol=1e-8)
    check_fit(fitted, after)


def test_names_with_steps(blobs, tmp_path):
    X = blobs[0]
    frame = pandas.DataFrame(X, columns=[f"gene{j}" for j in range(12)])
    model = EWCA(2, preprocessing={"top_variable": 6}).fit(frame)
    model.save(tmp_path / "m.safetensors")
    again = EWCA.load(tmp_path / "m.safetensors")
    assert list(again.feature_names_in_) == list(frame.columns) and again.components_.shape == (2, 6)
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    # A feature that has the first component to itself is called by its name, also when others are left out before it.
    X = X.copy()
    X[:, 9] *= 100
    with pytest.warns(UserWarning, match="one feature, 'gene9', dominates the first component"):
        EWCA(2, preprocessing={"top_variable": 3}).fit(pandas.DataFrame(X, columns=frame.columns))


def test_certificates_are_equal_by_their_numbers(both, blobs):
    """Comparing two of them raised an error, about arrays."""
    model, _ = both
    assert model.certificate == model.certificate and not model.certificate != model.certificate
    assert model.certificate == pickle.loads(pickle.dumps(model.certificate))
    other = ewca.path(blobs[0], [EPSILON], 3).models[0].certificate
    assert model.certificate != other and model.certificate != "certificate"
    changed = replace(model.certificate, residuals=model.certificate.residuals + 1e-9)
    assert changed != model.certificate and replace(model.certificate, residuals=model.certificate.residuals[:1]) != model.certificate
    hole = replace(model.certificate, residuals=np.full(3, np.nan), eigen_deficit=float("nan"))
    assert hole == replace(hole, residuals=np.full(3, np.nan)) and hole != model.certificate
    with pytest.raises(TypeError, match="unhashable"):
        hash(model.certificate)
    first, second = (ewca.Selection(np.ones(2), (0.0,) * 4, [{"by_epsilon": np.arange(last)}], 0) for last in (2, 2))
    assert first == second != ewca.Selection(np.ones(2), (0.0,) * 4, [{"by_epsilon": np.arange(3)}], 0)


def test_names_go_through_files(blobs, tmp_path):
    X, _ = blobs
    frame = pandas.DataFrame(X, columns=[f"gene{j}" for j in range(12)])
    EWCA(2).fit(frame).save(tmp_path / "m.safetensors")
    again = EWCA.load(tmp_path / "m.safetensors")
    assert again.feature_names_in_.dtype == object and list(again.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.transform(frame[frame.columns[::-1]])


def test_models_are_transformers_too(both, blobs):
    X, _ = blobs
    model, estimator = both
    new = X[:7] + 0.25
    expected = (new - model.mean) @ model.components.T
    for given in (new, new.tolist(), np.asfortranarray(new), scipy.sparse.csr_array(new)):
        np.testing.assert_allclose(model.transform(given), expected, atol=1e-11)
        if not isinstance(given, list):
            np.testing.assert_allclose(estimator.transform(given), expected, atol=1e-6)
    back = expected @ model.components + model.mean
    single = expected.astype(np.float32)
    for given in (expected, expected.tolist(), np.asfortranarray(expected)):
        np.testing.assert_allclose(model.inverse_transform(given), back, atol=1e-11)
        np.testing.assert_allclose(estimator.inverse_transform(given), back, atol=1e-6)
    np.testing.assert_allclose(estimator.inverse_transform(single), back, atol=1e-4)
    np.testing.assert_allclose(model.inverse_transform(single), back, atol=1e-4)


def test_a_single_sample_can_be_transformed(both, blobs):
    _, estimator = both
    np.testing.assert_allclose(estimator.transform(blobs[0][:1]), estimator.embedding_[:1], atol=1e-9)
    assert estimator.plan_rows(blobs[0][:1]).shape == (1, 90)


def test_embeddings_are_copies(blobs):
    X, _ = blobs
    model = EWCA(2)
    scores = model.fit_transform(X)
    scores[:] = 0
    assert model.embedding_.any()


def test_nothing_before_a_fit(blobs, tmp_path):
    X, _ = blobs
    for call in (
        lambda m: m.transform(X),
        lambda m: m.inverse_transform(X[:, :2]),
        lambda m: m.plan(),
        lambda m: m.plan_rows(X),
        lambda m: m.save(tmp_path / "m.safetensors"),
    ):
        with pytest.raises(NotFittedError):
            call(EWCA())


def test_the_smallest_and_the_largest_tables():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    two = EWCA(1, epsilon=0.1).fit(X)
    assert two.embedding_.shape == (2, 1)
    np.testing.assert_allclose(two.explained_variance_, X.var(axis=0, ddof=1).sum())
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        EWCA(1).fit(X[:1])
    with pytest.raises(ValueError, match="n_components=2 is too large for n_samples=2 and n_features=2: choose from 1 to 1"):
        EWCA(2).fit(X)
    X = np.random.default_rng(0).normal(size=(6, 3))
    assert EWCA(3, epsilon=0.01).fit(X).n_components_ == 3
    with pytest.raises(ValueError, match="n_components=4 is too large for n_samples=6 and n_features=3: choose from 1 to 3"):
        EWCA(4).fit(X)


def test_the_core_says_where_numbers_are_missing(blobs):
    X = blobs[0].copy()
    X[3, 5] = np.nan
    with pytest.raises(ValueError, match="row 3, column 5 is NaN"):
        EWCA().fit(X)


def test_pickles_hold_the_model_alone(blobs):
    X, _ = blobs
    model = EWCA(2, epsilon=EPSILON).fit(X)
    state = model.__getstate__()
    assert {name for name in state if name.endswith("_")} == {"n_features_in_"}
    assert {name for name in state if name.startswith("_")} == {"_model", "_dtype"}
    assert set(vars(pickle.loads(pickle.dumps(model)))) == set(vars(model))
    # What somebody adds to an estimator without a fit is kept.
    fresh = EWCA(2)
    fresh.embedding_ = "mine"
    assert pickle.loads(pickle.dumps(fresh)).embedding_ == "mine"


def test_results_cannot_be_changed_by_accident(both, blobs):
    X, y = blobs
    near = ewca.Approximation(landmarks=5, rows=4, marginal_error=0.1, worst_row=0.2, relative_gradient=0.3)
    selection = ewca.Selection(epsilons=np.ones(1), raw=(0.0,) * 4, cells=[], best=0)
    for thing, name in [(both[0].certificate, "converged"), (near, "rows"), (ewca.path(X, [1.0]), "models"), (selection, "best")]:
        with pytest.raises(FrozenInstanceError):
            setattr(thing, name, None)
    assert both[0].certificate.approximation is None


def test_selections_name_the_best():
    cells = [{"n_components": 2, "epsilon": 3}, {"n_components": 5, "epsilon": 7}]
    best = ewca.Selection(epsilons=np.array([3.0, 7.0]), raw=(0.0,) * 4, cells=cells, best=1)
    assert (best.n_components, best.epsilon) == (5, 7.0)
    assert type(best.n_components) is int and type(best.epsilon) is float and best.method == "ewca"
    advice = ewca.Recommendation("pca", 2, 1e-9, 1.0, 5.0, (5, 6.0), 7, 3, 1.0)
    other = replace(best, recommended=advice)
    assert (other.method, other.n_components, other.epsilon) == ("pca", 2, 1e-9)


def test_paths_hold_one_entry_per_epsilon(blobs):
    X, _ = blobs
    found = ewca.path(X, [4.0, 1.0, 1e6], 2)
    assert len(found) == 3 == len(found.models)
    for name, one in [
        ("epsilons", "epsilon"),
        ("perplexities", "perplexity"),
        ("losses", "loss"),
        ("explained_variance_ratios", "explained_variance_ratio"),
        ("distances_to_pca", "distance_to_pca"),
    ]:
        np.testing.assert_array_equal(getattr(found, name), [getattr(model, one) for model in found.models])
    np.testing.assert_array_equal(found.eigenvalues, [model.certificate.eigenvalues for model in found.models])
    assert sorted(found.epsilons) == [1.0, 4.0, 1e6]
    assert found.collapsed.tolist() == [model.certificate.collapsed for model in found.models]
    for model in found.models:
        np.testing.assert_allclose(model.perplexity, recomputed.perplexity_of(model.plan().toarray()), rtol=1e-5)
