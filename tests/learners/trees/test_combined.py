"""Tests of several values at once: what they find, what they gain, and that every option beside them holds."""

import json
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from learners.checks.require import require_json
from learners.errors import LearnerError
from learners.evaluation.folds import k_fold
from learners.persist import dump, load
from learners.reasons.regions.boxes import boxes_of
from learners.rules.access import rules_of
from learners.rules.compare import compare_rules
from learners.rules.render import to_markdown, to_text
from learners.rules.simplify import simplified
from learners.rules.stability import digest_rules, rule_stability
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.combined.tests import LEVELS, NUMBER, CombinedTest, CombinedTests, Term
from learners.trees.criteria import gain_ratio, gini_gain
from learners.trees.nodes import LEAF
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.trees.trees import same_tree

BOOLEAN, M_OF_N = ({"formula_tests": form, "max_terms": 6} for form in ("boolean", "m-of-n"))


def of_bits(count, concept):
    """All rows of some boolean columns, and a concept of them."""
    rows = np.array(list(product((0, 1), repeat=count)))
    columns = tuple(Column(name, Kind.BOOLEAN, ("false", "true"), "boolean") for name in "abcdefgh"[:count])
    answers = np.array([float(concept(*row)) for row in rows])
    return Table(columns, np.asfortranarray(rows.astype(float))), Series(Column("y", Kind.NOMINAL, ("n", "y")), answers)


def leaves(table, target, **params):
    model = DecisionTreeClassifier(**params).fit(table, target)
    answers = np.array(target.column.labels, dtype=object)[target.cells.astype(int)]
    assert (model.predict(table) == answers).all()
    return model.n_leaves_


@pytest.mark.parametrize("irrelevant", [0, 1, 2])
def test_either_of_two_conjunctions_takes_two_tests(irrelevant):
    def concept(*bits):
        chooser, one, other = bits[irrelevant:]
        return one if chooser else other

    table, target = of_bits(3 + irrelevant, concept)
    simple = leaves(table, target)
    assert leaves(table, target, **BOOLEAN) <= 4 < simple
    assert leaves(table, target, **M_OF_N) <= 4


def test_three_of_five_is_one_test():
    table, target = of_bits(5, lambda *bits: sum(bits) >= 3)
    assert leaves(table, target, **M_OF_N) == 2
    assert leaves(table, target) == 20  # the paths of the smallest tree of single bits
    model = DecisionTreeClassifier(**M_OF_N).fit(table, target)
    terms = "(a = true, b = true, c = true, d = true, e = true)"
    assert [rule.conditions[0].condition.text() for rule in rules_of(model).rules] == [
        f"at least 3 of {terms}",
        f"fewer than 3 of {terms}",
    ]


def test_exactly_two_of_six_takes_two_tests():
    """The second of the MONK's problems (Thrun et al. 1991) with two values a column."""
    table, target = of_bits(6, lambda *bits: sum(bits) == 2)
    assert leaves(table, target, **M_OF_N) == 3
    assert leaves(table, target) > 30


def test_an_interval_is_one_test():
    size = np.arange(40.0)[:, None]
    inside = (size[:, 0] > 12) & (size[:, 0] <= 18)
    model = DecisionTreeClassifier(interval_tests=True).fit(size, inside)
    assert model.n_leaves_ == 2
    assert DecisionTreeClassifier().fit(size, inside).n_leaves_ == 3
    text = to_text(rules_of(model))
    assert "IF 12.5 < x0 <= 18.5 THEN" in text
    assert "IF not 12.5 < x0 <= 18.5 THEN" in text
    data = DecisionTreeClassifier(interval_tests=True, threshold="data").fit(size, inside)
    assert "IF 12 < x0 <= 18 THEN" in to_text(rules_of(data))
    gap = DecisionTreeClassifier(interval_tests=True).fit(np.append(size, [[np.nan]], axis=0), [*inside, True])
    assert "where missing: 12.5 < x0 <= 18.5 " in to_text(rules_of(gap))


def test_the_best_interval_of_few_cuts_is_the_best_of_all_pairs():
    rng = np.random.default_rng(5)
    for _ in range(10):
        x = rng.integers(0, 9, 60).astype(float)
        y = rng.integers(0, 3, 60)
        model = DecisionTreeClassifier(interval_tests=True, max_depth=1).fit(x[:, None], y)

        def branches(inside, y=y):
            return [np.bincount(y[inside], minlength=3), np.bincount(y[~inside], minlength=3)]

        ends = (*(np.arange(8) + 0.5), np.inf)
        gains = [gini_gain(branches((x > low) & (x <= high))) for low in (-np.inf, *ends) for high in ends if low < high
                 and 0 < ((x > low) & (x <= high)).sum() < 60]  # fmt: skip
        assert model.tree_.gain[0] == pytest.approx(max(gains))


def test_an_end_of_an_interval_among_very_many_cuts_is_found():
    rng = np.random.default_rng(0)
    x = rng.random(3000)
    y = ((x > 0.4242) & (x <= 0.4747)) ^ (rng.random(3000) < 0.02)
    model = DecisionTreeClassifier(interval_tests=True, max_depth=1).fit(x[:, None], y)
    (test,) = model.tree_.combined.tests
    assert [term.number for term in test.terms] == pytest.approx([0.4242, 0.4747], abs=0.002)


def test_an_ordinal_interval_keeps_the_order():
    grades = Column("grade", Kind.ORDINAL, ("low", "fair", "good", "top"))
    table = Table((grades,), np.asfortranarray(np.tile(np.arange(4.0), 5)[:, None]))
    target = Series(Column("y", Kind.NOMINAL, ("n", "y")), np.tile([0.0, 1.0, 1.0, 0.0], 5))
    model = DecisionTreeClassifier(interval_tests=True).fit(table, target)
    assert [rule.conditions[0].condition.text() for rule in rules_of(model).rules] == [
        "low < grade <= good",
        "not low < grade <= good",
    ]


@pytest.mark.parametrize("seed", range(3))
def test_a_slanting_boundary_is_one_test(seed):
    rows = np.random.default_rng(seed).random((300, 3))
    above = rows[:, 0] + 2 * rows[:, 1] > 1.4
    model = DecisionTreeClassifier(oblique_tests=True).fit(rows, above)
    assert model.n_leaves_ == 2
    assert DecisionTreeClassifier().fit(rows, above).n_leaves_ > 8
    (test,) = model.tree_.combined.tests
    weights = {term.feature: term.number for term in test.terms}
    assert weights[0] / weights[1] == pytest.approx(0.5, abs=0.03)
    numbers = DecisionTreeRegressor(oblique_tests=True, max_depth=1).fit(rows, rows[:, 0] + 2 * rows[:, 1])
    weights = {term.feature: term.number for term in numbers.tree_.combined.tests[0].terms}
    assert weights[0] / weights[1] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("read", [load_iris, load_breast_cancer])
def test_sums_do_not_err_more_than_simple_tests(read):
    rows, target = read(return_X_y=True)
    plan = k_fold(len(rows), 10, 0, target)
    wrong = {True: [], False: []}
    for split in plan:
        for oblique, found in wrong.items():
            model = DecisionTreeClassifier(min_leaf=2, oblique_tests=oblique).fit(
                rows[split.train], target[split.train]
            )
            found.extend(model.predict(rows[split.test]) != target[split.test])
    simple = np.array(wrong[False])
    assert np.mean(wrong[True]) <= simple.mean() + simple.std() / np.sqrt(len(simple))


def test_a_gain_is_what_the_criterion_says_of_the_branches():
    rng = np.random.default_rng(1)
    rows, y = rng.integers(0, 5, (80, 3)).astype(float), rng.integers(0, 3, 80)
    for params, gain in (({}, gini_gain), ({"criterion": "gain-ratio"}, gain_ratio)):
        for combined in (M_OF_N, {"oblique_tests": True}, {"interval_tests": True}):
            model = DecisionTreeClassifier(**params, **combined, max_depth=3).fit(rows, y)
            nodes = model.tree_
            for node in np.flatnonzero(nodes.feature >= 3):
                parts = [nodes.value[child] for child in nodes.children(node)]
                expected = nodes.gain[node] if gain is gain_ratio else gain(parts)
                assert nodes.gain[node] == pytest.approx(expected)
                assert gain(parts) > 0


MIXED = (
    {"criterion": "gain-ratio", "threshold_penalty": True, "threshold_minimum": "c4.5", "threshold": "data"},
    {"criterion": "entropy", "cost_form": "eg2", "costs": {"a": 9.0}, "stop_significance": 0.5},
    {"pruning": "error-based", "subtree_raising": True, "min_leaf": 2},
    {"pruning": "cost-complexity", "alpha_choice": "cv-1se", "alpha_folds": 3},
    {"pruning": "reduced-error", "max_leaves": 9},
    {"pruning": "minimum-length", "missing": "as-value"},
    {"pruning": "chi-square", "significance": 0.2, "missing": "most-likely"},
)


def mixed_rows(seed=0, rows=90, missing=0.08):
    rng = np.random.default_rng(seed)
    colour = Column("colour", Kind.NOMINAL, ("red", "green", "blue", "black"))
    values = np.column_stack((rng.integers(0, 4, rows), rng.normal(size=(rows, 2)))).astype(float)
    labels = ((values[:, 1] + values[:, 2] > 0.3) & (values[:, 0] > 0)) ^ (rng.random(rows) < 0.05)
    values[rng.random(values.shape) < missing] = np.nan
    table = Table((colour, Column("a"), Column("b")), np.asfortranarray(values))
    return table, Series(Column("y", Kind.NOMINAL, ("n", "y")), labels.astype(float))


EVERYTHING = {"interval_tests": True, "oblique_tests": True, **M_OF_N}


@pytest.mark.parametrize("params", MIXED, ids=lambda one: one.get("pruning", one.get("criterion")))
def test_every_other_option_goes_with_them(params):
    table, target = mixed_rows()
    model = DecisionTreeClassifier(**EVERYTHING, **params).fit(table, target, np.linspace(0.5, 2, 90))
    nodes = model.tree_
    assert (model.predict(table) == np.array(["n", "y"])[target.cells.astype(int)]).mean() > 0.75
    assert len(nodes.combined) == np.count_nonzero(nodes.feature >= 3)
    np.testing.assert_allclose(rules_of(model).predict_proba(table), model.predict_proba(table), atol=1e-12)
    simple = rules_of(model, simplify=True).predict_proba(table)
    np.testing.assert_allclose(simple, model.predict_proba(table), atol=1e-9)
    data = dump(model.get_state())
    copy = DecisionTreeClassifier.from_state(load(data))
    assert dump(copy.get_state()) == data
    np.testing.assert_array_equal(copy.predict_proba(table), model.predict_proba(table))


def test_a_column_that_costs_much_is_left_out_of_them():
    table, target = mixed_rows(missing=0.0)
    costs = {"a": 1e6}
    model = DecisionTreeClassifier(oblique_tests=True, cost_form="idx", costs=costs, max_depth=1).fit(table, target)
    assert 1 not in {term.feature for test in model.tree_.combined.tests for term in test.terms}
    assert DecisionTreeClassifier(oblique_tests=True, max_depth=1).fit(table, target).tree_.combined.tests[0].is_sum


def test_importances_are_shared_among_the_columns():
    table, target = of_bits(5, lambda *bits: sum(bits[:3]) >= 2)
    model = DecisionTreeClassifier(**M_OF_N).fit(table, target)
    assert model.feature_importances_ == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0])
    rows = np.random.default_rng(0).random((400, 2)) * [1, 1000]
    sums = DecisionTreeClassifier(oblique_tests=True).fit(rows, rows[:, 0] + rows[:, 1] / 1000 > 1)
    assert sums.feature_importances_ == pytest.approx([0.5, 0.5], abs=0.02)


def test_without_missing_values_a_conjunction_is_known_once_a_term_fails():
    test = CombinedTest(2, (Term(NUMBER, 0, 3.0), Term(LEVELS, 1, np.nan, (1, 2))))
    tests = CombinedTests.of(2, [test, CombinedTest(1, test.terms)])
    cells = np.array([[1.0, 9.0, np.nan, np.nan, 1.0, 1.0], [1.0, 1.0, 0.0, 2.0, np.nan, -1.0]])
    rows = np.arange(6)
    every = tests.values(np.zeros(6, int), cells, rows)
    some = tests.values(np.ones(6, int), cells, rows)
    np.testing.assert_array_equal(every, [0, 1, 1, np.nan, np.nan, 1])
    np.testing.assert_array_equal(some, [0, 0, np.nan, 0, 0, 0])
    one_by_one = [[one.value(cells[:, row]) for row in rows] for one in tests.tests]
    np.testing.assert_array_equal(one_by_one, [every, some])


def test_without_a_limit_the_order_of_growing_makes_no_difference():
    table, target = mixed_rows(3)
    whole = DecisionTreeClassifier(**EVERYTHING).fit(table, target)
    bounded = DecisionTreeClassifier(**EVERYTHING, max_leaves=1000).fit(table, target)
    assert same_tree(whole, bounded, apart=("level_start", "level_codes", "level_branch"))


def test_growing_without_them_is_as_before():
    table, target = mixed_rows(4)
    # a single numeric column makes no sum, so the loop that looks for sums finds the simple tests alone
    one = Table(table.columns[:2], np.asfortranarray(table.values[:, :2]))
    simple, asked = (DecisionTreeClassifier(oblique_tests=sums).fit(one, target) for sums in (False, True))
    assert not any(name.startswith("combined") for name in asked.get_state().arrays)
    assert same_tree(simple, asked, apart=("level_start", "level_codes", "level_branch"))


def test_numbers_too_large_to_add_are_no_test():
    rows = np.array([[1e308, -1e308], [-1e308, 1e308], [1e308, 1e308], [-1e308, -1e308]] * 5)
    model = DecisionTreeClassifier(oblique_tests=True).fit(rows, np.tile([0, 1, 1, 0], 5))
    assert (model.predict(rows) == np.tile([0, 1, 1, 0], 5)).all()
    answers = model.predict_proba([[1.7e308, 1.7e308]])
    assert answers.sum() == pytest.approx(1)


@pytest.mark.parametrize("l2", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("learner", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_any_scale_and_any_penalty_will_do(learner, l2):
    rng = np.random.default_rng(0)
    first = rng.normal(size=60)
    rows = np.column_stack((first, first, 1e308 * rng.random(60), 1e-300 * rng.normal(size=60), np.ones(60)))
    target = (first + rows[:, 2] / 1e308 > 0.5).astype(int)
    model = learner(oblique_tests=True, oblique_l2=l2).fit(rows, target)
    np.testing.assert_array_equal(model.predict(rows), target)
    far = np.full((1, 5), 1.7e308)
    for sign in (1, -1):
        record = model.explain(sign * far)[0].to_json()
        require_json(record, "a reason")
        assert "text" in json.dumps(record)


def test_rules_tell_and_compare_them():
    table, target = mixed_rows()
    models = [DecisionTreeClassifier(**EVERYTHING, seed=seed).fit(table, target) for seed in (0, 1)]
    sets = [rules_of(model) for model in models]
    difference = compare_rules(*sets)
    assert len(difference.same) == len(sets[0].rules)
    assert not difference.added + difference.removed + difference.moved
    told = rule_stability([digest_rules(model) for model in models])
    assert told["agreement"] == pytest.approx(1)
    assert "|" in to_markdown(sets[0])
    assert len(simplified(sets[0]).rules) <= len(sets[0].rules)
    record = sets[0].to_json()
    assert len(record["columns"]) == 3


def test_weights_in_texts_read_back():
    rows = np.random.default_rng(0).random((100, 2))
    model = DecisionTreeClassifier(oblique_tests=True, max_depth=1).fit(rows, rows[:, 0] - 3 * rows[:, 1] > 0)
    (condition,) = (one.condition for one in rules_of(model).rules[0].conditions)
    left, right = condition.text().split(" <= ")
    assert float(right) == model.tree_.threshold[0] == condition.threshold
    numbers = [float(word) for word in left.split() if word[0].isdigit()]
    assert numbers == [abs(weight) for _, weight in condition.weights if abs(weight) != 1]


def test_their_leaves_are_no_boxes():
    table, target = mixed_rows()
    model = DecisionTreeClassifier(**EVERYTHING).fit(table, target)
    assert len(model.tree_.combined)
    with pytest.raises(LearnerError, match="tests of several values"):
        boxes_of(model)


def test_regression_trees_have_them_too():
    rng = np.random.default_rng(0)
    rows = rng.random((200, 3))
    target = np.where((rows[:, 0] > 0.3) & (rows[:, 0] <= 0.6), 5.0, 0.0) + np.where(
        rows[:, 1] + rows[:, 2] > 1, 1.0, 0
    )
    model = DecisionTreeRegressor(interval_tests=True, oblique_tests=True).fit(rows, target)
    assert 2 * model.n_leaves_ < DecisionTreeRegressor().fit(rows, target).n_leaves_
    np.testing.assert_allclose(model.predict(rows), target)
    np.testing.assert_allclose(rules_of(model).predict(model.check_table(rows)), target)
    assert (model.tree_.test[model.tree_.leaves()] == LEAF).all()
