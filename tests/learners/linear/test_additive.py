"""Sums over columns: rows one by one, in plain floats, come to the same as arrays of rows, to the bit."""

import numpy as np

from learners.linear.additive import AdditiveFunctions, LevelPart, NumberPart


def test_single_rows_are_answered_as_arrays_are():
    generator = np.random.default_rng(0)
    parts = (
        NumberPart(0, False, 1.0, 0.3, 2.0, ((1.5,), (-7e5,)), (0.25, -0.5)),
        NumberPart(1, False, 2.0**-40, 5.0, 1e-9, ((1e200,), (3.0,)), (0.0, 0.1)),
        NumberPart(2, False, 1.0, 0.0, 1.0, ((0.5, -2.0), (1e-3, 1e250)), (1.0, 2.0)),
        NumberPart(3, True, 1.0, 1.0, 2.0, ((4.0,), (5.0,)), (6.0, 7.0)),
        LevelPart(4, ((1.0, 2.0, 3.0, 4.0), (0.1, 0.2, 0.3, 0.4)), (True, True)),
    )
    functions = AdditiveFunctions((0.125, -3.0), parts)
    rows = generator.normal(size=(300, 5)) * 10.0 ** generator.integers(-300, 300, (300, 5))
    rows[:, 3], rows[:, 4] = generator.integers(-1, 3, 300), generator.integers(-1, 2, 300)
    rows[:100, :3] = generator.normal(size=(100, 3))
    rows[generator.random(rows.shape) < 0.1] = np.nan
    told = [[functions.value(place, row) for place in (0, 1)] for row in rows.tolist()]
    assert np.array(told).T.tolist() == functions.values(rows).tolist()
