"""Figures show what they say: each point, link, bar and line is looked up in the figure and recomputed from the fit."""

import subprocess

import matplotlib.pyplot as plt
import numpy as np
import pandas
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

import ewca
import ewca.plot


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fit(blobs):
    X, y = blobs
    frame = pandas.DataFrame(X, columns=[f"gene{j}" for j in range(12)])
    return ewca.EWCA(3, perplexity=6).fit(frame), np.array(["c", "a", "b"])[y]


@pytest.fixture(scope="module")
def model(blobs):
    return ewca.path(blobs[0], [2.0], 3).models[0]


def scatters(ax):
    return [one for one in ax.collections if isinstance(one, PathCollection)]


def links(ax):
    return [one for one in ax.collections if isinstance(one, LineCollection)]


def size_of(ax):
    return tuple(ax.figure.get_size_inches())


def hidden(ax):
    return {name for name, spine in ax.spines.items() if not spine.get_visible()}


def test_embeddings_show_the_scores(fit):
    estimator, _ = fit
    ax = ewca.plot.embedding(estimator)
    [points] = scatters(ax)
    np.testing.assert_array_equal(points.get_offsets(), estimator.embedding_[:, :2])
    np.testing.assert_allclose(points.get_sizes(), 40)
    assert points.get_linewidths() == [0] and points.get_zorder() == 2 > links(ax)[0].get_zorder()
    ratio = 100 * estimator.explained_variance_ratio_
    assert ax.get_xlabel() == f"ewca0 ({ratio[0]:.1f}%)" and ax.get_ylabel() == f"ewca1 ({ratio[1]:.1f}%)"
    assert size_of(ax) == (6, 5) and ax.figure.get_layout_engine().__class__.__name__ == "ConstrainedLayoutEngine"
    assert hidden(ax) == {"top", "right"} and ax.get_legend() is None


def test_embeddings_show_what_is_asked_for(model):
    _, given = plt.subplots()
    ax = ewca.plot.embedding(model, components=(2, 0), links=0, size=7, ax=given)
    assert ax is given and links(ax) == []
    [points] = scatters(ax)
    np.testing.assert_array_equal(points.get_offsets(), model.scores[:, [2, 0]])
    assert points.get_sizes() == [7]
    assert ax.get_xlabel().startswith("ewca2 (") and ax.get_ylabel() == f"ewca0 ({100 * model.explained_variance_ratio[0]:.1f}%)"


@pytest.mark.parametrize(("n", "size"), [(50, 40), (400, 10), (1600, 4)])
def test_many_points_are_small(n, size):
    class Stub:
        scores = np.random.default_rng(0).normal(size=(n, 2))
        explained_variance_ratio = np.array([0.5, 0.25])

    ax = ewca.plot.embedding(Stub(), links=0)
    assert scatters(ax)[0].get_sizes() == [size]


def test_links_join_the_strongest_partners(fit):
    estimator, _ = fit
    dense = estimator.transport_plan()
    # Of the largest entries of each row, those with others.
    wanted = {}
    for i, row in enumerate(dense):
        for j in np.argsort(-row)[:4]:
            if i != j:
                wanted[i, j] = row[j]
    [lines] = links(ewca.plot.embedding(estimator))
    points = estimator.embedding_[:, :2]
    segments = [tuple(map(tuple, segment)) for segment in lines.get_segments()]
    places = {tuple(point): i for i, point in enumerate(points)}
    drawn = [(places[begin], places[end]) for begin, end in segments]
    assert set(drawn) == set(wanted) and len(drawn) == len(wanted)
    # The more mass, the darker and the wider.
    strength = np.sqrt([wanted[pair] for pair in drawn] / max(wanted.values()))
    np.testing.assert_allclose(lines.get_colors(), np.c_[np.full((len(drawn), 3), 0.35), 0.6 * strength], atol=1e-6)
    np.testing.assert_allclose(lines.get_linewidths(), 0.3 + 0.9 * strength, atol=1e-6)
    assert lines.get_zorder() == 1
    [fewer] = links(ewca.plot.embedding(estimator, links=1))
    assert len(fewer.get_segments()) <= 90 < len(drawn)


def test_points_without_partners_have_no_links():
    class Alone:
        scores = np.array([[0.0, 0.0], [1e6, 0.0]])
        explained_variance_ratio = np.array([1.0, 0.0])

        def plan(self):
            return ewca.sinkhorn_self(self.scores, 1e-3)

    [lines] = links(ewca.plot.embedding(Alone(), links=1))
    np.testing.assert_array_equal(lines.get_colors()[:, 3], 0)


def test_classes_have_colours_and_names(fit):
    estimator, labels = fit
    ax = ewca.plot.embedding(estimator, labels.tolist())
    found = scatters(ax)
    assert [one.get_label() for one in found] == ["a", "b", "c"]
    for at, (one, name) in enumerate(zip(found, "abc")):
        np.testing.assert_array_equal(one.get_offsets(), estimator.embedding_[labels == name, :2])
        np.testing.assert_allclose(one.get_facecolors(), [plt.get_cmap("tab10")(at)])
        assert one.get_sizes() == [40] and one.get_linewidths() == [0] and one.get_zorder() == 2
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]
    assert not legend.get_frame_on() and legend.markerscale == 1
    assert ewca.plot.embedding(estimator, labels, size=5).get_legend().markerscale == 2
    assert ewca.plot.embedding(estimator, labels, legend=False).get_legend() is None


def numbers_of(points):
    """The numbers that points are coloured by."""
    return np.asarray(points.get_array())


def test_numbers_have_a_scale(fit):
    estimator, _ = fit
    ages = pandas.Series(np.random.default_rng(1).normal(size=90), name="age")
    ax = ewca.plot.embedding(estimator, ages, links=0)
    [points] = scatters(ax)
    np.testing.assert_array_equal(points.get_offsets(), estimator.embedding_[:, :2])
    np.testing.assert_array_equal(numbers_of(points), ages)
    assert points.get_cmap().name == "viridis" and points.colorbar.ax.get_ylabel() == "age"
    assert ax.get_legend() is None
    # Whole numbers are a scale once they are too many to be classes.
    [points] = scatters(ewca.plot.embedding(estimator, np.arange(90), links=0, cmap="magma", legend=False))
    np.testing.assert_array_equal(numbers_of(points), np.arange(90))
    assert points.get_cmap().name == "magma" and points.colorbar is None
    assert len(scatters(ewca.plot.embedding(estimator, np.arange(90) % 60, links=0))) == 60
    assert len(scatters(ewca.plot.embedding(estimator, np.arange(90) % 61, links=0))) == 1


@pytest.mark.parametrize("gap", [np.nan, None, np.float32("nan"), pandas.NA, pandas.NaT])
def test_missing_labels_are_grey(fit, gap):
    estimator, labels = fit
    gappy = labels.astype(object)
    gappy[labels == "b"] = gap
    gappy[:2] = "a"
    ax = ewca.plot.embedding(estimator, gappy, links=0)
    found = {one.get_label(): one for one in scatters(ax)}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "c", "missing"]
    np.testing.assert_array_equal(found["missing"].get_offsets(), estimator.embedding_[2:, :2][labels[2:] == "b"])
    np.testing.assert_allclose(found["missing"].get_facecolors(), [to_rgba("0.8")])
    assert found["missing"].get_zorder() < found["a"].get_zorder()
    np.testing.assert_allclose(found["c"].get_facecolors(), [plt.get_cmap("tab10")(1)])
    # Numbers with gaps.
    values = np.linspace(0, 1, 90).astype(object)
    values[5] = gap
    ax = ewca.plot.embedding(estimator, values, links=0)
    known, missing = scatters(ax)
    np.testing.assert_array_equal(missing.get_offsets(), estimator.embedding_[[5], :2])
    np.testing.assert_allclose(numbers_of(known), np.delete(np.linspace(0, 1, 90), 5))
    assert known.colorbar is not None
    # Nothing at all is known.
    [points] = scatters(ewca.plot.embedding(estimator, [gap] * 90, links=0))
    assert points.get_label() == "missing" and len(points.get_offsets()) == 90


def test_infinite_labels_are_missing(fit):
    estimator, _ = fit
    known, missing = scatters(ewca.plot.embedding(estimator, [np.inf, *np.linspace(0, 1, 89)], links=0))
    assert len(known.get_offsets()) == 89 and len(missing.get_offsets()) == 1
    assert known.get_clim() == (0, 1)


def test_categories_keep_their_order(fit):
    estimator, labels = fit
    kinds = pandas.Series(pandas.Categorical(labels, categories=["c", "none", "a", "b"]))
    kinds[7] = np.nan
    for given in (kinds, kinds.array, pandas.CategoricalIndex(kinds)):
        ax = ewca.plot.embedding(estimator, given, links=0)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["c", "a", "b", "missing"]
        found = {one.get_label(): one for one in scatters(ax)}
        np.testing.assert_array_equal(found["a"].get_offsets(), estimator.embedding_[(kinds == "a").to_numpy(), :2])
        np.testing.assert_allclose(found["a"].get_facecolors(), [plt.get_cmap("tab10")(1)])
    # Booleans are classes, and so are whole numbers with gaps, which NumPy makes decimal.
    assert [one.get_label() for one in scatters(ewca.plot.embedding(estimator, labels == "a", links=0))] == ["False", "True"]
    batches = np.where(labels == "a", np.nan, np.where(labels == "b", 10.0, 9.0))
    assert [one.get_label() for one in scatters(ewca.plot.embedding(estimator, batches, links=0))] == ["9", "10", "missing"]


def test_colours_of_classes_can_be_chosen(fit):
    estimator, labels = fit
    for cmap, colours in [("Set2", [0, 1, 2]), ("viridis", [0.0, 0.5, 1.0]), (plt.get_cmap("Dark2"), [0, 1, 2])]:
        found = scatters(ewca.plot.embedding(estimator, labels, links=0, cmap=cmap))
        for one, at in zip(found, colours):
            np.testing.assert_allclose(one.get_facecolors(), [plt.get_cmap(cmap)(at)])


def test_one_component_is_drawn_across(blobs):
    X, y = blobs
    one = ewca.EWCA(1).fit(X)
    ax = ewca.plot.embedding(one, y)
    offsets = np.concatenate([points.get_offsets() for points in scatters(ax)])
    np.testing.assert_array_equal(np.sort(offsets[:, 0]), np.sort(one.embedding_[:, 0]))
    assert (np.abs(offsets[:, 1]) <= 1).all() and np.ptp(offsets[:, 1]) > 1
    assert ax.get_xlabel().startswith("ewca0 (") and ax.get_ylabel() == "" and len(ax.get_yticks()) == 0
    assert hidden(ax) == {"top", "right", "left"} and links(ax) == []
    # Of several too, where one is asked for; and the same every time.
    three = ewca.EWCA(3).fit(X)
    first, second = (scatters(ewca.plot.embedding(three, components=given, links=0))[0] for given in (2, [2]))
    np.testing.assert_array_equal(first.get_offsets()[:, 0], three.embedding_[:, 2])
    np.testing.assert_array_equal(first.get_offsets(), second.get_offsets())


def test_what_cannot_be_drawn_is_said(fit, model):
    estimator, labels = fit
    for given, message in [
        ({"components": (0, 3)}, "no component 3: the fit has 3, from 0 to 2"),
        ({"components": (-1, 0)}, "no component -1"),
        ({"components": (0, 1, 2)}, "pass one or two component numbers"),
        ({"components": ()}, "pass one or two component numbers"),
        ({"components": ("a", "b")}, "no component 'a'"),
        ({"labels": labels[:5]}, "5 labels, but 90 samples"),
        ({"labels": np.ones((90, 2))}, "2 dimensions"),
        ({"labels": np.linspace(0, 1, 91)}, "91 labels, but 90"),
        ({"labels": pandas.Categorical(labels[:7])}, "7 labels, but 90"),
    ]:
        with pytest.raises(ValueError, match=message):
            ewca.plot.embedding(estimator, **given)
    with pytest.raises(ValueError, match="3 names for 12 features"):
        ewca.plot.loadings(model, names=["a", "b", "c"])


@pytest.mark.parametrize(("count", "cmap"), [(10, "tab10"), (11, "tab20"), (22, "tab20")])
def test_many_classes_have_more_colours(fit, count, cmap):
    estimator, _ = fit
    found = scatters(ewca.plot.embedding(estimator, np.arange(90) % count, links=0))
    assert len(found) == count
    for at, one in enumerate(found):
        np.testing.assert_allclose(one.get_facecolors(), [plt.get_cmap(cmap)(at % 20)])


def shown_plan(ax):
    return np.asarray(ax.images[0].get_array())


def test_plans_are_sorted_by_the_first_score(model):
    ax = ewca.plot.plan(model)
    order = np.argsort(model.scores[:, 0])
    dense = model.plan().toarray()
    shares = (dense / dense.sum(axis=1, keepdims=True))[np.ix_(order, order)]
    np.testing.assert_allclose(shown_plan(ax), np.sqrt(shares), rtol=1e-12)
    image = ax.images[0]
    assert image.get_cmap().name == "Blues" and image.get_clim()[0] == 0
    assert image.get_interpolation() == "nearest" and ax.get_aspect() == 1
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("partner", "sample")
    assert size_of(ax) == (6, 5) and len(ax.lines) == 0
    bar = image.colorbar
    assert bar.ax.get_ylabel() == "share of each sample's matching"
    top = np.sqrt(shares).max()
    np.testing.assert_allclose(bar.get_ticks(), np.linspace(0, top, 5))
    texts = [text.get_text() for text in bar.ax.get_yticklabels()]
    assert texts[0] == "0%" and len(texts) == 5
    # Large shares in whole percent, small ones with a decimal.
    for tick, text in zip(np.linspace(0, top, 5), texts):
        assert float(text[:-1]) == pytest.approx(100 * tick**2, abs=0.051 if tick < 0.3 else 0.51)
        assert "." not in text or tick < 0.3


def test_plans_are_sorted_by_class(fit):
    estimator, labels = fit
    _, given = plt.subplots()
    before = given.get_position()
    ax = ewca.plot.plan(estimator, labels.tolist(), ax=given)
    assert ax is given
    # A narrow bar beside the picture.
    picture, bar = ax.get_position(original=True), ax.images[0].colorbar.ax.get_position(original=True)
    np.testing.assert_allclose([bar.width, bar.x0 - picture.x1], [0.045 * before.width, 0.03 * before.width])
    order = sorted(range(90), key=lambda i: (labels[i], estimator.embedding_[i, 0]))
    np.testing.assert_allclose(shown_plan(ax), np.sqrt(90 * estimator.transport_plan()[np.ix_(order, order)]), atol=1e-4)
    counts = [int((labels == name).sum()) for name in "abc"]
    ends = np.cumsum(counts)[:-1] - 0.5
    across = [line for line in ax.lines if len(set(line.get_ydata())) == 1]
    up = [line for line in ax.lines if len(set(line.get_xdata())) == 1]
    assert [line.get_ydata()[0] for line in across] == [line.get_xdata()[0] for line in up] == list(ends)
    for line in ax.lines:
        assert line.get_color() == "0.6" and line.get_linewidth() == 0.6
    middles = np.cumsum(counts) - np.array(counts) / 2 - 0.5
    for ticks, texts in [(ax.get_xticks(), ax.get_xticklabels()), (ax.get_yticks(), ax.get_yticklabels())]:
        np.testing.assert_allclose(ticks, middles)
        assert [text.get_text() for text in texts] == ["a", "b", "c"]
        assert [text.get_rotation() for text in texts] == [0, 0, 0]
    assert {tick.tick1line.get_markersize() for tick in ax.xaxis.get_major_ticks()} == {0}


def test_plans_of_samples_without_a_label(fit):
    estimator, labels = fit
    gappy = labels.astype(object)
    gappy[labels == "a"] = None
    ax = ewca.plot.plan(estimator, gappy)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", "c", "missing"]
    order = sorted(range(90), key=lambda i: ("bca".index(labels[i]), estimator.embedding_[i, 0]))
    np.testing.assert_allclose(shown_plan(ax), np.sqrt(90 * estimator.transport_plan()[np.ix_(order, order)]), atol=1e-4)
    # By numbers, without lines.
    ages = np.random.default_rng(2).normal(size=90)
    ax = ewca.plot.plan(estimator, ages)
    order = np.argsort(ages)
    np.testing.assert_allclose(shown_plan(ax), np.sqrt(90 * estimator.transport_plan()[np.ix_(order, order)]), atol=1e-4)
    assert len(ax.lines) == 0


@pytest.mark.parametrize(("count", "rotation"), [(6, 0), (7, 45)])
def test_many_names_are_turned(model, count, rotation):
    ax = ewca.plot.plan(model, np.arange(90) % count)
    assert {text.get_rotation() for text in ax.get_xticklabels()} == {rotation}
    assert {text.get_rotation() for text in ax.get_yticklabels()} == {0}


def test_samples_without_weight_have_an_empty_row(blobs):
    X, _ = blobs
    weights = np.ones(90)
    weights[4] = 0
    found = ewca.EWCA(2, epsilon=2.0).fit(X, sample_weight=weights)
    shown = shown_plan(ewca.plot.plan(found))
    row = int(np.argsort(np.argsort(found.embedding_[:, 0]))[4])
    assert np.isfinite(shown).all() and (shown[row] == 0).all()
    np.testing.assert_allclose(np.delete((shown**2).sum(axis=1), row), 1)


def test_paths_show_variance_perplexity_and_distance(blobs):
    X, _ = blobs
    found = ewca.path(X, [4.0, 1.0, 0.25], 2)
    ax = ewca.plot.path(found)
    other, third = [one for one in ax.figure.axes if one is not ax]
    order = np.argsort(found.epsilons)
    [variance], [perplexity], [distance] = ax.lines, other.lines, third.lines
    np.testing.assert_array_equal(variance.get_xdata(), [0.25, 1.0, 4.0])
    np.testing.assert_array_equal(perplexity.get_xdata(), [0.25, 1.0, 4.0])
    explained = 100 * found.explained_variance_ratios[order].sum(axis=1)
    np.testing.assert_allclose(variance.get_ydata(), explained)
    np.testing.assert_array_equal(perplexity.get_ydata(), found.perplexities[order])
    np.testing.assert_array_equal(distance.get_xdata(), [0.25, 1.0, 4.0])
    np.testing.assert_array_equal(distance.get_ydata(), found.distances_to_pca[order])
    assert np.ptp(found.distances_to_pca) > 0 and third.get_ylim()[0] == 0
    assert third.spines["right"].get_position() == ("outward", 52), "beside the other axis, not on it"
    for axes, line, marker, text, colour in [
        (ax, variance, "o", "explained variance (%)", "C0"),
        (other, perplexity, "s", "perplexity (samples)", "C1"),
        (third, distance, "^", "distance to PCA", "C2"),
    ]:
        assert (line.get_marker(), line.get_markersize(), line.get_color()) == (marker, 3, colour)
        assert axes.get_ylabel() == text and axes.yaxis.label.get_color() == colour
        assert "top" in hidden(axes)
    assert ax.get_xlabel() == "epsilon" and ax.get_xscale() == "log" == other.get_yscale() and ax.get_yscale() == "linear"
    np.testing.assert_allclose(ax.get_ylim(), (0, 1.08 * explained.max()))
    assert size_of(ax) == (7, 4)
    assert len(ax.patches) == 0 and len(ax.texts) == 0, "nothing collapsed"


def test_paths_show_where_they_collapse(blobs):
    X, _ = blobs
    _, given = plt.subplots()
    found = ewca.path(X, [4.0, 1e4, 1e6], 2)
    assert found.collapsed.tolist() == [False, True, True]
    ax = ewca.plot.path(found, ax=given)
    assert ax is given
    [shade], [text] = ax.patches, ax.texts
    assert isinstance(shade, Rectangle) and shade.get_facecolor() == to_rgba("0.9") and shade.get_zorder() == 0
    # From the middle, on the logarithmic axis, between the last that did not and the first that did.
    np.testing.assert_allclose([shade.get_x(), shade.get_x() + shade.get_width()], [200.0, 1.05e6])
    assert text.get_text().strip() == "collapsed" and text.get_position() == (pytest.approx(200.0), 0.03)
    assert (text.get_color(), text.get_ha(), text.get_va()) == ("0.4", "right", "bottom")
    assert text.get_transform() == ax.get_xaxis_transform()
    # All of it.
    ax = ewca.plot.path(ewca.path(X, [1e5, 1e6], 2))
    np.testing.assert_allclose(ax.patches[0].get_x(), 1e5)


def test_loadings_are_the_largest(fit):
    estimator, _ = fit
    ax = ewca.plot.loadings(estimator, 2, n_features=5)
    weights = estimator.components_[2]
    chosen = sorted(np.argsort(-np.abs(weights))[:5], key=lambda j: weights[j])
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"gene{j}" for j in chosen]
    np.testing.assert_array_equal(ax.get_yticks(), range(5))
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], weights[chosen])
    np.testing.assert_allclose([bar.get_y() + bar.get_height() / 2 for bar in ax.patches], range(5), atol=1e-12)
    assert (weights[chosen] < 0).any() and (weights[chosen] > 0).any()
    for bar, weight in zip(ax.patches, weights[chosen]):
        assert bar.get_facecolor() == to_rgba("C0" if weight > 0 else "C3")
    assert ax.get_xlabel() == "loading on ewca2" and hidden(ax) == {"top", "right"}
    [zero] = ax.lines
    assert list(zero.get_xdata()) == [0, 0] and (zero.get_color(), zero.get_linewidth()) == ("0.3", 0.8)
    assert size_of(ax) == pytest.approx((5, 0.6 + 0.26 * 5))
    assert ax.margins()[1] == 0.01


def test_loadings_of_kept_features_have_their_names(binary, blobs, tmp_path):
    # `--top-variable 4` keeps some features: the first names of the table are not theirs.
    X, _ = blobs
    frame = pandas.DataFrame(X * np.r_[np.full(8, 0.1), 1.0, 5.0, 3.0, 4.0], columns=[f"g{j}" for j in range(12)])
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = [binary, "fit", tmp_path / "table.csv", "-k", "2", "--top-variable", "4", "-o", tmp_path / "out"]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    for one in (ewca.EWCA.load(tmp_path / "out" / "model.safetensors"), ewca.Model.load(tmp_path / "out" / "model.safetensors")):
        weights = one.components[0] if isinstance(one, ewca.Model) else one.components_[0]
        # Which feature a loading belongs to: the covariance of the score with it says so.
        score = (one.scores if isinstance(one, ewca.Model) else one.embedding_)[:, 0]
        by_hand = {f"g{j}": weights[j - 8] for j in range(8, 12)}
        centred = frame - frame.mean()
        np.testing.assert_allclose(centred[list(by_hand)].to_numpy() @ list(by_hand.values()), score, atol=1e-9)
        ax = ewca.plot.loadings(one)
        assert {text.get_text(): bar.get_width() for text, bar in zip(ax.get_yticklabels(), ax.patches)} == by_hand
        for names in ([f"n{j}" for j in range(12)], [f"n{j}" for j in range(8, 12)]):
            drawn = {text.get_text() for text in ewca.plot.loadings(one, names=names).get_yticklabels()}
            assert drawn == {"n8", "n9", "n10", "n11"}
        with pytest.raises(ValueError, match="5 names for 12 features, of which the fit kept 4"):
            ewca.plot.loadings(one, names=list("abcde"))


def test_loadings_by_default(model, fit):
    estimator, _ = fit
    _, given = plt.subplots()
    assert ewca.plot.loadings(estimator, ax=given) is given
    assert given.get_xlabel() == "loading on ewca0" and len(given.patches) == 12
    ax = ewca.plot.loadings(model, 2)
    order = np.argsort(model.components[2])
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"feature {j}" for j in order]
    names = [f"name {j}" for j in range(12)]
    for one in (model, estimator):
        ax = ewca.plot.loadings(one, 2, n_features=1, names=names)
        components = one.components if one is model else one.components_
        assert [text.get_text() for text in ax.get_yticklabels()] == [f"name {np.abs(components[2]).argmax()}"]
    wide = ewca.path(np.random.default_rng(0).normal(size=(30, 20)), [0.5]).models[0]
    assert len(ewca.plot.loadings(wide).patches) == 15
    zero = type("Zero", (), {"components": np.array([[0.0, 1.0]])})()
    assert [bar.get_facecolor() for bar in ewca.plot.loadings(zero).patches] == [to_rgba("C3"), to_rgba("C0")]
