"""The nearest counterfactual against all rows that any test could tell apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.catalog import make
from learners.errors import LearnerError, ParameterError
from learners.reasons import Scales, Search, Wishes, counterfactuals, next_question, why_not
from learners.reasons.boxes import boxes_of
from learners.rules.atoms import Atom
from learners.rules.classifier import RuleSetClassifier
from learners.rules.ordered import ordered_rules
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.examples import Majority
from tests.learners.reasons.models import CLASSES, grid, random_model, random_rules, row_of
from tests.learners.tables import read
from tests.learners.trees.random_trees import COLUMNS

SCALES = Scales.of_records(COLUMNS, [{"minimum": 0, "maximum": 8}, {}, {}, {}, {"minimum": 0, "maximum": 4}])
CLASSES_OF_TWO = Column("answer", Kind.NOMINAL, ("no", "yes"))
WIDTHS = (8.0, None, 3.0, None, 4.0)


def random_wishes(rng):
    """Random fixed columns, directions, costs and ranges; the same as keyword arguments."""
    names = [column.name for column in COLUMNS]
    return {
        "fixed": [name for name in names if rng.random() < 0.2],
        "directions": {name: str(rng.choice(["up", "down"])) for name in ("size", "grade") if rng.random() < 0.4},
        "costs": {name: float(rng.integers(0, 5)) / 2 for name in names if rng.random() < 0.4},
        "allowed": {"weight": (1.0, 6.0), "colour": ["green", "blue"]} if rng.random() < 0.4 else {},
    }


def judged(rows, row, wishes, wanted_rows, order):
    """Cost and distance of each row that is allowed and wanted, as (first key, second key), written out plainly."""
    found = []
    for cells in rows[wanted_rows]:
        cost = distance = 0.0
        for index, column in enumerate(COLUMNS):
            before, after = row[index], cells[index]
            if before == after or (np.isnan(before) and np.isnan(after)):
                continue
            if column.name in wishes["fixed"] or not may_change(column, before, after, wishes):
                break
            price = wishes["costs"].get(column.name, 1.0)
            width = WIDTHS[index]
            step = 1.0 if np.isnan(before) or width is None else abs(after - before) / width
            cost += price
            distance += step * price if order == "distance" else step
        else:
            found.append((cost, distance) if order == "changes" else (distance, cost))
    return found


def may_change(column, before, after, wishes):
    direction = wishes["directions"].get(column.name)
    if direction is not None and not np.isnan(before) and (after < before) == (direction == "up"):
        return False
    allowed = wishes["allowed"].get(column.name)
    if allowed is None:
        return True
    if column.is_numeric:
        return allowed[0] <= after <= allowed[1]
    return column.labels[int(after)] in allowed


def key_of(found, order):
    return (found.cost, found.distance) if order == "changes" else (found.distance, found.cost)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["changes", "distance"]))
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


@pytest.fixture(scope="module")
def credit():
    table, target = read("credit-g", "class")
    model = make("decision-tree-classifier", {"pruning": "error-based", "min_leaf": 5}).fit(table, target)
    return model, table.take(np.array([*range(60), 226, 666]))


def with_costs(credit, costs, order="changes"):
    """Five counterfactuals of each row under these costs."""
    model, rows = credit
    wishes = Wishes.of(model.columns_, costs=costs)
    return counterfactuals(model, rows, "bad", Search(wishes, count=5, order=order))


def test_a_forbidding_cost_of_one_column_leaves_the_others_in_their_order(credit):
    n_compared = 0
    for plain, dear in zip(with_costs(credit, {}), with_costs(credit, {"num_dependents": 1e15}), strict=True):
        if not any(change.column == "num_dependents" for one in plain for change in one.changes):
            assert [one.leaf for one in dear] == [one.leaf for one in plain]
            assert [one.cost for one in dear] == [len(one.changes) for one in dear]
            n_compared += len(plain)
    assert n_compared > 100


def test_equal_sums_of_costs_go_by_distance(credit):
    """One column at 3 in place of three at 1, of the last two rows."""
    every = with_costs(credit, {"savings_status": 3})
    for found in every:
        keys = [(one.cost, one.distance) for one in found]
        assert keys == sorted(keys)
    for found in every[-2:]:
        assert [(one.cost, len(one.changes)) for one in found[3:]] == [(3, 1), (3, 3)]
        assert found[3].distance == 1 < found[4].distance


@pytest.mark.parametrize("order", ["changes", "distance"])
@pytest.mark.parametrize("cost", [0.1, 1 / 3, 1e-20, 1e20])
def test_the_order_is_that_of_the_costs_in_any_unit(credit, cost, order):
    """Half the columns at one price, half at its double."""
    names = [column.name for column in credit[0].columns_]
    costs = {name: cost * (1 + place % 2) for place, name in enumerate(names)}
    whole = {name: 1 + place % 2 for place, name in enumerate(names)}
    for found, expected in zip(with_costs(credit, costs, order), with_costs(credit, whole, order), strict=True):
        assert [one.leaf for one in found] == [one.leaf for one in expected]
        np.testing.assert_allclose([one.cost for one in found], [one.cost * cost for one in expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("wishes", "field"),
    [
        ({"fixed": ["shape"]}, "fixed"),
        ({"directions": {"colour": "up"}}, "directions.colour"),
        ({"directions": {"size": "sideways"}}, "directions.size"),
        ({"directions": {"shape": "up"}}, "directions"),
        ({"costs": {"size": -1}}, "costs.size"),
        ({"costs": {"size": float("nan")}}, "costs.size"),
        ({"costs": {"size": True}}, "costs.size"),
        ({"costs": {"size": 1e200}}, "costs.size"),
        ({"allowed": {"size": (3, 1)}}, "allowed.size"),
        ({"allowed": {"size": ["a"]}}, "allowed.size"),
        ({"allowed": {"size": ("many", None)}}, "allowed.size"),
        ({"allowed": {"colour": ["mauve"]}}, "allowed.colour"),
        ({"allowed": {"colour": []}}, "allowed.colour"),
        ({"allowed": {"grade": ("low", "best")}}, "allowed.grade"),
        ({"allowed": {"grade": ("top", "low")}}, "allowed.grade"),
    ],
)
def test_bad_wishes_are_refused_by_name(wishes, field):
    with pytest.raises(ParameterError) as refusal:
        Wishes.of(COLUMNS, **wishes)
    assert refusal.value.field == field


def test_bad_questions_are_refused_by_name():
    model, rng = random_model(1)
    row = row_of(rng)
    for wanted in ("perhaps", None, (1, 2), float("inf")):
        with pytest.raises(ParameterError, match="class"):
            counterfactuals(model, row, wanted)
    regression = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    for wanted in ("a", 3.0, (None, None), (2.0, 1.0), ("x", None)):
        with pytest.raises(ParameterError):
            counterfactuals(regression, [[0.0]], wanted)
    for search in (Search(count=0), Search(order="best")):
        with pytest.raises(ParameterError):
            counterfactuals(model, row, "no", search)
    constant = Majority().fit([[0.0]], Series(Column("y", Kind.NOMINAL, ("a",)), np.zeros(1)))
    with pytest.raises(LearnerError, match="no tree"):
        counterfactuals(constant, [[0.0]], "a")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_shares_of_the_boxes_are_those_of_the_traversal(seed):
    model, rng = random_model(seed, follow_missing=True)
    row = row_of(rng, missing=0.4)
    if rng.random() < 0.3:
        row.values[0, 1] = -1  # a level that the model does not know
    boxes = boxes_of(model)
    shares = boxes.multiply_paths(boxes.shares(row.values[0]))
    leaves, weights = model.packed_tree_.reach(np.array(row.values[0]))
    expected = np.zeros(len(shares))
    expected[leaves] = weights
    assert shares[boxes.leaves] == pytest.approx(expected[boxes.leaves], abs=1e-12)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_conditions_hold_for_the_changed_row_and_for_no_row_beside(seed):
    """What is said of each column is what the leaf's known rows satisfy, in intervals and in sets."""
    model, rng = random_model(seed)
    row = row_of(rng)
    rows = grid(model, row.values[0])
    leaves = model.apply(rows)
    for wanted in CLASSES.labels:
        for one in counterfactuals(model, row, wanted, Search(count=3), SCALES)[0]:
            inside = np.ones(rows.n_rows, bool)
            for asked in one.asked:
                inside &= [satisfies(asked.condition, cell) for cell in rows.column(asked.condition.column).cells]
            assert np.array_equal(inside, leaves == one.leaf)


def satisfies(condition, cell):
    column = next(column for column in COLUMNS if column.name == condition.column)
    value = column.decode(float(cell))
    if condition.operator in ("in", "not in"):
        return (value in condition.values) == (condition.operator == "in")
    bounds = (condition.threshold, condition.low, condition.high)
    threshold, low, high = (bound if bound is None else column.encode(bound) for bound in bounds)
    if condition.operator == "interval":
        return low < cell <= high
    return (cell <= threshold) == (condition.operator == "<=")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_sets_are_judged_alike_in_pieces(seed):
    model, rng = random_model(seed)
    row = row_of(rng, missing=0.4)
    whole = [counterfactuals(model, row, wanted, Search(count=3), SCALES) for wanted in CLASSES.labels]
    question = next_question(model, row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("learners.reasons.demands._FLAGS_AT_ONCE", 1)
        patch.setattr("learners.reasons.covers._FLAGS_AT_ONCE", 1)
        pieces = [counterfactuals(model, row, wanted, Search(count=3), SCALES) for wanted in CLASSES.labels]
        for one, other in zip(question[0].candidates, next_question(model, row)[0].candidates, strict=True):
            assert (one.column, one.gain) == (other.column, pytest.approx(other.gain, abs=1e-12))
    assert [[way.to_json() for way in found] for (found,) in pieces] == [
        [way.to_json() for way in found] for (found,) in whole
    ]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["changes", "distance"]), st.sampled_from([0.0, 0.3]))
def test_of_a_rule_set_too_the_nearest_is_that_of_brute_force(seed, free, order, missing):
    model, rng = random_rules(seed)
    row = row_of(rng, missing)
    nothing = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}}
    wishes = nothing if free else random_wishes(rng)
    wanted = str(rng.choice(CLASSES.labels))
    rows = grid(model, row.values[0], blanks=True)
    good = model.predict(rows) == wanted
    search = Search(Wishes.of(COLUMNS, **wishes), order=order)
    (found,) = counterfactuals(model, row, wanted, search, SCALES)
    best = judged(rows.values, row.values[0], wishes, good, order)
    if model.predict(row)[0] == wanted or not best:
        assert found == []
        return
    assert key_of(found[0], order) == pytest.approx(min(best), abs=1e-9)
    assert model.predict(Table(COLUMNS, np.asfortranarray(found[0].cells[None])))[0] == wanted
    assert model.apply(Table(COLUMNS, np.asfortranarray(found[0].cells[None])))[0] == found[0].rank - 1
    if order == "changes":
        several = counterfactuals(model, row, wanted, Search(Wishes.of(COLUMNS, **wishes), count=4), SCALES)[0]
        rules = model.apply(rows)
        by_rule = sorted(
            min(candidates)
            for rule in np.unique(rules[good])
            if (candidates := judged(rows.values, row.values[0], wishes, good & (rules == rule), order))
        )
        assert [key_of(one, order) for one in several] == [pytest.approx(key, abs=1e-9) for key in by_rule[:4]]


def test_the_way_past_earlier_rules_by_hand():
    """Rule 1 takes x <= 5 with red for "no", rule 2 takes y > 2 for "yes": red at x = 4 has to leave rule 1 as well."""
    columns = (Column("x"), Column("y"), Column("colour", Kind.NOMINAL, ("red", "blue")))
    atoms = [
        [Atom(0, -np.inf, 5.0, None, False), Atom(2, -np.inf, np.inf, (0,), False)],
        [Atom(1, 2.0, np.inf, None, False)],
    ]
    value = np.array([[3.0, 0], [0, 3], [2, 0]])
    model = RuleSetClassifier()
    model.columns_, model.n_features_in_ = columns, 3
    model._set_rules(ordered_rules(atoms, value, value / value.sum(axis=1, keepdims=True), [3, 3, 2]), CLASSES_OF_TWO)
    row = Table(columns, np.array([[4.0, 1.0, 0.0]]))
    scales = Scales.of_records(columns, [{"minimum": 0, "maximum": 10}] * 2 + [{}])
    (found,) = counterfactuals(model, row, "yes", None, scales)
    assert [(change.column, change.after) for change in found[0].changes] == [
        ("y", np.nextafter(2.0, 3)),
        ("x", np.nextafter(5.0, 6)),
    ]
    assert found[0].to_json()["rule"] == model.rules_.rules[1].id
    (stays,) = counterfactuals(model, row, "yes", Search(Wishes.of(columns, fixed=["x"])), scales)
    assert {change.column: change.after for change in stays[0].changes} == {
        "y": np.nextafter(2.0, 3),
        "colour": "blue",
    }
    assert counterfactuals(model, row, "yes", Search(Wishes.of(columns, fixed=["x", "colour"])), scales) == [[]]


def test_a_search_through_rules_has_a_bound(monkeypatch):
    monkeypatch.setattr("learners.reasons.rule_search.MAX_REGIONS", 2)
    model, rng = random_rules(3)
    with pytest.raises(LearnerError, match="rules overlap so much"):
        for wanted in CLASSES.labels:
            counterfactuals(model, row_of(rng), wanted)
