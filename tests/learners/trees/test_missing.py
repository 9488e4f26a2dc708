"""Missing and unseen values: fractional rows in training, in answers and in explanations."""

import numpy as np
import pytest

from learners.table import MISSING, UNSEEN, Column, Kind, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.criteria import information_gain
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read, read_file
from tests.learners.trees.trees import classes, grown_on, nominal, numbers
from tests.shared import trap_path


def test_a_column_of_one_value_and_gaps_holds_no_test():
    """C4.5 weighs by the known share and never asks whether a value is known."""
    table = Table.from_array(np.array([[0.0], [0], [0], [MISSING], [MISSING]]))
    assert DecisionTreeClassifier().fit(table, classes(*"aaabb")).n_leaves_ == 1


def test_gain_counts_the_known_share():
    table = Table.from_array(np.array([[0.0], [1], [MISSING], [MISSING]]))
    model = DecisionTreeClassifier(criterion="entropy").fit(table, classes(*"abab"))
    assert model.tree_.gain[0] == 0.5
    assert model.tree_.weight.tolist() == [4, 2, 2]
    assert model.tree_.rows.tolist() == [4, 3, 3]
    assert model.tree_.fraction.tolist() == [1, 0.5, 0.5]
    assert model.tree_.value.tolist() == [[2, 2], [1.5, 0.5], [0.5, 1.5]]


def test_wholly_missing_column_is_passed_over():
    table, labels = read_file(trap_path("all_missing_col.csv"), "y")
    model = DecisionTreeClassifier().fit(table, labels)
    assert model.score(table, labels) == 1
    assert set(model.tree_.feature.tolist()) == {-1, 0}
    assert DecisionTreeClassifier().fit(table.select(["void"]), labels).n_leaves_ == 1


@pytest.mark.parametrize("params", [{}, {"nominal": "multiway", "criterion": "gain-ratio", "min_leaf": 2}])
def test_weights_of_children_add_up_to_their_parent(params):
    for name, target in (("vote", "Class"), ("labor", "class"), ("credit-a", "class")):
        nodes = DecisionTreeClassifier(**params).fit(*read(name, target)).tree_
        for node in np.flatnonzero(nodes.n_children > 0):
            children = list(nodes.children(node))
            assert nodes.weight[children].sum() == pytest.approx(nodes.weight[node], rel=1e-9)
            assert nodes.fraction[children].sum() == pytest.approx(1, rel=1e-12)
            assert np.allclose(nodes.value[children][nodes.weight[children] > 0].sum(axis=0), nodes.value[node])


def test_blanking_each_cell_gives_sums_of_one_and_the_explained_answer():
    table, labels = read("labor", "class")
    model = DecisionTreeClassifier(criterion="gain-ratio", nominal="multiway", min_leaf=2).fit(table, labels)
    for index, column in enumerate(table.columns):
        for cell in (MISSING, UNSEEN) if not column.is_numeric else (MISSING,):
            blanked = Table(table.columns, table.values.copy(order="F"))
            blanked.values[:, index] = cell
            shares = model.predict_proba(blanked)
            assert np.allclose(shares.sum(axis=1), 1, atol=1e-12)
            leaves = model.apply(blanked)
            for row, explanation in enumerate(model.explain(blanked)):
                assert np.array_equal(replayed(explanation), shares[row])
                assert explanation.branches[0].leaf == leaves[row]


def replayed(explanation):
    """The answer that the branches add up to, in their order."""
    branches = explanation.branches
    answers = [np.array([share for _, share in branch.distribution]) for branch in branches]
    if len(branches) == 1 and branches[0].weight == 1:
        return answers[0]
    total = np.zeros(len(answers[0]))
    for branch, answer in zip(branches, answers, strict=True):
        total += branch.weight * answer
    return total


def test_everything_missing_answers_as_the_root():
    table, labels = read("vote", "Class")
    model = DecisionTreeClassifier(min_leaf=2).fit(table, labels)
    void = Table(table.columns, np.full((1, table.n_columns), MISSING, order="F"))
    root = model.tree_.value[0] / model.tree_.value[0].sum()
    assert np.allclose(model.predict_proba(void)[0], root, atol=1e-9)
    assert len(model.explain(void)[0].branches) == model.n_leaves_


def test_regression_divides_rows_too():
    table = Table.from_array(np.array([[0.0], [0], [1], [1], [MISSING]]))
    model = DecisionTreeRegressor(max_depth=1).fit(table, numbers(0, 0, 10, 10, 5))
    assert model.tree_.value[1:, 0] == pytest.approx([1, 9])
    assert model.predict([[np.nan]]) == pytest.approx([5])


@pytest.mark.parametrize(("split", "answer"), [("multiway", "gaps"), ("subset", "heavy"), ("one-vs-rest", "rest")])
def test_an_unseen_level_follows_the_branch_for_others_or_counts_as_missing(split, answer):
    table = grown_on(nominal("c", list("aaddde")))
    model = DecisionTreeClassifier(nominal=split, max_depth=1).fit(table, classes(*"nnyyyy"))
    other = Table((Column("c", Kind.NOMINAL, ("f",)),), np.array([[0.0]]))
    answers = {tuple(model.predict_proba(other)[0]) for _ in range(100)}
    expected = {"gaps": (2 / 6, 4 / 6), "heavy": (0.0, 1.0), "rest": (0.0, 1.0)}
    assert len(answers) == 1
    assert answers.pop() == pytest.approx(expected[answer], abs=1e-12)
    step = model.explain(other)[0].branches[0].steps[0]
    assert step.state == "unseen"
    assert step.observed is None


def test_levels_that_do_not_occur_in_a_node_answer_as_it():
    table = grown_on(nominal("c", list("aabb"), levels="abz"))
    model = DecisionTreeClassifier(nominal="multiway").fit(table, classes(*"nnyy"))
    z = Table(table.columns, np.array([[2.0]]))
    assert model.predict_proba(z).tolist() == [[0.5, 0.5]]
    assert model.tree_.weight.tolist() == [4, 2, 2, 0]


def test_an_unseen_code_of_an_ordinal_column_is_no_low_level():
    size = Column("size", Kind.ORDINAL, ("small", "medium", "large"))
    table = Table((size,), np.array([[0.0], [1], [2], [2]]))
    model = DecisionTreeClassifier().fit(table, classes(*"nnyy"))
    unseen = Table((size,), np.array([[UNSEEN]]))
    assert model.predict_proba(unseen)[0] == pytest.approx([0.5, 0.5])


def test_unseen_cells_in_training_count_as_missing():
    column, cells = nominal("c", list("aabb"))
    gaps = np.append(cells, MISSING)
    unseen = np.append(cells, UNSEEN)
    y = classes(*"nnyyn")
    one = DecisionTreeClassifier().fit(grown_on((column, gaps)), y)
    assert np.array_equal(one.tree_.value, grown_value(column, unseen, y))


def grown_value(column, cells, y):
    return DecisionTreeClassifier().fit(grown_on((column, cells)), y).tree_.value


def test_a_missing_class_keeps_a_column_of_zeros():
    from learners.table import Series

    column = Column("y", Kind.NOMINAL, ("a", "b", "never"))
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], Series(column, np.array([0.0, 1.0])))
    assert model.predict_proba([[1.0], [np.nan]]).tolist() == [[1, 0, 0], [0.5, 0.5, 0]]


def test_fractional_gain_of_the_weather_with_one_missing_outlook():
    """Quinlan (C4.5, 1993, section 3.2): 13/14 of 0.961 bits less 0.747 bits is 0.199."""
    table, labels = read("weather-nominal", "play")
    table.values[11, 0] = MISSING  # an overcast day of those that play
    for rule in ("fractional", "most-likely"):
        model = DecisionTreeClassifier(criterion="entropy", nominal="multiway", missing=rule, max_depth=1)
        model.fit(table, labels)
        assert table.names[model.tree_.feature[0]] == "outlook"
        assert model.tree_.gain[0] == pytest.approx(0.199, abs=5e-4)
    assert model.tree_.weight.tolist() == [14, 3, 6, 5]  # rainy and sunny are equally likely


def test_missing_as_a_value_of_its_own():
    """Published of the votes in this form: 0.740033 bits."""
    table, labels = read("vote", "Class")
    model = DecisionTreeClassifier(criterion="entropy", nominal="multiway", missing="as-value", max_depth=1)
    model.fit(table, labels)
    assert table.names[model.tree_.feature[0]] == "physician-fee-freeze"
    assert model.tree_.gain[0] == pytest.approx(0.740033, abs=5e-7)
    assert model.tree_.weight[1:].sum() == len(table)
    assert model.tree_.n_children[0] == 3
    missing = np.isnan(table.values[:, model.tree_.feature[0]])
    assert model.tree_.weight[1 + model.tree_.missing_branch[0]] == missing.sum()
    assert (model.explain(table.take(missing))[0].branches[0].steps[0].condition.text()) == (
        "physician-fee-freeze is missing"
    )


def test_a_split_of_known_and_missing_where_missing_is_a_value():
    table = Table.from_array(np.array([[0.0], [0], [0], [MISSING], [MISSING]]))
    model = DecisionTreeClassifier(missing="as-value").fit(table, classes(*"aaabb"))
    assert model.score(table, classes(*"aaabb")) == 1
    texts = [step.condition.text() for one in model.explain(table) for step in one.branches[0].steps]
    assert texts == ["x0 is known"] * 3 + ["x0 is missing"] * 2


@pytest.mark.parametrize(("labels", "threshold", "branch"), [("aabbb", 1.5, 1), ("abbaa", 0.5, 0), ("aaabb", None, 1)])
def test_missing_takes_the_side_of_a_threshold_where_it_gains_most(labels, threshold, branch):
    table = Table.from_array(np.array([[0.0], [1], [2], [MISSING], [MISSING]]))
    table = Table(table.columns, np.where(np.arange(5)[:, None] == 1, 1.0, table.values))
    nodes = DecisionTreeClassifier(missing="as-value").fit(table, classes(*labels)).tree_
    assert nodes.n_leaves == 2
    assert nodes.missing_branch[0] == branch
    assert np.isnan(nodes.threshold[0]) if threshold is None else nodes.threshold[0] == threshold


@pytest.mark.parametrize("weighted", [False, True])
def test_missing_as_a_value_beside_many_numbers_gains_the_most_of_all_tests(weighted):
    random = np.random.default_rng(3)
    for _ in range(20):
        cells, codes = random.normal(size=40), random.permutation(np.arange(40) % 3)
        cells[random.random(40) < 0.3] = MISSING
        weights = random.uniform(1, 2, 40) if weighted else np.ones(40)
        known = ~np.isnan(cells)
        sides = [~known, *(cells <= value for value in cells[known]), *(~(cells > value) for value in cells[known])]
        allowed = [side for side in sides if min(weights[side].sum(), weights[~side].sum()) >= 4]
        best = max(
            information_gain([np.bincount(codes[rows], weights[rows], minlength=3) for rows in (side, ~side)])
            for side in allowed
        )
        model = DecisionTreeClassifier(criterion="entropy", missing="as-value", max_depth=1, min_leaf=4)
        model.fit(Table.from_array(cells[:, None]), classes(*np.array(["a", "b", "c"])[codes]), weights)
        assert model.tree_.gain[0] == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(("numbers_known", "cuts"), [([0.0] * 3 + [1.0] * 6, 1), (np.arange(9.0), 2)])
def test_a_threshold_pays_for_those_of_its_own_order(numbers_known, cuts):
    """With missing first, 5 rows on either side can be had in so many ways; the entropy of 5 and 6 rows is 0.994."""
    table = Table.from_array(np.array([*numbers_known, MISSING, MISSING])[:, None])
    model = DecisionTreeClassifier(criterion="entropy", threshold_penalty=True, missing="as-value", min_leaf=5)
    nodes = model.fit(table, classes(*"aaabbbbbbaa")).tree_
    assert nodes.gain[0] == pytest.approx(0.99403 - np.log2(cuts) / 11, abs=1e-5)
    assert nodes.missing_branch[0] == 0


def test_gaps_that_training_did_not_meet_go_down_every_branch():
    model = DecisionTreeClassifier(missing="as-value").fit([[0.0], [1.0], [1.0]], classes(*"abb"))
    assert model.predict_proba([[np.nan]])[0] == pytest.approx([1 / 3, 2 / 3])


def test_rules_without_sense_are_refused():
    from learners.errors import ParameterError

    with pytest.raises(ParameterError, match=r"missing_prediction = 'fractional' has no effect with missing = 'as-v"):
        DecisionTreeClassifier(missing="as-value", missing_prediction="fractional").fit([[0.0], [1.0]], ["a", "b"])
    fitted = DecisionTreeClassifier(missing="as-value").fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ParameterError, match="branches of their own"):
        fitted.following("fractional")
