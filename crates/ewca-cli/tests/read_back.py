"""Opens a fit's results with the tools that people use: `python read_back.py FOLDER`. Called by read_back.rs."""

import json
import pathlib
import sys

import anndata
import numpy as np
import pandas as pd
import scanpy
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def same(found, expected, what):
    found, expected = (np.ascontiguousarray(values, dtype="f8") for values in (found, expected))
    assert found.shape == expected.shape and found.tobytes() == expected.tobytes(), (what, found, expected)


folder = pathlib.Path(sys.argv[1])
read = lambda name: pd.read_csv(folder / "ewca-out" / name, index_col=0, float_precision="round_trip")
scores = read("scores.csv").drop(columns="label").to_numpy()
loadings = read("loadings.csv").to_numpy()
summary = json.loads((folder / "ewca-out" / "summary.json").read_text())

# AnnData, as scanpy reads it and goes on with it.
data = scanpy.read_h5ad(folder / "out.h5ad")
assert isinstance(data, anndata.AnnData)
assert data.obsm["X_ewca"].dtype == np.float32
same(data.obsm["X_ewca"], scores.astype("f4"), "obsm")
same(data.varm["EWCs"], loadings, "varm")
# Means are of what the program made of the cells: read_back.rs says which steps these are, and so does the file.
steps = json.loads(data.uns["ewca"]["params"]["preprocessing"])
assert steps == {"normalize_total": 1e4, "log1p": True, "top_variable": None, "unit_variance": False}, steps
prepared = data.to_df().to_numpy(dtype="f8")
prepared = np.log1p(1e4 * prepared / prepared.sum(axis=1, keepdims=True))
np.testing.assert_allclose((prepared - data.varm["ewca_mean"].T) @ loadings, scores, atol=1e-9 * np.abs(scores).max())
assert data.uns["ewca"]["epsilon"] == summary["epsilon"], data.uns["ewca"]
plan = data.obsp["ewca_plan"].toarray()
np.testing.assert_allclose(plan.sum(axis=0), 1 / len(data), atol=1e-7)
np.testing.assert_allclose(plan, plan.T, atol=1e-7)
scanpy.pp.neighbors(data, n_neighbors=10, use_rep="X_ewca")
assert data.obsp["connectivities"].shape == (len(data), len(data))

# The model, as any reader of safetensors sees it, and written again by another program.
model = folder / "ewca-out" / "model.safetensors"
tensors = load_file(model)
same(tensors["scores"], scores, "scores")
same(tensors["components"], loadings, "components")
arrays = ["components", "mean", "potential", "scores", "training_means", "weights"]
names = [name + end for name in ("features", "ids", "labels") for end in ("", ".ends")]
assert sorted(tensors) == sorted(arrays + names + ["record", "sha256"]), sorted(tensors)
ends = tensors["ids.ends"]
assert [bytes(tensors["ids"][a:b]).decode() for a, b in zip([0, *ends], ends)] == list(data.obs_names)
assert json.loads(bytes(tensors["record"]))["columns"]["label"] == "kind"
with safe_open(model, "numpy") as opened:
    save_file(tensors, folder / "copy.safetensors", metadata=opened.metadata())
