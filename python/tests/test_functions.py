"""path, select, and models without scikit-learn."""

import pickle

import numpy as np
import pandas
import pytest

import ewca


def test_paths_follow_pca_to_the_collapse(khan):
    X, _ = khan
    found = ewca.path(X, n_components=5)
    assert len(found) == 20 and (np.diff(found.epsilons) > 0).all()
    assert (np.diff(found.perplexities) > 0).all()
    assert found.distances_to_pca[0] < 0.1 < found.distances_to_pca[-1]
    assert not found.collapsed[0]
    assert found.explained_variance_ratios.shape == (20, 5) == found.eigenvalues.shape
    # Each is the fit at its epsilon, or a better one.
    for model in found.models[::6]:
        single = ewca.EWCA(5, epsilon=model.epsilon).fit(X)
        assert abs(single.loss_ / model.loss - 1) < 1e-2
        assert model.certificate.converged
        np.testing.assert_allclose(model.transform(X), model.scores, atol=1e-9)
    table = pandas.DataFrame(found.models[3].history)
    assert list(table.columns[:4]) == ["attempt", "iteration", "epsilon", "loss"] and len(table) > 1


def test_models_can_be_kept(blobs, tmp_path):
    X, _ = blobs
    model = ewca.path(X, [1.0], 2).models[0]
    model.save(tmp_path / "m.safetensors")
    for other in (ewca.Model.load(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.components, model.components)
        np.testing.assert_array_equal(other.plan().toarray(), model.plan().toarray())
        assert other.loss == model.loss and repr(other) == repr(model)
    np.testing.assert_allclose(model.inverse_transform(model.scores), model.scores @ model.components + model.mean)
    assert model.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(model.potential, model.plan().potential)


def test_selection(khan):
    X, y = khan
    found = ewca.select(X, y, [2, 5], n_splits=10, n_inner_splits=5)
    again = ewca.select(X, y, [2, 5], n_splits=10, n_inner_splits=5, n_jobs=1)
    assert found == again and found.cells[found.best]["n_components"] == 5
    assert found.cells[found.best]["epsilon"] in found.epsilons and len(found.epsilons) == 20
    cell = found.cells[0]
    assert cell["n_components"] == 2 and len(cell["chosen"]) == 10 and len(cell["by_epsilon"]) == 20
    assert set(cell["chosen"]) <= set(found.epsilons)


def test_nonsense_is_refused(blobs):
    X, y = blobs
    for call, message in [
        (lambda: ewca.path(X, [1, -1]), "epsilons is -1"),
        (lambda: ewca.path(X, []), "epsilons is empty"),
        (lambda: ewca.path(X[0], [1]), "1 dimensions"),
        (lambda: ewca.path(X + 1j, [1]), "Complex data"),
        (lambda: ewca.select(X, y[1:]), "89 labels were passed for 90 samples"),
        (lambda: ewca.select(X, np.ones(90)), "at least 2 classes"),
        (lambda: ewca.select(X, y, []), "n_components is empty"),
        (lambda: ewca.select(X, y, [2], [0.0]), "positive and finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_the_version_is_the_crate_s():
    root = __import__("conftest").ROOT
    assert f'version = "{ewca.__version__}"' in (root / "Cargo.toml").read_text()
    assert set(ewca.__all__) <= set(dir(ewca))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ewca.nothing
