"""The same row gives the same leaf in training, prediction, explanation, rules, boxes and the fast descent.

Over random tables with missing and unseen cells, grown by every missing-value rule and discretisation; asked
with values on every cut and one unit in the last place to either side.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.checks.explanations import _check_steps
from learners.columns import MISSING, UNSEEN, Column, Kind
from learners.conditions import CountCondition, SumCondition
from learners.reasons.regions.boxes import boxes_of
from learners.rules.access import rules_of
from learners.table import Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.descent import Descent
from learners.trees.nodes import INTERVALS, LEAF, LEVELS, THRESHOLD
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.trees.random_trees import COLUMNS, random_rows
from tests.learners.trees.trees import same_tree

SEEDS = st.integers(0, 2**32 - 1)
MISSING_RULES = ("fractional", "as-value", "most-likely")
DISCRETISED = ({}, {"discretise": "equal-width", "bins": 4}, {"discretise": "equal-frequency", "bins": 3})
BY_CLASSES = (*DISCRETISED, {"discretise": "mdl"})
#: Tests of several values at once.
COMBINED = (
    {"interval_tests": True},
    {"formula_tests": "boolean"},
    {"formula_tests": "m-of-n", "max_terms": 4},
    {"oblique_tests": True},
    {"interval_tests": True, "formula_tests": "m-of-n", "oblique_tests": True},
)


def fitted(seed, params, share=0.2, rows=45):
    rng = np.random.default_rng(seed)
    table = random_rows(rng, rows, share)
    labels = rng.integers(0, 3, rows)
    know = np.nan_to_num(table.values[:, 0]) > 3
    labels[know] = 0
    labels[np.isnan(table.values[:, 1])] = 1
    target = Series(Column("y", Kind.NOMINAL, ("a", "b", "c")), labels.astype(float))
    return DecisionTreeClassifier(**params).fit(table, target), table


def around(model, table):
    """The table's rows, and such as lie on the bounds of tests, beside them, or have cells that are not known."""
    nodes = model.tree_
    ends = np.concatenate((nodes.threshold, nodes.upper, nodes.combined.number))
    ends = ends[np.isfinite(ends)]
    ends = np.unique(np.concatenate((ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf), [-1e300, 1e300])))
    rng = np.random.default_rng(0)
    more = table.values[rng.integers(0, len(table), max(len(ends), 20))].copy()
    for place, column in enumerate(table.columns):
        if column.is_numeric:
            more[: len(ends), place] = rng.permutation(ends)
        else:
            more[rng.random(len(more)) < 0.2, place] = UNSEEN
    more[rng.random(more.shape) < 0.15] = MISSING
    return Table(table.columns, np.asfortranarray(np.concatenate((table.values, more, *on_sums(nodes, table, rng)))))


def on_sums(nodes, table, rng):
    """Rows whose weighted sum is a test's threshold, and such as miss it by the least change of one value."""
    d = table.n_columns
    for node in np.flatnonzero(nodes.feature >= d):
        test = nodes.combined.tests[nodes.feature[node] - d]
        if test.is_sum:
            rows = np.nan_to_num(table.values[rng.integers(0, len(table), 3)], nan=1.0)
            for row in rows:
                term = test.terms[int(rng.integers(len(test.terms)))]
                row[term.feature] = 0.0
                row[term.feature] = (nodes.threshold[node] - test.value(row)) / term.number
            beside = np.repeat(rows, 5, axis=0)
            for place, cell in np.ndenumerate(beside):
                steps = place[0] % 5 - 2
                if table.columns[place[1]].is_numeric:
                    beside[place] = cell + steps * np.spacing(cell)
            yield beside


def check_agreement(model, table):
    nodes, rules = model.tree_, rules_of(model)
    boxes = None if len(nodes.combined) else boxes_of(model)
    answers, leaves = model.predict_proba(table), model.apply(table)
    np.testing.assert_allclose(answers.sum(axis=1), 1, atol=1e-12)
    matches = rules.matches(table)
    np.testing.assert_allclose(matches.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(rules.predict_proba(table), answers, atol=1e-12)
    ids = [rule.leaf for rule in rules.rules]
    descent, known = Descent(model.packed_tree_, model.tested_columns_), known_cells(table)
    one = np.empty(answers.shape[1])
    for row, explanation in enumerate(model.explain(table)):
        told = {branch.leaf: branch.weight for branch in explanation.branches}
        in_rules = {leaf: share for leaf, share in zip(ids, matches[row], strict=True) if share > 0}
        assert told == pytest.approx(in_rules, abs=1e-12)
        if boxes is None:
            _check_steps([step for branch in explanation.branches for step in branch.steps], table, row)
        else:
            by_boxes = boxes.multiply_paths(boxes.shares(table.values[row]))
            in_boxes = {leaf: by_boxes[leaf] for leaf in boxes.leaves.tolist() if by_boxes[leaf] > 0}
            assert told == pytest.approx(in_boxes, abs=1e-12)
        assert explanation.branches[0].leaf == leaves[row]
        model.packed_tree_.predict_row(np.array(table.values[row]), one)
        np.testing.assert_array_equal(one, answers[row])
        cells = table.values[row]
        if known[row].all():
            assert descent.leaf(cells.tolist()) == leaves[row]
            for step in explanation.branches[0].steps:
                assert satisfies(step.condition, step.observed)
    return nodes


def known_cells(table):
    numeric = np.array([column.is_numeric for column in table.columns])
    return ~np.isnan(table.values) & ((table.values >= 0) | numeric)


def satisfies(condition, value):
    if isinstance(condition, SumCondition):
        return value <= condition.threshold if condition.operator == "<=" else value > condition.threshold
    if isinstance(condition, CountCondition):
        inside = condition.interval
        return (value >= condition.need if inside is None else satisfies(inside, value)) == condition.holds
    if condition.operator in ("in", "not in"):
        return (value in condition.values) == (condition.operator == "in")
    if isinstance(value, str):  # an ordinal level
        order = COLUMNS[2].levels
        bounds = (condition.threshold, condition.low, condition.high)
        threshold, low, high = (None if one is None else order.index(one) for one in bounds)
        value = order.index(value)
    else:
        threshold, low, high = condition.threshold, condition.low, condition.high
    if condition.operator == "interval":
        return low < value <= high
    return value <= threshold if condition.operator == "<=" else value > threshold


@pytest.mark.parametrize("discretised", BY_CLASSES, ids=lambda one: one.get("discretise", "none"))
@pytest.mark.parametrize("missing", MISSING_RULES)
@pytest.mark.parametrize("nominal", ["subset", "multiway", "one-vs-rest"])
@settings(max_examples=3, deadline=None)
@given(seed=SEEDS)
def test_every_reader_follows_a_row_to_the_same_leaves(discretised, missing, nominal, seed):
    model, table = fitted(seed, {"missing": missing, "nominal": nominal, **discretised})
    nodes = check_agreement(model, around(model, table))
    for node in np.flatnonzero(nodes.test != LEAF):
        children = list(nodes.children(node))
        assert nodes.weight[children].sum() == pytest.approx(nodes.weight[node])
        assert nodes.fraction[children].sum() == pytest.approx(1)
    check_training_rows(model, table, nodes)


def check_training_rows(model, table, nodes):
    """What became of the training rows is what answers say of them."""
    leaves, _, shares = model.packed_tree_.placed(np.ascontiguousarray(table.values.T), np.arange(len(table)))
    placed = np.bincount(leaves, shares, minlength=nodes.n_nodes)
    at_leaf = nodes.test == LEAF
    np.testing.assert_allclose(placed[at_leaf], nodes.weight[at_leaf], atol=1e-9)


@pytest.mark.parametrize("combined", COMBINED, ids="+".join)
@pytest.mark.parametrize("missing", MISSING_RULES)
@settings(max_examples=1, deadline=None)
@given(seed=SEEDS)
def test_so_it_is_with_tests_of_several_values(combined, missing, seed):
    model, table = fitted(seed, {"missing": missing, "criterion": "entropy", **combined})
    nodes = check_agreement(model, around(model, table))
    check_training_rows(model, table, nodes)


@pytest.mark.parametrize("prediction", ["fractional", "most-likely"])
@pytest.mark.parametrize("missing", ["fractional", "most-likely"])
@pytest.mark.parametrize("pruning", ["none", "error-based", "reduced-error", "chi-square", "minimum-length"])
def test_answers_may_follow_another_rule_than_training(missing, prediction, pruning):
    params = {"missing": missing, "missing_prediction": prediction, "pruning": pruning, "discretise": "equal-width"}
    model, table = fitted(7, params | ({"subtree_raising": True} if pruning == "error-based" else {}))
    nodes = check_agreement(model, around(model, table))
    inner = nodes.test != LEAF
    assert ((nodes.missing_branch[inner] < 0) == (prediction == "fractional")).all()
    if prediction == "most-likely":
        for node in np.flatnonzero(inner):
            heaviest = nodes.fraction[list(nodes.children(node))]
            assert heaviest[nodes.missing_branch[node]] == pytest.approx(heaviest.max())


@pytest.mark.parametrize("discretised", DISCRETISED, ids=lambda one: one.get("discretise", "none"))
@pytest.mark.parametrize("nominal", ["subset", "multiway", "one-vs-rest"])
def test_with_nothing_missing_all_rules_agree(nominal, discretised):
    for seed in range(4):
        trees = [fitted(seed, {"missing": rule, "nominal": nominal, **discretised}, 0.0)[0] for rule in MISSING_RULES]
        for other in trees[1:]:
            assert same_tree(trees[0], other, apart=("missing_branch",))


@pytest.mark.parametrize("discretised", DISCRETISED, ids=lambda one: one.get("discretise", "none"))
@pytest.mark.parametrize("missing", MISSING_RULES)
def test_numbers_are_answered_by_rules_as_by_the_tree(missing, discretised):
    rng = np.random.default_rng(3)
    table = random_rows(rng, 80, 0.2)
    target = np.nan_to_num(table.values[:, 0], nan=9.0) + rng.normal(size=80)
    model = DecisionTreeRegressor(missing=missing, min_leaf=2, **discretised).fit(table, target)
    asked = around(model, table)
    np.testing.assert_allclose(rules_of(model).predict(asked), model.predict(asked), atol=1e-12)


def test_every_kind_of_test_occurs():
    seen = set()
    for discretised in DISCRETISED[:2]:
        for seed in range(6):
            nodes = fitted(seed, {"missing": "as-value", **discretised})[0].tree_
            seen |= set(nodes.test.tolist())
            known = (nodes.test == LEVELS) & (nodes.level_count == 0)
            seen |= {"known"} if (known & (nodes.other_branch == 0)).any() else set()
            seen |= {"alone"} if (nodes.fraction[nodes.parent >= 0] == 0).any() else set()
    assert seen >= {LEAF, THRESHOLD, LEVELS, INTERVALS, "known", "alone"}


@pytest.mark.parametrize("params", [{"missing": "as-value"}, {"discretise": "equal-width", "missing": "as-value"}])
@pytest.mark.parametrize("nominal", ["subset", "multiway"])
def test_growing_best_first_grows_the_same_tree(params, nominal):
    for seed in range(4):
        whole, _ = fitted(seed, {**params, "nominal": nominal})
        other, _ = fitted(seed, {**params, "nominal": nominal, "max_leaves": 10_000})
        assert same_tree(whole, other, apart=("level_start", "level_codes", "level_branch"))
        bounded, _ = fitted(seed, {**params, "nominal": nominal, "max_leaves": 12})
        assert bounded.n_leaves_ <= 12


@pytest.mark.parametrize("params", COMBINED)
def test_one_row_is_answered_however_it_lies_in_memory(params):
    """The step from row to row of an array of one row may be anything, 0 too."""
    model, table = fitted(5, params)
    answers = model.predict_proba(table)
    for row, cells in enumerate(table.values):
        for one in (np.asfortranarray(cells[None]), np.broadcast_to(cells, (1, len(cells))), cells.reshape(1, -1)):
            np.testing.assert_array_equal(model.predict_proba(Table(COLUMNS, one))[0], answers[row])
