"""`ewca.scanpy` takes what `sc.pp.pca` takes, projects other cells, and reads what is in files."""

import inspect
import warnings

import anndata
import numpy as np
import pytest
import scipy.sparse

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import scanpy as sc

import ewca.scanpy
from ewca import EWCA, _source

pytestmark = pytest.mark.filterwarnings("ignore:.*:FutureWarning", "ignore:.*:DeprecationWarning")


@pytest.fixture
def adata(blobs):
    made = anndata.AnnData(blobs[0].copy())
    made.var_names = [f"gene{j}" for j in range(12)]
    return made


def scores_of(X, n_comps=3, **words):
    return EWCA(n_comps, epsilon=2.0, **words).fit(X).embedding_


def test_all_arguments_of_pca_are_taken():
    theirs, ours = (inspect.signature(function).parameters for function in (sc.pp.pca, ewca.scanpy.ewca))
    assert [name for name in theirs if name not in ours] == []
    for name, parameter in theirs.items():
        if name != "mask_var":
            assert ours[name].default == parameter.default, name
    # What is ours alone must be named.
    assert all(ours[name].kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for name in ours if name not in theirs)


def test_genes_by_any_mask(adata):
    mask = np.arange(12) < 7
    adata.var["mine"], adata.var["highly_variable"] = mask, ~mask
    expected = scores_of(adata.X[:, mask]).astype(np.float32)
    for asked in ("mine", mask):
        made = ewca.scanpy.ewca(adata, 3, epsilon=2.0, mask_var=asked, copy=True)
        np.testing.assert_array_equal(made.obsm["X_ewca"], expected)
        assert (made.varm["EWCs"][~mask] == 0).all()
        np.testing.assert_array_equal(made.uns["ewca"]["params"]["mask_var"], asked)
        assert made.uns["ewca"]["params"]["use_highly_variable"] is False
    everything = ewca.scanpy.ewca(adata, 3, epsilon=2.0, mask_var=None, copy=True)
    np.testing.assert_array_equal(everything.obsm["X_ewca"], scores_of(adata.X).astype(np.float32))
    assert "mask_var" not in everything.uns["ewca"]["params"]
    marked = ewca.scanpy.ewca(adata, 3, epsilon=2.0, copy=True)
    np.testing.assert_array_equal(marked.obsm["X_ewca"], scores_of(adata.X[:, ~mask]).astype(np.float32))
    assert marked.uns["ewca"]["params"]["mask_var"] == "highly_variable"


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("nothing", "adata.var has no 'nothing'"),
        (np.ones(11, dtype=bool), "an array of 12 truth values"),
        (np.arange(12), "an array of 12 truth values"),
        (np.zeros(12, dtype=bool), "mask_var selects no genes"),
        ("words", r"adata.var\['words'\] must be True or False"),
        ("gaps", r"adata.var\['gaps'\] must be True or False"),
        ("none", r"adata.var\['none'\] selects no genes"),
    ],
)
def test_bad_masks(adata, mask, message):
    adata.var["words"], adata.var["gaps"], adata.var["none"] = "False", [1.0] * 11 + [np.nan], False
    with pytest.raises(ValueError, match=message):
        ewca.scanpy.ewca(adata, 3, mask_var=mask)


def test_arguments_that_exclude_each_other(adata):
    adata.obsm["other"], adata.layers["twice"] = adata.X[:, :5], 2 * adata.X
    for words, message in [
        ({"mask_var": None, "use_highly_variable": True}, "pass only mask_var"),
        ({"mask_var": np.ones(12, dtype=bool), "obsm": "other"}, "pass only one of them"),
        ({"layer": "twice", "obsm": "other"}, "layer and obsm were both passed"),
        ({"zero_center": False}, "zero_center=False is not possible"),
        ({"dtype": "int32"}, "choose 'float32' or 'float64'"),
        ({"chunk_size": 0}, "chunk_size is 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            ewca.scanpy.ewca(adata, 3, **words)
    with pytest.raises(TypeError, match="no_such_setting"):
        ewca.scanpy.ewca(adata, 3, no_such_setting=1)
    with pytest.raises(KeyError, match="adata.obsm has no 'absent'; it has 'other'"):
        ewca.scanpy.ewca(adata, 3, obsm="absent")
    with pytest.warns(UserWarning, match="svd_solver='arpack' has no meaning"):
        ewca.scanpy.ewca(adata, 3, svd_solver="arpack")


def test_another_representation(adata):
    adata.obsm["other"] = adata.X[:, :5].copy()
    adata.var["highly_variable"] = np.arange(12) < 2
    ewca.scanpy.ewca(adata, 2, mask_var=None)
    ewca.scanpy.ewca(adata, 3, epsilon=2.0, obsm="other")
    model = EWCA(3, epsilon=2.0).fit(adata.obsm["other"])
    np.testing.assert_array_equal(adata.obsm["X_ewca"], model.embedding_.astype(np.float32))
    # Nothing is left of the components of genes.
    assert set(adata.varm) == set()
    told = adata.uns["ewca"]
    assert told["params"]["obsm"] == "other" and told["params"]["use_highly_variable"] is False
    np.testing.assert_array_equal(told["components"], model.components_.T)
    new = anndata.AnnData(np.zeros((4, 1)), obsm={"other": adata.X[:4, :5] + 1})
    ewca.scanpy.transform(new, adata)
    np.testing.assert_allclose(new.obsm["X_ewca"], model.transform(adata.X[:4, :5] + 1), rtol=1e-5, atol=1e-5)
    new.obsm["other"] = np.zeros((4, 6))
    with pytest.raises(ValueError, match="has 6 columns, but that of the reference has 5"):
        ewca.scanpy.transform(new, adata)


def test_types(adata):
    ewca.scanpy.ewca(adata, 3, epsilon=2.0, dtype="float64")
    assert adata.obsm["X_ewca"].dtype == np.float64
    np.testing.assert_array_equal(adata.obsm["X_ewca"], scores_of(adata.X))
    large = anndata.AnnData(1e39 * adata.X)
    with pytest.raises(ValueError, match="too large for float32: pass dtype='float64'"):
        ewca.scanpy.ewca(large, 2)
    ewca.scanpy.ewca(large, 2, dtype="float64")


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_plain_arrays(adata, form):
    model = EWCA(3, epsilon=2.0).fit(form(adata.X))
    scores = ewca.scanpy.ewca(form(adata.X), 3, epsilon=2.0)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, model.embedding_.astype(np.float32))
    found = ewca.scanpy.ewca(form(adata.X), 3, epsilon=2.0, return_info=True, dtype="float64")
    for ours, theirs in zip(found, (model.embedding_, model.components_, model.explained_variance_ratio_, model.explained_variance_)):
        np.testing.assert_array_equal(ours, theirs)
    assert [np.shape(ours) for ours in found] == [np.shape(theirs) for theirs in sc.pp.pca(form(adata.X), 3, return_info=True)]
    with pytest.raises(ValueError, match="layer works only with AnnData objects"):
        ewca.scanpy.ewca(form(adata.X), layer="x")


def test_fewer_cells_than_components(blobs):
    X = np.random.default_rng(0).normal(size=(15, 40))
    with pytest.warns(UserWarning, match="n_comps is 20, but 15 cells and 40 genes have no more than 14 components: 14 are computed"):
        made = ewca.scanpy.ewca(anndata.AnnData(X), 20, copy=True)
    assert made.obsm["X_ewca"].shape == (15, 14) and made.uns["ewca"]["params"]["n_comps"] == 14
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="n_comps")
        # As scanpy does by default.
        made = anndata.AnnData(X)
        ewca.scanpy.ewca(made)
        sc.pp.pca(made)
        assert made.obsm["X_ewca"].shape == made.obsm["X_pca"].shape == (15, 14)
        few = anndata.AnnData(blobs[0][:, :5].copy())
        ewca.scanpy.ewca(few)
        assert few.obsm["X_ewca"].shape == (90, 5)
        many = anndata.AnnData(np.random.default_rng(0).normal(size=(40, 30)))
        ewca.scanpy.ewca(many)
        assert many.obsm["X_ewca"].shape == (40, 20)


FORMS = {"dense": np.asarray, "csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("masked", [False, True])
def test_cells_in_a_file(adata, tmp_path, form, masked):
    adata.X = np.where(adata.X > 0, adata.X, 0)
    adata.var["highly_variable"] = np.arange(12) % 3 > 0
    mask = "highly_variable" if masked else None
    expected = ewca.scanpy.ewca(adata, 3, epsilon=2.0, mask_var=mask, copy=True)
    anndata.AnnData(FORMS[form](adata.X), var=adata.var).write_h5ad(tmp_path / "cells.h5ad")
    for words in ({}, {"chunked": True, "chunk_size": 7}):
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        assert backed.isbacked
        ewca.scanpy.ewca(backed, 3, epsilon=2.0, mask_var=mask, **words)
        np.testing.assert_allclose(backed.obsm["X_ewca"], expected.obsm["X_ewca"], atol=1e-4)
        np.testing.assert_allclose(backed.varm["EWCs"], expected.varm["EWCs"], atol=1e-5)
        with pytest.raises(ValueError, match="load it with adata.to_memory()"):
            ewca.scanpy.ewca(backed, 3, copy=True)
        # New cells in a file, with genes in another order.
        shuffled = expected[:, ::-1].copy()
        backed.obsm.pop("X_ewca")
        ewca.scanpy.transform(backed, shuffled, chunk_size=words.get("chunk_size"))
        np.testing.assert_allclose(backed.obsm["X_ewca"], expected.obsm["X_ewca"], atol=1e-5)
        backed.file.close()


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("mask", [None, np.arange(12) % 3 > 0])
def test_so_many_cells_of_a_file_are_read_at_a_time(adata, tmp_path, monkeypatch, form, mask):
    anndata.AnnData(FORMS[form](np.where(adata.X > 0, adata.X, 0))).write_h5ad(tmp_path / "cells.h5ad")
    asked, rows = [], _source.Parts.rows

    def noted(self, start, stop):
        asked.append((self.shape[1], stop - start))
        return rows(self, start, stop)

    monkeypatch.setattr(_source.Parts, "rows", noted)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    ewca.scanpy.ewca(backed, 3, epsilon=2.0, mask_var=mask, chunk_size=7)
    assert max(asked) == (12, 7) and min(asked)[0] == (12 if mask is None else 8)
    backed.file.close()


def test_other_cells_by_the_names_of_their_genes(adata):
    known, new = adata[:60].copy(), adata[60:].copy()
    known.var["highly_variable"] = np.arange(12) != 4
    ewca.scanpy.ewca(known, 3, epsilon=2.0)
    genes = known.var["highly_variable"].to_numpy()
    expected = EWCA(3, epsilon=2.0).fit(known.X[:, genes]).transform(new.X[:, genes])
    order = np.random.default_rng(1).permutation(12)
    # In another order, and with a gene that the reference does not use, or does not know.
    shuffled = new[:, order].copy()
    stranger = anndata.concat([shuffled, anndata.AnnData(np.ones((30, 1)), obs=new.obs)], axis=1, merge="same")
    stranger.var_names = [*shuffled.var_names, "stranger"]
    without = new[:, genes].copy()
    for cells in (new, shuffled, stranger, without):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            made = ewca.scanpy.transform(cells, known, copy=True)
        assert "X_ewca" not in cells.obsm and made.obsm["X_ewca"].dtype == np.float32
        np.testing.assert_allclose(made.obsm["X_ewca"], expected, rtol=1e-5, atol=1e-5)
    sparse = shuffled.copy()
    sparse.X = scipy.sparse.csr_matrix(sparse.X)
    assert ewca.scanpy.transform(sparse, known, key_added="mapped", dtype="float64", chunk_size=4) is None
    np.testing.assert_allclose(sparse.obsm["mapped"], expected, atol=1e-9)
    # The cells of the fit come out where they were.
    again = ewca.scanpy.transform(known, known, key_added="again", copy=True)
    np.testing.assert_allclose(again.obsm["again"], known.obsm["X_ewca"], atol=1e-5)


def test_genes_that_are_not_there(adata):
    ewca.scanpy.ewca(adata, 3, epsilon=2.0)
    few = adata[:, [11, 2, 5, 7]].copy()
    filled = np.tile(adata.X.mean(axis=0), (90, 1))
    filled[:, [2, 5, 7, 11]] = adata.X[:, [2, 5, 7, 11]]
    there = adata.varm["EWCs"][[2, 5, 7, 11]]
    share = 100 * (1 - (there**2).sum() / 3)
    with pytest.warns(UserWarning) as caught:
        ewca.scanpy.transform(few, adata)
    message = str(caught[0].message)
    assert "does not have 8 of the 12 genes of the reference (gene0, gene1, gene3, ...)" in message and f"{share:.1f}% of the components" in message
    assert caught[0].filename == __file__
    expected = EWCA(3, epsilon=2.0).fit(adata.X).transform(filled)
    np.testing.assert_allclose(few.obsm["X_ewca"], expected, rtol=1e-5, atol=1e-5)
    few.var_names = ["GENE1", "GENE2", "GENE3", "GENE4"]
    with pytest.raises(ValueError, match="none of the 12 genes of the reference: its names are like 'GENE1', those of the reference like 'gene0'"):
        ewca.scanpy.transform(few, adata)
    few.var_names = ["gene1", "gene2", "gene2", "gene4"]
    with pytest.raises(ValueError, match="adata has the gene 'gene2' more than once"):
        ewca.scanpy.transform(few, adata)
    adata.var_names = ["gene0", *adata.var_names[:-1]]
    with pytest.raises(ValueError, match="the reference has the gene 'gene0' more than once"):
        ewca.scanpy.transform(few, adata)


def test_projections_need_a_reference_that_says_enough(adata):
    new = adata.copy()
    with pytest.raises(KeyError, match="the reference has no uns"):
        ewca.scanpy.transform(new, adata)
    adata.layers["twice"] = 2 * adata.X
    ewca.scanpy.ewca(adata, 3, epsilon=8.0, layer="twice", key_added="mine")
    with pytest.raises(KeyError, match=r"fitted on layers\['twice'\], which adata does not have"):
        ewca.scanpy.transform(new, adata, key="mine")
    ewca.scanpy.transform(new, adata, key="mine", layer="X")
    expected = EWCA(3, epsilon=8.0).fit(adata.layers["twice"])
    np.testing.assert_allclose(new.obsm["mine"], expected.transform(adata.X), rtol=1e-5, atol=1e-5)
    new.layers["twice"] = 2 * new.X
    ewca.scanpy.transform(new, adata, key="mine")
    np.testing.assert_allclose(new.obsm["mine"], expected.embedding_, rtol=1e-5, atol=1e-5)
    new.layers["twice"][3, 4] = np.nan
    with pytest.raises(ValueError, match="the cell '3' has missing or infinite values"):
        ewca.scanpy.transform(new, adata, key="mine")
    adata.uns["mine"]["params"]["preprocessing"] = '{"log1p":true}'
    with pytest.raises(ValueError, match="fitted by the program with preprocessing"):
        ewca.scanpy.transform(new, adata, key="mine")
    del adata.uns["mine"]["params"]["preprocessing"], adata.varm["mine_mean"]
    with pytest.raises(KeyError, match="the reference has no varm"):
        ewca.scanpy.transform(new, adata, key="mine")


def test_everything_survives_a_file(adata, tmp_path):
    adata.var["mine"] = np.arange(12) < 9
    ewca.scanpy.ewca(adata, 3, mask_var="mine")
    ewca.scanpy.ewca(adata, 3, mask_var=np.arange(12) < 8, key_added="other")
    ewca.scanpy.plan_as_neighbors(adata)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns["ewca"]["params"]["mask_var"] == "mine"
    for key in (None, "other"):
        new = adata[:5].copy()
        ewca.scanpy.transform(new, again, key=key, key_added="back")
        np.testing.assert_allclose(new.obsm["back"], adata.obsm[key or "X_ewca"][:5], atol=1e-5)
    for name in ("ewca_plan", "connectivities", "distances"):
        matrix = again.obsp[name]
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32, name
        # As SciPy checks it.
        matrix.check_format(full_check=True)
    ewca.scanpy.plan_as_neighbors(again)
    np.testing.assert_array_equal(again.obsp["connectivities"].toarray(), adata.obsp["connectivities"].toarray())
