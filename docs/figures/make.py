"""The figures of the guide that no other command makes: `python docs/figures/make.py [NAME...]`.

The others in this folder are made by `ewca reproduce`, and those of docs/gallery by python/examples; the caption of each says so.
"""

import os
import pathlib
import re
import sys
import tempfile
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas

import ewca
import ewca.plot

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ.get("EWCA_FIGURES", ROOT / "docs" / "figures"))
sys.path.insert(0, str(ROOT / "docs" / "tools"))
import examples  # noqa: E402

#: Colours that most people can tell apart (Okabe and Ito).
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]


def example(name):
    """An example file of the site as a data frame."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / name
        examples.FILES[name](file)
        return pandas.read_csv(file, index_col=0)


def khan():
    table = pandas.read_csv(ROOT / "data" / "khan2001.csv.gz").query("split == 'train'").set_index("sample")
    return table.drop(columns=["split", "class"]), table["class"].to_numpy()


def points(ax, scores, labels, title):
    for number, name in enumerate(sorted(set(labels))):
        ax.scatter(*scores[labels == name].T, s=26, linewidths=0, alpha=0.85, color=COLOURS[number], label=name)
    ax.set(title=title, xlabel="ewca1", ylabel="ewca2")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)


def scaling():
    table = example("units.csv")
    group, X = table["group"].to_numpy(), table.drop(columns="group")
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    with warnings.catch_warnings():
        # That one feature dominates is what the left side shows.
        warnings.simplefilter("ignore")
        raw = ewca.EWCA(n_components=2).fit_transform(X)
    points(axes[0], raw, group, "as they are: platelets decide")
    axes[0].ticklabel_format(style="sci", scilimits=(0, 0))
    points(axes[1], ewca.EWCA(n_components=2).fit_transform(X / X.std()), group, "scaled to unit variance: all count")
    return figure


def batches():
    table = example("batches.csv")
    X = table.drop(columns=["class", "batch"])
    scores = ewca.EWCA(n_components=5).fit_transform(X)[:, :2]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True, sharey=True)
    points(axes[0], scores, table["class"].to_numpy(), "coloured by class")
    points(axes[1], scores, table["batch"].to_numpy(), "coloured by batch")
    return figure


def collapse():
    X, kind = khan()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True, sharey=True)
    good = ewca.EWCA(n_components=5).fit(X)
    with warnings.catch_warnings():
        # It is made to collapse.
        warnings.simplefilter("ignore")
        wide = ewca.EWCA(n_components=5, perplexity=50).fit(X)
    assert wide.certificate_.collapsed and not good.certificate_.collapsed
    points(axes[0], good.embedding_[:, 3:5], kind, "perplexity 5")
    points(axes[1], wide.embedding_[:, 3:5], kind, "perplexity 50: collapsed")
    for ax in axes:
        ax.set(xlabel="ewca4", ylabel="ewca5")
    return figure


def layout():
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    rows = [["sample", "class", "TP53", "MYC", "EGFR"], ["s1", "tumour", "5.1", "2.0", "7.7"], ["s2", "normal", "4.8", "0.3", "3.1"], ["s3", "tumour", "5.0", "2.2", "7.9"]]
    turned = [["gene", "s1", "s2", "s3"], ["TP53", "5.1", "4.8", "5.0"], ["MYC", "2.0", "0.3", "2.2"], ["EGFR", "7.7", "3.1", "7.9"]]
    plain = "samples in rows: as expected\newca fit table.csv --id sample --label class"
    other = "features in rows: turn it\newca fit table.csv --id gene --transpose"
    for ax, cells, title in zip(axes, (rows, turned), (plain, other)):
        ax.axis("off")
        table = ax.table(cells, loc="center", cellLoc="center")
        table.auto_set_font_size(False)
        table.set_fontsize(11)
        table.scale(1, 1.7)
        for (row, column), cell in table.get_celld().items():
            cell.set_edgecolor("#bbbbbb")
            name = row == 0 or column == 0
            kept = cells is rows and column == 1 and row > 0
            cell.set_facecolor("#e8f1f7" if name else "#fdf0e3" if kept else "white")
        ax.set_title(title, fontsize=11, family="monospace")
    return figure


def price():
    """The times in the table of bench/PRICE.md, data set by data set."""
    text = (ROOT / "bench" / "PRICE.md").read_text()
    header, _, *rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in text.splitlines() if line.startswith("|")]
    sets = [dict(zip(header, row)) for row in rows]
    figure, ax = plt.subplots(figsize=(9, 0.42 * len(sets) + 1.2), layout="constrained")
    for name, colour, marker in [("PCA", "#888888", "s"), ("UMAP", "#0072B2", "^"), ("openTSNE", "#009E73", "v"), ("EWCA", "#D55E00", "o")]:
        told = [(seconds(cells[name]), place) for place, cells in enumerate(sets) if cells[name]]
        ax.scatter(*zip(*told), s=70 if name == "EWCA" else 40, color=colour, marker=marker, label=name, zorder=3)
    names = [f"{re.sub(', six weak clusters', '', cells['data'])}, k = {cells['k']}" for cells in sets]
    ax.set(xscale="log", xlabel="seconds for a whole fit", yticks=range(len(sets)), yticklabels=names)
    ax.invert_yaxis()
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.4, 1.0))
    return figure


def seconds(text):
    """A time of the table, such as "9.0 ms"."""
    value, unit = text.split()
    return float(value) * {"s": 1, "ms": 1e-3}[unit]


FIGURES = {function.__name__: function for function in (scaling, batches, collapse, layout, price)}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or FIGURES:
        figure = FIGURES[name]()
        figure.savefig(FOLDER / f"{name}.png", dpi=100, facecolor="white", metadata={"Software": None})
        plt.close(figure)
