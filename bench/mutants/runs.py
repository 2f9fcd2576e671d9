"""Runs the package's tests on mutants: each in a process of its own, forked from one that has imported the slow libraries already."""

from __future__ import annotations

import gc
import hashlib
import importlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import sys
import threading
import time
import types
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional

import pytest

from changes import Mutant

#: What takes long to import. The package itself is imported by each process, with its fault.
LIBRARIES = (
    "numpy",
    "scipy.sparse.linalg",
    "sklearn.utils.estimator_checks",
    "sklearn.model_selection",
    "pandas",
    "polars",
    "matplotlib.pyplot",
    "tqdm.auto",
    "ot.dr",
    "anndata",
    "scanpy",
)
#: Tests that look at other things than the files that are changed here (types, the wheel), at them from other processes only, or for long.
LEFT_OUT = (
    "test_types",
    "test_it_needs_numpy_alone",
    "test_contiguous_data_are_not_copied",
    "test_ctrl_c_leaves_the_best_result",
    "test_the_gallery",
    "test_a_whole_pipeline",
    "test_pipelines_and_grid_search",
    "test_sinkhorn_self_beside_pot",
)
#: Tests that take longer than this many seconds (of the processor, as all times here) are left out.
SLOW = 2.0
#: Of those that reach the place of a mutant, the quickest are run, for so many seconds in all.
BUDGET = 5.0
#: Tests that look at functions without running them.
LOOKING = ("test_defaults_are_those_of_the_text", "test_the_signature_is_pot_s")
CHECKS = "test_scikit_learn_accepts_it"
#: A mutant may take this many times as long as its tests take without a fault, and some seconds.
PATIENCE = (20.0, 180.0)
IMPORT_FAILED = 99
#: pytest's words for "all passed" and "there were none".
NOTICED_NOTHING = (0, 5)


#: A file and a fault in it.
Job = tuple[str, Mutant]
#: How to run tests in a forked process: their names, the folder of its copy, the file with the fault.
Way = Callable[[list[str], pathlib.Path, str], Callable[[], int]]


@dataclass
class Test:
    """A test, as it ran without faults."""

    name: str
    seconds: float
    #: Lines of the package that it reached, by file.
    lines: dict[str, set[int]]


@dataclass
class Outcome:
    """What became of a mutant: caught (by which test), missed, unviable or timeout."""

    word: str
    by: str = ""


#: Told the place of a mutant in the list, and what became of it.
Report = Callable[[int, Outcome], None]


class Bench:
    """A copy of the package per process, and the tests."""

    def __init__(self, root: pathlib.Path, folder: pathlib.Path, sources: pathlib.Path, compiled: pathlib.Path) -> None:
        self._root, self._folder, self._sources, self._compiled = root, folder, sources, compiled
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        os.environ["SCIPY_ARRAY_API"] = "1"
        os.environ["MPLBACKEND"] = "Agg"
        # Mutants run side by side: more threads would only wait for each other.
        for name in ("RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(name, "1")
        os.chdir(root)
        for name in LIBRARIES:
            importlib.import_module(name)

    def baseline(self) -> list[Test]:
        """All tests without a fault, with the lines that each one reaches, in the order in which mutants meet them."""
        # Kept as long as neither the package nor its tests change.
        kept = self._folder.parent / f"baseline-{self._fingerprint()}.json"
        if not kept.exists():
            self._run_all(kept)
        told = json.loads(kept.read_text())
        tests = [Test(name, seconds, {file: set(at) for file, at in lines.items()}) for name, seconds, lines in told]
        # scikit-learn's checks are many, and each says little.
        return sorted((test for test in tests if test.seconds < SLOW), key=lambda test: (CHECKS in test.name, test.seconds))

    def _run_all(self, kept: pathlib.Path) -> None:
        home = self._copy("baseline")

        def job() -> int:
            watch = _Watch(str(home / "ewca"))
            code = _pytest(self._tests(), home, [watch], "--tb=short")
            if code == 0:
                kept.write_text(json.dumps(watch.told()))
            return code

        if _wait(_fork(job, home, self._folder / "baseline.log"), None) != 0:
            raise SystemExit(f"the tests fail without a fault: see {self._folder / 'baseline.log'}")

    def _fingerprint(self) -> str:
        sum = hashlib.sha256()
        for folder in (self._sources, self._root / "python" / "tests"):
            for file in sorted(folder.glob("*.py")):
                sum.update(file.read_bytes())
        return sum.hexdigest()[:16]

    def judge(self, work: list[Job], tests: list[Test], jobs: int, report: Report) -> None:
        """Runs the tests on each mutant until one fails, and reports each outcome with the place of its mutant."""
        homes = [self._copy(f"copy{at}") for at in range(jobs)]
        places = list(enumerate(work))
        live = [one for one in places if one[1][1].function or one[1][1].data]
        # What else runs on import is imported with its fault; this must come before the package is imported here.
        self._all([one for one in places if one not in live], tests, homes, report, _imported)
        # A fault in a function is put into the live one, and all else is shared: a fork costs next to nothing.
        sys.path.insert(0, str(self._copy("live")))

        def job(items: dict[str, Any]) -> None:
            gc.freeze()
            self._all(live, tests, homes, report, _live(items))

        _pytest(self._tests(), self._folder, [_Loop(job)], "-s")

    def _all(self, work: list[tuple[int, Job]], tests: list[Test], homes: list[pathlib.Path], report: Report, way: Way) -> None:
        running: dict[int, _Running] = {}
        free, waiting = list(homes), work[::-1]
        while waiting or running:
            while waiting and free:
                at, (file, mutant) = waiting.pop()
                chosen = reaching(tests, file, mutant)
                if not chosen:
                    report(at, Outcome("missed", "no test reaches it"))
                    continue
                home = free.pop()
                (home / "ewca" / file).write_text(mutant.text)
                (home / "failed.txt").unlink(missing_ok=True)
                process = _fork(way([test.name for test in chosen], home, file), home, self._folder / f"{home.name}.log")
                patience = PATIENCE[0] * sum(test.seconds for test in chosen) + PATIENCE[1]
                running[process] = _Running(at, file, home, time.monotonic() + patience)
            for process in list(running):
                one = running[process]
                outcome = _look(process, one)
                if outcome is not None:
                    del running[process]
                    shutil.copyfile(self._sources / one.file, one.home / "ewca" / one.file)
                    free.append(one.home)
                    report(one.at, outcome)
            time.sleep(0.01)

    def _copy(self, name: str) -> pathlib.Path:
        home = self._folder / name
        (home / "ewca").mkdir(parents=True)
        for file in self._sources.glob("*.py*"):
            shutil.copyfile(file, home / "ewca" / file.name)
        (home / "ewca" / self._compiled.name).symlink_to(self._compiled)
        return home

    def _tests(self) -> list[str]:
        return [str(file) for file in sorted((self._root / "python" / "tests").glob("test_*.py"))]


@dataclass
class _Running:
    at: int
    file: str
    home: pathlib.Path
    deadline: float


def _look(process: int, one: _Running) -> Optional[Outcome]:
    """What became of a process, if it has ended or takes too long."""
    status = _wait(process, time.monotonic())
    if status is None:
        if time.monotonic() < one.deadline:
            return None
        os.killpg(process, signal.SIGKILL)
        _wait(process, None)
        return Outcome("timeout")
    if status == IMPORT_FAILED:
        return Outcome("unviable")
    failed = one.home / "failed.txt"
    return Outcome("missed") if status in NOTICED_NOTHING else Outcome("caught", failed.read_text() if failed.exists() else "")


def reaching(tests: list[Test], file: str, mutant: Mutant) -> list[Test]:
    """The tests that run the place of a mutant; what runs on import concerns all that run anything of the file, and all others."""
    if mutant.function is None:
        chosen = [test for test in tests if file in test.lines] + [test for test in tests if file not in test.lines]
    else:
        first, _ = mutant.function
        inside = mutant.statement[0] >= first
        begin, end = mutant.statement if inside else mutant.function
        place = set(range(begin, end + 1))
        looking = [test for test in tests if not inside and test.name.endswith(LOOKING)]
        chosen = looking + [test for test in tests if place & test.lines.get(file, set()) and test not in looking]
    total = itertools.accumulate(test.seconds for test in chosen)
    return [test for test, seconds in zip(chosen, total) if seconds - test.seconds <= BUDGET]


def _imported(names: list[str], home: pathlib.Path, file: str) -> Callable[[], int]:
    """The tests on a package that is imported with its fault."""

    def job() -> int:
        try:
            for module in ("ewca", "ewca._estimator", "ewca.plot", "ewca.scanpy"):
                importlib.import_module(module)
        except BaseException:
            return IMPORT_FAILED
        files = list(dict.fromkeys(name.split("::")[0] for name in names))
        return _pytest(files, home, [_Chosen(names, home / "failed.txt")])

    return job


def _live(items: dict[str, Any]) -> Way:
    """The tests, collected already, on a package whose functions get the fault."""

    def way(names: list[str], home: pathlib.Path, file: str) -> Callable[[], int]:
        def job() -> int:
            module = importlib.import_module("ewca" if file == "__init__.py" else f"ewca.{file[:-3]}")
            try:
                transplant(module, (home / "ewca" / file).read_text())
            except BaseException:
                return IMPORT_FAILED
            chosen = [items[name] for name in names if name in items]
            plugin = _Chosen(names, home / "failed.txt")
            chosen[0].config.pluginmanager.register(plugin)
            chosen[0].config._tmp_path_factory._given_basetemp = home / "tmp"
            for item, following in zip(chosen, [*chosen[1:], None]):
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
                if plugin.failed:
                    return 1
            return 0

        return job

    return way


def transplant(module: Any, source: str) -> None:
    """Gives a module the tables, and its functions the code and the defaults, that they have in another source of it."""
    other = types.ModuleType(module.__name__)
    other.__dict__.update(__package__="ewca", __file__=module.__file__, __path__=getattr(module, "__path__", None))
    exec(compile(source, module.__file__, "exec"), other.__dict__)
    for name, value in vars(other).items():
        if isinstance(value, (int, float, str, tuple, list, dict)) and not name.startswith("__"):
            setattr(module, name, value)
    if hasattr(other, "__all__"):
        module.__all__ = other.__all__
    new = {name: function for name, _, function in _functions(other)}
    for name, place, function in list(_functions(module)):
        code = new[name].__code__
        if len(code.co_freevars) == len(function.__code__.co_freevars):
            function.__code__ = code
        else:
            # Without a call of super() there is nothing to close over.
            setattr(place, function.__name__, types.FunctionType(code, module.__dict__, function.__name__))
        function.__defaults__ = new[name].__defaults__
        function.__kwdefaults__ = new[name].__kwdefaults__


def _functions(module: Any) -> Iterator[tuple[str, Any, types.FunctionType]]:
    """The functions and methods that are defined in a module, below decorators and properties: name, place, function."""
    places = [module] + [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    for place in places:
        for name, thing in vars(place).items():
            thing = getattr(thing, "fget", None) or getattr(thing, "__func__", thing)
            while hasattr(thing, "__wrapped__"):
                thing = thing.__wrapped__
            if isinstance(thing, types.FunctionType) and thing.__code__.co_filename == module.__file__:
                yield f"{place.__name__}.{name}", place, thing


def _pytest(files: list[str], home: pathlib.Path, plugins: list[Any], *words: str) -> int:
    words = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", f"--basetemp={home / 'tmp'}", *words)
    return int(pytest.main([*words, *files], plugins=plugins))


class _Loop:
    """Collects the tests, and hands them on instead of running them."""

    def __init__(self, job: Callable[[dict[str, Any]], None]) -> None:
        self._job = job

    def pytest_runtestloop(self, session: Any) -> bool:
        self._job({item.nodeid: item for item in session.items})
        return True


class _Chosen:
    """Runs some of the tests, in the order given, and writes which one failed."""

    def __init__(self, names: list[str], said: pathlib.Path) -> None:
        self._order = {name: at for at, name in enumerate(names)}
        self._said = said
        self.failed = False

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = True
            self._said.write_text(report.nodeid)


class _Watch:
    """Notes how long each test takes and which lines of the package it reaches, those of its fixtures included."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._lines: set[tuple[str, int]] = set()
        self._fixtures: dict[Any, tuple[float, set[tuple[str, int]]]] = {}
        self._told: list[tuple[str, float, dict[str, list[int]]]] = []

    def told(self) -> list[tuple[str, float, dict[str, list[int]]]]:
        return self._told

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if not _is_left_out(item.name)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self._lines = set()
        begin = time.process_time()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            done = yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        seconds = time.process_time() - begin
        lines = set(self._lines)
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for definition in definitions:
                cost, reached = self._fixtures.get(definition, (0.0, set()))
                seconds += cost
                lines |= reached
        by_file: dict[str, list[int]] = {}
        for file, line in sorted(lines):
            by_file.setdefault(file, []).append(line)
        self._told.append((item.nodeid, seconds, by_file))
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """What a shared fixture does is done once, but matters to all that use it."""
        before, self._lines = self._lines, set()
        begin = time.process_time()
        done = yield
        if fixturedef.scope != "function":
            self._fixtures[fixturedef] = (time.process_time() - begin, self._lines)
        self._lines = self._lines | before
        return done

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(self._package):
            return None
        file = os.path.basename(name)

        def line(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                self._lines.add((file, frame.f_lineno))
            return line

        return line


def _is_left_out(name: str) -> bool:
    # scikit-learn's checks of other solvers run the same lines again.
    return name.split("[")[0] in LEFT_OUT or (CHECKS in name and "solver" in name)


def _fork(job: Callable[[], int], home: pathlib.Path, log: pathlib.Path) -> int:
    """Runs a job in a process of its own, which imports the package from `home`."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.setsid()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(home))
        os.environ["PYTHONPATH"] = str(home)
        code = job()
        sys.stdout.flush()
    finally:
        os._exit(code)


def _wait(process: int, until: Optional[float]) -> Optional[int]:
    """The exit code of a process; None if it still runs and `until` has passed."""
    ended, status = os.waitpid(process, 0 if until is None else os.WNOHANG)
    if ended == 0:
        return None
    return os.waitstatus_to_exitcode(status)
