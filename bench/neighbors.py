"""The neighbour graph of `ewca.scanpy.plan_as_neighbors` beside scanpy's own, on the PBMC cells that ship with scanpy.

    python bench/neighbors.py          # writes bench/NEIGHBORS.md

Needs the packages of python/tests/requirements.txt, and ewca (`cargo xtask python` makes target/test-venv with all of it).
"""

import pathlib
import warnings

import numpy as np

warnings.filterwarnings("ignore")

import anndata  # noqa: E402
import igraph  # noqa: E402
import scanpy as sc  # noqa: E402
from scipy.sparse.csgraph import connected_components  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

import ewca.scanpy  # noqa: E402

OUT = pathlib.Path(__file__).with_name("NEIGHBORS.md")
RESOLUTIONS = (0.5, 1.0, 1.5)
SEEDS = range(10)
PERPLEXITIES = (5, 15, 30)


def graphs(adata):
    """Names and keys of the graphs that are compared."""
    sc.pp.pca(adata, n_comps=20)
    sc.pp.neighbors(adata, use_rep="X_pca", key_added="pca")
    yield "scanpy's, from `X_pca`", "pca"
    for perplexity in PERPLEXITIES:
        rep = f"ewca{perplexity}"
        ewca.scanpy.ewca(adata, 20, perplexity=perplexity, key_added=rep)
        about = "" if perplexity != 5 else " (the default)"
        sc.pp.neighbors(adata, use_rep=rep, key_added=f"scores{perplexity}")
        yield f"scanpy's, from `X_ewca` at perplexity {perplexity}{about}", f"scores{perplexity}"
        ewca.scanpy.plan_as_neighbors(adata, key=rep, key_added=f"plan{perplexity}")
        yield f"`plan_as_neighbors` at perplexity {perplexity}{about}", f"plan{perplexity}"


def judged(adata, key, resolution):
    """Agreement with both labels and the number of clusters, of every seed."""
    found = []
    for seed in SEEDS:
        words = {"flavor": "igraph", "n_iterations": 2, "directed": False}
        sc.tl.leiden(adata, resolution, random_state=seed, neighbors_key=key, key_added="found", **words)
        labels = adata.obs["found"]
        agreement = [adjusted_rand_score(adata.obs[truth], labels) for truth in ("louvain", "bulk_labels")]
        found.append([*agreement, labels.nunique()])
    return np.array(found)


def row(adata, name, key):
    links = adata.obsp[f"{key}_connectivities"]
    cells = [name, f"{connected_components(links)[0]}", f"{links.nnz / adata.n_obs:.1f}"]
    for resolution in RESOLUTIONS:
        found = judged(adata, key, resolution)
        (louvain, bulk, clusters), spread = found.mean(axis=0), found.std(axis=0)
        cells += [f"{louvain:.2f} ± {spread[0]:.2f}", f"{bulk:.2f} ± {spread[1]:.2f}", f"{clusters:.1f}"]
    return "| " + " | ".join(cells) + " |"


def table(adata):
    heads = ["graph (15 neighbours)", "components", "links per cell"]
    heads += [f"{what}, {resolution}" for resolution in RESOLUTIONS for what in ("louvain", "bulk_labels", "clusters")]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return "\n".join(lines + [row(adata, name, key) for name, key in graphs(adata)])


ABOUT = """# The plan as a neighbour graph, beside scanpy's own

Made by `python bench/neighbors.py`, with scanpy {scanpy}, anndata {anndata} and igraph {igraph}.

`pbmc68k_reduced` (700 cells, {genes} genes), 20 components, 15 neighbours. Leiden clusters at three resolutions, with {seeds} seeds each (mean and
standard deviation): adjusted Rand index to `louvain` and to `bulk_labels`, and the number of clusters. `louvain` is what scanpy itself found on a
neighbour graph of PCA, so that it favours the first row; `bulk_labels` come from elsewhere (the correlation of each cell with sorted
populations).

{table}

{verdict}
"""

VERDICT = """What this says, of these cells: at the default perplexity the plan's graph clusters as scanpy's graph of the same scores does, within what seeds
make up at resolutions 0.5 and 1, and a little worse at 1.5; at larger perplexities it does as well at 0.5, and is worse than scanpy's graph at
1 and 1.5. Nowhere is it clearly better, and by `bulk_labels` neither is better than scanpy's graph of PCA at perplexity 5. So:

- for clusters and maps, `sc.pp.neighbors(adata, use_rep="X_ewca")`;
- `ewca.scanpy.plan_as_neighbors(adata)` where the graph should be that of the fit, for example to see which cells EWCA holds for near, or to have
  one graph for clusters and for the plan in `obsp["ewca_plan"]`.

Before, strengths were the plan's entries themselves. At the default perplexity most of a cell's mass is then on very few others (half of the
cells spread over fewer than 2.4, some over more than 70): these cells fell into 3 components and about 20 clusters."""


def main():
    adata = sc.datasets.pbmc68k_reduced()
    versions = {"scanpy": sc.__version__, "anndata": anndata.__version__, "igraph": igraph.__version__}
    text = ABOUT.format(genes=adata.n_vars, seeds=len(SEEDS), table=table(adata), verdict=VERDICT, **versions)
    OUT.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
