"""Ctrl-C, by a real signal to a real process; and what the GIL's release is worth."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ewca

SCRIPT = """
import sys, numpy as np, ewca
rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 40))
model = ewca.EWCA(10, epsilon=1.0, solver="bcd", tol=1e-14, max_iter=10**9, n_init=10**6, n_jobs={n_jobs})
print("fitting", flush=True)
try:
    model.fit(X)
except KeyboardInterrupt:
    print("interrupted", model.certificate_.termination, model.n_iter_ >= 0, model.transform(X).shape, flush=True)
    sys.exit(42)
"""


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_ctrl_c_leaves_the_best_result(n_jobs):
    with subprocess.Popen([sys.executable, "-c", SCRIPT.format(n_jobs=n_jobs)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "fitting\n"
        # By then it is in the middle of a fit that would take hours; if not, it is interrupted later all the same.
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        try:
            out, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert out == "interrupted interrupted True (1500, 10)\n"
    assert process.returncode == 42


def test_other_threads_run_during_a_fit():
    X = np.random.default_rng(0).normal(size=(600, 30))
    going, seen = threading.Event(), []

    def count():
        while not going.is_set():
            seen.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    model = ewca.EWCA(5, epsilon=1.0, solver="bcd", tol=1e-12, max_iter=60)
    thread.start()
    begin = time.monotonic()
    with pytest.warns(UserWarning):
        model.fit(X)
    end = time.monotonic()
    going.set()
    thread.join()
    # A fit that held the GIL would let the other thread run before and after it, but not within.
    within = [t for t in seen if begin + 0.2 * (end - begin) < t < end - 0.2 * (end - begin)]
    assert len(within) >= 5


def test_fits_in_threads_and_forks(blobs):
    X, _ = blobs
    reference = ewca.EWCA(2).fit(X).embedding_
    results = []
    threads = [threading.Thread(target=lambda: results.append(ewca.EWCA(2, n_jobs=1 + i % 2).fit(X).embedding_)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, reference)
    # A process that is forked after a fit has none of its threads.
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply_async(_fit, (X,)).get(timeout=60), reference)


def _fit(X):
    return ewca.EWCA(2).fit(X).embedding_


def test_an_error_in_the_progress_bar_stops_the_fit():
    X = np.random.default_rng(0).normal(size=(1500, 40))
    from ewca import _ewca
    from ewca._input import settings

    def fail(*_):
        raise RuntimeError("no bar")

    wanted = settings(10, epsilon=1.0, solver="bcd", tol=1e-14, max_iter=10**9)
    model, raised = _ewca.fit(X, None, wanted, fail)
    assert isinstance(raised, RuntimeError) and model.certificate["termination"] == "interrupted"
