"""The state of a fit in a file, and callbacks that see every iteration and may stop it."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ewca
from ewca import EWCA


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(5)
    return (2 * rng.normal(size=(3, 20)))[rng.integers(0, 3, size=150)] + rng.normal(size=(150, 20))


def same(model, other):
    """The same bits, whatever way they were come to."""
    np.testing.assert_array_equal(model.components_, other.components_)
    np.testing.assert_array_equal(model.embedding_, other.embedding_)
    assert (model.loss_, model.epsilon_, model.n_iter_) == (other.loss_, other.epsilon_, other.n_iter_)
    assert model.history_.tolist() == other.history_.tolist()


def test_a_callback_sees_every_iteration(X):
    seen = []
    model = EWCA(3, perplexity=8, callback=seen.append).fit(X)
    assert [now[:7] for now in seen] == model.history_.tolist()
    assert len(seen) > 5 and all(isinstance(now, ewca.Iteration) for now in seen)
    assert all(now.tol == 1e-6 for now in seen)
    elapsed = [now.elapsed for now in seen]
    assert elapsed == sorted(elapsed) and elapsed[0] >= 0
    same(model, EWCA(3, perplexity=8).fit(X))


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_a_callback_stops_a_fit_at_the_iteration_that_it_chooses(X, n_jobs):
    seen = []

    def enough(now):
        seen.append(now)
        return np.bool_(len(seen) == 4)

    model = EWCA(3, epsilon=1.0, callback=enough, n_jobs=n_jobs).fit(X)
    assert len(seen) == 4 and len(model.history_) == 4
    assert model.certificate_.termination == "interrupted" and not model.certificate_.converged
    np.testing.assert_allclose(model.embedding_, (X - model.mean_) @ model.components_.T, atol=1e-10)
    assert model.loss_ == pytest.approx(min(now.loss for now in seen), rel=1e-3)


def test_what_a_callback_raises_is_raised_and_the_result_is_kept(X):
    def fail(now):
        if now.iteration == 2:
            raise LookupError("I have seen enough")

    model = EWCA(3, epsilon=1.0, callback=fail)
    with pytest.raises(LookupError, match="I have seen enough"):
        model.fit(X)
    assert model.certificate_.termination == "interrupted" and model.transform(X).shape == (150, 3)


def test_a_callback_may_use_the_package(X):
    """The threads of the fit may all be waiting for it."""
    sums = []
    inner = EWCA(2, epsilon=1.0, n_jobs=1).fit(X)

    def look(now):
        if now.iteration < 3:
            sums.append(inner.plan_graph(3).sum() + EWCA(1, epsilon=1.0, n_jobs=1).fit(X).loss_)

    model = EWCA(3, epsilon=1.0, n_jobs=1, callback=look).fit(X)
    assert len(sums) >= 3 and model.certificate_.converged


@pytest.mark.parametrize("words", [{"epsilon": 1.0}, {"perplexity": 8}, {"epsilon": 1.0, "solver": "bcd"}, {"epsilon": 1.0, "n_init": 3, "random_state": 1}])
def test_a_fit_goes_on_to_the_same_bits(X, tmp_path, words):
    state = tmp_path / "state"
    whole = EWCA(3, max_iter=3000, **words).fit(X)
    count = len(whole.history_)
    for stop in sorted({1, 2, count // 2, count - 1}):
        calls = []
        first = EWCA(3, max_iter=3000, checkpoint=state, callback=lambda now: calls.append(now) or len(calls) == stop, **words).fit(X)
        assert first.certificate_.termination == "interrupted" and state.exists()
        same(EWCA(3, max_iter=3000, resume=state, **words).fit(X), whole)
    # A state every so often: with 0, all of them; with an hour, none.
    state.unlink()
    EWCA(3, max_iter=3000, checkpoint=state, checkpoint_every=3600, **words).fit(X)
    assert not state.exists()
    EWCA(3, max_iter=3000, checkpoint=str(state), checkpoint_every=0, **words).fit(X)
    same(EWCA(3, max_iter=3000, resume=str(state), **words).fit(X), whole)
    assert os.listdir(tmp_path) == ["state"]


def test_one_script_begins_and_goes_on(X, tmp_path):
    state = tmp_path / "state"
    words = {"epsilon": 1.0, "checkpoint": state, "resume": True}
    stopped = EWCA(3, **words, callback=lambda now: now.iteration == 3).fit(X)
    assert len(stopped.history_) == 4
    seen = []
    model = EWCA(3, **words, callback=seen.append).fit(X)
    assert seen[0].iteration == 3, "it goes on where it was"
    same(model, EWCA(3, epsilon=1.0).fit(X))


def test_states_of_other_fits_and_other_files_are_refused(X, tmp_path):
    state = tmp_path / "state"
    EWCA(3, epsilon=1.0, checkpoint=state, checkpoint_every=0).fit(X)
    for model, data in [(EWCA(3, epsilon=2.0, resume=state), X), (EWCA(3, epsilon=1.0, resume=state), X[:-1]), (EWCA(2, epsilon=1.0, resume=state), X)]:
        with pytest.raises(ValueError, match="the saved state is from another fit"):
            model.fit(data)
    with pytest.raises(FileNotFoundError, match="resume: cannot read .*nothing"):
        EWCA(3, epsilon=1.0, resume=tmp_path / "nothing").fit(X)
    whole = state.read_bytes()
    for content, message in [(b"", "is not a checkpoint"), (b"a,b\n1,2\n", "is not a checkpoint"), (whole[:-9], "is damaged"), (whole[:60] + b"\0" + whole[61:], "is damaged")]:
        state.write_bytes(content)
        with pytest.raises(ValueError, match=f"resume: .*state.* {message}"):
            EWCA(3, epsilon=1.0, resume=state).fit(X)
    for place in (tmp_path, tmp_path / "no" / "folder"):
        with pytest.raises(OSError, match="checkpoint: .* cannot be written"):
            EWCA(3, epsilon=1.0, checkpoint=place).fit(X)


def test_the_program_s_states_are_resumed(X, tmp_path, binary):
    np.save(tmp_path / "x.npy", X)
    words = [binary, "fit", "x.npy", "-k", "3", "--epsilon", "1", "--checkpoint", "state", "--checkpoint-every", "0", "-o", "out", "--quiet"]
    subprocess.run(words, check=True, cwd=tmp_path)
    model = EWCA(3, epsilon=1.0, resume=tmp_path / "state").fit(X)
    same(model, EWCA(3, epsilon=1.0).fit(X))


KILLED = """
import sys, numpy as np, ewca
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 20)) * np.linspace(1, 2, 20)
words = {"epsilon": 1.0, "solver": "bcd", "tol": 1e-9, "max_iter": 30}
if sys.argv[2] == "first":
    print("fitting", flush=True)
    ewca.EWCA(4, checkpoint=sys.argv[1], checkpoint_every=0, callback=lambda now: __import__("time").sleep(0.05), **words).fit(X)
else:
    a = ewca.EWCA(4, resume=sys.argv[1], **words).fit(X)
    b = ewca.EWCA(4, **words).fit(X)
    print((a.components_ == b.components_).all(), a.n_iter_ == b.n_iter_)
"""


def test_a_fit_that_was_killed_goes_on(tmp_path):
    state = tmp_path / "state"
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", KILLED, state, "first"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "fitting\n"
        while not state.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", KILLED, state, "second"], check=True, capture_output=True, text=True).stdout
    assert out == "True True\n"


def test_memory_that_is_not_there_is_refused_before_the_fit(X):
    with pytest.raises(MemoryError, match=r"needs about \d+ bytes in addition to the data, more than max_memory allows \(1000\): raise max_memory"):
        EWCA(2, max_memory="1kB").fit(X)
    same(EWCA(2, epsilon=1.0, max_memory="1GB").fit(X), EWCA(2, epsilon=1.0).fit(X))


@pytest.mark.parametrize(("name", "n"), [("single_precision", 1500), ("skip_far_pairs", 4500), ("coarse_to_fine", 8200)])
def test_ways_to_be_fast_do_not_change_what_is_found(name, n, distance):
    rng = np.random.default_rng(2)
    X = (8 * rng.normal(size=(4, 6)))[rng.integers(0, 4, size=n)] + rng.normal(size=(n, 6))
    fast, plain = (EWCA(2, epsilon=0.5, tol=1e-5, **{name: on}).fit(X) for on in (True, False))
    # Another way to the same place.
    assert fast.history_.tolist() != plain.history_.tolist()
    assert fast.loss_ == pytest.approx(plain.loss_, rel=1e-8)
    assert distance(fast.components_.T, plain.components_.T) < 1e-4
    if name == "skip_far_pairs":
        assert plain.certificate_.skipped_mass == 0 < fast.certificate_.skipped_mass < 1e-9
