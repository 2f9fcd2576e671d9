"""scikit-learn's own tests of PCA, run with EWCA in its place at an epsilon so small that it is PCA.

A test is run where its claim makes sense for EWCA; PCA's SVD solvers stand for EWCA's solvers, so that what compares solvers compares
EWCA's. Each test of that file, and each case of it, is either run or named below with the reason why it is not: a new one fails here.
"""

import inspect
import itertools

import numpy as np
import pytest
import sklearn
from packaging import version
from sklearn.decomposition.tests import test_pca as theirs

from ewca import EWCA

SOLVERS = {"full": "auto", "auto": "auto", "covariance_eigh": "bcd", "arpack": "mm", "randomized": "lbfgs"}

WHITENING = "EWCA does not whiten: distances between scores would lose their meaning"
ALL_BUT_ONE = "it asks for as many components as samples, and centred samples span one direction less"
PCA_ALONE = "it is about PCA's own functions, solvers, names or words"

#: Tests that are not run at all.
NOT_RUN = {
    "test_sparse_pca_solver_error": "EWCA takes sparse data with every solver",
    "test_no_empty_slice_warning": ALL_BUT_ONE,
    "test_whitening": WHITENING,
    "test_pca_validation": PCA_ALONE,
    "test_n_components_mle": "EWCA has no 'mle', but 'auto'",
    "test_n_components_mle_error": "EWCA has no 'mle', but 'auto'",
    "test_pca_dim": "EWCA has no 'mle', but 'auto'",
    "test_pca_score": WHITENING + " (its other claims are in test_pca_users.py)",
    "test_pca_score3": "it asks for no components at all, and EWCA has at least one",
    "test_pca_zero_noise_variance_edge_cases": ALL_BUT_ONE + " (its other claims are in test_pca_users.py)",
    "test_pca_svd_solver_auto": PCA_ALONE,
    "test_assess_dimension_bad_rank": PCA_ALONE,
    "test_small_eigenvalues_mle": PCA_ALONE,
    "test_mle_redundant_data": "EWCA has no 'mle', but 'auto'",
    "test_fit_mle_too_few_samples": "EWCA has no 'mle', but 'auto'",
    "test_mle_simple_case": "EWCA has no 'mle', but 'auto'",
    "test_assess_dimension_rank_one": PCA_ALONE,
    "test_feature_names_out": PCA_ALONE,
    "test_pca_array_api_compliance": "EWCA computes with NumPy arrays alone",
    "test_pca_mle_array_api_compliance": "EWCA computes with NumPy arrays alone",
    "test_array_api_error_and_warnings_on_unsupported_params": "EWCA computes with NumPy arrays alone",
}


def is_left_out(name, words):
    """Cases of tests that are run, whose claim makes no sense for EWCA; or that only repeat another at a cost."""
    if words.get("whiten"):
        return WHITENING
    if words.get("rank_deficient"):
        return "it asks for more components than the data have directions, which EWCA refuses"
    if name == "test_n_components_none" and (words["solver"] == "arpack" or words["data"].shape[0] < words["data"].shape[1]):
        return ALL_BUT_ONE
    if name == "test_pca_sparse" and not (words["scale"] == 10 and words["sparse_container"] is theirs.CSR_CONTAINERS[0]):
        return "scales and containers are in test_estimator.py; here they would take minutes"
    if name.startswith(("test_pca_sparse_fit", "test_sparse_pca_auto")) and words["sparse_container"] is not theirs.CSR_CONTAINERS[0]:
        return "containers are in test_estimator.py"
    return None


def cases(name):
    """All arguments that scikit-learn calls a test with."""
    choices = []
    for mark in getattr(getattr(theirs, name), "pytestmark", []):
        if mark.name != "parametrize":
            continue
        names = [one.strip() for one in mark.args[0].split(",")]
        choices.append([dict(zip(names, one if len(names) > 1 else (one,))) for one in mark.args[1]])
    for chosen in itertools.product(*choices):
        words = {name: value for part in chosen for name, value in part.items()}
        wanted = inspect.signature(getattr(theirs, name)).parameters
        if "global_random_seed" in wanted:
            words["global_random_seed"] = 42
        types = (np.float64, np.float32) if "global_dtype" in wanted else (None,)
        for dtype in types:
            yield {**words, "global_dtype": dtype} if dtype else words


NAMES = [name for name in vars(theirs) if name.startswith("test_")]
RUN = [(name, words) for name in NAMES if name not in NOT_RUN for words in cases(name) if not is_left_out(name, words)]


def as_pca(n_components=None, *, svd_solver="auto", copy=True, whiten=False, random_state=None, iterated_power=None, n_oversamples=None):
    """EWCA, called as PCA is; what belongs to PCA's SVD has nothing to say."""
    assert not whiten
    return EWCA(n_components, epsilon=1e-12, solver=SOLVERS[svd_solver], random_state=random_state, max_iter=10000)


@pytest.mark.parametrize(("name", "words"), RUN, ids=[name for name, _ in RUN])
def test_scikit_learn_s_claims_about_pca(monkeypatch, name, words):
    monkeypatch.setattr(theirs, "PCA", as_pca)
    getattr(theirs, name)(**words)


def test_every_test_is_run_or_explained():
    run = {name for name, _ in RUN}
    # Versions of scikit-learn differ in a few tests: none may be without a word.
    assert set(NAMES) <= run | set(NOT_RUN) and run.isdisjoint(NOT_RUN) and len(run) >= 17
    if version.parse(sklearn.__version__) >= version.parse("1.9"):
        assert set(NOT_RUN) <= set(NAMES)
