"""Writes FOLDER/in.h5ad: 60 cells x 30 genes of three types, sparse. Called by read_back.rs."""

import pathlib
import sys

import anndata
import numpy as np
import pandas as pd
import scipy.sparse

random = np.random.default_rng(5)
kind = np.arange(60) % 3
counts = random.poisson(0.4 + 3.0 * (np.arange(30) % 3 == kind[:, None])).astype("f4")
cells = pd.DataFrame({"kind": pd.Categorical([f"type {k}" for k in kind])}, index=[f"cell{i}" for i in range(60)])
genes = pd.DataFrame(index=[f"gene{j}" for j in range(30)])
anndata.AnnData(scipy.sparse.csr_matrix(counts), obs=cells, var=genes).write_h5ad(pathlib.Path(sys.argv[1]) / "in.h5ad")
