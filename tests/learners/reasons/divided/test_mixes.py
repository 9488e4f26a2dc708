"""Counterfactuals that set some of several missing values and leave others missing, against all mixes of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import Search, Wishes, counterfactuals, why_not
from learners.reasons.divided.divided_search import DividedSearch
from learners.reasons.divided.mixed_search import MixedSearch
from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.nearest.demands import demands_of
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.regions.boxes import boxes_of
from learners.reasons.wanted.targets import target_of
from learners.reasons.work import Work
from learners.table import Table
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.reasons.judging import SCALES, judged, key_of, random_wishes
from tests.learners.reasons.models import CLASSES, grid, random_model, row_of
from tests.learners.trees.random_trees import COLUMNS
from tests.learners.trees.test_agreement import COMBINED, fitted

SEEDS = st.integers(0, 10**6)
MISSING = st.sampled_from(["fractional", "as-value", "most-likely"])
NOTHING = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}}
PLAIN = ({"nominal": "multiway"}, {"nominal": "subset"}, {"nominal": "one-vs-rest"})


def compared_to_all_mixes(model, row, wanted, wishes, order):
    """The nearest found, and that of all rows in which any missing values are filled and any others changed."""
    rows = grid(model, row.values[0], blanks=True)
    if rows.n_rows > 12_000:
        return
    good = judged(rows.values, row.values[0], wishes, model.predict(rows) == wanted, order)
    (found,) = counterfactuals(model, row, wanted, Search(Wishes.of(COLUMNS, **wishes), order=order), SCALES)
    if model.predict(row)[0] == wanted or not good:
        assert found == []
        return
    assert key_of(found[0], order) == pytest.approx(min(good), abs=1e-9)
    assert found[0].exact
    assert model.predict(Table(COLUMNS, np.asfortranarray(found[0].cells[None])))[0] == wanted == found[0].answer
    assert {change.column for change in found[0].changes} == {
        column.name
        for column, before, after in zip(COLUMNS, row.values[0], found[0].cells, strict=True)
        if before != after and not (np.isnan(before) and np.isnan(after))
    }


def row_with_gaps(rng):
    """A row that misses one to four of its five values, now and then with a level that no model knows."""
    row = row_of(rng)
    row.values[0, rng.choice(5, int(rng.integers(1, 5)), replace=False)] = np.nan
    if rng.random() < 0.2:
        row.values[0, 1] = -1
    return row


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.booleans(), st.booleans(), st.sampled_from(["changes", "distance"]))
def test_of_random_trees_the_nearest_is_that_of_all_mixes(seed, free, by_utility, order):
    model, rng = random_model(seed, follow_missing=bool(seed % 2))
    if by_utility:
        model = model.deciding_by(rng.random((3, 3)))
    wishes = NOTHING if free else random_wishes(rng)
    compared_to_all_mixes(model, row_with_gaps(rng), str(rng.choice(CLASSES.labels)), wishes, order)


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.sampled_from(PLAIN + COMBINED[:3]), MISSING, st.sampled_from(["changes", "distance"]))
def test_of_grown_trees_the_nearest_is_that_of_all_mixes(seed, params, missing, order):
    model, _ = fitted(seed, {"max_depth": 4, **params, "missing": missing})
    rng = np.random.default_rng(seed + 1)
    compared_to_all_mixes(model, row_with_gaps(rng), str(rng.choice(["a", "b", "c"])), NOTHING, order)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.booleans())
def test_by_distance_budgets_find_what_sets_of_columns_find(seed, free):
    """Two searches that share no bound agree on every row in turn, with parts that grow from two leaves on."""
    model, rng = random_model(seed, depth=7)
    table, wanted = row_with_gaps(rng), str(rng.choice(CLASSES.labels))
    if model.predict(table)[0] == wanted:
        return
    row, target = table.values[0], target_of(model, wanted)
    wishes = Wishes.of(COLUMNS, **(NOTHING if free else random_wishes(rng)))
    seeker = MixedSeeker(model, target, RegionSteps(COLUMNS, wishes, SCALES, by_distance=True), Work(1))
    boxes = boxes_of(model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("learners.reasons.divided.divided_search._FIRST_LEAVES", 2)
        patch.setattr("learners.reasons.divided.divided_search._STEP", 1)
        budgets = DividedSearch(seeker, boxes, row, demands_of(boxes, row, wishes, SCALES))
        sets = MixedSearch(seeker, row)
        for _ in range(3):
            one, other = budgets.next_before(None), sets.next_before(None)
            assert (one is None) == (other is None)
            if one is None:
                break
            assert (one.distance, one.cost) == pytest.approx((other.distance, other.cost), abs=1e-9)


@settings(max_examples=6, deadline=None)
@given(SEEDS, st.sampled_from(COMBINED[3:]), MISSING)
def test_with_sums_no_row_out_of_many_is_nearer(seed, params, missing):
    model, _ = fitted(seed, {**params, "missing": missing})
    rng = np.random.default_rng(seed + 1)
    row, wanted = row_with_gaps(rng), str(rng.choice(["a", "b", "c"]))
    if model.predict(row)[0] == wanted:
        return
    cells = np.repeat(row.values, 2000, axis=0)
    for place, column in enumerate(COLUMNS):
        moved = rng.random(2000) < 0.5
        values = rng.random(2000) * 9 - 0.5 if column.is_numeric else rng.integers(0, len(column.levels), 2000)
        cells[moved, place] = values[moved]
    rows = Table(COLUMNS, np.asfortranarray(cells))
    good = judged(rows.values, row.values[0], NOTHING, model.predict(rows) == wanted, "changes")
    (found,) = counterfactuals(model, row, wanted, None, SCALES)
    if good:
        cost, distance = min(good)
        assert (found[0].cost, found[0].distance) <= (cost, distance + 1e-6)
    for one in found:
        assert model.predict(Table(COLUMNS, np.asfortranarray(one.cells[None])))[0] == wanted


def test_a_number_of_a_regression_may_be_a_mean_of_leaves():
    """Four leaves 0, 2, 10 and 20 of equal weight: of x and y missing 8; with x above, 15, which no leaf answers."""
    X = np.array(list(product([0.0, 1], repeat=2)) * 2)
    y = np.array([0.0, 2, 10, 20] * 2)
    model = DecisionTreeRegressor().fit(X, y)
    row = [[np.nan, np.nan]]
    ((found,),) = counterfactuals(model, row, (14.0, 16.0))
    assert (found.answer, [(change.column, change.before) for change in found.changes]) == (15.0, [("x0", None)])
    assert np.isnan(found.cells[1])
    assert counterfactuals(model, row, (16.0, 19.0)) == [[]]
    assert counterfactuals(model, row, (14.0, None), Search(Wishes.of(model.columns_, fixed=["x0"]))) == [[]]


def test_one_of_two_missing_values_is_set(two_columns):
    model, row = two_columns
    for wishes in (Wishes.of(row.columns), Wishes.of(row.columns, fixed=["b"])):
        ((found,),) = counterfactuals(model, row, "yes", Search(wishes))
        assert [(change.column, change.before, change.after) for change in found.changes] == [("a", None, "p")]
        assert (found.cost, found.exact) == (1, True)
        assert found.probabilities == pytest.approx((0.3, 0.7))
    assert counterfactuals(model, row, "yes", Search(Wishes.of(row.columns, fixed=["a"]))) == [[]]
    (told,) = why_not(model, row, "yes")
    assert [(change.column, change.after) for change in told.changes] == [("a", "p")]


def test_several_ways_are_of_different_leaves_and_none_only_adds_to_a_mix(two_columns):
    model, row = two_columns
    (found,) = counterfactuals(model, row, "yes", Search(count=5))
    assert [[(change.column, change.after) for change in one.changes] for one in found] == [
        [("a", "p")],
        [("a", "p"), ("b", "v")],
    ]
    assert len({one.leaf for one in found}) == 2
