"""Genes: four kinds of tumours by the expression of 2308 genes (khan2001), and which genes tell them apart."""

import os
import pathlib

import matplotlib.pyplot as plt
import pandas

import ewca
import ewca.plot

GALLERY = pathlib.Path(os.environ.get("EWCA_GALLERY", "docs/gallery"))
DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "khan2001.csv.gz"

table = pandas.read_csv(DATA)
train, test = table[table["split"] == "train"], table[table["split"] == "test"]
genes = [name for name in table.columns if name not in ("sample", "split", "class")]

model = ewca.EWCA(n_components=5, perplexity=5).fit(train[genes])
print(f"5 components explain {100 * model.explained_variance_ratio_.sum():.1f}% of the variance")

# New samples: whom do they lie among? The plan's rows are shares over the training samples.
rows = pandas.DataFrame(model.plan_rows(test[genes]), columns=train["class"].to_numpy())
guess = rows.T.groupby(level=0).sum().idxmax().to_numpy()
known = test["class"].isin(train["class"]).to_numpy()
right = (guess == test["class"].to_numpy())[known].sum()
print(f"{right} of {known.sum()} new samples lie mostly among their own class")

figure, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained", width_ratios=[1.1, 1.1, 0.8])
labels = train["class"].to_numpy()
ewca.plot.embedding(model, labels, ax=axes[0]).set_title("63 tumours, linked to their partners")
ewca.plot.plan(model, labels, ax=axes[1]).set_title("The plan, by class")
ewca.plot.loadings(model, component=0, ax=axes[2]).set_title("Genes of the first component")
GALLERY.mkdir(parents=True, exist_ok=True)
figure.savefig(GALLERY / "khan2001.png", dpi=80)
