"""Ctrl-C, by a real signal to a real process; and what the GIL's release is worth."""

import os
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


SIGNALS = """
import signal, sys, numpy as np, ewca
calls = 0
def heard(*_):
    # Whoever looks for signals only at the end hears one.
    global calls
    calls += 1
    if calls >= {wanted}:
        # Python drops what is raised while it is in a callback of its own, as in an import: then it is raised once more.
        signal.setitimer(signal.ITIMER_REAL, 2)
        raise KeyboardInterrupt
rng = np.random.default_rng(0)
signal.signal(signal.SIGALRM, heard)
{before}
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
try:
    {call}
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("interrupted", calls)
else:
    print("not interrupted", calls)
import os
sys.stdout.flush()
# What was left alone is not waited for.
os._exit(0)
"""

REPORTED = "X = rng.normal(size=(3000, 5)); model = ewca.EWCA(2, epsilon=1.0, tol=1e-2).fit(X)"

#: Work that takes seconds on any machine; it is ended after some 150 ms.
LONG = {
    "sinkhorn_self": ("Z = rng.normal(size=(100000, 3))", "ewca.sinkhorn_self(Z, 0.01, tol=1e-12)"),
    "plan_graph": ("plan = ewca.sinkhorn_self(rng.normal(size=(40000, 2)), 10.0, tol=0.9)", "plan.graph(15)"),
    "select": ("X = rng.normal(size=(1200, 60)); y = np.arange(1200) % 3", "ewca.select(X, y, [5], n_splits=1000)"),
    "raw neighbours": ("X = rng.normal(size=(3000, 2500)); y = np.arange(3000) % 3", "ewca.select(X, y, [1], [1e-3], n_splits=2)"),
    "epsilons of a path": ("X = rng.normal(size=(4000, 4000))", "ewca.path(X, n_components=60)"),
    "report with the data": (REPORTED, "model.report(X, tsne=True)"),
    "report of the model": (REPORTED, "model.report(tsne=True)"),
    "path of a report": (REPORTED, "model.report(X, path=True)"),
    "reduction": ("X = rng.normal(size=(4000, 4000))", "ewca.EWCA(60).fit(X)"),
}


@pytest.mark.parametrize("name", LONG)
def test_signals_are_heard_during_the_work(name):
    before, call = LONG[name]
    words = [sys.executable, "-W", "ignore", "-c", SIGNALS.format(wanted=3, before=before, call=call)]
    # On one core, so that the work lasts on any machine.
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120, env=alone)
    # Python tells where it dropped the first one.
    assert done.stdout == ("interrupted 4\n" if "Exception ignored" in done.stderr else "interrupted 3\n")


TWICE = """
import os, signal, sys, numpy as np, ewca
calls = 0
def heard(*_):
    global calls
    calls += 1
    # Whoever does not hear the second one is told again and again, and counted.
    if calls <= 2:
        raise KeyboardInterrupt
X = np.random.default_rng(0).normal(size=(40000, 3))
signal.signal(signal.SIGALRM, heard)
model = ewca.EWCA(2, epsilon=0.01, coarse_to_fine=False, callback=lambda now: signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05))
try:
    model.fit(X)
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("left", calls, hasattr(model, "components_"), flush=True)
os._exit(0)
"""


def test_a_second_ctrl_c_does_not_wait_for_the_result():
    # After the first one a fit of many samples takes a few more passes for its best result, which take seconds on one core.
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", TWICE], check=True, capture_output=True, text=True, timeout=120, env=alone)
    assert done.stdout == "left 2 False\n"


READING = """
import os, signal, time, numpy as np, ewca
class Slow:
    shape, part_rows = (10**7, 4), 10
    def read(self, start, stop):
        if start == 50:
            os.kill(os.getpid(), signal.SIGINT)
        # It would take hours to read all of it.
        time.sleep(0.01 if start < 50 else 0.2)
        return np.random.default_rng(start).normal(size=(stop - start, 4))
model = ewca.EWCA(2)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "components_"))
"""


@pytest.mark.parametrize(
    ("call", "fitted"), [("model.fit(Slow())", False), ("model.fit(np.random.default_rng(0).normal(size=(9, 4))).transform(Slow())", True)]
)
def test_reading_is_interrupted(call, fitted):
    out = subprocess.run([sys.executable, "-c", READING.format(call=call)], check=True, capture_output=True, text=True, timeout=120).stdout
    assert out == f"interrupted {fitted}\n"


LEFT = """
import signal, sys, time, numpy as np, ewca
X = np.random.default_rng(0).normal(size=(3000, 2500))
held = sys.getrefcount(X)
model = ewca.EWCA(60)
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    model.fit(X)
except KeyboardInterrupt:
    print("left", hasattr(model, "components_"), flush=True)
if sys.argv[1] == "stay":
    # What is left alone lets go of the array when it ends.
    while sys.getrefcount(X) > held:
        time.sleep(0.01)
    print("free", ewca.EWCA(2, epsilon=1.0).fit(X[:50, :5]).embedding_.shape)
"""


@pytest.mark.parametrize("then", ["stay", "go"])
def test_work_that_is_left_alone_does_no_harm(then):
    done = subprocess.run([sys.executable, "-c", LEFT, then], capture_output=True, text=True, timeout=120)
    assert done.stdout == "left False\n" + ("free (50, 2)\n" if then == "stay" else "")
    assert (done.returncode, done.stderr) == (0, "")
