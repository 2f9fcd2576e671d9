"""What a user writes, with types: checked by mypy and pyright in their strict modes, and run."""

import tempfile
from pathlib import Path
from typing import Optional

import numpy as np

import ewca
from ewca import EWCA, Certificate, Model, Plan, Report, Selection

X = np.random.default_rng(0).normal(size=(60, 5)) * np.array([4.0, 3.0, 1.0, 1.0, 1.0])
y = ["a", "b", "c"] * 20

estimator: EWCA = EWCA(n_components=2, perplexity=6.0, n_jobs=1).fit(X)
scores: np.ndarray = estimator.transform(X)
back: np.ndarray = estimator.inverse_transform(scores)
certificate: Certificate = estimator.certificate_
converged: bool = certificate.converged
next_eigenvalue: Optional[float] = certificate.next_eigenvalue
plan: Plan = estimator.plan()
marginal_error: float = plan.marginal_error
dense: np.ndarray = plan.toarray()

path: ewca.Path = ewca.path(X, [0.5, 1.0], n_components=2)
model: Model = path.models[0]
epsilon: float = model.epsilon
found: Selection = ewca.select(X, y, [1, 2], [0.5, 1.0], n_splits=3, n_inner_splits=2)
components: int = found.n_components
coupling, subspace = ewca.ewca(X, reg=0.5, k=2)
total: float = float(coupling.sum())
mine: Plan = ewca.sinkhorn_self(X, epsilon=1.0)

report: Report = model.report(X, obs={"kind": y}, path=path)
with tempfile.TemporaryDirectory() as folder:
    estimator.save(Path(folder) / "model.safetensors")
    again: EWCA = EWCA.load(Path(folder) / "model.safetensors")
    report.save(Path(folder) / "report.html", overwrite=True)
    page: str = report.html
