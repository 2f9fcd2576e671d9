"""Checks, with the tools that people use, files that the tests have written: `python read_back.py FOLDER`.

tests/files/read_back.rs writes the folder and calls this; the values are those of golden_table.py.
"""

import pathlib
import sys

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow.feather

from golden_table import FEATURES, IDS, VALUES


def same(found, expected, name):
    found = np.ascontiguousarray(found, dtype="f8")
    assert found.shape == expected.shape, (name, found.shape)
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes(), (name, found)


def frames(folder):
    readers = {
        "table.csv": lambda path: pd.read_csv(path, float_precision="round_trip"),
        "table.tsv": lambda path: pd.read_csv(path, sep="\t", float_precision="round_trip"),
        "table.csv.gz": lambda path: pd.read_csv(path, float_precision="round_trip"),
        "table.parquet": pd.read_parquet,
        "table.feather": pyarrow.feather.read_feather,
    }
    for name, read in readers.items():
        frame = read(folder / name)
        assert list(frame.columns) == ["id", *FEATURES], (name, list(frame.columns))
        assert list(frame["id"]) == IDS, name
        same(frame[FEATURES].to_numpy(), VALUES, name)
    same(np.load(folder / "table.npy"), VALUES, "table.npy")


def results(folder):
    plan = np.zeros((6, 6))
    plan[0, 1] = plan[1, 0] = 0.25
    plan[5, 5] = 1 / 3
    for name in ["dense", "csr", "csc", "again"]:
        data = anndata.read_h5ad(folder / f"{name}.h5ad")
        assert data.obsm["X_ewca"].dtype == np.float32, name
        same(data.obsm["X_ewca"], VALUES[:, :2].astype("f4").astype("f8"), name)
        same(data.varm["EWCs"], VALUES[:4, :2], name)
        same(data.varm["ewca_mean"], VALUES[:2, :2].reshape(4, 1), name)
        same(data.obsp["ewca_plan"].toarray(), plan, name)
        with h5py.File(folder / f"{name}.h5ad") as file:
            written = file["obsp/ewca_plan"]
            assert written["indices"].dtype == written["indptr"].dtype, name
            assert {value.dtype for value in file["uns/ewca/params"].values()} == {np.dtype(bool)}, name
        ewca = data.uns["ewca"]
        assert sorted(ewca) == ["certificate", "epsilon", "k", "nothing", "params", "version"], sorted(ewca)
        assert ewca["epsilon"] == 0.1 and ewca["k"] == 2 and ewca["nothing"] == "", ewca
        assert ewca["version"] == "première", ewca
        same(ewca["certificate"], np.array([1.0, 0.5]), name)
        assert ewca["params"] == {"yes": True, "no": False}, ewca
        x = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
        same(x, VALUES, name)
        if name != "again":
            assert data.uns["note"] == "kept" and "X_old" in data.obsm and "double" in data.layers, data
        assert list(data.obs["class"])[3] == "green", data.obs
        # What we have added to must still be a file that anndata can write.
        data.write_h5ad(folder / f"{name}_again.h5ad")
    part = anndata.read_h5ad(folder / "part.h5ad")
    assert np.isnan(part.obsm["X_ewca"][1]).all() and not np.isnan(part.obsm["X_ewca"][0]).any()
    same(part.varm["EWCs"][:2], np.array([[0.0, 0.0], [1.0, 2.0]]), "part")
    assert part.varm["ewca_mean"][1, 0] == 7 and np.isnan(part.varm["ewca_mean"][[0, 2, 3]]).all()
    assert part.obsp["ewca_plan"][2, 0] == 0.5, part.obsp["ewca_plan"]


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1])
    frames(where)
    results(where)
    print("every file was read back, with the same bits")
