"""Reports show what they say: the data of the page are read from it and recomputed, and are those of the program's report."""

import base64
import html
import json
import re
import subprocess

import anndata
import numpy as np
import pandas
import pytest
import scipy.sparse

import ewca
from ewca import EWCA, _present


def held(page):
    """What a page has to show."""
    return json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.S).group(1))


def column(one):
    """The numbers of a column."""
    steps = np.frombuffer(base64.b64decode(one["values"]), "<u2")
    return one["low"] + (one["high"] - one["low"]) * steps / 65535


def near(one, values):
    """Whether a column has these values, as exactly as its 16 bits allow."""
    np.testing.assert_allclose(column(one), values, atol=np.ptp(values) / 65535 + 1e-9)


def classes(annotation):
    """The class of each sample by name, None where it is missing."""
    values = annotation["values"]
    assert values["kind"] == "classes", annotation
    codes = np.frombuffer(base64.b64decode(values["codes"]), "<u2")
    return [None if code == 65535 else values["names"][code] for code in codes]


def numbers(annotation):
    """The number of each sample, NaN where it is missing."""
    values = annotation["values"]
    assert values["kind"] == "numbers", annotation
    found = column(values["column"])
    found[np.frombuffer(base64.b64decode(values["missing"]), "<u4")] = np.nan
    return found


def by_name(data):
    return {annotation["name"]: annotation for annotation in data["annotations"]}


@pytest.fixture(scope="module")
def fit(blobs):
    X, y = blobs
    frame = pandas.DataFrame(X, columns=[f"gene{j}" for j in range(12)], index=[f"cell {i}" for i in range(90)])
    return EWCA(3, perplexity=6).fit(frame), frame, np.array(["c", "a", "b"])[y]


def test_a_report_shows_the_fit(fit):
    model, frame, labels = fit
    data = held(model.report(frame, obs=labels, name="blobs <b>").html)
    assert data["data"] == {"name": "blobs <b>", "samples": 90, "features": 12, "preprocessing": []}
    assert data["ids"] == list(frame.index) and data["epsilon"] == model.epsilon_
    views = {view["key"]: view for view in data["views"]}
    assert list(views) == ["ewca", "pca", "barycentric"]
    X = frame.to_numpy()
    _, sizes, axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    pca = (X - X.mean(axis=0)) @ axes.T
    for c in range(3):
        near(views["ewca"]["columns"][c], model.embedding_[:, c])
        near(views["barycentric"]["columns"][c], model.barycentric_transform()[:, c])
        # Turned to the side of the fit.
        near(views["pca"]["columns"][c], pca[:, c] * np.sign(pca[:, c] @ model.embedding_[:, c]))
        assert data["components"][c]["ratio"] == model.explained_variance_ratio_[c]
        assert data["components"][c]["pca_ratio"] == pytest.approx(sizes[c] ** 2 / (sizes**2).sum())
        loadings = np.frombuffer(base64.b64decode(data["loadings"]["columns"][c]), "<f4")
        np.testing.assert_allclose(loadings, model.components_[c], rtol=1e-6)
    assert data["loadings"]["features"] == list(frame.columns)
    assert {one["name"] for one in data["features"]} == set(frame.columns)
    for one in data["features"]:
        near(one["column"], frame[one["name"]])
    near(data["perplexities"], model.plan().perplexities())
    [annotation] = data["annotations"]
    assert annotation["name"] == "label" and classes(annotation) == list(labels)


def test_what_goes_with_a_component_is_told(fit):
    model, frame, labels = fit
    data = held(model.report(frame, obs={"kind": labels, "noise": np.random.default_rng(0).normal(size=90)}).html)
    found = {(row["component"], row["column"]): row for row in data["covariates"]}
    assert set(found) == {(f"ewca{c}", name) for c in (1, 2, 3) for name in ("kind", "noise")}
    for c in range(3):
        score = model.embedding_[:, c]
        means = pandas.Series(score).groupby(labels).transform("mean")
        eta = ((means - score.mean()) ** 2).sum() / ((score - score.mean()) ** 2).sum()
        row = found[f"ewca{c + 1}", "kind"]
        assert row["effect_name"] == "eta squared" and row["effect"] == pytest.approx(eta)
    assert found["ewca1", "kind"]["p"] < 0.01 < found["ewca1", "noise"]["p"]


def test_without_the_data_there_is_what_the_model_knows(fit):
    model, frame, labels = fit
    known = pandas.Series(labels, index=frame.index)
    whole, alone = held(model.report(frame, obs=known).html), held(model.report(obs=known).html)
    assert [view["key"] for view in alone["views"]] == ["ewca", "barycentric"]
    assert alone["features"] == [] and held(model.report().html)["ids"] is None
    for part in ("ids", "annotations", "partners", "heat_maps", "loadings", "convergence", "covariates", "facts", "perplexities"):
        assert alone[part] == whole[part], part
    assert {component["pca_ratio"] for component in alone["components"]} == {None}
    for one, other in zip(alone["components"], whole["components"]):
        assert one["eigenvalue"] == pytest.approx(other["eigenvalue"])
    assert "made without the data" in " ".join(alone["notes"])


def test_models_make_the_same_report(fit):
    model, frame, labels = fit
    one = ewca.path(frame, [2.0, 0.5], 3)
    report = one.models[0].report(frame, obs={"kind": labels}, path=one)
    data = held(report.html)
    assert [step["epsilon"] for step in data["path"]["steps"]] == [0.5, 2.0] and data["path"]["current"] == 1
    for step, fitted in zip(data["path"]["steps"], one.models[::-1]):
        assert step["perplexity"] == fitted.perplexity
    assert data["loadings"]["features"] == list(frame.columns)
    # The same bytes every time.
    assert one.models[0].report(frame, obs={"kind": labels}, path=one).html == report.html
    assert model.report(frame, path=None).html == model.report(frame, path=False).html


def test_a_path_can_be_fitted_for_it(fit):
    model, frame, _ = fit
    made = held(model.report(frame, path=True).html)["path"]["steps"]
    expected = ewca.path(frame, n_components=3)
    assert expected.collapsed.any() and [step["epsilon"] for step in made] == sorted(expected.epsilons)
    with pytest.raises(ValueError, match="needs X"):
        model.report(path=True)
    with pytest.raises(TypeError, match=r"belongs to .save\(name\)"):
        model.report(frame, path="report.html")


def test_a_path_goes_on_to_the_collapse(khan):
    X, _ = khan
    usual = ewca.path(X, n_components=5)
    assert not usual.collapsed.any()
    made = held(EWCA(5).fit(X).report(X, path=True).html)["path"]["steps"]
    assert [step["epsilon"] for step in made[:20]] == list(usual.epsilons)
    assert [step["collapsed"] for step in made] == [False] * (len(made) - 1) + [True] and len(made) > 20
    ratios = np.diff(np.log([step["epsilon"] for step in made]))
    np.testing.assert_allclose(ratios, ratios[0])


def test_tsne_is_a_further_view(fit):
    model, frame, _ = fit
    assert [view["key"] for view in held(model.report(frame, tsne=True).html)["views"]][-1] == "tsne"
    large = EWCA(1, epsilon=1e-3).fit(np.random.default_rng(0).normal(size=(3001, 2)) * [3, 1])
    with pytest.raises(ValueError, match="t-SNE works for up to 3000 samples, and there are 3001"):
        large.report(tsne=True)


@pytest.mark.parametrize("steps", [[], ["--log1p", "--top-variable", "4", "--scale", "unit-variance"]])
def test_it_is_the_program_s_report(binary, blobs, tmp_path, steps):
    X, y = blobs
    frame = pandas.DataFrame(np.exp(X / 3), columns=[f"g{j}" for j in range(12)])
    table = frame.assign(name=[f"s{i}" for i in range(90)], kind=np.array(["c", "a", "b"])[y], batch=np.arange(90) % 4)
    table.to_csv(tmp_path / "table.csv", index=False)
    words = [binary, "fit", "table.csv", "-k", "3", "--id", "name", "--label", "kind", "--label", "batch", *steps]
    subprocess.run([*words, "--report", "r.html"], check=True, capture_output=True, cwd=tmp_path)
    theirs = held((tmp_path / "r.html").read_text())
    file = tmp_path / "ewca-out" / "model.safetensors"
    words = ["ln(1 + x)", "4 most variable features", "unit variance"] if steps else []
    assert theirs["data"]["preprocessing"] == words
    for model in (EWCA.load(file), ewca.Model.load(file)):
        # The model knows its samples.
        assert held(model.report(frame, name="table.csv").html) == theirs
    known = table.set_index("name")[["kind", "batch"]]
    assert held(model.report(frame.set_axis(known.index), obs=known, name="table.csv").html) == theirs


def test_weighted_fits_have_weighted_pca(blobs):
    X, _ = blobs
    weights = np.random.default_rng(1).uniform(0, 3, 90)
    weights[4] = 0
    model = EWCA(2, epsilon=2.0).fit(X, sample_weight=weights)
    data = held(model.report(X, path=True).html)
    expected = ewca.path(X, n_components=2, sample_weight=weights)
    assert [step["loss"] for step in data["path"]["steps"][:20]] == pytest.approx(list(expected.losses))
    a = weights / weights.sum()
    variances = np.linalg.eigvalsh((X - a @ X).T @ (a[:, None] * (X - a @ X)))[::-1]
    for c in range(2):
        assert data["components"][c]["pca_ratio"] == pytest.approx(variances[c] / variances.sum())


def test_data_of_every_kind(blobs):
    X, _ = blobs
    sparse = np.where(np.abs(X) > 1.5, X, 0)
    for given in (X.astype(np.float32), np.asfortranarray(X), X[:, ::-1], scipy.sparse.csr_array(sparse), scipy.sparse.csc_matrix(sparse)):
        model = EWCA(2).fit(given)
        dense = given.toarray() if scipy.sparse.issparse(given) else given
        for one in held(model.report(given).html)["features"]:
            near(one["column"], dense[:, int(one["name"].removeprefix("column")) - 1].astype(float))
        # In double precision too, where the fit had single.
        assert held(model.report(dense.astype(float)).html)["features"]


def test_other_data_are_refused(fit):
    model, frame, labels = fit
    plain = ewca.path(frame.to_numpy(), [1.0]).models[0]
    for given, message in [
        (frame[:50], "50 samples and 12 features, but the fit has 90 and 12"),
        (frame[::-1], "does not have the scores of the fit"),
        (frame + 1, "does not have the scores of the fit"),
        (frame.mask(frame > 5), "row|NaN|finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.report(given)
    with pytest.raises(ValueError, match="but the fit has 90 and 12"):
        plain.report(frame.to_numpy()[:, :5])
    with pytest.raises(ValueError, match="7 feature names were passed, but there are 12 features"):
        plain.report(var_names=list("abcdefg"))
    with pytest.raises(ValueError, match="feature names"):
        model.report(frame[frame.columns[::-1]])
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        EWCA().report()


def test_columns_of_every_kind(fit):
    model, frame, labels = fit
    n = len(labels)
    texts = labels.astype(object)
    texts[3] = None
    kinds = pandas.Categorical(labels, categories=["c", "none", "a", "b"])
    kinds[5] = np.nan
    ages = np.linspace(20, 60, n)
    ages[2] = np.nan
    obs = pandas.DataFrame(
        {
            "age": ages,
            "text": texts,
            "kind": kinds,
            "batch": np.arange(n) % 3,
            "gappy": pandas.array([None, *(np.arange(n - 1) % 2 + 8)], dtype="Int64"),
            "flag": labels == "a",
            "when": pandas.to_datetime(["2020-01-01", None] * (n // 2)),
            "many": np.arange(n),
            "nothing": [None] * n,
            "maybe": pandas.array([True, None] * (n // 2), dtype="boolean"),
            "endless": np.where(np.arange(n) == 7, np.inf, ages + 1),
        },
        index=frame.index,
    )
    data = held(model.report(frame, obs=obs).html)
    found = by_name(data)
    assert list(found) == list(obs.columns)
    np.testing.assert_allclose(numbers(found["age"]), ages, atol=1e-3)
    np.testing.assert_allclose(numbers(found["many"]), np.arange(n), atol=1e-2)
    assert np.isnan(numbers(found["endless"])).nonzero()[0].tolist() == [2, 7]
    assert classes(found["text"]) == texts.tolist()
    assert classes(found["kind"]) == [None if i == 5 else name for i, name in enumerate(labels)]
    assert found["kind"]["values"]["names"] == ["c", "a", "b"], "in their own order, without what nobody has"
    assert classes(found["batch"]) == [str(i % 3) for i in range(n)]
    assert classes(found["gappy"]) == [None, *(str(i % 2 + 8) for i in range(n - 1))]
    assert classes(found["flag"]) == [str(flag) for flag in labels == "a"]
    assert classes(found["maybe"]) == ["True", None] * (n // 2)
    assert classes(found["when"])[1] is None and classes(found["when"])[0].startswith("2020-01-01")
    assert classes(found["nothing"]) == [None] * n
    # The same of other containers.
    days = np.array(["2020-01-01", "NaT"] * (n // 2), "M8[D]")
    others = {"age": ages, "text": list(texts), "kind": kinds, "batch": list(np.arange(n) % 3), "day": days}
    again = by_name(held(model.report(obs=others).html))
    for name in ("age", "text", "kind", "batch"):
        assert again[name] == found[name]
    assert classes(again["day"]) == ["2020-01-01", None] * (n // 2)


def test_polars_frames(fit):
    polars = pytest.importorskip("polars")
    model, frame, labels = fit
    obs = polars.DataFrame({"kind": labels.tolist(), "age": np.linspace(0, 1, 90)}).with_columns(polars.col("kind").cast(polars.Categorical))
    found = by_name(held(model.report(polars.from_pandas(frame), obs=obs).html))
    assert classes(found["kind"]) == list(labels)
    np.testing.assert_allclose(numbers(found["age"]), np.linspace(0, 1, 90), atol=1e-4)


def test_columns_are_joined_by_the_names_of_rows(fit):
    model, frame, labels = fit
    obs = pandas.DataFrame({"kind": labels}, index=frame.index)
    expected = model.report(frame, obs=obs).html
    shuffled = pandas.concat([obs, pandas.DataFrame({"kind": ["other"]}, index=["another"])]).sample(frac=1, random_state=0)
    assert model.report(frame, obs=shuffled).html == expected
    with pytest.raises(ValueError, match="no row named 'cell 7'"):
        model.report(frame, obs=obs.drop("cell 7"))
    with pytest.raises(ValueError, match="the same name twice"):
        model.report(frame, obs=pandas.concat([obs, obs]))
    # Without names of the samples, by their order.
    data = held(model.report(obs=obs).html)
    assert data["ids"] == list(obs.index) and classes(data["annotations"][0]) == list(labels)
    with pytest.raises(ValueError, match='"kind" of obs has 50 values, but there are 90 samples'):
        model.report(obs={"kind": labels[:50]})
    with pytest.raises(ValueError, match="2 dimensions"):
        model.report(obs={"kind": np.ones((90, 2))})
    with pytest.raises(TypeError, match="obs is of type int"):
        model.report(obs=5)


def test_the_label_comes_first(fit):
    model, frame, labels = fit
    obs = {"batch": np.arange(90) % 2, "age": np.linspace(0, 1, 90), "kind": labels}
    data = held(model.report(frame, obs=obs, label="kind").html)
    assert [annotation["name"] for annotation in data["annotations"]] == ["kind", "batch", "age"]
    # The class of the nearest other sample.
    z = model.embedding_
    apart = ((z[:, None] - z[None]) ** 2).sum(axis=2) + np.diag(np.full(90, np.inf))
    assert data["classes"]["ewca"]["error"] == pytest.approx((labels[apart.argmin(axis=1)] != labels).mean())
    with pytest.raises(ValueError, match="no column 'site' to colour by; its columns: batch, age, kind"):
        model.report(frame, obs=obs, label="site")
    with pytest.raises(ValueError, match="its columns: none"):
        model.report(frame, label="kind")


def test_nothing_of_the_user_s_is_replaced(fit, tmp_path):
    model, frame, labels = fit
    report = model.report(frame)
    file = tmp_path / "report.html"
    report.save(file)
    assert file.read_text(encoding="utf-8") == report.html
    # A report is replaced, as by the program; nothing else is.
    other = model.report(frame, obs=labels)
    other.save(str(file))
    assert file.read_text(encoding="utf-8") == other.html
    own = tmp_path / "own.html"
    for text in ("<!doctype html><title>My own page</title>", "", "EWCA report"):
        own.write_text(text)
        with pytest.raises(FileExistsError, match="own.html already exists, and is not a report of ewca"):
            report.save(own)
        assert own.read_text() == text
    report.save(own, overwrite=True)
    assert own.read_text(encoding="utf-8") == report.html
    with pytest.raises(ValueError, match="ends in .html"):
        report.save(tmp_path / "report.txt")
    with pytest.raises(OSError):
        report.save(tmp_path / "no" / "folder" / "report.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(OSError):
        report.save(tmp_path / "folder.html")
    assert {entry.name for entry in tmp_path.iterdir()} == {"report.html", "own.html", "folder.html"}


def test_a_notebook_shows_it_in_a_frame(fit):
    model, frame, labels = fit
    evil = '"></iframe><script>alert(1)</script>&quot;'
    report = model.report(frame, obs={evil: np.where(labels == "a", evil, "b")}, name=evil)
    frame_html = report._repr_html_()
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="([^"]*)" title="EWCA report" style="[^"<>]*"></iframe>', frame_html)
    assert html.unescape(found.group(1)) == report.html
    # No network, no access to the notebook.
    assert set(found.group(2).split()) == {"allow-scripts", "allow-downloads"}
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', report.html).group(1)
    assert "default-src 'none'" in html.unescape(policy) and "connect-src 'none'" in html.unescape(policy)
    assert "<script>alert" not in report.html
    assert repr(report).startswith("Report(90 samples, 3 components; ")
    size = int(re.search(r"(\d+) kB", repr(report)).group(1))
    assert abs(size - len(report.html.encode()) / 1000) <= 1


@pytest.fixture
def cells(blobs):
    X, y = blobs
    adata = anndata.AnnData(X.copy(), var=pandas.DataFrame(index=[f"gene{j}" for j in range(12)]))
    adata.obs["kind"] = pandas.Categorical(np.array(["c", "a", "b"])[y])
    adata.obs["depth"] = np.linspace(5, 9, 90)
    adata.uns["kind_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    adata.layers["half"] = scipy.sparse.csr_matrix(X / 2)
    adata.var["highly_variable"] = [j % 3 != 0 for j in range(12)]
    return adata


@pytest.mark.parametrize("settings", [{}, {"layer": "half"}, {"key_added": "mine"}, {"use_highly_variable": False}])
def test_cells(cells, settings):
    ewca.scanpy.ewca(cells, 3, **settings)
    key = settings.get("key_added", "X_ewca")
    data = held(ewca.report(cells, key=key).html)
    assert data["data"]["name"] == "cells" and data["ids"] == list(cells.obs_names)
    used = list(cells.var_names) if settings.get("use_highly_variable") is False else [f"gene{j}" for j in range(12) if j % 3]
    assert data["loadings"]["features"] == used
    for c in range(3):
        near(data["views"][0]["columns"][c], cells.obsm[key][:, c])
    X = cells.layers["half"].toarray() if "layer" in settings else cells.X
    for one in data["features"]:
        near(one["column"], X[:, cells.var_names.get_loc(one["name"])])
    found = by_name(data)
    assert classes(found["kind"]) == list(cells.obs["kind"]) and found["kind"]["values"]["colours"] == list(cells.uns["kind_colors"])
    np.testing.assert_allclose(numbers(found["depth"]), cells.obs["depth"], atol=1e-3)
    assert data["sound"] and "Converged" in data["verdict"]
    assert data["epsilon"] == pytest.approx(float(cells.uns["ewca" if key == "X_ewca" else key]["epsilon"]))
    assert held(ewca.report(cells, key=key, label="kind", name="mine").html)["data"]["name"] == "mine"


def test_cells_that_were_fitted_by_other_scores(cells):
    # As ewca.scanpy.ewca(adata, obsm="X_pca") leaves it: the components of what is no gene are in uns.
    first = anndata.AnnData(np.asarray(cells.X)[:, :6])
    ewca.scanpy.ewca(first, 2)
    cells.obsm["X_pca"], cells.obsm["X_ewca"] = np.asarray(first.X), first.obsm["X_ewca"]
    cells.uns["ewca"] = {"epsilon": first.uns["ewca"]["epsilon"], "params": {"obsm": "X_pca"}, "components": first.varm["EWCs"]}
    data = held(ewca.report(cells).html)
    assert data["loadings"]["features"] == [f"X_pca {j}" for j in range(6)]
    near(data["views"][0]["columns"][0], first.obsm["X_ewca"][:, 0])
    cells.uns["ewca"]["params"]["preprocessing"] = "log1p"
    with pytest.raises(ValueError, match=r"after preprocessing \(log1p\): use `ewca report`"):
        ewca.report(cells)


@pytest.mark.filterwarnings("ignore:EWCA did not converge")
def test_cells_whose_fit_had_not_converged(cells):
    ewca.scanpy.ewca(cells, 3, solver="bcd", max_iter=2, tol=1e-10)
    data = held(ewca.report(cells).html)
    assert data["verdict"].startswith("Not converged") and not data["sound"]
    # Nearly: an iteration is made, and the least component moves most.
    shown = np.stack([column(one) for one in data["views"][0]["columns"]], axis=1)
    np.testing.assert_allclose(shown, cells.obsm["X_ewca"], atol=2e-2 * np.abs(cells.obsm["X_ewca"]).max())


def test_cells_of_a_file(cells, tmp_path):
    ewca.scanpy.ewca(cells, 2)
    expected = held(ewca.report(cells).html)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    read = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    found = held(ewca.report(read).html)
    assert found.pop("data")["name"] == "cells.h5ad"
    expected.pop("data")
    assert found == expected


def test_cells_that_have_changed_are_refused(cells, blobs):
    with pytest.raises(KeyError, match=r"run ewca.scanpy.ewca first"):
        ewca.report(cells)
    ewca.scanpy.ewca(cells, 2)
    with pytest.raises(ValueError, match="does not have the scores of these cells"):
        ewca.report(cells[:40].copy())
    cells.X = cells.X * np.linspace(1, 3, 90)[:, None]
    with pytest.raises(ValueError, match="does not have the scores of these cells"):
        ewca.report(cells)
    with pytest.raises(TypeError, match=r"use model.report\(X\)"):
        ewca.report(EWCA(2).fit(blobs[0]))


def test_objects_say_what_they_are(blobs):
    X, y = blobs
    path = ewca.path(X, [1e4, 0.5, 2.0], 2)
    lines = repr(path).splitlines()
    assert lines[0] == "Path of 3 fits along epsilon" and len(lines) == 5
    for line, model in zip(lines[2:], path.models):
        words = line.split()
        assert words[0] == f"{model.epsilon:.4g}" and words[1] == f"{model.perplexity:.4g}"
        assert words[2] == f"{100 * model.explained_variance_ratio.sum():.1f}%" and words[4] == f"{model.loss:.4g}"
        assert words[-1] == ("collapsed" if model.certificate.collapsed else "converged")
    # Aligned, and the same as a table.
    assert len({len(line) for line in lines[1:]}) == 1
    for cell in lines[2].split():
        assert f"<td>{cell}</td>" in path._repr_html_()
    many = ewca.path(X, np.geomspace(0.1, 1, 30), 1)
    assert len(repr(many).splitlines()) == 2 + 24 + 1 and "..." in repr(many) and "..." in many._repr_html_()

    certificate = path.models[1].certificate
    words = repr(certificate)
    assert words.startswith("Certificate: converged, not collapsed\n") and words.endswith("findings: none")
    assert f"relative gradient {certificate.relative_gradient:.0e}" in words
    assert f"marginal error {certificate.marginal_error:.0e}" in words
    rows = [line.split() for line in words.splitlines()[2:4]]
    for c, row in enumerate(rows):
        assert row[0] == str(c) and row[1] == f"{certificate.residuals[c]:.0e}" and row[-1] == f"{certificate.eigenvalues[c]:.4g}"
    assert "<table>" in certificate._repr_html_() and f"<td>{certificate.eigenvalues[0]:.4g}</td>" in certificate._repr_html_()
    assert repr(path.models[0].certificate).startswith("Certificate: converged, collapsed\n")
    assert repr(path.models[0].certificate).endswith("findings: collapsed")
    with pytest.warns(Warning):
        stopped = EWCA(2, epsilon=2.0, solver="bcd", max_iter=1, tol=1e-12).fit(X).certificate_
    assert repr(stopped).startswith("Certificate: not converged (max iterations)")
    near = EWCA(2, epsilon=20.0, landmarks=60).fit(X).certificate_
    assert f"approximate: 60 landmarks, plan off by {near.approximation.marginal_error:.0e}" in repr(near)

    plan = path.models[1].plan()
    assert repr(plan).startswith("Plan(90 x 90, epsilon=0.5, marginal_error=")
    assert "<td>90</td><td>0.5</td>" in plan._repr_html_()

    selection = ewca.select(X, y, [1, 2], [0.5, 2.0], n_splits=5, n_inner_splits=3)
    lines = repr(selection).splitlines()
    assert lines[0] == "Selection: mean error of the nearest neighbour" and len(lines) == 5
    for at, (line, cell) in enumerate(zip(lines[2:], selection.cells)):
        expected = [str(cell["n_components"]), f"{cell['epsilon']:.4g}", f"{cell['ewca'][0]:.2f}%", f"{cell['pca'][0]:.2f}%"]
        assert line.split() == expected + (["best"] if at == selection.best else [])
    assert lines[-1] == f"without reduction: {selection.raw[0]:.2f}%"
    assert "<td>best</td>" in selection._repr_html_()


def test_tables_for_people():
    rows = [[str(at), "x"] for at in range(_present.MOST_ROWS)]
    assert "..." not in _present.text_table("title", ["number", "what"], rows)
    lines = _present.text_table("title", ["number", "what"], [*rows, ["24", "x"]]).splitlines()
    assert [line.split()[0] for line in lines] == ["title", "number", *map(str, range(12)), "...", *map(str, range(13, 25))]
    assert _present.text_table("title", [], [], ["a note"]) == "title\na note"
    page = _present.html_table("<b>", ["<b>"], [["<b>"]], ["<b>"])
    assert "<b>" not in page and page.count("&lt;b&gt;") == 4
    assert [_present.accuracy(value) for value in (0.0, 2.4e-7)] == ["0", "2e-07"]
