"""The wheel in an empty environment with NumPy alone."""

import os
import subprocess
import venv

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


def test_it_needs_numpy_alone(tmp_path):
    wheel = os.environ.get("EWCA_WHEEL")
    assert wheel, "set EWCA_WHEEL to the wheel (cargo xtask wheel)"
    venv.create(tmp_path, with_pip=True)
    python = tmp_path / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel], check=True)
    assert subprocess.run([python, "-c", SCRIPT], check=True, capture_output=True, text=True, cwd=tmp_path).stdout == "fine\n"
    assert "abi3" in os.path.basename(wheel)
