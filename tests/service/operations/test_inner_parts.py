"""What a search within a job knows at most is what the library's splits give it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from learners.evaluation import Plan
from learners.evaluation.plan import each
from learners.table import Column, Series
from service.operations.submission.inner import Units, known_beside, known_in_fold

N_ROWS = st.integers(4, 60)


def _series(values: np.ndarray) -> Series:
    return Series(Column("c"), np.asarray(values, dtype=float))


@given(N_ROWS, st.integers(2, 60), st.floats(0.01, 0.99))
def test_of_rows_it_is_that(n_rows: int, folds: int, fraction: float) -> None:
    target, units = _series(np.zeros(n_rows)), Units(n_rows, "rows")
    if folds <= n_rows:
        known = min(len(one.train) for one in each(Plan(folds=folds).splits(target)))
        assert known_in_fold(units, folds) == known
    (split,) = each(Plan("hold-out", fraction=fraction).splits(target))
    assert known_beside(units, fraction) == len(split.train)


@given(N_ROWS, st.integers(1, 60), st.floats(0.01, 0.99))
def test_of_different_times_it_is_that(n_rows: int, folds: int, fraction: float) -> None:
    times = _series(np.arange(n_rows))
    target, units = _series(np.zeros(n_rows)), Units(n_rows, "time")
    if folds < n_rows:
        known = min(len(one.train) for one in each(Plan(folds=folds).splits(target, times=times)))
        assert known_in_fold(units, folds) == known
    (split,) = each(Plan("hold-out", fraction=fraction).splits(target, times=times))
    assert known_beside(units, fraction) == len(split.train)


@given(st.lists(st.integers(0, 12), min_size=4, max_size=60), st.integers(2, 12), st.floats(0.01, 0.99))
def test_of_groups_and_shared_times_it_is_no_less(values: list[int], folds: int, fraction: float) -> None:
    own = np.array(values)
    n_own = len(set(values))
    target, target_units = _series(np.zeros(len(own))), {name: Units(n_own, name, False) for name in ("groups", "time")}
    for name, units in target_units.items():
        parted = {"groups" if name == "groups" else "times": _series(own)}
        if folds <= n_own - units.n_untested:
            splits = each(Plan(folds=folds).splits(target, **parted))
            assert known_in_fold(units, folds) >= min(len(set(own[one.train])) for one in splits)
        if n_own >= 2:
            (split,) = each(Plan("hold-out", fraction=fraction).splits(target, **parted))
            assert known_beside(units, fraction) >= len(set(own[split.train]))
