"""How many threads the package starts, and that fits from several threads and processes get on with each other."""

import os
import subprocess
import sys
import sysconfig
import threading

import joblib
import numpy as np
import pytest

import ewca
from ewca import EWCA, _ewca, _input

CORES = _ewca.available_cores()


def threads_of_ours(code, **environment):
    """How many threads of ours a fresh process has after this code."""
    count = """
import os, time
time.sleep(0.5)  # A thread names itself once it runs.
names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
print(sum(name.startswith("ewca-") for name in names))
"""
    X = "import numpy as np, ewca; X = np.random.default_rng(0).normal(size=(200, 8))\n"
    limits = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS")}
    words = [sys.executable, "-c", X + code + count]
    return int(subprocess.run(words, check=True, capture_output=True, text=True, env=limits | environment).stdout)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads by /proc, which Linux has")
def test_a_fit_starts_as_many_threads_as_it_may():
    fit = "ewca.path(X, [1.0], n_jobs={})\n"
    assert threads_of_ours(fit.format(None)) == CORES
    assert threads_of_ours(fit.format(1)) == 1
    # This hung: a thread for each.
    assert threads_of_ours(fit.format(100_000)) == CORES
    assert threads_of_ours(fit.format(-1), OMP_NUM_THREADS="1,2") == 1
    # Who says a number means it.
    assert threads_of_ours(fit.format(CORES), OMP_NUM_THREADS="1") == CORES


@pytest.mark.parametrize("limit", ["OMP_NUM_THREADS", "RAYON_NUM_THREADS"])
def test_the_environment_limits_threads(monkeypatch, limit):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    assert _ewca.usual_threads() == CORES
    for words, expected in [("1", 1), (" 1 ", 1), ("1,4", 1), ("100000", CORES), ("many", CORES), ("0", CORES), ("-1", CORES), ("", CORES)]:
        monkeypatch.setenv(limit, words)
        assert _ewca.usual_threads() == expected, words


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads by /proc, which Linux has")
def test_the_number_of_threads_holds_for_all_that_an_estimator_does():
    fit = "model = ewca.EWCA(2, n_jobs=1).fit(X); "
    uses = "model.transform(X); model.plan_graph(); model.transport_plan(); model.barycentric_transform(); model.plan_rows(X); model.inverse_transform(X[:, :2])\n"
    uses += "model.score(X); model.report(X, n_jobs=1)\n"
    assert threads_of_ours(fit + uses) == 1
    more = "ewca.path(X, n_components=2, n_jobs=1); ewca.select(X, np.arange(200) % 2, [1], n_splits=2, n_inner_splits=2, n_jobs=1)\n"
    assert threads_of_ours(more) == 1


def test_limits_end_where_they_end():
    usual = _ewca.usual_threads()
    with _input.limited(1):
        assert _ewca.usual_threads() == 1
        with _input.limited(None):
            assert _ewca.usual_threads() == usual
        assert _ewca.usual_threads() == 1
        seen = []
        other = threading.Thread(target=lambda: seen.append(_ewca.usual_threads()))
        other.start()
        other.join()
        assert seen == [usual], "other threads have their own limit"
    with pytest.raises(RuntimeError), _input.limited(1):
        raise RuntimeError
    assert _ewca.usual_threads() == usual
    assert _ewca.limit_threads(10**6) is None
    assert _ewca.limit_threads(None) == CORES


def _threads_of_a_worker(X):
    EWCA(2).fit(X)
    return _ewca.usual_threads()


def test_workers_of_joblib_share_the_cores(blobs):
    """joblib tells its worker processes by OMP_NUM_THREADS how many threads each of them may have."""
    X, _ = blobs
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        assert joblib.Parallel(n_jobs=2)(joblib.delayed(_threads_of_a_worker)(X) for _ in range(4)) == [1] * 4
    expected = EWCA(2).fit(X).components_
    for found in joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(_components)(X) for _ in range(4)):
        np.testing.assert_array_equal(found, expected)


def _components(X):
    return EWCA(2).fit(X).components_


def test_fits_from_four_threads_give_the_same_bits(khan):
    """Of several kinds at once, more threads than cores, sharing their pool or not."""
    X, _ = khan
    words = [{"epsilon": 100.0}, {"perplexity": 4}, {"epsilon": 100.0, "n_jobs": 1}, {"perplexity": 4, "solver": "bcd", "max_iter": 5000}]
    alone = [EWCA(3, **word).fit(X) for word in words]
    results, barrier = {}, threading.Barrier(4)

    def fit(number):
        barrier.wait()
        for _ in range(3):
            model = EWCA(3, **words[number]).fit(X)
            results.setdefault(number, []).append((model.components_, model.transform(X), model.plan_graph(5).toarray()))

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, model in enumerate(alone):
        assert len(results[number]) == 3
        for components, scores, graph in results[number]:
            np.testing.assert_array_equal(components, model.components_)
            np.testing.assert_array_equal(scores, model.transform(X))
            np.testing.assert_array_equal(graph, model.plan_graph(5).toarray())


def test_a_free_threaded_python_may_stay_so():
    """Where Python has no GIL, importing the module does not bring it back; elsewhere there is nothing to see."""
    code = "import sys, ewca; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    out = subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == str(not sysconfig.get_config_var("Py_GIL_DISABLED"))


FORKS = """
import os, sys, threading, numpy as np, ewca
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 10))
np.save(sys.argv[1], X)
expected = ewca.EWCA(2, epsilon=1.0).fit(X).components_
table = ewca.read_table(sys.argv[1], in_parts=True)
in_parts = ewca.EWCA(2, epsilon=1.0).fit(table).components_
running = True
def busy(jobs):
    while running:
        ewca.EWCA(2, epsilon=1.0, n_jobs=jobs).fit(X)
# Pools are asked for and replaced all the time, in other threads than the one that forks.
others = [threading.Thread(target=busy, args=(jobs,), daemon=True) for jobs in (1, 2)]
for thread in others:
    thread.start()
failed = 0
for _ in range(15):
    child = os.fork()
    if child == 0:
        same = (ewca.EWCA(2, epsilon=1.0).fit(X).components_ == expected).all()
        same &= (ewca.EWCA(2, epsilon=1.0).fit(table).components_ == in_parts).all()
        same &= (ewca.EWCA(2, epsilon=1.0).fit(X).plan_graph(3).sum() > 0)
        os._exit(0 if same else 3)
    failed += os.waitpid(child, 0)[1] != 0
running = False
for thread in others:
    thread.join()
print("failed", failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_no_process_that_was_forked_during_a_fit_waits_for_threads_it_does_not_have(tmp_path):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS, tmp_path / "x.npy"], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("failed 0\n", 0), done.stderr
