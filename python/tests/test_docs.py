"""Examples in docstrings run; types hold; the gallery runs and its pictures are there."""

import doctest
import importlib
import pkgutil
import runpy
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

import ewca

MODULES = ["ewca"] + [f"ewca.{m.name}" for m in pkgutil.iter_modules(ewca.__path__) if m.name != "_ewca"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    done = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.failed == 0


def test_everything_public_has_a_runnable_example():
    for thing in (ewca.EWCA, ewca.ewca, ewca.path, ewca.select, ewca.sinkhorn_self, ewca.Plan, ewca.Model):
        assert ">>>" in thing.__doc__, thing


def test_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "python" / "README.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102  (our own text)


def test_types(tmp_path):
    words = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "-p", "ewca", "--ignore-missing-imports"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--ignore-disjoint-bases", "ewca._ewca"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["quick_start", "khan2001", "single_cells", "choosing_epsilon"])
def test_the_gallery(name, tmp_path, monkeypatch):
    monkeypatch.setenv("EWCA_GALLERY", str(tmp_path))
    runpy.run_path(str(ROOT / "python" / "examples" / f"{name}.py"), run_name="__main__")
    made = tmp_path / f"{name}.png"
    kept = ROOT / "docs" / "gallery" / f"{name}.png"
    assert made.stat().st_size > 10_000 and kept.exists()
    import matplotlib.pyplot as plt

    plt.close("all")
    assert plt.imread(made).shape == plt.imread(kept).shape
    assert np.ptp(plt.imread(made)) > 0
