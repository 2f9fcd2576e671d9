"""The table that the files of tests/golden hold."""

import numpy as np

# Six samples, four features; thirds and tenths have no finite binary form, so bits are tested.
VALUES = np.array(
    [
        [1.0, 0.0, 1.0 / 3.0, -2.5],
        [0.0, 0.1, 0.0, 1e-300],
        [3.0, 0.0, 0.0, 0.0],
        [0.0, 123456789.125, 2.0 / 3.0, 0.0],
        [5.0, 0.0, 0.0, -0.7],
        [0.25, 1e22, 0.0, 4.0],
    ]
)
FEATURES = ["f1", "f2", "gène 3", "f,4"]
IDS = ["s1", "s2", "s3", "s4", "s5", "s6"]
LABELS = ["red", "blue", "red", "green", "blue", "red"]
