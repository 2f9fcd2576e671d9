"""The wheel in an empty environment with NumPy alone: the package, and the `ewca` command."""

import os
import shutil
import subprocess
import venv

import pytest

import ewca

SCRIPT = """
import sys
import numpy as np, ewca
assert "sklearn" not in sys.modules and "scipy" not in sys.modules
X = np.random.default_rng(0).normal(size=(40, 5)) * [4, 3, 1, 1, 1]
pi, U = ewca.ewca(X, reg=0.5)
assert abs(pi.sum() - 1) < 1e-9 and abs(U.T @ U - np.eye(2)).max() < 1e-12
assert len(ewca.path(X, [0.1, 1.0]).models) == 2
assert ewca.sinkhorn_self(X, 1.0).toarray().shape == (40, 40)
assert ewca.select(X, np.arange(40) % 2, [1, 2], n_splits=3, n_inner_splits=2).n_components in (1, 2)
for needs, name in [("scikit-learn", "EWCA"), ("matplotlib", "plot")]:
    try:
        getattr(ewca, name)
    except ImportError as error:
        assert needs in str(error)
    else:
        raise SystemExit(f"{name} without {needs}?")
print("fine")
"""


@pytest.fixture(scope="module")
def bin(tmp_path_factory):
    """The programs of an environment with the wheel and what it depends on."""
    wheel = os.environ.get("EWCA_WHEEL")
    assert wheel, "set EWCA_WHEEL to the wheel (cargo xtask wheel)"
    assert "abi3" in os.path.basename(wheel)
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel], check=True)
    return folder / "bin"


def test_it_needs_numpy_alone(bin, tmp_path):
    assert subprocess.run([bin / "python", "-c", SCRIPT], check=True, capture_output=True, text=True, cwd=tmp_path).stdout == "fine\n"


def test_it_brings_the_program(bin, tmp_path):
    """Where there is nothing but Python: no Rust, and no other program of ours."""
    alone = {"PATH": str(bin), "HOME": str(tmp_path)}
    assert shutil.which("cargo", path=alone["PATH"]) is None
    done = subprocess.run(["ewca", "demo", "-o", "out"], env=alone, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "EWCA with 5 components, converged after" in done.stdout and (tmp_path / "out" / "report.html").exists()
    version = subprocess.run(["python", "-m", "ewca", "--version"], env=alone, capture_output=True, text=True, check=True).stdout
    assert version == f"ewca {ewca.__version__}\n"
    wrong = subprocess.run(["ewca", "fot"], env=alone, capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout) == (2, "") and "Usage: ewca" in wrong.stderr
    failed = subprocess.run(["ewca", "fit", "no.csv"], env=alone, capture_output=True, text=True, cwd=tmp_path)
    assert failed.returncode == 1 and failed.stderr.startswith("ewca: error: no.csv")


def test_manual_and_completions_are_where_they_are_looked_for(bin):
    share = bin.parent / "share"
    pages = {page.name for page in (share / "man" / "man1").iterdir()}
    assert {"ewca.1", "ewca-fit.1", "ewca-demo.1"} <= pages
    for file in ("bash-completion/completions/ewca", "zsh/site-functions/_ewca", "fish/vendor_completions.d/ewca.fish"):
        assert "inspect" in (share / file).read_text(), file
