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
@pytest.mark.filterwarnings("ignore:EWCA did not converge", "ignore:EWCA's approximation with")
def test_fits_have_the_same_bits(binary, khan, tmp_path, words, settings):
    run(binary, "fit", *KHAN, "-k", 5, *words, "-o", tmp_path)
    X, _ = khan
    model = EWCA(5, **settings).fit(X)
    theirs = EWCA.load(tmp_path / "model.safetensors")
    for name in ("components_", "mean_", "embedding_", "explained_variance_", "potential_", "history_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(theirs, name))
    assert (model.loss_, model.epsilon_, model.perplexity_) == (theirs.loss_, theirs.epsilon_, theirs.perplexity_)
    assert str(vars(model.certificate_)) == str(vars(theirs.certificate_))
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
    # The same steps from Python have the same bits, and a fit of the model that was loaded does them again.
    wanted = {"normalize_total": 100, "log1p": True, "top_variable": 7, "unit_variance": True}
    assert model.get_params() == {**EWCA().get_params(), "preprocessing": wanted}
    table = pandas.read_csv(tmp_path / "table.csv", float_precision="round_trip")
    for ours in (EWCA(2, preprocessing=wanted).fit(table), EWCA.load(tmp_path / "out" / "model.safetensors").fit(table)):
        np.testing.assert_array_equal(ours.embedding_, model.embedding_)
        np.testing.assert_array_equal(ours.inverse_transform(ours.embedding_), model.inverse_transform(model.embedding_))
    assert model.inverse_transform(model.embedding_).shape == table.shape
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


def test_the_number_of_components_is_the_program_s(binary, khan, tmp_path):
    X, _ = khan
    run(binary, "fit", *KHAN, "-k", "auto", "-o", tmp_path)
    theirs = json.loads((tmp_path / "summary.json").read_text())["parallel_analysis"]
    ours = EWCA("auto").fit(X)
    assert (ours.n_components_, ours.scree_.above) == (theirs["above"], theirs["above"])
    np.testing.assert_array_equal(ours.scree_.variances, theirs["variances"])
    np.testing.assert_array_equal(ours.scree_.permuted, theirs["permuted"])
    np.testing.assert_array_equal(ours.embedding_, EWCA.load(tmp_path / "model.safetensors").embedding_)


@pytest.mark.parametrize("method", ["ewca", "pca"])
def test_the_recommendation_is_the_program_s(binary, khan, tmp_path, method):
    from sklearn.datasets import load_iris

    X, y = khan if method == "pca" else load_iris(return_X_y=True)
    X, y = X[:, :200], np.array([f"c{label}" for label in y])
    np.savetxt(tmp_path / "table.csv", np.column_stack([X.astype(str), y]), fmt="%s", delimiter=",", header=",".join([f"x{j}" for j in range(X.shape[1])] + ["class"]), comments="")
    out = ["-o", tmp_path / "select.csv", "--json"]
    said = run(binary, "select", tmp_path / "table.csv", "--label", "class", "-k", "auto", "--splits", 20, *out)
    theirs = next(event for event in map(json.loads, said.splitlines()) if event["event"] == "select")["recommended"]
    ours = ewca.select(X, y, n_splits=20).recommended
    assert (ours.method, ours.n_components, ours.error) == (method, theirs["k"], theirs["error"])
    assert ours.method == theirs["method"] and ours.epsilon == theirs["epsilon"]
    # The program fits at the epsilon as it prints it.
    assert ours.perplexity == pytest.approx(theirs["perplexity"], rel=1e-3)
    assert (list(ours.other), ours.ahead, ours.behind) == (theirs["other"], theirs["ahead"], theirs["behind"])


def test_covariates_are_the_program_s(binary, blobs, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = blobs
    rng = np.random.default_rng(2)
    names = [f"s{i}" for i in range(90)]
    pandas.DataFrame(X, index=names).rename_axis("sample").to_csv(tmp_path / "table.csv")
    known = pandas.DataFrame({"group": np.array(["x", "y", "z"])[y], "age": rng.normal(40, 9, size=90), "batch": rng.integers(1, 4, size=90), "one": "same"})
    known.loc[::7, "age"] = np.nan
    known.loc[3, "group"] = None
    known.assign(sample=names).to_csv(tmp_path / "known.csv", index=False)
    words = ["--id", "sample", "--metadata", tmp_path / "known.csv", "-k", 3, "-o", tmp_path / "out"]
    run(binary, "fit", tmp_path / "table.csv", *words)
    theirs = pandas.read_csv(tmp_path / "out" / "covariates.csv")
    model = EWCA.load(tmp_path / "out" / "model.safetensors")
    ours = pandas.DataFrame(ewca.covariates(model, known).tests)
    ours["component"] = [f"ewca{component + 1}" for component in ours["component"]]
    order = ["component", "column"]
    theirs, ours = theirs.sort_values(order).reset_index(drop=True), ours.sort_values(order).reset_index(drop=True)
    pandas.testing.assert_frame_equal(ours[list(theirs.columns)], theirs, check_dtype=False, rtol=1e-12)


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
    np.testing.assert_array_equal(ours.varm["ewca_mean"], theirs.varm["ewca_mean"])
    plans = ours.obsp["ewca_plan"], theirs.obsp["ewca_plan"]
    np.testing.assert_array_equal(*(plan.toarray() for plan in plans))
    assert {plan.indices.dtype for plan in plans} | {plan.indptr.dtype for plan in plans} == {np.dtype(np.int32)}


@pytest.mark.filterwarnings("ignore")
def test_other_cells_go_to_the_components_of_the_program(binary, blobs, tmp_path):
    import anndata

    import ewca.scanpy

    cells = anndata.AnnData(np.exp(blobs[0] / 3))
    known, new = cells[:60].copy(), cells[60:, ::-1].copy()
    known.write_h5ad(tmp_path / "in.h5ad")
    fit = ["fit", tmp_path / "in.h5ad", "-k", 3, "--epsilon", 2]
    run(binary, *fit, "-o", tmp_path / "out", "--write-anndata", tmp_path / "reference.h5ad")
    ewca.scanpy.transform(new, anndata.read_h5ad(tmp_path / "reference.h5ad"))
    expected = EWCA.load(tmp_path / "out" / "model.safetensors").transform(cells.X[60:])
    np.testing.assert_allclose(new.obsm["X_ewca"], expected, rtol=1e-5, atol=1e-5)
    # Cells that have not gone through the program's steps would be put anywhere.
    run(binary, *fit, "--log1p", "-o", tmp_path / "logs", "--write-anndata", tmp_path / "logs.h5ad")
    with pytest.raises(ValueError, match='fitted by the program with preprocessing.*"log1p":true'):
        ewca.scanpy.transform(new, anndata.read_h5ad(tmp_path / "logs.h5ad"))


def test_damaged_files_are_refused(blobs, tmp_path):
    X, _ = blobs
    file = tmp_path / "model.safetensors"
    EWCA(2).fit(X).save(file)
    whole = file.read_bytes()
    for damaged, message in [(whole[:-9], "too short or too long"), (b"", "empty"), (b"hello" * 9, "not a safetensors file")]:
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=message):
            EWCA.load(file)
    with pytest.raises(OSError, match="nothing.safetensors"):
        EWCA.load(tmp_path / "nothing.safetensors")
    with pytest.raises(OSError):
        EWCA(2).fit(X).save(tmp_path / "no" / "folder" / "model.safetensors")
