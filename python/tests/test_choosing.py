"""How many components, which method, and what components go with: by the data, by labels, by what is known of the samples."""

import warnings

import numpy as np
import pandas
import polars
import pytest
import scipy.stats
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

import ewca
from ewca import EWCA


@pytest.fixture(scope="module")
def factors():
    """Three factors of different strength, and noise."""
    rng = np.random.default_rng(11)
    strong = rng.normal(size=(120, 3)) @ (np.array([[6.0], [5.5], [5]]) * np.linalg.qr(rng.normal(size=(15, 3)))[0].T)
    return strong + rng.normal(size=(120, 15))


def above_chance(X, seed, permutations=20):
    """Parallel analysis, by its definition: the part of the variance of each component, and the 95% quantile of permuted tables."""
    rng = np.random.default_rng(seed)

    def ratios(x):
        values = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2
        return values / values.sum()

    chance = [ratios(np.column_stack([rng.permutation(column) for column in X.T])) for _ in range(permutations)]
    own, limit = ratios(X), np.quantile(chance, 0.95, axis=0)
    return int(np.argmin(own > limit)) if not (own > limit).all() else len(own), own, limit


def test_as_many_components_as_stand_out(factors):
    model = EWCA("auto", perplexity=5).fit(factors)
    count, own, limit = above_chance(factors, seed=1)
    assert model.n_components_ == model.scree_.above == count == 3 and model.n_components == "auto"
    assert model.embedding_.shape == (120, 3)
    np.testing.assert_allclose(model.scree_.variances, own[: len(model.scree_.variances)], rtol=1e-6)
    # Other permutations, so about the same.
    np.testing.assert_allclose(model.scree_.permuted[:5], limit[:5], rtol=0.15)
    assert (model.scree_.quantile, model.scree_.permutations) == (0.95, 20)
    own, limit = 100 * model.scree_.variances[3], 100 * model.scree_.permuted[3]
    assert str(model.scree_) == f"3 components; component 4 explains {own:.1f}% of the variance, no more than chance ({limit:.1f}%)"
    # The fit is that with three components.
    np.testing.assert_array_equal(model.components_, EWCA(3, perplexity=5).fit(factors).components_)
    # Nothing is random unless it is asked for, and asking for 0 is the same.
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    again = EWCA("auto").fit(factors)
    assert (np.random.get_state()[1] == before).all() and again.scree_ == model.scree_ == EWCA("auto", random_state=0).fit(factors).scree_
    assert EWCA("auto", random_state=5).fit(factors).scree_ != model.scree_
    # Another choice leaves no trace of it.
    again.set_params(n_components=2).fit(factors)
    assert not hasattr(again, "scree_")


def test_noise_is_said_to_be_noise():
    X = np.random.default_rng(2).normal(size=(80, 6))
    with pytest.warns(UserWarning, match=r"n_components='auto': 1 component, although none explains more variance than chance \(\d+\.\d%, chance"):
        model = EWCA("auto").fit(X)
    assert model.n_components_ == 1 and model.scree_.above == 0


def test_weights_count_for_the_number_of_components(factors):
    # What only samples of no weight have does not stand out.
    weights = np.r_[np.ones(120), np.zeros(40)]
    rng = np.random.default_rng(0)
    more = np.vstack([factors, rng.normal(size=(40, 15)) + 30 * rng.normal(size=(40, 1)) * np.eye(15)[7]])
    assert EWCA("auto").fit(more, sample_weight=weights).n_components_ == 3
    assert EWCA(0.9).fit(more, sample_weight=weights).n_components_ == EWCA(0.9).fit(factors).n_components_
    assert EWCA(0.9).fit(more).n_components_ != EWCA(0.9).fit(factors).n_components_


@pytest.mark.parametrize("part", [0.01, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("shape", [(60, 9), (12, 40), (200, 100)])
def test_a_part_of_the_variance_asks_for_as_many_as_pca_needs(part, shape):
    X = np.random.default_rng(3).normal(size=shape) * np.linspace(3, 0.2, shape[1])
    model = EWCA(part, epsilon=1e-9).fit(X)
    assert model.n_components_ == PCA(part, svd_solver="full").fit(X).n_components_
    assert model.explained_variance_ratio_.sum() > part


def test_all_components():
    X = np.random.default_rng(4).normal(size=(30, 5))
    assert EWCA(None).fit(X).n_components_ == 5
    assert EWCA(None).fit(X[:4]).n_components_ == 3
    # No more than the data have directions.
    X[:, 3] = X[:, 0] + X[:, 1]
    assert EWCA(None).fit(X).n_components_ == 4
    assert EWCA(0.99999).fit(X).n_components_ == 4


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("mle", ValueError, "'mle' assumes the same noise.*'auto' compares"),
        ("some", ValueError, "n_components is 'some': pass a whole number"),
        (0.0, TypeError, "a fraction of the variance between 0 and 1"),
        (1.0, TypeError, "whole number"),
        (-0.5, TypeError, "between 0 and 1"),
        (float("nan"), TypeError, "between 0 and 1"),
        (True, TypeError, "whole number"),
        (-1, ValueError, "at least 1"),
    ],
)
def test_other_numbers_of_components_are_refused(factors, given, kind, message):
    with pytest.raises(kind, match=message):
        EWCA(given).fit(factors)


def nearest_neighbour_errors(Z, y, splits):
    """The percentage of wrong classes by the nearest neighbour."""
    return [100 * np.mean(KNeighborsClassifier(1).fit(Z[train], y[train]).predict(Z[test]) != y[test]) for train, test in splits]


def check_recommendation(found, X):
    """What is recommended follows from the errors of both methods, each at its best."""
    best = found.recommended
    assert (found.method, found.n_components, found.epsilon) == (best.method, best.n_components, best.epsilon)
    pca, own = (min(cell[name][0] for cell in found.cells) for name in ("pca", "ewca"))
    mine, other = (pca, own) if found.method == "pca" else (own, pca)
    assert best.error == pytest.approx(mine, abs=0.01) and best.other[1] == pytest.approx(other, abs=0.01)
    assert {cell["n_components"]: cell[found.method][0] for cell in found.cells}[found.n_components] == best.error
    if found.method == "ewca":
        assert own <= pca - 0.1 and best.ahead > best.behind
    else:
        assert own > pca - 0.1 or best.ahead >= best.behind
    clear = abs(pca - own) >= 0.1 and best.ahead > best.behind
    assert best.better_by == (pytest.approx(other - mine) if clear else None)
    fit = EWCA(found.n_components, epsilon=found.epsilon).fit(X)
    assert not fit.certificate_.collapsed and best.perplexity == pytest.approx(fit.perplexity_, rel=1e-6)
    return fit


def test_pca_is_recommended_where_it_is_as_good(khan):
    X, y = khan
    found = ewca.select(X, y, [2, 5], n_splits=10, n_inner_splits=5)
    fit = check_recommendation(found, X)
    # So small an epsilon is PCA.
    assert found.method == "pca" and found.recommended.perplexity == 1
    np.testing.assert_allclose(fit.components_, PCA(found.n_components, svd_solver="full").fit(X).components_, atol=1e-6)
    # Errors are about those of scikit-learn's classifier on halves of its own.
    rng = np.random.default_rng(0)
    halves = [np.array_split(rng.permutation(len(X)), 2) for _ in range(50)]
    Z = PCA(found.n_components).fit_transform(X)
    assert found.recommended.error == pytest.approx(np.mean(nearest_neighbour_errors(Z, y, halves)), abs=4)
    assert found == ewca.select(X, y, [2, 5, 2], n_splits=10, n_inner_splits=5, n_jobs=1)
    assert found != ewca.select(X, y, [2, 5], n_splits=10, n_inner_splits=5, random_state=1)


def test_ewca_is_recommended_where_it_is_better():
    X, y = load_iris(return_X_y=True)
    # The default goes by the data: it was 2 to 10 components, of data with four features.
    found = ewca.select(X, y, n_splits=20, n_inner_splits=5)
    assert [cell["n_components"] for cell in found.cells] == list(range(1, EWCA("auto").fit(X).n_components_ + 1))
    check_recommendation(found, X)
    assert found.method == "ewca"
    # The epsilon is one of those that were judged, and has no more errors than the chosen one.
    cell = found.cells[found.best]
    at, chosen = (list(found.epsilons).index(e) for e in (found.epsilon, cell["epsilon"]))
    assert at <= chosen and cell["by_epsilon"][at] <= cell["by_epsilon"][chosen] and not cell["collapsed"][at]
    assert cell["perplexities"][at] == pytest.approx(found.recommended.perplexity, rel=0.05)


def test_what_is_no_class_is_refused(blobs):
    X, y = blobs
    hole = y.astype(float)
    hole[4] = np.nan
    named = np.array(["a", "b", "c"], dtype=object)[y]
    named[7] = None
    for labels, message in [
        (X[:, 0], "numbers that are not whole: pass the class of each sample"),
        (hole, "1 labels are missing, the first at position 4"),
        (named, "1 labels are missing, the first at position 7"),
        (pandas.Series(named).astype("string"), "first at position 7"),
        (pandas.Categorical(named), "first at position 7"),
        (np.where(y == 1, np.inf, y), "not whole"),
        (np.arange(90), "every sample has a different label"),
        (y[1:], "89 labels were passed for 90 samples"),
        (np.zeros(90), "at least 2 classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            ewca.select(X, labels, [2])
    # Whole numbers are classes, whatever type they have.
    kept = ewca.select(X, y, [2], [1.0], n_splits=3, n_inner_splits=2)
    for labels in (y.astype(float), y.astype(str), pandas.Categorical(y), y.tolist()):
        assert ewca.select(X, labels, [2], [1.0], n_splits=3, n_inner_splits=2) == kept
    for ks, message in [([13], "n_components=13 is too large for 90 samples and 12 features: choose from 1 to 12"), ("all", "pass 'auto'"), ([], "empty")]:
        with pytest.raises(ValueError, match=message):
            ewca.select(X, y, ks)
    for words in ({"n_splits": 2**70}, {"n_inner_splits": 10**7}):
        with pytest.raises(ValueError, match="it must be at most 1000000"):
            ewca.select(X, y, [2], [1.0], **words)
    assert len(ewca.select(X, y, 2, [1.0], n_splits=3, n_inner_splits=2).cells) == 1


def test_a_grid_search_over_perplexity_with_pca_in_it(khan):
    """The recipe of the guide: what is done with the components decides, and PCA is one of the candidates."""
    X, y = khan
    steps = Pipeline([("reduce", EWCA(5)), ("classify", KNeighborsClassifier(1))])
    grid = [{"reduce": [PCA(5)]}, {"reduce": [EWCA(5)], "reduce__perplexity": [2, 5]}]
    search = GridSearchCV(steps, grid, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 3 and np.isfinite(scores).all()
    # Each score is that of the fit without a search.
    from sklearn.model_selection import cross_val_score

    alone = cross_val_score(Pipeline([("reduce", EWCA(5, perplexity=2)), ("classify", KNeighborsClassifier(1))]), X, y, cv=3)
    np.testing.assert_allclose(scores[1], alone.mean())
    # Without a classifier the likelihood of new samples is the score: it runs, and is what `score` gives.
    search = GridSearchCV(EWCA(2), {"perplexity": [2, 8]}, cv=[(np.arange(45), np.arange(45, 63))]).fit(X[:, :20])
    for at, perplexity in enumerate((2, 8)):
        model = EWCA(2, perplexity=perplexity).fit(X[:45, :20])
        np.testing.assert_allclose(search.cv_results_["mean_test_score"][at], model.score(X[45:, :20]))


def eta_squared(scores, classes):
    groups = [scores[classes == one] for one in np.unique(classes)]
    total = ((scores - scores.mean()) ** 2).sum()
    return sum(len(g) * (g.mean() - scores.mean()) ** 2 for g in groups) / total


@pytest.fixture(scope="module")
def known(blobs):
    X, y = blobs
    rng = np.random.default_rng(8)
    model = EWCA(3, perplexity=6).fit(X)
    age = 40 + 5 * model.embedding_[:, 1] + rng.normal(size=90)
    age[::9] = np.nan
    frame = pandas.DataFrame({"group": np.array(["x", "y", "z"])[y], "age": age, "noise": rng.normal(size=90), "batch": rng.integers(0, 3, size=90)})
    frame["one"], frame["id"] = "same", [f"s{i}" for i in range(90)]
    frame.loc[3, "group"] = None
    return model, frame


def test_components_beside_what_is_known(known):
    model, frame = known
    found = ewca.covariates(model, frame)
    table = pandas.DataFrame(found.tests)
    assert list(table) == ["component", "column", "measure", "effect", "samples", "p", "p_corrected"]
    assert list(dict.fromkeys(table["column"])) == ["group", "age", "noise", "batch"] and len(found) == 12
    assert found.skipped == {"one": "the value is the same for all samples", "id": "the value differs for every sample"}
    for test in found.tests:
        cells, z = frame[test["column"]], model.embedding_[:, test["component"]]
        there = cells.notna().to_numpy()
        assert test["samples"] == there.sum()
        if test["column"] in ("group", "batch"):
            assert test["measure"] == "eta squared"
            expected = eta_squared(z[there], cells[there].to_numpy())
        else:
            assert test["measure"] == "rank correlation"
            expected = abs(scipy.stats.spearmanr(z[there], cells[there]).statistic)
        np.testing.assert_allclose(test["effect"], expected, rtol=1e-9)
        assert 1 / 1000 <= test["p"] <= test["p_corrected"] <= 1
    # p-values are about those of the tests without permutation.
    noise = found.tests[found.tests["column"] == "noise"]
    for test in noise:
        exact = scipy.stats.spearmanr(model.embedding_[:, test["component"]], frame["noise"]).pvalue
        assert test["p"] == pytest.approx(exact, abs=0.08)
    sure = found.believed()
    assert {"group", "age"} <= set(sure["column"]) and not {"noise"} & set(sure["column"])
    assert (np.diff(sure["p_corrected"]) >= 0).all() and (found.believed(0) == found.tests[:0]).all()
    assert "is associated with group: eta squared" in repr(found) and "one was not tested: the value is the same for all samples" in repr(found)


def test_columns_may_come_in_any_shape(known):
    model, frame = known
    part = frame[["group", "age"]]
    found = ewca.covariates(model, part)
    same = [
        {"group": frame["group"], "age": frame["age"].to_numpy()},
        {"group": frame["group"].tolist(), "age": frame["age"].tolist()},
        part.astype({"group": "category"}),
        part.astype({"group": "string", "age": "Float64"}),
        polars.from_pandas(part),
        part.to_records(index=False),
    ]
    for obs in same:
        assert ewca.covariates(model, obs) == found
    assert ewca.covariates(model.embedding_, part) == found
    single = ewca.covariates(model, frame["age"])
    assert set(single.tests["column"]) == {"age"}
    assert set(ewca.covariates(model, frame["age"].tolist()).tests["column"]) == {"obs"}
    assert set(ewca.covariates(model, frame[["age", "noise"]].to_numpy()).tests["column"]) == {"column1", "column2"}
    # Numbers that somebody calls classes are classes; a few dates are too, and many are in an order.
    rounded = frame["age"].fillna(40).round()
    assert ewca.covariates(model, {"age": rounded}).tests["measure"][0] == "rank correlation"
    assert ewca.covariates(model, {"age": rounded.astype("category")}).tests["measure"][0] == "eta squared"
    names = [str(int(age)) for age in rounded]
    for kind in (polars.Categorical, polars.Enum(sorted(set(names)))):
        assert ewca.covariates(model, polars.DataFrame({"age": polars.Series(names).cast(kind)})).tests["measure"][0] == "eta squared"
    assert ewca.covariates(model, {"old": rounded > 40}).tests["measure"][0] == "eta squared"
    days = pandas.to_datetime("2020-01-01") + pandas.to_timedelta(rounded, unit="D")
    assert ewca.covariates(model, {"day": days}).tests["effect"].tolist() == ewca.covariates(model, {"day": rounded}).tests["effect"].tolist()
    assert ewca.covariates(model, {"gone": pandas.Series([pandas.NaT] * 90)}).skipped == {"gone": "too few samples have a value"}
    path = ewca.path(known[1][["noise", "batch"]].to_numpy(dtype=float), [1.0], 1)
    assert len(ewca.covariates(path.models[0], frame["age"])) == 1


def test_permutations_are_those_that_were_asked_for(known):
    model, frame = known
    few = ewca.covariates(model, frame, n_permutations=9)
    assert few.tests["p"].min() == 0.1
    assert ewca.covariates(model, frame) == ewca.covariates(model, frame, random_state=0) != ewca.covariates(model, frame, random_state=1)


@pytest.mark.filterwarnings("ignore:the perplexity is not")
def test_covariates_refuse_what_is_not_of_these_samples(known):
    model, frame = known
    twice = pandas.concat([frame["age"], frame["age"]], axis=1)
    for first, obs, message in [
        (model, frame[:50], "column 'group' of obs has 50 values, but there are 90 samples"),
        (model, twice, "two columns of obs are named 'age'"),
        (model, np.zeros((2, 2, 2)), "3 dimensions"),
        (model, {"x": np.zeros((90, 2))}, "column 'x' of obs has 2 dimensions"),
        (EWCA(), frame, "fit it first"),
        (EWCA(keep_plan=False).fit(np.eye(9)), frame, "keep_plan=True"),
        (model.embedding_[0], frame, "1 dimensions"),
        (np.full((90, 1), np.nan), frame, "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            ewca.covariates(first, obs)
    for count, message in [(0, "n_permutations is 0: it must be at least 1"), (2**70, "it must be at most 1000000")]:
        with pytest.raises(ValueError, match=message):
            ewca.covariates(model, frame, n_permutations=count)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ewca.covariates(model, {})) == 0
