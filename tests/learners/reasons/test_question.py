"""What to ask next: published gains, an enumeration written out plainly, and what must hold of every question."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.errors import ParameterError
from learners.reasons import next_question
from learners.reasons.question import _masses, _moments, _reached
from learners.reasons.regions.boxes import boxes_of
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import LEAF, THRESHOLD
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.reasons.models import CLASSES, grid, random_model, row_of
from tests.learners.tables import read
from tests.learners.trees.random_trees import COLUMNS


def entropy(masses):
    shares = np.asarray(masses, dtype=float) / sum(masses)
    return -sum(share * np.log2(share) for share in shares if share > 0)


def enumerated(model, row):
    """By unknown column the expected gain of information, leaf by leaf and cell by cell, as the formula has it."""
    nodes = model.tree_
    leaves = list(walk(nodes, row))
    total = sum(weight for _, weight, _ in leaves)
    gains = {}
    for place, column in enumerate(COLUMNS):
        if not np.isnan(row[place]):
            continue
        cells = cells_of(nodes, place, column)
        inside = [[v for v in cells if all(takes(nodes, test, v) for test in tests if asks(nodes, test, place))]
                  for _, _, tests in leaves]  # fmt: skip
        tests_it = [any(asks(nodes, test, place) for test in tests) for _, _, tests in leaves]
        prior = dict.fromkeys(cells, 0.0)
        for (_, weight, _), own, tests in zip(leaves, inside, tests_it, strict=True):
            for v in own if tests else ():
                prior[v] += weight / total / len(own)
        masses = {v: np.zeros(len(CLASSES.levels)) for v in cells}
        for (leaf, weight, _), own in zip(leaves, inside, strict=True):
            known = sum(prior[v] for v in own)
            allowed = own if known > 0 else cells
            known = sum(prior[v] for v in allowed)
            for v in allowed:
                share = prior[v] / known if known > 0 else 1 / len(cells)
                masses[v] += weight / total * share * nodes.value[leaf] / nodes.value[leaf].sum()
        now = sum(masses.values())
        gains[column.name] = entropy(now) - sum(m.sum() * entropy(m) for m in masses.values() if m.sum() > 0)
    return gains


def walk(nodes, row):
    """Every leaf that the row reaches, with its weight and the (node, branch) tests on the way."""
    stack = [(0, 1.0, ())]
    while stack:
        node, weight, tests = stack.pop()
        if nodes.test[node] == LEAF:
            yield node, weight, tests
            continue
        cell = row[nodes.feature[node]]
        for branch, child in enumerate(nodes.children(node)):
            if np.isnan(cell) or undecided(nodes, node, cell):
                share = nodes.fraction[child]
            else:
                share = float(takes(nodes, (node, branch), cell))
            if share > 0:
                stack.append((child, weight * share, (*tests, (node, branch))))


def undecided(nodes, node, cell):
    return not any(takes(nodes, (node, branch), cell) for branch in range(int(nodes.n_children[node])))


def takes(nodes, test, cell):
    node, branch = test
    if nodes.test[node] == THRESHOLD:
        return (cell > nodes.threshold[node]) == (branch == 1)
    codes, branches = nodes.levels_of(node)
    return dict(zip(codes.tolist(), branches.tolist(), strict=True)).get(int(cell), nodes.other_branch[node]) == branch


def asks(nodes, test, place):
    return nodes.feature[test[0]] == place


def cells_of(nodes, place, column):
    """A value in each cell: between the cuts of the whole tree, or every level."""
    if not column.is_numeric:
        return [float(code) for code in range(len(column.levels))]
    cuts = np.unique(nodes.threshold[nodes.feature == place])
    return [*cuts.tolist(), float(cuts[-1]) + 1] if len(cuts) else [0.0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_gains_are_those_of_the_enumeration(seed):
    model, rng = random_model(seed)
    row = row_of(rng, missing=0.9)
    (question,) = next_question(model, row)
    gains = {one.column: one.gain for one in question.candidates}
    # cells that no reached leaf cuts are one cell here and several there; the formula does not see the difference
    # unless equal parts of them are counted, so compare where every cut is reached
    reached = {int(leaf) for leaf, _, _ in walk(model.tree_, row.values[0])}
    if reached == set(model.tree_.leaves().tolist()):
        assert gains == pytest.approx(enumerated(model, row.values[0]), abs=1e-9)
    assert all(gain >= 0 for gain in gains.values())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_expected_answer_after_any_question_is_the_answer_now(seed, follow_missing):
    model, rng = random_model(seed, follow_missing=follow_missing)
    row = row_of(rng, missing=0.6).values[0]
    boxes = boxes_of(model)
    leaves, weights = _reached(boxes, row, boxes.shares(row))
    moments = weights[:, None] * _moments(model, leaves)
    states = boxes.last_states(leaves, np.flatnonzero(np.isnan(row)).tolist())
    for place in states:
        masses = _masses(boxes, place, states[place], weights, moments)
        assert masses.sum(axis=0) == pytest.approx(moments.sum(axis=0), abs=1e-12)
        assert masses.sum() == pytest.approx(1, abs=1e-12)
    if not follow_missing:
        now = model.predict_proba(Table(COLUMNS, np.asfortranarray(row[None])))[0]
        assert moments.sum(axis=0) == pytest.approx(now, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 9))
def test_the_last_states_are_those_of_the_paths(seed, depth):
    """Node by node from each leaf up to the root."""
    model, rng = random_model(seed, depth=depth)
    boxes = boxes_of(model)
    leaves = boxes.leaves[rng.random(len(boxes.leaves)) < 0.7]
    states = boxes.last_states(leaves, range(len(COLUMNS)))
    for place, leaf in enumerate(leaves.tolist()):
        assert {column: int(own[place]) for column, own in states.items() if own[place]} == boxes.path_states(leaf)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_what_is_still_possible_is_what_completions_are_answered(seed, follow_missing):
    model, rng = random_model(seed, follow_missing=follow_missing)
    row = row_of(rng, missing=0.5)
    unknown = np.flatnonzero(np.isnan(row.values[0]))
    choices = [np.unique(grid(model, row.values[0]).values[:, place]).tolist() for place in unknown]
    completions = np.repeat(row.values, max(1, int(np.prod([len(one) for one in choices]))), axis=0)
    completions[:, unknown] = list(product(*choices))
    answers = model.predict(Table(COLUMNS, np.asfortranarray(completions)))
    (question,) = next_question(model, row)
    possible = {CLASSES.labels[code] for code in question.possible}
    assert set(answers.tolist()) == possible


def test_the_published_gains_of_the_play_table():
    """Quinlan 1986: outlook 0.246, humidity 0.151, wind 0.048 and temperature 0.029 bits at the root."""
    X, y = read("weather-nominal", "play")
    for name, published in (("outlook", 0.246), ("humidity", 0.151), ("windy", 0.048), ("temperature", 0.029)):
        model = DecisionTreeClassifier(nominal="multiway", criterion="entropy", max_depth=1).fit(X.select([name]), y)
        (question,) = next_question(model, Table(model.columns_, np.full((1, 1), np.nan)))
        assert question.candidates[0].gain == pytest.approx(published, abs=0.001)
        assert question.ask == name
        assert question.uncertainty == pytest.approx(0.940, abs=0.001)
    model = DecisionTreeClassifier(nominal="multiway", criterion="entropy").fit(X, y)
    nothing = Table(X.columns, np.full((1, 4), np.nan))
    (question,) = next_question(model, nothing)
    assert question.ask == "outlook"
    assert question.candidates[0].gain == pytest.approx(0.246, abs=0.001)
    assert [one.gain for one in question.candidates if one.column == "temperature"] == [0]
    (dear,) = next_question(model, nothing, {"outlook": 1000})
    assert dear.ask != "outlook"
    (free,) = next_question(model, nothing, {"windy": 0})
    assert free.ask == "windy"
    assert free.candidates[0].to_json()["score"] is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_after_all_answers_the_answer_is_the_prediction_and_nothing_is_left_to_ask(seed):
    model, rng = random_model(seed)
    truth = row_of(rng).values[0]
    row = np.full(len(truth), np.nan)
    for _ in range(len(truth) + 1):
        (question,) = next_question(model, Table(COLUMNS, np.asfortranarray(row[None])))
        if question.ask is None:
            break
        place = [column.name for column in COLUMNS].index(question.ask)
        row[place] = truth[place]
    assert question.ask is None
    everything = Table(COLUMNS, np.asfortranarray(truth[None]))
    (last,) = next_question(model, everything)
    assert list(last.answers) == model.predict_proba(everything)[0].tolist()
    assert last.candidates == ()
    assert (last.leaves, last.possible) == (1, (int(CLASSES.encode(model.predict(everything)[0])),))


def test_utility_asks_only_what_may_change_the_decision():
    """A test that moves the probability, but never past the threshold of the decision, is worth nothing."""
    column = Column("mark", Kind.NOMINAL, ("a", "b"))
    target = Column("y", Kind.NOMINAL, ("no", "yes"))
    cells = np.array([0.0] * 10 + [1.0] * 10)
    classes = np.array([1.0] * 4 + [0.0] * 6 + [1.0] * 1 + [0.0] * 9)
    model = DecisionTreeClassifier().fit(Table((column,), np.asfortranarray(cells[:, None])), Series(target, classes))
    nothing = Table((column,), np.array([[np.nan]]))
    (plain,) = next_question(model, nothing, utilities=np.eye(2))
    assert plain.candidates[0].gain == 0
    assert plain.ask is None
    # "yes" pays 3 if true: worth deciding from 1/4 on; now 5/20 = 1/4, after the answer 4/10 or 1/10
    (paid,) = next_question(model, nothing, utilities=np.array([[1.0, 0.0], [0.0, 3.0]]))
    assert paid.candidates[0].gain == pytest.approx((0.5 * 1.2 + 0.5 * 0.9) - 0.75)


def test_utilities_are_read_by_decision_and_class():
    """To trust pays 1 if right and costs 4 if wrong, to refuse pays nothing; p(bad) is 1/4: 2/5 of "a", 1/10 of "b"."""
    column = Column("mark", Kind.NOMINAL, ("a", "b"))
    target = Column("y", Kind.NOMINAL, ("good", "bad"))
    cells = np.array([0.0] * 10 + [1.0] * 10)
    classes = np.array([1.0] * 4 + [0.0] * 6 + [1.0] * 1 + [0.0] * 9)
    model = DecisionTreeClassifier().fit(Table((column,), np.asfortranarray(cells[:, None])), Series(target, classes))
    nothing = Table((column,), np.array([[np.nan]]))
    (question,) = next_question(model, nothing, utilities=np.array([[1.0, -4.0], [0.0, 0.0]]))
    # now max(3/4 - 4/4, 0) = 0; after "a" max(3/5 - 8/5, 0) = 0, after "b" 9/10 - 4/10 = 1/2
    assert question.candidates[0].gain == pytest.approx(0.5 * 0 + 0.5 * 0.5 - 0)


def test_leaves_that_allow_several_cells_share_their_weight_among_them():
    """Of x the leaves allow {0, 1} and {2} where z is 0, {0} and {1, 2} where z is 1; each has 1/4 of the weight.

    So q is 1/8 + 1/4 of 0, 1/8 + 1/8 of 1, 1/4 + 1/8 of 2; the leaf of {0, 1} lies in 0 with 3/5, in 1 with 2/5.
    Of x = 0 the masses are 3/20 and 5/20 of two classes, of 1 two times 2/20, of 2 5/20 and 3/20.
    """
    cells = [(0, 0), (0, 1), (0, 2), (0, 2), (1, 0), (1, 0), (1, 1), (1, 2)]
    model = DecisionTreeClassifier(criterion="entropy").fit(np.array(cells, dtype=float), list("aabbccdd"))
    assert model.tree_.feature.tolist() == [0, 1, 1, -1, -1, -1, -1]
    (question,) = next_question(model, [[np.nan, np.nan]])
    gains = {one.column: one.gain for one in question.candidates}
    assert gains == pytest.approx({"x0": 1.0, "x1": 2 - (0.8 * entropy([3, 5]) + 0.2 * 1)})


def test_a_gain_is_divided_by_its_cost_alone():
    """25 for 10 is worth less than 0.25 for 0.08: 2.5 and 3.125."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = DecisionTreeRegressor().fit(X, np.array([0.0, 1.0, 10.0, 11.0]))
    (question,) = next_question(model, [[np.nan, np.nan]], {"x0": 10, "x1": 0.08})
    assert [one.column for one in question.candidates] == ["x1", "x0"]
    assert [one.score for one in question.candidates] == pytest.approx([3.125, 2.5])


def test_a_regression_asks_for_what_explains_variance():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = DecisionTreeRegressor().fit(X, np.array([0.0, 1.0, 10.0, 11.0]))
    (question,) = next_question(model, [[np.nan, np.nan]])
    assert question.ask == "x0"
    assert [one.gain for one in question.candidates] == pytest.approx([25.0, 0.25])
    assert question.uncertainty == pytest.approx(25.25)
    assert (question.possible, question.spread, question.leaves) == (None, (0.0, 11.0), 4)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"costs": {"shape": 1}}, "costs"),
        ({"costs": {"size": -1}}, "costs.size"),
        ({"utilities": np.eye(2)}, "utilities"),
        ({"utilities": np.full((3, 3), np.nan)}, "utilities"),
        ({"utilities": np.zeros(3)}, "utilities"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, field):
    model, rng = random_model(1)
    with pytest.raises(ParameterError) as refusal:
        next_question(model, row_of(rng), **arguments)
    assert refusal.value.field == field


def test_utilities_are_of_classes():
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ParameterError, match="regression"):
        next_question(model, [[0.0]], utilities=np.eye(2))


def test_a_sure_answer_has_no_uncertainty_and_no_sign():
    table = Table.from_columns({"x": [1.0, 2.0]}, [Column("x")])
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.array([0.0, 1.0]))
    model = DecisionTreeClassifier().fit(table, target)
    assert str(next_question(model, [[1.0]])[0].uncertainty) == "0.0"


def test_what_only_several_answers_tell_is_asked_for_all_the_same():
    """Of parity no single bit tells anything; both do. A sure answer asks for nothing."""
    table = Table.from_columns({"a": [0.0, 0, 1, 1], "noise": [0.0, 0, 0, 0], "b": [0.0, 1, 0, 1]})
    model = DecisionTreeClassifier(min_gain=0, pruning="none").fit(table, ["even", "odd", "odd", "even"])
    rows = np.array([[np.nan, np.nan, np.nan], [0, np.nan, np.nan], [0, np.nan, 1]])
    nothing, one, both = next_question(model, Table(table.columns, np.asfortranarray(rows)))
    assert [candidate.gain for candidate in nothing.candidates] == [0, 0, 0]
    assert nothing.ask in ("a", "b")
    assert one.ask == "b"
    assert (both.ask, both.possible) == (None, (1,))
