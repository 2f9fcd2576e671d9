"""Writes tests/golden/zarr.zip.xz: AnnData in Zarr folders, with the tools that people use.

`python make_golden_zarr.py`, with anndata (0.12) and zarr (3.1) installed, after make_golden.py: the folders hold what the
.h5ad files of the same names hold. They are in one archive, since each is some dozens of small files that
have most of their text in common.
"""

import io
import lzma
import pathlib
import tempfile
import zipfile

import anndata
import numpy as np
import zarr
from numcodecs import Zlib

from golden_table import IDS, VALUES

GOLDEN = pathlib.Path(__file__).parent / "golden"


def as_anndata_does(folder):
    """As anndata writes by itself: Blosc in version 2, zstd in version 3."""
    for version in (2, 3):
        anndata.settings.zarr_write_format = version
        for name in ("dense", "csr", "csc", "colours"):
            anndata.read_h5ad(GOLDEN / f"{name}.h5ad").write_zarr(folder / f"v{version}_{name}.zarr")


def other_ways(folder):
    """Other chunks, compressions and orders. Chunks of zeros are not written, and those at the ends are filled up."""

    def start(name, version):
        anndata.settings.zarr_write_format = version
        data = anndata.read_h5ad(GOLDEN / "dense.h5ad")
        data.layers.clear()
        path = folder / f"{name}.zarr"
        data.write_zarr(path)
        root = zarr.open_group(path, mode="r+", use_consolidated=False)
        del root["X"]
        return root

    def fill(array):
        array[:] = VALUES
        array.attrs["encoding-type"] = "array"

    shape = {"shape": VALUES.shape, "dtype": "f8"}
    root = start("v2_zlib_by_columns", 2)
    fill(root.create_array("X", **shape, chunks=(2, 3), compressors=Zlib(), order="F"))
    del root["obs/_index"]
    names = np.array(IDS, dtype="<U3")
    root["obs"].create_array("_index", data=names, chunks=(4,), compressors=None)
    root = start("v2_slashes_big_endian", 2)
    keys = {"name": "v2", "separator": "/"}
    fill(root.create_array("X", shape=VALUES.shape, dtype=">f8", chunks=(4, 3), compressors=None, chunk_key_encoding=keys))
    root = start("v3_gzip_chunks", 3)
    fill(root.create_array("X", **shape, chunks=(2, 3), compressors=zarr.codecs.GzipCodec()))
    root = start("v3_blosc_chunks", 3)
    blosc = zarr.codecs.BloscCodec(cname="zstd", shuffle="bitshuffle")
    keys = {"name": "v2", "separator": "."}
    fill(root.create_array("X", **shape, chunks=(4, 3), compressors=blosc, chunk_key_encoding=keys))
    root = start("v3_shards", 3)
    fill(root.create_array("X", **shape, chunks=(2, 2), shards=(6, 4)))


def main():
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(packed, "w") as archive:
        folder = pathlib.Path(folder)
        as_anndata_does(folder)
        other_ways(folder)
        for path in sorted(folder.rglob("*")):
            # Metadata of all groups once more; what each has of its own is what counts.
            if path.is_file() and path.name != ".zmetadata":
                entry = zipfile.ZipInfo(str(path.relative_to(folder)), date_time=(2000, 1, 1, 0, 0, 0))
                archive.writestr(entry, path.read_bytes())
    (GOLDEN / "zarr.zip.xz").write_bytes(lzma.compress(packed.getvalue(), preset=9))


if __name__ == "__main__":
    main()
