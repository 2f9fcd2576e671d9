"""Examples in docstrings run; types hold; the gallery runs and its pictures are there."""

import doctest
import importlib
import pkgutil
import re
import runpy
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from conftest import ROOT
from nbclient import NotebookClient

import ewca
import ewca.plot
import ewca.scanpy

sys.path.insert(0, str(ROOT / "docs" / "tools"))
import build as site  # noqa: E402

MODULES = ["ewca"] + [f"ewca.{m.name}" for m in pkgutil.iter_modules(ewca.__path__) if m.name != "_ewca"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    done = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.failed == 0


@pytest.mark.parametrize("module", [ewca, ewca.plot, ewca.scanpy])
def test_everything_public_has_a_runnable_example(module):
    # What functions and methods return is shown by their examples.
    shown = (ewca.Approximation, ewca.Covariates, ewca.Finding, ewca.Recommendation, ewca.Scree, ewca.TableFile)
    for name in module.__all__:
        thing = getattr(module, name)
        if callable(thing) and thing not in shown:
            assert ">>>" in thing.__doc__, name
    # What the docstrings of modules and classes show is run by `test_docstrings`.
    assert ">>>" in module.__doc__


def test_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "python" / "README.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) >= 2
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102  (our own text)


def test_the_table_of_features_leaves_nothing_of_the_program_out(binary):
    table = (ROOT / "docs" / "api.md").read_text().split("## What is where")[1]
    commands = "fit transform reconstruct neighbours report path select inspect".split()
    texts = [subprocess.run([binary, command, "--help"], capture_output=True, text=True, check=True).stdout for command in commands]
    options = {option for text in texts for option in re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.M)}
    assert len(options) > 50
    # Those of one letter are named by it.
    assert options - set(re.findall(r"--[\w-]+", table)) == {"--help", "--components", "--output"}
    assert "`-k 5`" in table and "`-o`" in table
    listed = re.findall(r"^  (\w+)  ", subprocess.run([binary, "--help"], capture_output=True, text=True, check=True).stdout, re.M)
    assert len(listed) > 10 and all(f"`ewca {command}" in table for command in listed), listed
    # A hole has its reason.
    reasons = dict(re.findall(r"^(\d+)\. (.+)", table, re.M))
    holes = re.findall(r"\| no( \((\d+)\))?", table)
    assert holes and all(number in reasons for _, number in holes)
    assert {number for number in re.findall(r"\((\d+)\)", table)} == set(reasons)
    for line in table.splitlines():
        if line.startswith("| ") and "**" not in line:
            assert all(cell.strip() for cell in line.strip("|").split("|")[1:]) or line.startswith("| |"), line


def test_types(tmp_path):
    words = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "-p", "ewca", "--ignore-missing-imports"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--ignore-disjoint-bases", "ewca._ewca"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_of_a_users_script(tmp_path):
    (tmp_path / "user_script.py").write_text((ROOT / "python" / "tests" / "user_script.py").read_text())
    # Mistakes are seen beside it: the types are not all `Any`.
    mistakes = "import ewca\n\nmodel = ewca.Model.load('m')\nwrong: str = model.epsilon\nmodel.certificate.convergd\n"
    (tmp_path / "mistakes.py").write_text(mistakes)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    for words in (["mypy", "--strict", "user_script.py", "mistakes.py"], ["basedpyright", "--pythonpath", sys.executable]):
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=tmp_path)
        errors = [line for line in done.stdout.splitlines() if "error:" in line]
        places = {re.search(r"(\w+\.py):(\d+)", line).groups() for line in errors}
        assert places == {("mistakes.py", "4"), ("mistakes.py", "5")}, done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore")
def test_the_users_script_runs():
    names = runpy.run_path(str(ROOT / "python" / "tests" / "user_script.py"))
    assert names["converged"] and names["page"] == names["report"].html


@pytest.mark.parametrize("name", ["bulk_genes", "pbmc", "pipeline", "large"])
def test_notebooks(name, binary):
    folder = ROOT / "python" / "notebooks"
    notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None), "notebooks are kept without outputs"
    before = set(folder.iterdir())
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    assert set(folder.iterdir()) == before, "nothing is left behind"
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert all(output.output_type != "error" for output in shown)
    # The report is there as a page, or as words where it was printed.
    pages = [output.data["text/html"] for output in shown if "text/html" in output.get("data", {})]
    printed = "".join(output.get("text", "") for output in shown)
    assert any(page.startswith("<iframe srcdoc=") for page in pages) or "Report(" in printed
    # The site shows it as it was run here.
    site.keep(notebook, folder / f"{name}.ipynb", binary)


def test_all_notebooks_are_run():
    names = {file.stem for file in (ROOT / "python" / "notebooks").iterdir() if file.suffix == ".ipynb"}
    assert names == {"bulk_genes", "pbmc", "pipeline", "large"}


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
