"""The changes of single columns of trees with tests of several values, against the answers to all kinds of values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import Search, Wishes, counterfactuals
from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.divided.reach import Reach
from learners.reasons.divided.tried_changes import TriedChanges
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.wanted.targets import target_of
from learners.reasons.work import Work
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from tests.learners.reasons.divided.test_single_changes import changed_rows
from tests.learners.reasons.judging import SCALES, judged, random_wishes
from tests.learners.trees.random_trees import COLUMNS
from tests.learners.trees.test_agreement import COMBINED, fitted

NOTHING = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}}


def kinds_of_values(seeker, row, place):
    """Rows with a value of the column on each side of every flip of the answer that 300 values show, to the double."""
    rows = [changed_rows(seeker.learner, row, place).values]
    if COLUMNS[place].is_numeric:
        cells = np.repeat(row[None], 300, axis=0)
        cells[:, place] = np.linspace(-1, 10, 300)
        held = seeker.hold(cells)
        for flip in np.flatnonzero(held[1:] != held[:-1]).tolist():
            low, high = cells[flip].copy(), cells[flip + 1].copy()
            while (middle := low[place] / 2 + high[place] / 2) not in (low[place], high[place]):
                between = row.copy()
                between[place] = middle
                if seeker.hold(between[None])[0] == held[flip]:
                    low = between
                else:
                    high = between
            rows.append(np.array([low, high]))
    return np.concatenate(rows)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(COMBINED),
    st.sampled_from(["fractional", "as-value", "most-likely"]),
    st.booleans(),
    st.booleans(),
)
def test_of_each_column_the_nearest_change_is_that_of_all_its_values(seed, params, missing, free, by_distance):
    model, _ = fitted(seed, {**params, "missing": missing})
    rng = np.random.default_rng(seed + 1)
    row = np.array([float(rng.integers(0, 9)), float(rng.integers(0, len(COLUMNS[1].levels))), *rng.random(3) * 4])
    row = np.where([one.is_numeric for one in COLUMNS], row, np.floor(row))
    row = np.array([min(cell, len(one.levels) - 1) if not one.is_numeric else cell
                    for cell, one in zip(row, COLUMNS, strict=True)])  # fmt: skip
    row[rng.choice(5, int(rng.integers(1, 5)), replace=False)] = np.nan
    asked = NOTHING if free else random_wishes(rng)
    wishes, target = Wishes.of(COLUMNS, **asked), target_of(model, str(rng.choice(["a", "b", "c"])))
    steps = RegionSteps(COLUMNS, wishes, SCALES, by_distance=by_distance)
    seeker = MixedSeeker(model, target, steps, Work(1))
    if seeker.hold(row[None])[0]:
        return
    reach = Reach(model, row, seeker.margins)
    singles = TriedChanges(model, row, reach, seeker.margins, seeker.slack, steps)
    found = {next(iter(way.steps)): way for way in singles.nearest(seeker.hold)}
    assert singles.judged == set(singles.columns)
    for place in range(len(COLUMNS)):
        rows = kinds_of_values(seeker, row, place)
        divided = np.array([len(model.packed_tree_.reach(np.array(cells))[0]) > 1 for cells in rows])
        good = judged(rows, row, asked, divided & seeker.hold(rows), "distance")
        assert place in found or not good
        if place not in found:
            continue
        way = found[place]
        assert seeker.hold(way.cells[None])[0]
        assert len(model.packed_tree_.reach(way.cells)[0]) > 1
        ((distance, cost),) = judged(way.cells[None], row, asked, np.array([True]), "distance")
        assert (distance, cost) <= min(good, default=(np.inf, np.inf))
        assert (way.distance, way.cost) == pytest.approx(
            (distance if by_distance else distance / (cost or 1.0), cost), abs=1e-9
        ) or cost == 0


def test_where_all_columns_are_fixed_there_is_none():
    model, table = fitted(3, {"interval_tests": True})
    row = np.full((1, 5), np.nan)
    wishes = Wishes.of(COLUMNS, fixed=[column.name for column in COLUMNS])
    for wanted in sorted({"a", "b", "c"} - {model.predict(Table(COLUMNS, row))[0]}):
        assert counterfactuals(model, Table(table.columns, row), wanted, Search(wishes)) == [[]]


def test_a_row_that_no_programme_ends_is_answered_by_a_change_of_one_column(monkeypatch):
    """Without a single programme the nearest change of one column is still told, as not exact."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.where(X @ rng.normal(size=6) + 0.5 * rng.normal(size=400) > 0, "above", "below")
    model = DecisionTreeClassifier(oblique_tests=True, min_leaf=3).fit(X, y)
    cells = np.random.default_rng(1).normal(size=(10, 6))
    cells[:, ::2] = np.nan
    table = Table(model.columns_, np.asfortranarray(cells))
    for limit in ("MAX_SETS", "MAX_PROGRAMMES"):
        with monkeypatch.context() as patch:
            patch.setattr(f"learners.reasons.nearest.programmes.{limit}", 0)
            for wanted in ("above", "below"):
                every = counterfactuals(model, table, wanted, Search(order="distance"))
                for found, label in zip(every, model.predict(table), strict=True):
                    assert (found == []) == (label == wanted)
                    for one in found:
                        changed = Table(model.columns_, np.asfortranarray(one.cells[None]))
                        assert model.predict(changed)[0] == wanted
