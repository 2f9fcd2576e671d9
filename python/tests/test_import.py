"""What the package offers, and what it asks for when something is not installed."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

import ewca
import ewca.plot
import ewca.scanpy

FOLDER = pathlib.Path(ewca.__file__).parent


def afresh(file, name):
    """Imports a file of the package once more, beside the one that is in use."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("file", "missing", "needs"),
    [("_estimator.py", "sklearn.base", "pip install scikit-learn"), ("plot.py", "matplotlib.pyplot", "pip install matplotlib")],
)
def test_what_is_missing_is_named(monkeypatch, file, missing, needs):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=needs):
        afresh(file, f"ewca.{file[:-3]}_afresh")


def test_all_that_is_offered_is_there():
    for module in (ewca, ewca.plot, ewca.scanpy):
        for name in module.__all__:
            assert getattr(module, name) is not None, name
    assert {"Report", "report"} <= set(ewca.__all__)
    assert set(ewca.plot.__all__) == {"embedding", "loadings", "path", "plan"}
    assert set(ewca.scanpy.__all__) == {"as_pca", "ewca", "plan_as_neighbors", "transform"}
    assert dir(ewca) == sorted(ewca.__all__)
    # Whatever has no underscore is offered.
    public = {name for name, thing in vars(ewca).items() if not name.startswith("_") and name not in ("annotations", "importlib")}
    assert public - {"TYPE_CHECKING", "Any"} <= set(ewca.__all__)
    assert {"EWCA", "plot", "scanpy", "__version__", "DEFAULT_PERPLEXITY"} <= set(ewca.__all__)


def test_the_rest_is_imported_on_first_use(monkeypatch):
    for name in ("EWCA", "plot", "scanpy"):
        getattr(ewca, name)
        monkeypatch.delattr(ewca, name)
    assert ewca.EWCA is sys.modules["ewca._estimator"].EWCA and vars(ewca)["EWCA"] is ewca.EWCA
    assert ewca.plot is sys.modules["ewca.plot"] and ewca.scanpy is sys.modules["ewca.scanpy"]
    with pytest.raises(AttributeError, match="module 'ewca' has no attribute 'nothing'"):
        ewca.nothing


def test_importing_the_package_brings_nothing_but_numpy():
    """It takes about as long as NumPy: bench/PYTHON_PRICE.md."""
    code = "import sys, numpy; before = set(sys.modules); import ewca; print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert {name for name in found if name not in sys.stdlib_module_names} == {"ewca"}
