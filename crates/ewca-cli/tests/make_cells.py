"""Writes FOLDER/in.h5ad: 60 cells x 30 genes of three types, sparse, with colours for the types. Called by read_back.rs."""

import pathlib
import sys

import anndata
import numpy as np
import pandas as pd
import scipy.sparse

random = np.random.default_rng(5)
kind = np.arange(60) % 3
counts = random.poisson(0.4 + 3.0 * (np.arange(30) % 3 == kind[:, None])).astype("f4")
# The categories are in an order of their own, which the colours follow.
cells = pd.DataFrame(
    {
        "kind": pd.Categorical([f"type {k}" for k in kind], ["type 2", "type 0", "type 1"]),
        "depth": np.arange(60) * 0.5 + 0.25,
        "batch": pd.Categorical([str(i % 2) for i in range(60)]),
    },
    index=[f"cell{i}" for i in range(60)],
)
cells.loc["cell7", "depth"] = np.nan
genes = pd.DataFrame(index=[f"gene{j}" for j in range(30)])
adata = anndata.AnnData(scipy.sparse.csr_matrix(counts), obs=cells, var=genes)
adata.uns["kind_colors"] = ["#222222", "#00000a", "#11111B"]
adata.uns["batch_colors"] = ["#123456", "</script><script>alert(1)</script>"]
adata.write_h5ad(pathlib.Path(sys.argv[1]) / "in.h5ad")
