"""Counterfactuals of trees with tests of several values, against all rows that any test could tell apart."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import Scales, Search, Wishes, counterfactuals, why_not
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.reasons.judging import SCALES, judged, key_of, random_wishes
from tests.learners.reasons.models import cuts_of, grid, row_of
from tests.learners.trees.random_trees import COLUMNS
from tests.learners.trees.test_agreement import COMBINED, fitted

SEEDS = st.integers(0, 10**6)
NOTHING = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}}
MISSING = st.sampled_from(["fractional", "as-value", "most-likely"])
OF_COUNTS = st.sampled_from(COMBINED[:3])


def case(seed, params, missing):
    model, _ = fitted(seed, {**params, "missing": missing}, share=0.1)
    rng = np.random.default_rng(seed + 1)
    return model, row_of(rng), str(rng.choice(["a", "b", "c"])), rng


def is_answered(model, cells, wanted):
    return model.predict(Table(COLUMNS, np.asfortranarray(cells[None])))[0] == wanted


def check_nearest(model, row, wanted, wishes, order, rows):
    """Whether what is found is the nearest of some rows; nothing where the row has the answer or none of them has."""
    good = judged(rows.values, row.values[0], wishes, model.predict(rows) == wanted, order)
    (found,) = counterfactuals(model, row, wanted, Search(Wishes.of(COLUMNS, **wishes), order=order), SCALES)
    if model.predict(row)[0] == wanted or not good:
        assert found == []
    else:
        assert key_of(found[0], order) == pytest.approx(min(good), abs=1e-9)
        assert is_answered(model, found[0].cells, wanted)


@settings(max_examples=7, deadline=None)
@given(SEEDS, OF_COUNTS, MISSING, st.booleans(), st.sampled_from(["changes", "distance"]))
def test_with_counts_of_terms_the_nearest_is_that_of_brute_force(seed, params, missing, free, order):
    model, row, wanted, rng = case(seed, params, missing)
    wishes = NOTHING if free else random_wishes(rng)
    check_nearest(model, row, wanted, wishes, order, grid(model, row.values[0]))


@settings(max_examples=6, deadline=None)
@given(SEEDS, OF_COUNTS, MISSING)
def test_several_are_the_nearest_row_of_each_leaf_in_order(seed, params, missing):
    model, row, wanted, _ = case(seed, params, missing)
    if model.predict(row)[0] == wanted:
        return
    rows = grid(model, row.values[0])
    leaves, good = model.apply(rows), model.predict(rows) == wanted
    best = sorted(
        min(judged(rows.values, row.values[0], NOTHING, good & (leaves == leaf), "changes"))
        for leaf in np.unique(leaves[good])
    )
    (found,) = counterfactuals(model, row, wanted, Search(count=4), SCALES)
    assert [key_of(one, "changes") for one in found] == [pytest.approx(key, abs=1e-9) for key in best[:4]]
    for one in found:
        assert model.apply(Table(COLUMNS, np.asfortranarray(one.cells[None])))[0] == one.leaf


@settings(max_examples=6, deadline=None)
@given(SEEDS, st.sampled_from(COMBINED), MISSING)
def test_missing_values_are_left_or_filled_and_the_model_agrees(seed, params, missing):
    model, _ = fitted(seed, {**params, "missing": missing}, share=0.2)
    rng = np.random.default_rng(seed)
    row, wanted = row_of(rng, missing=0.4), str(rng.choice(["a", "b", "c"]))
    (found,) = counterfactuals(model, row, wanted, Search(count=3), SCALES)
    for one in found:
        assert is_answered(model, one.cells, wanted)
        assert one.answer == wanted
        for change in one.changes:
            place = row.position(change.column)
            assert COLUMNS[place].encode(change.after) == one.cells[place]
    if params.get("oblique_tests") or model.predict(row)[0] == wanted:
        return
    full = grid(model, row.values[0])
    filled = judged(full.values, row.values[0], NOTHING, model.predict(full) == wanted, "changes")
    if filled:
        assert key_of(found[0], "changes") <= (min(filled)[0], min(filled)[1] + 1e-9)


@settings(max_examples=12, deadline=None)
@given(SEEDS, OF_COUNTS, MISSING, st.sampled_from(["changes", "distance"]))
def test_what_is_missing_and_fixed_stays_missing(seed, params, missing, order):
    """No other column than known numbers may change then: a search once went on for ever."""
    model, _ = fitted(seed, {**params, "missing": missing}, share=0.1)
    rng = np.random.default_rng(seed + 2)
    row, wanted = row_of(rng, missing=0.5), str(rng.choice(["a", "b", "c"]))
    known = ~np.isnan(row.values[0])
    numbers = [place for place, column in enumerate(COLUMNS) if column.is_numeric and known[place]]
    for free in (np.flatnonzero(known).tolist(), numbers):
        fixed = [column.name for place, column in enumerate(COLUMNS) if place not in free]
        wishes = {**NOTHING, "fixed": fixed}
        check_nearest(model, row, wanted, wishes, order, grid(model, row.values[0], blanks=True))


def near_meetings(model, row):
    """Rows where two bounds of the two numeric columns meet, of single tests or of sums, and a little beside."""
    lines = [(1.0, 0.0, cut) for cut in (*cuts_of(model, 0), row[0])]
    lines += [(0.0, 1.0, cut) for cut in (*cuts_of(model, 4), row[4])]
    nodes = model.tree_
    for node in np.flatnonzero(nodes.feature >= len(COLUMNS)):
        test = nodes.combined.tests[nodes.feature[node] - len(COLUMNS)]
        if test.is_sum:
            slopes = dict.fromkeys((0, 4), 0.0) | {term.feature: term.number for term in test.terms}
            lines.append((slopes[0], slopes[4], float(nodes.threshold[node])))
    points = {(float(row[0]), float(row[4]))}
    for one, other in combinations(lines, 2):
        matrix = np.array([one[:2], other[:2]])
        if abs(np.linalg.det(matrix)) > 1e-9:
            x, y = np.linalg.solve(matrix, [one[2], other[2]]).tolist()
            near_x, near_y = ((value - 1e-7, value, value + 1e-7) for value in (x, y))
            points |= {*product(near_x, near_y), *product([row[0]], near_y), *product(near_x, [row[4]])}
    levels = product(*(map(float, range(len(COLUMNS[place].levels))) for place in (1, 2, 3)))
    rows = [(x, *codes, y) for codes in levels for x, y in points]
    return Table(COLUMNS, np.asfortranarray(rows))


@settings(max_examples=7, deadline=None)
@given(SEEDS, st.sampled_from(COMBINED[3:]), MISSING, st.sampled_from(["changes", "distance"]))
def test_with_sums_the_nearest_is_that_of_all_meetings_of_bounds(seed, params, missing, order):
    model, row, wanted, _ = case(seed, params, missing)
    rows = near_meetings(model, row.values[0])
    good = judged(rows.values, row.values[0], NOTHING, model.predict(rows) == wanted, order)
    (found,) = counterfactuals(model, row, wanted, Search(order=order), SCALES)
    if model.predict(row)[0] == wanted:
        assert found == []
        return
    if good:
        first, second = min(good)
        assert found[0].cost == pytest.approx(first) if order == "changes" else found[0].distance <= first + 1e-6
        if order == "changes":
            assert found[0].distance <= second + 1e-6
    for one in found:
        assert is_answered(model, one.cells, wanted)


@pytest.fixture(scope="module")
def line():
    """A tree of one weighted sum of three columns, with the rows that it learned from."""
    rng = np.random.default_rng(3)
    table = Table.from_array(rng.integers(-50, 50, (300, 3)).astype(float))
    above = table.values @ [3.0, -1.0, 2.0] > 20.5
    target = Series(Column("y", Kind.NOMINAL, ("below", "above")), above.astype(float))
    model = DecisionTreeClassifier(oblique_tests=True, max_depth=1).fit(table, target)
    (test,) = model.tree_.combined.tests
    assert test.is_sum
    weights = np.zeros(3)
    weights[[term.feature for term in test.terms]] = [term.number for term in test.terms]
    return model, table, weights, float(model.tree_.threshold[0])


def other_answer(model, table, row):
    own = model.predict(table)[row]
    return next(label for label in model.classes_ if label != own)


def test_of_one_sum_the_nearest_is_known_in_closed_form(line):
    """A sum that misses by m is nearest met by the column that moves it most, by m / (weight times width)."""
    model, table, weights, threshold = line
    scales = Scales(np.array([10.0, 40.0, 20.0]), np.zeros(3), np.zeros(3, bool))
    for row in range(20):
        missing = abs(table.values[row] @ weights - threshold)
        wanted = other_answer(model, table, row)
        for order in ("changes", "distance"):
            ((found,),) = counterfactuals(model, table.take(np.array([row])), wanted, Search(order=order), scales)
            assert found.cost == 1
            assert found.distance == pytest.approx(missing / np.abs(weights * scales.width).max(), rel=1e-6)
        place = table.position(found.changes[0].column)
        before = found.cells.copy()
        before[place] = np.nextafter(before[place], table.values[row, place])
        nearer = Table(table.columns, np.asfortranarray([before, found.cells]))
        assert (model.predict(nearer) == wanted).tolist() == [False, True]  # no double is nearer


def test_several_columns_move_where_one_may_not_go_far_enough(line):
    """With two fixed steps of room in each column a linear programme fills them in the order of what they move."""
    model, table, weights, threshold = line
    missing = np.abs(table.values @ weights - threshold)
    room = float(np.median(missing)) / np.abs(weights).sum()
    row = int(np.argsort(missing)[150])
    cells = table.values[row]
    wanted = other_answer(model, table, row)
    allowed = {c.name: (float(cells[k] - 2 * room), float(cells[k] + 2 * room)) for k, c in enumerate(table.columns)}
    scales = Scales(np.ones(3), np.zeros(3), np.zeros(3, bool))
    search = Search(Wishes.of(table.columns, allowed=allowed), order="distance")
    ((found,),) = counterfactuals(model, table.take(np.array([row])), wanted, search, scales)
    left, distance = float(missing[row]), 0.0
    for speed in sorted(np.abs(weights), reverse=True):
        step = min(2 * room, left / speed)
        left, distance = left - step * speed, distance + step
    assert found.distance == pytest.approx(distance, rel=1e-5)
    assert is_predicted(model, found, wanted)


def is_predicted(model, found, wanted):
    return model.predict(Table(model.columns_, np.asfortranarray(found.cells[None])))[0] == wanted


def test_whole_numbers_stay_whole_and_wishes_are_kept(line):
    model, table, weights, _ = line
    scales = Scales.of_table(table)
    assert scales.integral.all()
    fixed = table.columns[int(np.abs(weights).argmax())].name
    wishes = Wishes.of(table.columns, fixed=[fixed], directions={name: "up" for name in ("x0", "x1") if name != fixed})
    for row in range(8):
        one, wanted = table.take(np.array([row])), other_answer(model, table, row)
        for search in (Search(), Search(wishes), Search(wishes, order="distance")):
            for found in counterfactuals(model, one, wanted, search, scales)[0]:
                assert (found.cells == np.floor(found.cells)).all()
                assert is_predicted(model, found, wanted)
                if search.wishes is not None:
                    assert fixed not in [change.column for change in found.changes]
                    assert all(
                        change.after > change.before for change in found.changes if change.column in ("x0", "x1")
                    )


def test_a_regression_wants_a_range():
    X = np.random.default_rng(0).normal(size=(120, 2))
    model = DecisionTreeRegressor(oblique_tests=True, max_depth=2).fit(X, X @ [1.0, -2.0])
    assert len(model.tree_.combined)
    ((found,),) = counterfactuals(model, X[:1], (2.0, None))
    assert found.answer >= 2
    assert model.predict(found.cells[None])[0] == found.answer


def test_at_least_two_of_four_by_hand():
    """Of 0000 two have to rise, the cheapest; of 1000 one; 1111 has it already; why not: the count is unmet."""
    table = Table.from_array(np.array(list(product([0.0, 1], repeat=4))))
    held = table.values.sum(axis=1) >= 2
    model = DecisionTreeClassifier(formula_tests="m-of-n", max_depth=1).fit(table, np.where(held, "yes", "no"))
    assert model.n_leaves_ == 2
    wishes = Wishes.of(table.columns, costs={"x0": 5, "x2": 0.5})
    rows = Table.from_array(np.array([[0.0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]]))
    none, one, every = counterfactuals(model, rows, "yes", Search(wishes), Scales.of_table(table))
    assert [change.column for change in none[0].changes] in (["x1", "x2"], ["x2", "x3"])
    assert none[0].cost == 1.5
    assert [(change.column, change.after) for change in one[0].changes] == [("x2", 1)]
    assert every == []
    (told,) = why_not(model, rows.take(np.array([0])), "yes", Scales.of_table(table))
    (asked,) = told.asked  # "at least 2 of" four that rise, or "fewer than 3 of" four that do not
    assert (asked.state, asked.observed, asked.condition.need) in [("unmet", 0, 2), ("unmet", 4, 3)]


def test_a_count_is_undecided_only_if_the_missing_value_can_decide_it():
    """Of (missing, 1), one value <= 1.5 is enough to break "none of", but one <= 2.5 not to break "not all of"."""
    rows = np.array(list(product(range(4), repeat=2)), dtype=float)
    model = DecisionTreeClassifier(formula_tests="boolean").fit(rows, np.where(rows.sum(axis=1) >= 5, "b", "a"))
    told = why_not(model, [[np.nan, 1.0], [0.0, 0.0]], "b")
    texts = ["none of (x0 <= 1.5, x1 <= 1.5)", "not all of (x0 <= 2.5, x1 <= 2.5)"]
    assert [[asked.condition.text() for asked in one.asked] for one in told] == [texts, texts]
    assert [[(asked.observed, asked.state) for asked in one.asked] for one in told] == [
        [(1, "unmet"), (None, "undecided")],
        [(2, "unmet"), (2, "unmet")],
    ]
