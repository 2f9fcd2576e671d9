"""Copies the old AnnData file that scanpy brings to FOLDER/old.h5ad, and writes what it holds to expected.json. Called by read_back.rs."""

import json
import pathlib
import shutil
import sys
import warnings

import anndata
import scanpy

folder = pathlib.Path(sys.argv[1])
file = pathlib.Path(scanpy.__file__).parent / "datasets" / "10x_pbmc68k_reduced.h5ad"
shutil.copy(file, folder / "old.h5ad")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    adata = anndata.read_h5ad(file)
labels = adata.obs["bulk_labels"]
colours = dict(zip(labels.cat.categories, adata.uns["bulk_labels_colors"]))
expected = {
    "samples": adata.n_obs,
    "features": adata.n_vars,
    "colours": [colours[name] for name in sorted(colours)],
    "cells": [
        {"id": id, "label": label, "n_counts": float(counts)}
        for id, label, counts in zip(adata.obs_names, labels, adata.obs["n_counts"])
    ],
}
(folder / "expected.json").write_text(json.dumps(expected))
