"""What users of scikit-learn's PCA try: it works as there, or the message says why not and what to do."""

import ast
import copy
import inspect
import pickle
import re
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse
import scipy.stats
import sklearn
from packaging import version
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr, get_tags

import ewca
from ewca import EWCA, _pca

TINY = 1e-10
#: Diagrams of scikit-learn show what was fitted, and explain parameters, since version 1.9.
TELLS_ALL = version.parse(sklearn.__version__) >= version.parse("1.9")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 7)) @ np.diag([5.0, 4, 3, 2, 1.5, 1, 0.5]) @ np.linalg.qr(rng.normal(size=(7, 7)))[0] + rng.normal(size=7)
    return X[:100], X[100:]


@pytest.mark.parametrize("k", [1, 3, 6, 7])
def test_the_gaussian_is_that_of_pca(data, k):
    X, new = data
    ours, pca = EWCA(k, epsilon=TINY).fit(X), PCA(k, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.noise_variance_, pca.noise_variance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.get_covariance(), pca.get_covariance(), atol=1e-9)
    np.testing.assert_allclose(ours.get_precision(), pca.get_precision(), atol=1e-7)
    np.testing.assert_allclose(ours.score_samples(new), pca.score_samples(new), rtol=1e-8)
    np.testing.assert_allclose(ours.score(new), pca.score(new), rtol=1e-8)
    assert ours.n_samples_ == pca.n_samples_ == 100 and isinstance(ours.score(new), float)


def test_the_gaussian_of_few_samples_is_that_of_pca():
    X = np.random.default_rng(6).normal(size=(25, 60)) * np.linspace(4, 1, 60)
    ours, pca = EWCA(4, epsilon=TINY).fit(X[:20]), PCA(4, svd_solver="full").fit(X[:20])
    np.testing.assert_allclose(ours.noise_variance_, pca.noise_variance_, rtol=1e-9)
    np.testing.assert_allclose(ours.score_samples(X[20:]), pca.score_samples(X[20:]), rtol=1e-8)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_the_gaussian_is_its_definition(data, k):
    """At an epsilon that matters, by SciPy's density."""
    X, new = data
    model = EWCA(k, perplexity=6).fit(X)
    U, Z = model.components_, model.embedding_
    variances = Z.var(axis=0, ddof=1)
    outside = (X.var(axis=0, ddof=1).sum() - variances.sum()) / (7 - k) if k < 7 else 0.0
    np.testing.assert_allclose(model.noise_variance_, outside, rtol=1e-9, atol=1e-9)
    expected = U.T @ np.diag(np.maximum(variances - outside, 0)) @ U + outside * np.eye(7)
    np.testing.assert_allclose(model.get_covariance(), expected, atol=1e-9)
    np.testing.assert_allclose(model.get_precision() @ expected, np.eye(7), atol=1e-8)
    density = scipy.stats.multivariate_normal(model.mean_, expected)
    np.testing.assert_allclose(model.score_samples(new), density.logpdf(new), rtol=1e-8)
    np.testing.assert_allclose(model.score_samples(scipy.sparse.csr_array(new)), density.logpdf(new), rtol=1e-7)
    np.testing.assert_allclose(model.score(new), density.logpdf(new).mean(), rtol=1e-8)
    # For its own samples nothing is more likely than PCA.
    assert model.score(X) <= PCA(k).fit(X).score(X) + 1e-9


def test_samples_that_lie_elsewhere_are_less_likely(data):
    X, _ = data
    model = EWCA(2, perplexity=5).fit(X)
    assert model.score(X) > model.score(X + 3) > model.score(5 * (X - X.mean(axis=0)) + X.mean(axis=0) + 3)


def test_a_component_with_less_variance_than_noise(data):
    """A collapse: the component counts as noise, and the covariance stays one."""
    X, _ = data
    with pytest.warns(UserWarning, match="collapsed"):
        model = EWCA(2, epsilon=1e6).fit(X)
    assert (model.explained_variance_ < model.noise_variance_).all()
    np.testing.assert_allclose(model.get_covariance(), model.noise_variance_ * np.eye(7), atol=1e-12)
    np.testing.assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(7), atol=1e-12)
    assert np.isfinite(model.score(X))


@pytest.mark.filterwarnings("ignore:EWCA collapsed")
def test_where_there_is_no_noise_there_is_no_density():
    X = np.random.default_rng(0).normal(size=(6, 20))
    model = EWCA(5).fit(X)
    for call in (model.get_precision, lambda: model.score(X)):
        with pytest.raises(ValueError, match="cannot be inverted: .* fit fewer components"):
            call()
    assert np.isfinite(model.get_covariance()).all()


def test_many_rows_are_taken_part_by_part(monkeypatch, data):
    X, new = data
    model = EWCA(2).fit(X)
    wide = np.tile(new, (1, 1))
    expected = ((wide - X.mean(axis=0)) ** 2).sum(axis=1)
    parts = ewca._pca.squared_distances(np.repeat(wide, 7000, axis=0), model.mean_)
    np.testing.assert_allclose(parts, np.repeat(expected, 7000), rtol=1e-12)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ({"whiten": True}, "explained_variance_"),
        ({"svd_solver": "full"}, "`solver` chooses"),
        ({"copy": False}, "X is never changed"),
        ({"iterated_power": 3}, "remove this argument"),
        ({"n_oversamples": 3}, "remove this argument"),
        ({"power_iteration_normalizer": "QR"}, "remove this argument"),
        ({"batch_size": 3}, "use all samples"),
    ],
)
def test_parameters_of_pca_are_refused_with_what_to_do(words, advice):
    [name] = words
    with pytest.raises(TypeError, match=f"EWCA has no parameter '{name}', which PCA has: .*{re.escape(advice)}"):
        EWCA(2, **words)
    assert list(inspect.signature(EWCA).parameters)[0] == "n_components" and name not in EWCA().get_params()
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        EWCA(colour=3)


def test_whitening_by_hand_is_what_the_message_says(data):
    X, _ = data
    model = EWCA(3).fit(X)
    white = model.transform(X) / np.sqrt(model.explained_variance_)
    np.testing.assert_allclose(np.cov(white.T), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(make_pipeline(EWCA(3), StandardScaler()).fit_transform(X) * np.sqrt(100 / 99) ** -1, white, rtol=1e-9)


def test_missing_attributes_say_why(data):
    X, _ = data
    fresh, fitted = EWCA(), EWCA().fit(X)
    for name in ("components_", "mean_", "explained_variance_", "singular_values_", "noise_variance_", "n_samples_", "embedding_"):
        with pytest.raises(AttributeError, match=f"'EWCA' object has no attribute '{name}': call fit first"):
            getattr(fresh, name)
        assert hasattr(fitted, name)
    for model in (fresh, fitted):
        for name, why in (("partial_fit", "all samples with each other"), ("whiten", "divide the scores"), ("svd_solver", "`solver`")):
            with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{why}"):
                getattr(model, name)
            assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="no attribute 'nonsense'$"):
            model.nonsense  # noqa: B018
        with pytest.raises(AttributeError, match="it exists only with n_components='auto'"):
            model.scree_  # noqa: B018
    for call in ("get_covariance", "get_precision", "plan"):
        with pytest.raises(NotFittedError):
            getattr(fresh, call)()
    for call in ("score", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(fresh, call)(X)


def everything(model, X):
    return {
        **{name: getattr(model, name) for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_")},
        "transform": model.transform(X),
        "fit_transform": clone(model).fit_transform(X),
        "inverse_transform": model.inverse_transform(model.transform(X)),
        "covariance": model.get_covariance(),
        "precision": model.get_precision(),
    }


@pytest.mark.filterwarnings("ignore:EWCA collapsed")
def test_types_are_those_of_pca(data):
    X, _ = data
    for dtype in (np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, bool):
        given = np.abs(X * 10 if dtype is not bool else X > 0).astype(dtype)
        ours, theirs = everything(EWCA(3, epsilon=1.0).fit(given), given), everything(PCA(3, svd_solver="full").fit(given), given)
        assert {name: value.dtype for name, value in ours.items()} == {name: value.dtype for name, value in theirs.items()}, dtype
    ours, theirs = EWCA(3, epsilon=1.0).fit(X.astype(np.float32)), PCA(3, svd_solver="full").fit(X.astype(np.float32))
    assert ours.embedding_.dtype == ours.potential_.dtype == np.float32
    assert ours.transform(X).dtype == theirs.transform(X).dtype == np.float64
    ours, theirs = EWCA(3, epsilon=1.0).fit(X), PCA(3, svd_solver="full").fit(X)
    assert ours.transform(X.astype(np.float32)).dtype == theirs.transform(X.astype(np.float32)).dtype == np.float64
    assert get_tags(ours).transformer_tags.preserves_dtype == ["float64", "float32"]
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_matrix):
        single = kind(X.astype(np.float32))
        assert EWCA(2).fit(single).transform(single).dtype == np.float32


def test_single_precision_is_double_precision_rounded(data):
    X = data[0].astype(np.float32)
    single, double = EWCA(3, perplexity=5).fit(X), EWCA(3, perplexity=5).fit(X.astype(np.float64))
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "potential_", "embedding_"):
        np.testing.assert_array_equal(getattr(single, name), getattr(double, name).astype(np.float32))
    assert (single.epsilon_, single.loss_) == (double.epsilon_, double.loss_)
    # Nothing is lost inside: what is computed from the model is as accurate as ever, also through a pickle and a file.
    np.testing.assert_array_equal(single.transport_plan(), double.transport_plan())
    again = pickle.loads(pickle.dumps(single))
    assert again.components_.dtype == np.float32 and again.transform(X).dtype == np.float32
    np.testing.assert_array_equal(again.transport_plan(), double.transport_plan())
    np.testing.assert_array_equal(single.transform(X), double.transform(X).astype(np.float32))
    warm = EWCA(3, epsilon=2.0, warm_start=True).fit(X)
    assert warm.fit(X).n_iter_ <= 1


def test_sample_weights_are_routed(data):
    X, _ = data
    y = X[:, 0] > 0
    weights = np.random.default_rng(1).integers(1, 4, size=100)
    expected = EWCA(2, perplexity=6).fit(X, sample_weight=weights).components_
    assert not np.allclose(expected, EWCA(2, perplexity=6).fit(X).components_, atol=1e-6)
    # The way of old: by the name of the step.
    pipeline = make_pipeline(EWCA(2, perplexity=6), KNeighborsClassifier()).fit(X, y, ewca__sample_weight=weights)
    np.testing.assert_array_equal(pipeline[0].components_, expected)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = EWCA(2, perplexity=6).set_fit_request(sample_weight=True)
        np.testing.assert_array_equal(make_pipeline(asking, KNeighborsClassifier()).fit(X, y, sample_weight=weights)[0].components_, expected)
        silent = EWCA(2, perplexity=6).set_fit_request(sample_weight=False)
        plain = EWCA(2, perplexity=6).fit(X).components_
        with_scaler = make_pipeline(silent, StandardScaler().set_fit_request(sample_weight=True))
        np.testing.assert_array_equal(with_scaler.fit(X, sample_weight=weights)[0].components_, plain)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            make_pipeline(EWCA(2), KNeighborsClassifier()).fit(X, y, sample_weight=weights)
        search = GridSearchCV(asking, {"perplexity": [4, 6]}, cv=2).fit(X, sample_weight=weights)
        again = EWCA(2, **search.best_params_).fit(X, sample_weight=weights)
        np.testing.assert_array_equal(search.best_estimator_.components_, again.components_)
        halves = cross_validate(asking, X, params={"sample_weight": weights}, cv=[(np.arange(50), np.arange(50, 100))], return_estimator=True)
        half = EWCA(2, perplexity=6).fit(X[:50], sample_weight=weights[:50])
        np.testing.assert_array_equal(halves["estimator"][0].components_, half.components_)


def test_pickles_are_as_small_as_the_arrays(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40)) * np.r_[5, 4, np.ones(38)]
    model = EWCA(2, epsilon=3.0, tol=1e-3).fit(X)
    arrays = sum(getattr(model, name).nbytes for name in ("components_", "mean_", "potential_", "embedding_")) + 8 * 3000
    size = len(pickle.dumps(model))
    # One copy of each array, the weights, and a few bytes for the name of each sample.
    assert arrays < size < arrays + 12 * 3000 + 10_000
    joblib.dump(model, tmp_path / "model.joblib")
    assert (tmp_path / "model.joblib").stat().st_size < size + 2000
    # A fit that went on from another does not keep where it began.
    X = rng.normal(size=(60, 500)) * np.r_[9, 8, np.ones(498)]
    warm = EWCA(2, epsilon=3.0, tol=1e-3, warm_start=True).fit(X)
    size = len(pickle.dumps(warm))
    assert abs(len(pickle.dumps(warm.fit(X))) - size) < 3000


def test_the_plan_can_be_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40)) * np.r_[5, 4, np.ones(38)]
    whole = EWCA(2, epsilon=3.0, tol=1e-3).fit(X)
    small = EWCA(2, epsilon=3.0, tol=1e-3, keep_plan=False)
    np.testing.assert_array_equal(small.fit_transform(X), whole.embedding_)
    pca = len(pickle.dumps(PCA(2).fit(X)))
    assert len(pickle.dumps(small)) < pca + 10_000 < len(pickle.dumps(whole)) / 5
    kept = ["components_", "mean_", "explained_variance_", "explained_variance_ratio_", "noise_variance_"]
    kept += ["n_components_", "n_samples_", "epsilon_", "perplexity_", "loss_", "n_iter_", "history_"]
    for model in (small, clone(small).fit(X), copy.deepcopy(small), pickle.loads(pickle.dumps(small))):
        for name in kept:
            np.testing.assert_array_equal(getattr(model, name), getattr(whole, name), err_msg=name)
        np.testing.assert_allclose(model.singular_values_, whole.singular_values_, rtol=1e-12)
        assert model.certificate_ == whole.certificate_
        np.testing.assert_array_equal(model.transform(X), whole.transform(X))
        np.testing.assert_array_equal(model.inverse_transform(X[:, :2]), whole.inverse_transform(X[:, :2]))
        assert model.score(X) == whole.score(X)
        for name in ("embedding_", "potential_"):
            with pytest.raises(AttributeError, match=f"no attribute '{name}': it was fitted with keep_plan=False"):
                getattr(model, name)
        for call in (model.plan, model.transport_plan, model.plan_graph, model.barycentric_transform, lambda: model.save("model.safetensors")):
            with pytest.raises(ValueError, match="keep_plan=True"):
                call()
    again = small.set_params(keep_plan=True).fit(X)
    np.testing.assert_array_equal(again.embedding_, whole.embedding_)
    weighted = EWCA(2, epsilon=3.0, tol=1e-3, keep_plan=False).fit(X, sample_weight=np.full(3000, 0.0001))
    np.testing.assert_allclose(weighted.explained_variance_, EWCA(2, epsilon=3.0, tol=1e-3).fit(X, sample_weight=np.full(3000, 0.0001)).explained_variance_)


def test_diagrams_for_notebooks(data):
    X, _ = data
    for model in (EWCA(3, perplexity=7), EWCA(3, perplexity=7).fit(X), EWCA("auto", preprocessing={"log1p": True})):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            page = estimator_html_repr(model)
        assert "EWCA" in page and "n_components" in page and "n_components" in model._repr_html_()
        if TELLS_ALL:
            assert ("explained_variance_ratio_" in page) == hasattr(model, "components_")
        assert "modules/generated/ewca" not in page
    assert repr(EWCA(3, perplexity=7)) == "EWCA(n_components=3, perplexity=7)"
    # The package has no address of documentation yet; once its metadata have one, diagrams link to it.
    assert EWCA()._get_doc_link() == ""


def test_diagrams_link_to_the_documentation(monkeypatch):
    class Metadata:
        def get_all(self, name):
            return ["Source, https://example.org/source", "Documentation, https://example.org/ewca"] if name == "Project-URL" else None

    monkeypatch.setattr("importlib.metadata.metadata", lambda name: Metadata())
    assert EWCA()._get_doc_link() == "https://example.org/ewca"
    page = estimator_html_repr(EWCA())
    assert "https://example.org/ewca" in page
    if TELLS_ALL:
        # And parameters are explained by the docstring.
        assert "How many neighbours each sample is matched with on average" in page


def sections(text):
    """The sections of a docstring in numpydoc form."""
    found = re.split(r"\n *([A-Z][A-Za-z ]+)\n *-{4,}\n", inspect.cleandoc(text))
    return dict(zip(found[1::2], found[2::2]))


def entries(section):
    """The names that a section lists."""
    return [name.strip() for line in section.splitlines() if re.match(r"\S", line) for name in line.split(" : ")[0].split(",")]


def public_methods():
    own = [(EWCA, name) for name in vars(EWCA) if not name.startswith("_") and callable(getattr(EWCA, name))]
    own += [(ewca.Plan, name) for name in ("toarray", "graph", "shares")]
    own += [(ewca.Model, name) for name in ("transform", "inverse_transform", "save", "load")]
    return [(f"{kind.__name__}.{name}", getattr(kind, name)) for kind, name in own]


FUNCTIONS = [(name, getattr(ewca, name)) for name in ("ewca", "path", "select", "sinkhorn_self", "covariates")]


@pytest.mark.parametrize(("name", "thing"), public_methods() + FUNCTIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_docstrings_have_numpydoc_s_form(name, thing):
    text = inspect.getdoc(thing)
    assert re.match(r"[A-Z].*[.:]$", text.splitlines()[0]), f"{name}: the first line is no sentence"
    parts = sections(text)
    wanted = [one for one in inspect.signature(thing).parameters if one not in ("self", "cls")]
    listed = entries(parts.get("Parameters", ""))
    assert listed == wanted, name
    returns = inspect.signature(thing).return_annotation
    assert ("Returns" in parts) == (returns not in (None, "None")), name


def test_the_estimator_s_docstring_has_numpydoc_s_form(data):
    parts = sections(EWCA.__doc__)
    assert entries(parts["Parameters"]) == list(inspect.signature(EWCA.__init__).parameters)[1:]
    model = EWCA("auto").fit(__import__("pandas").DataFrame(data[0]).rename(columns=str))
    assert set(entries(parts["Attributes"])) == {name for name in vars(model) if name.endswith("_")}
    for name, words in inspect.signature(EWCA).parameters.items():
        # Defaults that are written are the defaults.
        said = re.search(rf"^{name} : .*default=(\S+)$", parts["Parameters"], re.MULTILINE)
        assert said is None or ast.literal_eval(said.group(1)) == words.default, name


def test_rounding_makes_no_sample_likelier_than_one_inside_the_components():
    # Its squared distance is a little less than that of its scores, by rounding, which a tiny noise would blow up.
    found = _pca.log_likelihoods(np.array([1 - 1e-12]), np.array([[1.0]]), np.array([1.0]), 1e-12, 3)
    np.testing.assert_allclose(found, [-0.5 * (1 + 2 * np.log(1e-12) + 3 * np.log(2 * np.pi))], rtol=1e-12)
