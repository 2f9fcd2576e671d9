"""Writes the small files of tests/golden with the tools that people use.

Run it again only when a format is added: `python make_golden.py`, with numpy, pandas, pyarrow, scipy,
anndata, h5py, hdf5plugin, hdf5storage, loompy, openpyxl and XlsxWriter installed (and `Rscript make_golden.R golden`). The files are
committed, so that the tests need no Python. Zarr folders are made by make_golden_zarr.py, after this.

Every file holds the table of golden_table.py, unless its name says otherwise.
"""

import bz2
import gzip
import lzma
import pathlib
import shutil

import anndata
import h5py
import hdf5plugin
import hdf5storage
import loompy
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.io
import scipy.sparse

from golden_table import FEATURES, IDS, LABELS, VALUES

GOLDEN = pathlib.Path(__file__).parent / "golden"

# Whole numbers between 0 and 250, for the integer types.
WHOLE = np.array([[1, 0, 3], [0, 250, 0], [7, 0, 9], [0, 11, 0]])


def text(frame):
    frame.to_csv(GOLDEN / "table.csv")
    frame.to_csv(GOLDEN / "crlf.csv", lineterminator="\r\n")
    frame.to_csv(GOLDEN / "semicolon.csv", sep=";")
    frame.to_csv(GOLDEN / "table.tsv", sep="\t")
    frame.to_csv(GOLDEN / "quoted.csv", quoting=2)
    frame.to_csv(GOLDEN / "mark.csv", encoding="utf-8-sig")
    frame.to_csv(GOLDEN / "table.csv.gz", compression={"method": "gzip", "mtime": 1})
    with pa.OSFile(str(GOLDEN / "table.csv.zst"), "wb") as file, pa.CompressedOutputStream(file, "zstd") as out:
        out.write((GOLDEN / "table.csv").read_bytes())
    turned = pd.DataFrame(VALUES.T.astype(object), index=FEATURES, columns=IDS)
    turned.loc["class"] = LABELS
    turned.to_csv(GOLDEN / "transposed.csv")


def as_people_have_it(frame):
    """The same table as other programs leave it; what pandas cannot write is put together by the rules of the format."""
    frame.to_csv(GOLDEN / "utf16.csv", encoding="utf-16")
    frame.to_csv(GOLDEN / "latin1.csv", encoding="latin-1")
    frame.to_csv(GOLDEN / "decimal.csv", sep=";", decimal=",")
    frame.to_csv(GOLDEN / "table.csv.bz2")
    frame.to_csv(GOLDEN / "table.csv.xz")
    frame.to_csv(GOLDEN / "table.csv.zip")
    lines = frame.to_csv(sep=";").splitlines()
    (GOLDEN / "sep_line.csv").write_text("sep=;\n" + "\n".join(lines) + "\n;;;;;\n;;;;;\n")
    (GOLDEN / "trailing.csv").write_text("\n".join(line + ";" for line in lines) + "\n")
    (GOLDEN / "comments.csv").write_text("# made by hand, with a comma\n# and a \"quote\n\n" + frame.to_csv())
    turned = pd.DataFrame(VALUES.T, index=FEATURES, columns=IDS)
    turned.index.name = "Name"
    gct = turned.copy()
    gct.insert(0, "Description", [f"gene {i}" for i in range(4)])
    (GOLDEN / "table.gct").write_text("#1.2\n4\t6\n" + gct.to_csv(sep="\t"))
    # Version 1.3 has columns that say what is known of genes, and rows that say what is known of samples.
    gct.index.name = "id"
    gct.insert(1, "length", [10, 20, 30, 40])
    gct.loc["class"] = ["na", "na"] + LABELS
    gct.loc["dose"] = ["na", "na", 0.5, 1, "NA", 2, 2.5, 3]
    (GOLDEN / "notes.gct").write_text("#1.3\n4\t6\t2\t2\n" + gct.loc[["class", "dose"] + FEATURES].to_csv(sep="\t"))
    turned.index.name = "ID_REF"
    series = turned.to_csv(sep="\t", quoting=2)
    notes = '!Series_title\t"A study"\n!Series_type\t"Expression"\n\n!Sample_title\t' + "\t".join(f'"{i}"' for i in IDS) + "\n"
    (GOLDEN / "series_matrix.txt").write_text(notes + "!series_matrix_table_begin\n" + series + "!series_matrix_table_end\n")
    counts = turned.rename_axis("Geneid")
    for at, (name, cells) in enumerate({"Chr": "1;1", "Start": "5;9", "End": 12, "Strand": "+;+", "Length": 8}.items()):
        counts.insert(at, name, cells)
    command = '# Program:featureCounts v2.0.3; Command:"featureCounts" "-a" "genes.gtf" "-o" "counts.txt" "s1.bam" \n'
    (GOLDEN / "counts.txt").write_text(command + counts.to_csv(sep="\t"))
    np.savetxt(GOLDEN / "savetxt.txt", VALUES, header="a b c d")


def excel(frame):
    """Workbooks by the two programs that pandas writes them with. XlsxWriter keeps texts in one place, openpyxl too."""
    frame.to_excel(GOLDEN / "table.xlsx", engine="openpyxl")
    turned = pd.DataFrame(VALUES.T, index=FEATURES, columns=IDS)
    turned.index.name = "Name"
    with pd.ExcelWriter(GOLDEN / "book.xlsx", engine="xlsxwriter", datetime_format="d-mmm-yy") as book:
        # As supplements of papers are: a title, an empty row, and the table does not begin at the left.
        frame.to_excel(book, sheet_name="Table S1", startrow=3, startcol=1)
        sheet = book.sheets["Table S1"]
        sheet.write("B1", "Table S1: what was measured, by sample")
        sheet.write("B2", 2024)
        # A note further right, in a format and without a text: it does not make the table wider.
        sheet.write_blank("K20", None, book.book.add_format({"bold": True}))
        turned.to_excel(book, sheet_name="by gene")
        known = pd.DataFrame({"sample": IDS, "when": pd.Timestamp("2024-03-01") + pd.to_timedelta(range(6), "D")})
        known["dose"] = [0.5, None, 1, 1, 2, 2]
        known["kept"] = [True, False, True, True, True, False]
        known["note"] = ["a\tb", "two\nlines", 'say "x"', "=1+1", "<b>&amp;</b>", "gène"]
        known.to_excel(book, sheet_name="samples & notes", index=False)
        book.book.worksheets()[2].write("F1", "double")
        for row in range(6):
            book.book.worksheets()[2].write_formula(row + 1, 5, f"=2*C{row + 2}", None, [1, 0, 2, 2, 4, 4][row])
        book.book.add_worksheet("empty")
    hidden = openpyxl.Workbook()
    hidden.active.title = "first"
    hidden.active.append(["x", "y"])
    hidden.active.append([1, "=A2+1"])
    hidden.active.sheet_state = "hidden"
    shown = hidden.create_sheet("second")
    shown.append(["x", "y"])
    shown.append([1, 2])
    shown.append([3, 5])
    hidden.save(GOLDEN / "hidden.xlsx")


def numpy():
    np.save(GOLDEN / "c.npy", VALUES)
    np.save(GOLDEN / "fortran.npy", np.asfortranarray(VALUES))
    np.save(GOLDEN / "big_endian.npy", VALUES.astype(">f8"))
    for name in ["f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]:
        kind = WHOLE.clip(max=120) if name == "i1" else WHOLE
        np.save(GOLDEN / f"whole_{name}.npy", kind.astype("<" + name))
    np.save(GOLDEN / "bool.npy", WHOLE > 0)
    np.save(GOLDEN / "vector.npy", VALUES[0])
    np.save(GOLDEN / "complex.npy", VALUES.astype(complex))
    np.savez(GOLDEN / "one.npz", VALUES)
    names = np.array(FEATURES)
    np.savez_compressed(GOLDEN / "several.npz", X=VALUES, other=WHOLE, y=np.array(LABELS), number=np.arange(6), names=names)
    scipy.sparse.save_npz(GOLDEN / "scipy_csr.npz", scipy.sparse.csr_matrix(VALUES))
    scipy.sparse.save_npz(GOLDEN / "scipy_csc.npz", scipy.sparse.csc_matrix(VALUES))


def arrow(frame):
    frame.to_parquet(GOLDEN / "table.parquet")
    frame.to_parquet(GOLDEN / "zstd.parquet", compression="zstd", index=True, row_group_size=2)
    categories = frame.assign(**{"class": frame["class"].astype("category")})
    categories.to_parquet(GOLDEN / "categories.parquet", compression="gzip")
    types = pd.DataFrame({t: WHOLE[:, 0].astype(t) for t in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]})
    types["bool"] = WHOLE[:, 1] > 0
    types.to_parquet(GOLDEN / "types.parquet")
    holes = frame.drop(columns="class")
    holes.iloc[1, 0] = None
    holes.to_parquet(GOLDEN / "holes.parquet")
    table = pa.Table.from_pandas(frame)
    pa.feather.write_feather(table, str(GOLDEN / "table.feather"))
    with pa.ipc.new_file(str(GOLDEN / "table.arrow"), table.schema) as out:
        out.write_table(table, max_chunksize=4)
    with pa.ipc.new_stream(str(GOLDEN / "stream.arrows"), table.schema) as out:
        out.write_table(table)


def matlab():
    scipy.io.savemat(GOLDEN / "plain.mat", {"X": VALUES})
    scipy.io.savemat(GOLDEN / "compressed.mat", {"X": VALUES}, do_compression=True)
    sparse = scipy.sparse.csc_matrix(VALUES)
    scipy.io.savemat(GOLDEN / "sparse.mat", {"X": sparse}, do_compression=True)
    everything = {
        "text": "hello",
        "cells": np.array(["a", "bb"], dtype=object),
        "record": {"field": 1.0},
        "X": VALUES,
        "turned": VALUES.T.copy(),
        "whole": WHOLE.astype("u1"),
        "small": VALUES.astype("f4"),
        "flags": WHOLE > 0,
        "cube": np.zeros((2, 2, 2)),
        "y": np.arange(6),
        "classes": np.array(LABELS, dtype=object),
        "letters": np.array(LABELS),
        "flags_sparse": scipy.sparse.csc_matrix(WHOLE > 0),
    }
    scipy.io.savemat(GOLDEN / "several.mat", everything, do_compression=True)


def market(name, matrix, **options):
    scipy.io.mmwrite(GOLDEN / f"{name}.mtx", matrix, **options)


def matrix_market():
    market("coordinate", scipy.sparse.coo_matrix(VALUES), precision=17)
    market("array", VALUES, precision=17)
    market("integer", scipy.sparse.coo_matrix(WHOLE))
    market("pattern", scipy.sparse.coo_matrix(WHOLE > 0), field="pattern")
    square = VALUES[:4] + VALUES[:4].T
    market("symmetric", scipy.sparse.coo_matrix(square), symmetry="symmetric", precision=17)
    market("symmetric_array", square, symmetry="symmetric", precision=17)
    skew = VALUES[:4] - VALUES[:4].T
    market("skew", scipy.sparse.coo_matrix(skew), symmetry="skew-symmetric", precision=17)
    np.save(GOLDEN / "symmetric.npy", square)
    np.save(GOLDEN / "skew.npy", skew)
    with open(GOLDEN / "coordinate.mtx", "rb") as plain, gzip.GzipFile(GOLDEN / "coordinate.mtx.gz", "wb", mtime=1) as out:
        shutil.copyfileobj(plain, out)


def tenx():
    """Genes in rows, cells in columns, as Cell Ranger writes them."""
    for name, end in [("tenx3", ".gz"), ("tenx2", "")]:
        folder = GOLDEN / name
        folder.mkdir(exist_ok=True)
        features = [f"ENSG{i}\t{gene}" for i, gene in enumerate(FEATURES)]
        if end:
            features = [line + "\tGene Expression" for line in features]
        files = {
            "features.tsv" if end else "genes.tsv": "\n".join(features) + "\n",
            "barcodes.tsv": "\n".join(IDS) + "\n",
            "matrix.mtx": (GOLDEN / "coordinate_turned.mtx").read_text(),
        }
        for file, content in files.items():
            data = content.encode()
            (folder / (file + end)).write_bytes(gzip.compress(data, mtime=1) if end else data)


def h5ad():
    obs = pd.DataFrame({"class": pd.Categorical(LABELS), "text": LABELS, "number": range(6)}, index=IDS)
    obs["flag"] = [True, False, True, False, True, True]
    obs["hole"] = pd.Categorical(["a", None, "b", "a", "a", "b"])
    var = pd.DataFrame({"length": [1, 2, 3, 4]}, index=FEATURES)
    kinds = {"dense": VALUES, "csr": scipy.sparse.csr_matrix(VALUES), "csc": scipy.sparse.csc_matrix(VALUES)}
    for name, x in kinds.items():
        data = anndata.AnnData(x, obs=obs.copy(), var=var.copy())
        data.layers["double"] = 2 * x
        if name == "dense":
            data.layers["small"] = x.astype("f4")
        data.obsm["X_old"] = VALUES[:, :2]
        data.uns["note"] = "kept"
        compression = None if name == "dense" else "gzip"
        data.write_h5ad(GOLDEN / f"{name}.h5ad", compression=compression)
    again = anndata.AnnData(VALUES, obs=obs.copy(), var=var.copy())
    again.uns["ewca"] = {"old": 1}
    again.obsm["X_ewca"] = VALUES[:, :3]
    again.varm["EWCs"] = VALUES[:4, :3]
    again.obsp["ewca_plan"] = scipy.sparse.csr_matrix(np.eye(6))
    again.write_h5ad(GOLDEN / "again.h5ad")


def colours():
    """What AnnData files have in uns for the colours of classes, and what they may have there."""
    obs = pd.DataFrame({"text": LABELS}, index=IDS)
    palettes = {
        "class": ["#d62728", "#2CA02C", "#1f77b4"],
        "few": ["#d62728"],
        "words": ["red", "green", "blue"],
        "script": ["#d62728", "#1f77b4", "</script><script>alert(1)</script>"],
        "transparent": ["#ff0000ff", "#00ff0080", "#123"],
        "many": [f"#00000{i}" for i in range(1, 10)],
    }
    for name in palettes:
        obs[name] = pd.Categorical(LABELS, ["red", "green", "blue"])
    data = anndata.AnnData(VALUES, obs=obs, var=pd.DataFrame(index=FEATURES))
    for name, palette in palettes.items():
        data.uns[f"{name}_colors"] = np.array(palette, dtype=object)
    data.uns["text_colors"] = np.arange(3)
    data.obs["transparent"] = pd.Categorical(LABELS, ["red", "green", "blue"])
    data.write_h5ad(GOLDEN / "colours.h5ad")


def other_cells():
    """Single cells in files of others: 10x (as Cell Ranger lays them out), loom (by loompy), AnnData of before 0.7, MATLAB 7.3."""
    by_cell = scipy.sparse.csr_matrix(VALUES)

    def fill(group):
        for name in ("data", "indices", "indptr"):
            group.create_dataset(name, data=getattr(by_cell, name), compression="gzip")
        group["shape"] = np.array([4, 6], "i4")
        group["barcodes"] = np.array(IDS, "S")

    names, ids = np.array([gene.encode() for gene in FEATURES]), np.array([f"ENSG{i}".encode() for i in range(4)])
    with h5py.File(GOLDEN / "tenx3.h5", "w") as file:
        fill(file.create_group("matrix"))
        features = file["matrix"].create_group("features")
        features["id"], features["name"] = ids, names
        features["feature_type"] = [b"Gene Expression"] * 3 + [b"Antibody Capture"]
    with h5py.File(GOLDEN / "tenx2.h5", "w") as file:
        fill(file.create_group("GRCh38"))
        file["GRCh38/genes"], file["GRCh38/gene_names"] = ids, names
    loompy.create(str(GOLDEN / "cells.loom"), VALUES.T, {"Gene": np.array(FEATURES)}, {"CellID": np.array(IDS), "class": np.array(LABELS)})
    words, codes = np.unique(LABELS, return_inverse=True)
    obs = np.array(list(zip(IDS, codes, VALUES[:, 0])), [("index", "S2"), ("class", "i1"), ("size", "f4")])
    with h5py.File(GOLDEN / "old.h5ad", "w") as file:
        file["X"], file["obs"] = VALUES, obs
        file["var"] = np.array([(name,) for name in names], [("index", "S8")])
        file["uns/class_categories"] = words.astype("S")
    hdf5storage.savemat(str(GOLDEN / "v73.mat"), {"X": VALUES, "y": np.arange(6.0)}, format="7.3", store_python_metadata=False)
    matlab_sparse()
    compressed_chunks()


def compressed_chunks():
    """As hdf5plugin compresses them; ZFP is one that is not read."""
    kinds = {"zstd": hdf5plugin.Zstd(), "blosc": hdf5plugin.Blosc(), "lz4": hdf5plugin.LZ4(), "bzip2": hdf5plugin.BZip2()}
    for name, options in (kinds | {"zfp": hdf5plugin.Zfp(reversible=True)}).items():
        with h5py.File(GOLDEN / f"{name}.h5ad", "w") as file, h5py.File(GOLDEN / "dense.h5ad") as dense:
            for part in ("obs", "var"):
                dense.copy(part, file)
            file.create_dataset("X", data=VALUES, chunks=(3, 4), compression=options)


def matlab_sparse():
    """A sparse matrix as MATLAB keeps it in version 7.3; hdf5storage has none. Its last row is empty, and one matrix has no entries."""
    by_column = scipy.sparse.csc_matrix(np.vstack([VALUES, np.zeros(4)]))
    with h5py.File(GOLDEN / "sparse73.mat", "w", userblock_size=512) as file:
        for name, matrix in {"X": by_column, "nothing": scipy.sparse.csc_matrix((3, 2))}.items():
            group = file.create_group(name)
            group.attrs["MATLAB_class"] = np.bytes_("double")
            group.attrs["MATLAB_sparse"] = np.uint64(matrix.shape[0])
            group["jc"] = matrix.indptr.astype("u8")
            if matrix.nnz:
                group["ir"], group["data"] = matrix.indices.astype("u8"), matrix.data
        file["y"] = np.arange(7.0)[:, None]
        file["y"].attrs["MATLAB_class"] = np.bytes_("double")
    front = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, HDF5 schema 1.00 .".ljust(116) + bytes(8) + bytes([0, 2]) + b"IM"
    with open(GOLDEN / "sparse73.mat", "r+b") as file:
        file.write(front.ljust(512, b"\0"))


def bombs():
    """Sixteen MiB of text that take little room; both formats allow that they come again and again."""
    text = b"1,2\n" * (1 << 22)
    (GOLDEN / "ones.csv.bz2").write_bytes(bz2.compress(text))
    (GOLDEN / "ones.csv.xz").write_bytes(lzma.compress(text))


def elsewhere():
    """AnnData files whose data is not in them, and some that only look like it. They name `secret.bin`, `secret.h5` and `pipe`."""
    folder = GOLDEN / "elsewhere"
    folder.mkdir(exist_ok=True)

    def start(name, libver):
        file = h5py.File(folder / f"{name}.h5ad", "w", libver=libver)
        for frame, names in (("obs", IDS), ("var", ["f1", "f2", "f3", "f4"])):
            group = file.create_group(frame)
            group.attrs["_index"] = "_index"
            group.create_dataset("_index", data=[name.encode() for name in names])
        return file

    def virtual(file, source, shape=(6, 4), unlimited=False):
        layout = h5py.VirtualLayout(shape, dtype="f8", maxshape=(None, 4) if unlimited else None)
        source = h5py.VirtualSource(source, "X", shape, dtype="f8", maxshape=(None, 4) if unlimited else None)
        if unlimited:
            layout[0 : h5py.h5s.UNLIMITED, :] = source[0 : h5py.h5s.UNLIMITED, :]
        else:
            layout[:, :] = source
        file.create_virtual_dataset("X", layout)

    for libver in ("earliest", "latest"):
        with start(f"external_storage_{libver}", libver) as file:
            file.create_dataset("X", (6, 4), "f8", external=[("secret.bin", 0, 192)])
        with start(f"external_link_{libver}", libver) as file:
            file["X"] = h5py.ExternalLink("secret.h5", "/X")
        with start(f"virtual_{libver}", libver) as file:
            virtual(file, "secret.h5")
        with start(f"virtual_unlimited_{libver}", libver) as file:
            virtual(file, "pipe", unlimited=True)
        # Many names: they are in a heap, not in the header.
        with start(f"many_links_{libver}", libver) as file:
            many = file.create_group("layers")
            for number in range(40):
                many[f"layer{number:02}"] = h5py.SoftLink("/X")
            many["hidden"] = h5py.ExternalLink("secret.h5", "/X")
            file["X"] = VALUES
        # Nothing leaves the file here.
        with start(f"at_home_{libver}", libver) as file:
            file["data/real"] = VALUES
            file["X"] = h5py.SoftLink("/data/real")
            for number in range(40):
                file[f"uns/note{number:02}"] = number
            file["uns/itself"] = file["uns"]
    with start("external_names", "earliest") as file:
        file["X"] = VALUES
        del file["obs/_index"]
        file["obs/_index"] = h5py.ExternalLink("secret.h5", "/names")
    with start("external_group", "earliest") as file:
        file["X"] = VALUES
        del file["obs"]
        file["obs"] = h5py.ExternalLink("secret.h5", "/obs")
    with start("soft_to_external", "latest") as file:
        file["X"] = h5py.SoftLink("/deep/er/way_out")
        file["deep/er/way_out"] = h5py.ExternalLink("secret.h5", "/X")
    with start("sparse_storage", "earliest") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"] = "csr_matrix"
        group["data"] = np.ones(2)
        group["indices"] = np.array([0, 1])
        group.create_dataset("indptr", (7,), "i8", external=[("secret.bin", 0, 56)])
    with start("same_file_virtual", "latest") as file:
        file["real"] = VALUES
        virtual(file, ".")


def main():
    shutil.rmtree(GOLDEN, ignore_errors=True)
    GOLDEN.mkdir()
    frame = pd.DataFrame(VALUES, index=IDS, columns=FEATURES)
    frame.insert(2, "class", LABELS)
    text(frame)
    as_people_have_it(frame)
    excel(frame)
    numpy()
    arrow(frame)
    matlab()
    matrix_market()
    market("coordinate_turned", scipy.sparse.coo_matrix(VALUES.T), precision=17)
    tenx()
    h5ad()
    colours()
    other_cells()
    bombs()
    elsewhere()


if __name__ == "__main__":
    main()
