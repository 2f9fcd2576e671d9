"""The same bits as the ewca program (and so the Rust library), both ways through the model file."""

import json
import subprocess

import numpy as np
import pytest

import ewca
from ewca import EWCA

KHAN = ["data/khan2001.csv.gz", "--where", "split=train", "--label", "class", "--id", "sample"]


def run(binary, *words):
    root = __import__("conftest").ROOT
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, cwd=root)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


def scores_of(file):
    rows = [line.split(",") for line in file.read_text().splitlines()]
    first = rows[0].index("ewca1")
    return np.array([[float(x) for x in row[first:]] for row in rows[1:]])


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ([], {}),
        (["--epsilon", 60], {"epsilon": 60}),
        (["--perplexity", 8, "--solver", "mm", "--tolerance", 1e-4], {"perplexity": 8, "solver": "mm", "tol": 1e-4}),
        (["--epsilon", 30, "--solver", "bcd", "--max-iterations", 20], {"epsilon": 30, "solver": "bcd", "max_iter": 20}),
        (["--epsilon", 100, "--approximate", 40], {"epsilon": 100, "landmarks": 40}),
        (["--epsilon", 100, "--restarts", 3, "--seed", 7], {"epsilon": 100, "n_init": 4, "random_state": 7}),
    ],
)
@pytest.mark.filterwarnings("ignore:EWCA did not converge", "ignore:EWCA's kernel is approximate")
def test_fits_have_the_same_bits(binary, khan, tmp_path, words, settings):
    run(binary, "fit", *KHAN, "-k", 5, *words, "-o", tmp_path)
    X, _ = khan
    model = EWCA(5, **settings).fit(X)
    theirs = EWCA.load(tmp_path / "model.safetensors")
    for name in ("components_", "mean_", "embedding_", "explained_variance_", "potential_", "history_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(theirs, name))
    assert (model.loss_, model.epsilon_, model.perplexity_) == (theirs.loss_, theirs.epsilon_, theirs.perplexity_)
    assert str(model.certificate_) == str(theirs.certificate_)
    # Also as the program prints them: numbers in its files read back to the same bits.
    np.testing.assert_array_equal(scores_of(tmp_path / "scores.csv"), model.embedding_)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["loss"] == model.loss_


def test_our_models_work_in_the_program(binary, khan, tmp_path):
    X, _ = khan
    model = EWCA(3).fit(X)
    file = tmp_path / "model.safetensors"
    model.save(file)
    np.save(tmp_path / "new.npy", X[:10])
    run(binary, "transform", file, tmp_path / "new.npy", "-o", tmp_path / "new.csv")
    np.testing.assert_array_equal(scores_of(tmp_path / "new.csv"), model.transform(X[:10]))
    about = run(binary, "inspect", file)
    assert "3" in about
    # Through the file nothing is lost.
    again = EWCA.load(file)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.transport_plan(), model.transport_plan())
    assert again.n_features_in_ == 2308 and not hasattr(again, "feature_names_in_")


def test_names_and_preprocessing_come_along(binary, blobs, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, _ = blobs
    frame = pandas.DataFrame(np.exp(X / 3), columns=[f"g{j}" for j in range(12)])
    frame.to_csv(tmp_path / "table.csv", index=False)
    steps = ["--normalize-total", 100, "--log1p", "--top-variable", 7, "--scale", "unit-variance"]
    run(binary, "fit", tmp_path / "table.csv", "-k", 2, *steps, "-o", tmp_path / "out")
    model = EWCA.load(tmp_path / "out" / "model.safetensors")
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 12 and model.components_.shape == (2, 7)
    np.testing.assert_allclose(model.transform(frame), model.embedding_, atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[frame.columns[::-1]])
    named = EWCA(2).fit(frame)
    named.save(tmp_path / "named.safetensors")
    run(binary, "transform", tmp_path / "named.safetensors", tmp_path / "table.csv", "-o", tmp_path / "scores.csv")
    np.testing.assert_array_equal(scores_of(tmp_path / "scores.csv"), named.transform(frame))
    assert list(EWCA.load(tmp_path / "named.safetensors").feature_names_in_) == list(frame.columns)


def test_paths_have_the_same_bits(binary, khan, tmp_path):
    X, _ = khan
    run(binary, "path", *KHAN, "-k", 5, "--epsilons", "5,50,500", "-o", tmp_path / "path.csv")
    header, *rows = [line.split(",") for line in (tmp_path / "path.csv").read_text().splitlines()]
    ours = ewca.path(X, [500, 5, 50], n_components=5)
    order = np.argsort(ours.epsilons)
    for name, values in [
        ("epsilon", ours.epsilons),
        ("loss", ours.losses),
        ("perplexity", ours.perplexities),
        ("distance_to_pca", ours.distances_to_pca),
        ("eigenvalue", ours.eigenvalues[:, -1]),
    ]:
        column = [float(row[header.index(name)]) for row in rows]
        np.testing.assert_array_equal(column, values[order])


def test_selection_is_the_program_s(binary, khan, tmp_path):
    X, y = khan
    run(binary, "select", *KHAN, "-k", "4..5", "--epsilons", "20,60", "--splits", 20, "-o", tmp_path / "select.csv")
    header, *rows = [line.split(",") for line in (tmp_path / "select.csv").read_text().splitlines()]
    ours = ewca.select(X, y, [4, 5], [20, 60], n_splits=20)
    theirs = {(row[header.index("method")], float(row[header.index("k")])): row for row in rows}
    for cell in ours.cells:
        row = theirs["ewca", cell["n_components"]]
        assert float(row[header.index("mean")]) == cell["ewca"][0]
        assert float(row[header.index("epsilon")]) == cell["epsilon"]
        assert float(theirs["pca", cell["n_components"]][header.index("q3")]) == cell["pca"][3]


def layout_of(values):
    """Names, types and shapes of what is in a part of an AnnData object."""
    if hasattr(values, "keys"):
        return {name: layout_of(values[name]) for name in values.keys()}
    return type(values), getattr(values, "dtype", None), getattr(values, "shape", None)


@pytest.mark.parametrize("landmarks", [None, 40])
@pytest.mark.filterwarnings("ignore")
def test_annotated_cells_have_the_same_layout(binary, blobs, tmp_path, landmarks):
    import anndata

    import ewca.scanpy

    made = anndata.AnnData(blobs[0].copy())
    made.layers["twice"] = 2 * made.X
    made.write_h5ad(tmp_path / "in.h5ad")
    words = [] if landmarks is None else ["--approximate", landmarks]
    out = ["-o", tmp_path / "out", "--write-anndata", tmp_path / "theirs.h5ad", "--partners", 15]
    run(binary, "fit", tmp_path / "in.h5ad", "--layer", "twice", "-k", 3, "--epsilon", 8, *words, *out)
    ewca.scanpy.ewca(made, 3, epsilon=8.0, layer="twice", landmarks=landmarks)
    made.write_h5ad(tmp_path / "ours.h5ad")
    ours, theirs = (anndata.read_h5ad(tmp_path / name) for name in ("ours.h5ad", "theirs.h5ad"))
    for part in ("obsm", "varm", "obsp", "uns"):
        assert layout_of(getattr(ours, part)) == layout_of(getattr(theirs, part)), part
    assert "approximate_landmarks" not in ours.uns["ewca"] or landmarks
    # And the same values.
    for name in ("version", "epsilon", "perplexity", "loss", "termination", "marginal_error", "relative_gradient", "collapsed"):
        assert ours.uns["ewca"][name] == theirs.uns["ewca"][name], name
    assert ours.uns["ewca"]["params"] == theirs.uns["ewca"]["params"]
    np.testing.assert_array_equal(ours.uns["ewca"]["variance"], theirs.uns["ewca"]["variance"])
    np.testing.assert_array_equal(ours.obsm["X_ewca"], theirs.obsm["X_ewca"])
    np.testing.assert_array_equal(ours.varm["EWCs"], theirs.varm["EWCs"])
    np.testing.assert_array_equal(ours.obsp["ewca_plan"].toarray(), theirs.obsp["ewca_plan"].toarray())


def test_damaged_files_are_refused(blobs, tmp_path):
    X, _ = blobs
    file = tmp_path / "model.safetensors"
    EWCA(2).fit(X).save(file)
    whole = file.read_bytes()
    for damaged, message in [(whole[:-9], "ends too early"), (b"", "empty"), (b"hello" * 9, "no safetensors file")]:
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=message):
            EWCA.load(file)
    with pytest.raises(OSError, match="nothing.safetensors"):
        EWCA.load(tmp_path / "nothing.safetensors")
    with pytest.raises(OSError):
        EWCA(2).fit(X).save(tmp_path / "no" / "folder" / "model.safetensors")
