"""The nearest counterfactual against all rows that any test could tell apart."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from learners.reasons import Scales, Search, Wishes, counterfactuals, why_not
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.reasons.judging import SCALES, judged, key_of, random_wishes
from tests.learners.reasons.models import CLASSES, grid, random_model, row_of
from tests.learners.tables import read
from tests.learners.trees.random_trees import COLUMNS


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["changes", "distance"]))
@example(1, True, "changes")  # in few trees the fewest changes and the least distance lead to different leaves
@example(1, True, "distance")
def test_the_nearest_is_that_of_brute_force(seed, free, order):
    model, rng = random_model(seed, follow_missing=True)
    row = row_of(rng)
    wishes = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}} if free else random_wishes(rng)
    wanted = str(rng.choice(CLASSES.labels))
    rows = grid(model, row.values[0])
    good = judged(rows.values, row.values[0], wishes, model.predict(rows) == wanted, order)
    search = Search(Wishes.of(COLUMNS, **wishes), order=order)
    (found,) = counterfactuals(model, row, wanted, search, SCALES)
    if model.predict(row)[0] == wanted or not good:
        assert found == []
    else:
        assert key_of(found[0], order) == pytest.approx(min(good), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_several_are_the_nearest_row_of_each_leaf_in_order(seed):
    model, rng = random_model(seed)
    row = row_of(rng)
    wanted = str(rng.choice(CLASSES.labels))
    if model.predict(row)[0] == wanted:
        return
    rows = grid(model, row.values[0])
    leaves = model.apply(rows)
    good = model.predict(rows) == wanted
    nothing = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}}
    best = sorted(
        min(judged(rows.values, row.values[0], nothing, good & (leaves == leaf), "changes"))
        for leaf in np.unique(leaves[good])
    )
    (found,) = counterfactuals(model, row, wanted, Search(count=5), SCALES)
    assert [key_of(one, "changes") for one in found] == [pytest.approx(key, abs=1e-9) for key in best[:5]]
    (diverse,) = counterfactuals(model, row, wanted, Search(count=5, diverse=True), SCALES)
    sets = [frozenset(change.column for change in one.changes) for one in diverse]
    assert len(set(sets)) == len(sets)
    (every,) = counterfactuals(model, row, wanted, Search(count=max(len(best), 1)), SCALES)
    firsts = {}
    for one in every:
        firsts.setdefault(frozenset(change.column for change in one.changes), one.leaf)
    assert [one.leaf for one in diverse] == list(firsts.values())[:5]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_missing_values_are_left_or_filled_and_the_model_agrees(seed, follow_missing):
    model, rng = random_model(seed, follow_missing=follow_missing)
    row = row_of(rng, missing=0.4)
    wanted = str(rng.choice(CLASSES.labels))
    (found,) = counterfactuals(model, row, wanted, Search(count=3), SCALES)
    if model.predict(row)[0] == wanted:
        assert found == []
        return
    nothing = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}}
    loose = grid(model, row.values[0], blanks=True)
    every = judged(loose.values, row.values[0], nothing, model.predict(loose) == wanted, "changes")
    assert bool(found) == bool(every)
    if every:
        assert key_of(found[0], "changes") == pytest.approx(min(every), abs=1e-9)
    for one in found:
        changed = Table(COLUMNS, np.asfortranarray(one.cells[None]))
        assert model.predict(changed)[0] == wanted == one.answer
        assert model.predict_proba(changed)[0].tolist() == list(one.probabilities)
        for change in one.changes:
            place = changed.position(change.column)
            assert COLUMNS[place].encode(change.after) == one.cells[place]
            assert change.before == COLUMNS[place].decode(row.values[0, place])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_what_is_unmet_is_what_changes(seed):
    model, rng = random_model(seed)
    row = row_of(rng)
    for wanted in CLASSES.labels:
        (one,) = why_not(model, row, wanted, SCALES)
        if one is None:
            continue
        unmet = [asked.condition.column for asked in one.asked if asked.state == "unmet"]
        assert unmet == [change.column for change in one.changes]
        assert unmet
        assert model.apply(Table(COLUMNS, np.asfortranarray(one.cells[None])))[0] == one.leaf


def far_or_twice_near():
    """From (0, 0, 0) "b" is reached by x0 > 5, half its width away, or by x1 and x2 > 0.5, 1/20 of theirs each."""
    near = [[0, 0, 0], [0, 0, 1], [0, 0, 10], [0, 1, 0], [0, 10, 0]]
    rows = np.array([*near, [0, 1, 1], [0, 10, 10], *[[10, 0, 0]] * 9], dtype=float)
    table = Table.from_array(rows)
    model = DecisionTreeClassifier().fit(table, ["a"] * len(near) + ["b"] * 11)
    return model, table.take(np.array([0])), Scales.of_records(table.columns, [{"minimum": 0, "maximum": 10}] * 3)


@pytest.mark.parametrize(("order", "nearest"), [("changes", [(1, 0.5), (2, 0.1)]), ("distance", [(2, 0.1), (1, 0.5)])])
@pytest.mark.parametrize("diverse", [False, True])
def test_the_order_says_what_is_compared_first(order, nearest, diverse):
    model, row, scales = far_or_twice_near()
    (found,) = counterfactuals(model, row, "b", Search(count=2, diverse=diverse, order=order), scales)
    assert [(one.cost, pytest.approx(one.distance)) for one in found] == nearest


def test_why_not_tells_the_fewest_conditions():
    model, row, scales = far_or_twice_near()
    (one,) = why_not(model, row, "b", scales)
    assert [change.column for change in one.changes] == ["x0"]


def test_a_test_of_a_missing_value_is_undecided():
    """Of the rows 3/4 go to "a": so does the missing value, of which 1/4 went to "b"."""
    model = DecisionTreeClassifier().fit(np.array([[0.0], [0], [0], [1]]), ["a", "a", "a", "b"])
    (missing, known) = why_not(model, [[np.nan], [0.0]], "b")
    assert [(asked.observed, asked.state) for asked in missing.asked] == [(None, "undecided")]
    assert [(asked.observed, asked.state) for asked in known.asked] == [(0.0, "unmet")]


def test_a_value_lies_just_beyond_its_threshold():
    X = np.array([[0.1], [0.2], [0.3], [np.nextafter(0.3, 1)]])
    model = DecisionTreeClassifier().fit(X, np.array(["a", "a", "a", "b"]))
    ((up,),) = counterfactuals(model, [[0.1]], "b")
    threshold = model.tree_.threshold[0]
    assert up.changes[0].after == np.nextafter(threshold, np.inf)
    ((down,),) = counterfactuals(model, [[5.0]], "a")
    assert down.changes[0].after == threshold


def test_a_whole_number_where_only_whole_ones_make_sense():
    table = Table.from_array(np.array([[1.0], [2.0], [3.0], [4.0]]))
    model = DecisionTreeClassifier().fit(table, np.array(["a", "a", "a", "b"]))
    assert model.tree_.threshold[0] == 3.5
    scales = Scales.of_table(table)
    assert scales.integral.tolist() == [True]
    ((up,),) = counterfactuals(model, table.take(np.array([0])), "b", scales=scales)
    assert up.changes[0].after == 4
    assert up.distance == 1.0
    ((down,),) = counterfactuals(model, table.take(np.array([3])), "a", scales=scales)
    assert down.changes[0].after == 3


def test_a_number_of_a_regression():
    X, y = np.arange(8.0)[:, None], np.arange(8.0) ** 2
    model = DecisionTreeRegressor().fit(X, y)
    ((found,),) = counterfactuals(model, [[1.0]], (20.0, 30.0))
    assert found.answer == 25.0
    assert found.changes[0].after == np.nextafter(4.5, 5)
    assert found.probabilities is None
    assert counterfactuals(model, [[1.0]], (None, 3.0)) == [[]]
    assert counterfactuals(model, [[1.0]], (100.0, None)) == [[]]


def test_the_published_play_table():
    """Weather (Quinlan): a sunny, humid day is played on if it were drier, or else overcast."""
    X, y = read("weather-numeric", "play")
    model = DecisionTreeClassifier(nominal="multiway", criterion="entropy").fit(X, y)
    row = X.take(np.array([0]))
    ((nearest, other),) = counterfactuals(model, row, "yes", Search(count=2), Scales.of_table(X))
    assert [(c.column, c.before) for c in nearest.changes] == [("humidity", 85)]
    assert nearest.changes[0].after < 78
    assert [(c.column, c.after) for c in other.changes] == [("outlook", "overcast")]
    fixed = Search(Wishes.of(X.columns, fixed=["humidity"]))
    ((only,),) = counterfactuals(model, row, "yes", fixed, Scales.of_table(X))
    assert [(c.column, c.after) for c in only.changes] == [("outlook", "overcast")]
    up = Search(Wishes.of(X.columns, fixed=["outlook"], directions={"humidity": "up"}))
    assert counterfactuals(model, row, "yes", up, Scales.of_table(X)) == [[]]


def test_a_deep_tree_needs_no_recursion():
    n = 4000
    X = np.arange(float(n))[:, None]
    y = np.where(np.arange(n) % 2, "odd", "even")
    model = DecisionTreeClassifier().fit(X, y)
    ((found,),) = counterfactuals(model, [[1000.0]], "odd")
    assert abs(found.changes[0].after - 1000) == pytest.approx(0.5)


def test_huge_numbers_have_finite_distances():
    X = np.array([[-1.7e308], [-1e308], [1e308], [1.7e308]])
    model = DecisionTreeClassifier().fit(X, np.array(["a", "a", "b", "b"]))
    ((found,),) = counterfactuals(model, X[:1], "b", scales=Scales.of_table(Table.from_array(X)))
    assert np.isfinite(found.distance)
    assert found.distance == pytest.approx(1, abs=0.2)
