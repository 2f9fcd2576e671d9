"""Models and estimators hold what the fit found, by recomputation; whatever they are copied or saved to."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas
import pytest
import recomputed
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

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
    return ewca.path(X, [EPSILON], 3, sample_weight=weights).models[0], EWCA(3, epsilon=EPSILON).fit(X, sample_weight=weights)


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
    pairs = ["components", "mean", "potential", "explained_variance_ratio", "epsilon", "perplexity", "loss", "n_iter", "history"]
    for name in pairs:
        np.testing.assert_allclose(_numbers(getattr(estimator, f"{name}_")), _numbers(getattr(model, name)), rtol=1e-6, err_msg=name)
    np.testing.assert_allclose(estimator.embedding_, model.scores, atol=1e-9)
    # As scikit-learn's PCA has them, of samples that are repeated so often: n - 1.
    np.testing.assert_allclose(estimator.explained_variance_, model.explained_variance, rtol=1e-10)
    np.testing.assert_allclose(estimator.singular_values_, np.sqrt(model.explained_variance * (count - 1)), rtol=1e-10)
    assert estimator.n_components_ == 3 and estimator.n_features_in_ == 12


def _numbers(values):
    values = np.asarray(values)
    # Beside the start that both make, the estimator makes one by continuation.
    return values["loss"][values["attempt"] == 0] if values.dtype.names else values


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
    assert again.get_params() == {**EWCA().get_params(), "epsilon": 20.0, "solver": again.solver, "landmarks": 150}


def test_estimators_from_files_have_the_settings_of_the_fit(blobs, tmp_path):
    X, _ = blobs
    EWCA(3, perplexity=7, solver="bcd", max_iter=20000).fit(X).save(tmp_path / "m.safetensors")
    again = EWCA.load(tmp_path / "m.safetensors")
    assert again.get_params() == {**EWCA().get_params(), "n_components": 3, "epsilon": again.epsilon_, "solver": "bcd"}
    assert again.n_features_in_ == 12 and again.n_components_ == 3


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


def test_scores_have_64_bits_whatever_the_data_have(blobs):
    X = blobs[0].astype(np.float32)
    model = EWCA(2, epsilon=EPSILON).fit(X)
    assert model.transform(X).dtype == np.float64
    tags = get_tags(model)
    assert tags.transformer_tags.preserves_dtype == ["float64"] and tags.input_tags.sparse is True


def test_pickles_hold_the_model_alone(blobs):
    X, _ = blobs
    model = EWCA(2, epsilon=EPSILON).fit(X)
    state = model.__getstate__()
    assert {name for name in state if name.endswith("_")} == {"n_features_in_"}
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
    assert type(best.n_components) is int and type(best.epsilon) is float


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
