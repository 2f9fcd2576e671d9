#!/usr/bin/env python3
"""Gets the gene-expression sets of `ewca reproduce evidence` into a local folder.

    python3 crates/ewca-paper/evidence/fetch.py [FOLDER]        (target/evidence when none is given)

The sets come inside two Python packages, which pip downloads by name and which are read without being installed:
biclustlib, the 35 cancer sets of de Souto et al., "Clustering cancer gene expression data: a comparative study", BMC
Bioinformatics 9:497 (2008); ISLP, NCI60 and Khan et al. (2001) as in "An Introduction to Statistical Learning". Each becomes
FOLDER/NAME.csv, one row per sample, the label first, numbers as their authors wrote them: nothing is scaled or logged here.

Packages and converted files must have the SHA-256 sums of packages.csv and sets.csv beside this script, or they are refused.
`--record` writes those two lists anew, for whoever adds a set. Needs Python 3.9 with pip, and nothing else.
"""

import argparse
import ast
import csv
import hashlib
import io
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "packages.csv"
SETS = HERE / "sets.csv"
BENCHMARK = "biclustlib/datasets/data/cancer_benchmark/"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=HERE.parents[2] / "target/evidence")
    parser.add_argument("--record", action="store_true", help="write packages.csv and sets.csv instead of checking them")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    packages = read_list(PACKAGES)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as downloads:
        wheels = {p["package"]: fetched(p, Path(downloads), arguments.record) for p in packages}
        sets = [*cancer_sets(wheels["biclustlib"]), khan(wheels["ISLP"]), nci60(wheels["ISLP"])]
    known = {} if arguments.record else {s["name"]: s["sha256"] for s in read_list(SETS)}
    rows = [converted(one, arguments.folder, known, arguments.record) for one in sets]
    missing = set(known) - {row["name"] for row in rows}
    if missing:
        sys.exit(f"the packages lack {', '.join(sorted(missing))}")
    if arguments.record:
        write_list(PACKAGES, packages)
        write_list(SETS, rows)
    # The list goes last: a folder that has it is complete.
    write_list(arguments.folder / "sets.csv", rows)
    print(f"{len(rows)} sets in {arguments.folder}")


def fetched(package, folder, record):
    """The wheel of a package, as pip downloads it, refused when it is not the recorded file."""
    wanted = f"{package['package']}=={package['version']}"
    own = folder / package["package"]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(own)]
    if subprocess.run([*pip, wanted]).returncode != 0:
        sys.exit(f"pip could not download {wanted}")
    [wheel] = own.iterdir()
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if record:
        package["sha256"] = found
    elif found != package["sha256"]:
        sys.exit(f"{wheel.name} has SHA-256 {found}, not {package['sha256']}: refused")
    return zipfile.ZipFile(wheel)


def cancer_sets(wheel):
    """Tab-separated: a first row with the class of each sample, then one row per gene."""
    for path in sorted(n for n in wheel.namelist() if n.startswith(BENCHMARK) and n.endswith("_database.txt")):
        name = path[len(BENCHMARK) : -len("_database.txt")]
        lines = wheel.read(path).decode().splitlines()
        (_, *labels), *genes = (line.split("\t") for line in lines if line.strip())
        names = [gene[0].strip('"') for gene in genes]
        yield name, name.split("-")[0], names, labels, list(zip(*(gene[1:] for gene in genes)))


def khan(wheel):
    """The train and the test half one after the other; classes are numbers."""
    read = lambda part: list(csv.reader(io.StringIO(wheel.read(f"ISLP/data/Khan_{part}.csv").decode())))
    (names, *train), (_, *test) = read("xtrain"), read("xtest")
    labels = [row[0] for part in ("ytrain", "ytest") for row in read(part)[1:]]
    return "islp-khan", "khan", names, labels, train + test


def nci60(wheel):
    """A .npy file of doubles, row after row."""
    raw = wheel.read("ISLP/data/NCI60data.npy")
    (length,) = struct.unpack("<H", raw[8:10])
    header = ast.literal_eval(raw[10 : 10 + length].decode())
    if raw[:8] != b"\x93NUMPY\x01\x00" or header["descr"] != "<f8" or header["fortran_order"]:
        sys.exit("NCI60data.npy is not laid out as expected")
    rows, columns = header["shape"]
    values = struct.unpack(f"<{rows * columns}d", raw[10 + length :])
    labels = [row[0] for row in csv.reader(io.StringIO(wheel.read("ISLP/data/NCI60labs.csv").decode()))][1:]
    cells = [[repr(v) for v in values[i * columns : (i + 1) * columns]] for i in range(rows)]
    return "islp-nci60", "nci60", [f"gene{j + 1}" for j in range(columns)], labels, cells


def converted(one, folder, known, record):
    """Writes one set, if it is the recorded one, and returns its line of the list."""
    name, study, genes, labels, rows = one
    if len(labels) != len(rows) or any(len(row) != len(genes) for row in rows):
        sys.exit(f"{name}: rows of different lengths")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["label", *distinct(genes)])
    writer.writerows([label, *row] for label, row in zip(labels, rows))
    content = text.getvalue().encode()
    found = hashlib.sha256(content).hexdigest()
    if not record and known.get(name) != found:
        sys.exit(f"{name}: the converted file has SHA-256 {found}, not {known.get(name)}: refused")
    replace(folder / f"{name}.csv", content)
    return {"name": name, "study": study, "samples": len(rows), "features": len(genes), "sha256": found}


def distinct(names):
    """Names that come again get a number: a table's columns need distinct names."""
    seen = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}.{seen[name]}"


def read_list(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_list(path, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    replace(path, text.getvalue().encode())


def replace(path, content):
    """Under a temporary name first, so that a file is whole or absent."""
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    os.replace(partial, path)


if __name__ == "__main__":
    main()
