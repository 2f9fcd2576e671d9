"""Progress bars, interruptions and warnings: when they come, what they say, and whom they point at."""

import re
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import ewca
from ewca import _ewca
from ewca._progress import Progress
from ewca._warnings import convergence_warning, warn_about


class Bar:
    """Stands for tqdm's."""

    made: list = []

    def __init__(self, **words):
        self.words, self.shown, self.closed, self.n = words, [], False, None
        Bar.made.append(self)

    def set_postfix_str(self, text, refresh):
        assert not self.closed and refresh
        self.shown.append((self.n, text))

    def close(self):
        self.closed = True


@pytest.fixture
def bars(monkeypatch):
    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    monkeypatch.setattr(Bar, "made", [])
    return Bar.made


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def ways(X):
    """The ways to fit, each with the setting that shows progress."""
    return {
        "fit": lambda verbose: ewca.EWCA(2, epsilon=1.0, verbose=verbose).fit(X),
        "ewca": lambda verbose: ewca.ewca(X, maxiter=1000, verbose=verbose),
        "path": lambda verbose: ewca.path(X, [1.0], verbose=verbose),
    }


def reporting(monkeypatch, call):
    """Makes the compiled half report once, whatever time it takes."""
    name = "path" if call == "path" else "fit"
    real = getattr(_ewca, name)

    def report(*args):
        if args[-1] is not None:
            args[-1](1, 7, 2.5, 31.25, 4e-5)
        return real(*args)

    monkeypatch.setattr(_ewca, name, report)


def test_a_bar(bars):
    with Progress(1, 1e-6) as progress:
        progress.callback(0, 3, 2.0, 10.0, 1e-2)
        progress.callback(1, 4, 2.0, 10.5, 1e-3)
        [bar] = bars
        assert bar.words == {"desc": "EWCA", "unit": " iterations", "leave": True, "dynamic_ncols": True}
        assert not bar.closed
        progress.done(5, 2.0, 9.0, 1e-7)
    assert bar.closed
    assert bar.shown == [
        (3, "loss 10, gradient 1.0e-02 of 1e-06, epsilon 2"),
        (4, "attempt 2, loss 10.5, gradient 1.0e-03 of 1e-06, epsilon 2"),
        (5, "loss 9, gradient 1.0e-07 of 1e-06, epsilon 2"),
    ]


def test_lines_without_tqdm(no_tqdm, capsys):
    with Progress(1, 1e-6) as progress:
        progress.callback(0, 3, 2.0, 10.0, 1e-2)
        progress.done(4, 2.0, 9.0, 1e-7)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "EWCA iteration 3: loss 10, gradient 1.0e-02 of 1e-06, epsilon 2",
        "EWCA iteration 4: loss 9, gradient 1.0e-07 of 1e-06, epsilon 2",
    ]


def test_silence(bars, capsys):
    with Progress(0, 1e-6) as progress:
        assert progress.callback is None
        progress.done(4, 2.0, 9.0, 1e-7)
    assert bars == [] and capsys.readouterr() == ("", "")


@pytest.mark.parametrize("call", ["fit", "ewca", "path"])
def test_fits_show_progress_if_asked_to(bars, blobs, monkeypatch, call):
    X, _ = blobs
    reporting(monkeypatch, call)
    ways(X)[call](0)
    assert bars == []
    ways(X)[call](1)
    [bar] = bars
    assert bar.closed
    assert bar.shown[0] == (7, "attempt 2, loss 31.25, gradient 4.0e-05 of 1e-06, epsilon 2.5")
    assert len(bar.shown) == (2 if call == "fit" else 1)


def test_the_last_state_of_a_fit_is_shown(bars, blobs):
    X, _ = blobs
    model = ewca.EWCA(2, epsilon=1.0, tol=1e-4, verbose=1).fit(X)
    gradient = model.certificate_.relative_gradient
    shown = f"loss {model.loss_:.6g}, gradient {gradient:.1e} of 1e-04, epsilon 1"
    assert bars[0].shown[-1] == (model.n_iter_, shown)


@pytest.mark.parametrize("call", ["fit", "ewca", "path"])
def test_interruptions_are_raised(blobs, monkeypatch, call):
    X, _ = blobs
    name = "path" if call == "path" else "fit"
    real = getattr(_ewca, name)
    monkeypatch.setattr(_ewca, name, lambda *args: (real(*args)[0], KeyboardInterrupt("now")))
    with pytest.raises(KeyboardInterrupt, match="now"):
        ways(X)[call](0)
    if call == "fit":
        model = ewca.EWCA(2)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
        assert model.transform(X).shape == (90, 2), "the best result so far is kept"


@pytest.fixture(scope="module")
def good(blobs):
    return ewca.path(blobs[0], [1.0]).models[0].certificate


def found(certificate, kind, **values):
    return replace(certificate, findings=(ewca.Finding(kind, values),))


def caught(certificate):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_about(certificate, 123.456, limit="the limit", tol="the tolerance", stacklevel=2)
    return [(w.category, str(w.message), w.filename) for w in found]


def test_a_good_fit_is_no_matter(good):
    assert caught(good) == []
    assert good.findings == ()
    assert caught(found(good, "not_converged", termination="interrupted")) == []
    # These are in the certificate alone.
    for kind in ["omitted_variance", "skipped_mass"]:
        assert caught(found(good, kind, share=0.5)) == []


def test_warnings_say_what_to_do(good):
    bad = replace(good, relative_gradient=2e-3)
    limit = "EWCA did not converge: the iteration limit was reached before the tolerance: raise the limit (relative gradient 2.0e-03)"
    stalled = "EWCA did not converge: the tolerance is below rounding error: raise the tolerance (relative gradient 2.0e-03)"
    assert caught(found(bad, "not_converged", termination="max_iterations")) == [(ConvergenceWarning, limit, __file__)]
    assert caught(found(bad, "not_converged", termination="stalled")) == [(ConvergenceWarning, stalled, __file__)]
    collapsed = (
        "EWCA collapsed at epsilon 123.5: smoothing is too strong: the components no longer reflect the data; "
        "lower epsilon or perplexity"
    )
    assert caught(found(good, "collapsed")) == [(UserWarning, collapsed, __file__)]
    floor = (
        "some samples are identical, and identical samples are always matched with each other: the smallest possible perplexity is 30.12, "
        "and the fit is just above it"
    )
    assert caught(found(good, "perplexity_floor", smallest=30.123)) == [(UserWarning, floor, __file__)]
    missed = "the perplexity is not 5 as requested: the optimum jumps near epsilon 123.5, and no epsilon gives a perplexity in between"
    assert caught(found(good, "perplexity_missed", wanted=5.0)) == [(UserWarning, missed, __file__)]
    both = replace(good, findings=found(good, "collapsed").findings + found(good, "perplexity_missed", wanted=5.0).findings)
    assert [text for _, text, _ in caught(both)] == [collapsed, missed]


def test_approximate_kernels_are_judged(good):
    [(kind, text, file)] = caught(found(good, "poor_approximation", landmarks=50, rows=10, marginal_error=0.034))
    assert (kind, file) == (UserWarning, __file__)
    assert text == (
        "EWCA's approximation with 50 landmarks is poor: checked on exact rows, the plan is off by 3.4 %: "
        "use more landmarks, a larger perplexity, or an exact fit (landmarks=None)"
    )


def test_findings_are_those_of_the_library(khan):
    X, _ = khan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collapsed = ewca.EWCA(2, epsilon=1e9).fit(X).certificate_
        stopped = ewca.EWCA(5, epsilon=100, max_iter=2).fit(X).certificate_
        repeated = ewca.EWCA(2, perplexity=3).fit(np.repeat(np.eye(5, 8) + np.arange(40).reshape(5, 8) % 7, 10, axis=0)).certificate_
    assert [finding.kind for finding in collapsed.findings] == ["collapsed"]
    assert stopped.findings == (ewca.Finding("not_converged", {"termination": "max_iterations"}),)
    [floor] = repeated.findings
    assert floor.kind == "perplexity_floor" and abs(floor.values["smallest"] - 10) < 0.1
    wide = X[:, :4] * [1, 1000, 1, 1]
    with pytest.warns(UserWarning, match="one feature, in column 1, dominates"):
        [dominant] = ewca.EWCA(1).fit(wide).certificate_.findings
    assert (dominant.kind, dominant.values["feature"]) == ("dominant_feature", 1)


def test_a_feature_that_has_most_of_the_variance_is_named_once():
    """As in the wine data: proline, in mg/l, has nearly all of the variance."""
    X, _ = load_wine(return_X_y=True)
    names = load_wine().feature_names
    told = (
        "one feature, {}, dominates the first component, with {:.1f} % of the variance: if the features have different units, "
        "scale them first (sklearn.preprocessing.StandardScaler)"
    )

    def texts(fit):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            fitted = fit()
        assert all(warning.category is UserWarning and warning.filename == __file__ for warning in found)
        return fitted, [str(warning.message) for warning in found]

    model, found = texts(lambda: ewca.EWCA(2).fit(X))
    share = 100 * np.var(X @ model.components_[0]) / np.var(X, axis=0).sum()
    assert found == [told.format("in column 12", share)]
    model, found = texts(lambda: ewca.EWCA(2).fit(pd.DataFrame(X, columns=names)))
    assert found == [told.format("'proline'", share)]
    _, found = texts(lambda: ewca.EWCA(2).fit(StandardScaler().fit_transform(X)))
    assert found == []


def test_the_category_without_scikit_learn(monkeypatch):
    assert convergence_warning() is ConvergenceWarning
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    assert convergence_warning() is UserWarning


@pytest.mark.parametrize(("termination", "words"), [("max_iterations", ("max_iter", "maxiter")), ("stalled", ("tol", "stopThr"))])
def test_warnings_point_at_the_caller_and_name_its_settings(blobs, monkeypatch, termination, words):
    X, _ = blobs
    real = ewca._model.certificate_of

    def ended(model):
        return found(replace(real(model), termination=termination, converged=False), "not_converged", termination=termination)

    monkeypatch.setattr("ewca._model.certificate_of", ended)
    monkeypatch.setattr("ewca._estimator.certificate_of", ended)
    for call, setting in [
        (lambda: ewca.EWCA(2, epsilon=1.0).fit(X), words[0]),
        (lambda: ewca.path(X, [1.0, 2.0]), words[0]),
        (lambda: ewca.ewca(X), words[1]),
    ]:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call()
        # One, also where several fits of a path end early.
        [warning] = said
        assert re.search(f"(raise|loosen) {setting} ", str(warning.message))
        assert (warning.filename, warning.lineno) == (__file__, call.__code__.co_firstlineno)


def test_only_fits_that_did_not_converge_are_warned_about_on_a_path(khan):
    X, _ = khan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ewca.path(X, [1.0, 1e7], 5)
    assert found.collapsed.tolist() == [False, True]
    assert np.array([model.certificate.converged for model in found.models]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ewca.path(X, [1e6, 1e7], 5).collapsed.all()


def test_a_path_that_ends_early_past_the_collapse_says_both(blobs):
    X, _ = blobs
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ewca.path(X, [12345.0], solver="bcd", tol=1e-14, max_iter=1)
    texts = [str(warning.message) for warning in found]
    assert len(texts) == 2 and "raise max_iter" in texts[0] and "collapsed at epsilon 1.234e+04" in texts[1]
