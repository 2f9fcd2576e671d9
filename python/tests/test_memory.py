"""A fit borrows its data: peak memory in a process of its own."""

import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """
import resource, sys, numpy as np, ewca
def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kind = sys.argv[1]
small = np.random.default_rng(0).normal(size=(50, 40))
ewca.EWCA(2, epsilon=1.0).fit(small)
order = "F" if kind == "fortran" else "C"
X = np.empty((400, 100_000), dtype=np.float32 if kind == "float32" else np.float64, order=order)
rng = np.random.default_rng(0)
for row in X:
    row[:] = rng.normal(size=100_000)
before = peak()
model = ewca.EWCA(2, epsilon=1e5)
if kind == "functional":
    ewca.path(X, [1e5])
else:
    model.fit(X)
print(X.nbytes, peak() - before)
"""


@pytest.mark.parametrize("kind", ["float64", "float32", "functional", "fortran"])
def test_contiguous_data_are_not_copied(kind):
    out = subprocess.run([sys.executable, "-c", SCRIPT, kind], check=True, capture_output=True, text=True).stdout
    data, grown = map(int, out.split())
    # What the core says that it needs for 400 x 100 000 and 2 components, with slack; a copy would be 320 MB (160 in float32).
    order, d, k = 400, 100_000, 2
    needed = 8 * (13 * order**2 + 2 * order**2 + 4096 * order + 3 * d * k + 3 * d * k + order**2)
    assert grown < needed + 30e6
    assert needed + 30e6 < 0.65 * data


def test_sparse_rows_are_borrowed():
    from scipy.sparse import random_array

    from ewca._input import as_table

    X = random_array((200, 300), density=0.1, format="csr", rng=np.random.default_rng(0))
    X.sort_indices()
    offsets, positions, values, columns = as_table(X)
    assert np.shares_memory(values, X.data) and np.shares_memory(positions, X.indices)
    assert positions.dtype == np.uint32 and offsets.dtype == np.uintp and columns == 300
    dense = np.random.default_rng(0).normal(size=(9, 4))
    assert as_table(dense) is dense
