import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.catalog import dump_model, load_model, make
from learners.decisions import decide, expected_utility, regrets, threshold_utility, utility_matrix
from learners.errors import ParameterError
from learners.evaluation.crossval import cross_validate
from learners.persist import load
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier

MAIL = Column("mail", Kind.NOMINAL, ("nospam", "spam"))
#: That a spam passes costs 1, that a good message is lost costs 10.
COSTS = {"nospam": {"spam": -1}, "spam": {"nospam": -10}}


@pytest.mark.parametrize(("share", "decided"), [(0.0, 0), (0.5, 0), (10 / 11 - 1e-9, 0), (10 / 11 + 1e-9, 1), (1.0, 1)])
def test_the_published_costs_move_the_threshold_to_10_of_11(share, decided):
    utility = utility_matrix(COSTS, MAIL)
    assert decide(np.array([[1 - share, share]]), utility).tolist() == [decided]
    assert decide(np.array([[1 - share, share]]), threshold_utility(1, 10 / 11)).tolist() == [decided]


def test_spam_leaves_on_both_sides_of_10_of_11():
    """Three leaves with 9 of 10, 11 of 12 and 1 of 2 spam rows; probabilities stay what they were."""
    groups = {0.0: (1, 9), 1.0: (1, 11), 2.0: (1, 1)}
    X = np.array([[x] for x, (good, bad) in groups.items() for _ in range(good + bad)])
    y = [label for good, bad in groups.values() for label in ["nospam"] * good + ["spam"] * bad]
    plain = DecisionTreeClassifier(nominal="multiway").fit(X, y)
    costly = DecisionTreeClassifier(utility=COSTS).fit(X, y)
    asked = np.array([[0.0], [1.0], [2.0]])
    assert plain.predict(asked).tolist() == ["spam", "spam", "nospam"]
    assert costly.predict(asked).tolist() == ["nospam", "spam", "nospam"]
    np.testing.assert_array_equal(plain.predict_proba(asked), costly.predict_proba(asked))
    copy = load_model(load(dump_model(costly)))
    assert copy.predict(asked).tolist() == ["nospam", "spam", "nospam"]
    assert copy.utility == {"nospam": {"spam": -1.0}, "spam": {"nospam": -10.0}}


def test_ties_go_to_the_first_class():
    assert decide(np.array([[0.5, 0.5], [0.25, 0.75]])).tolist() == [0, 1]
    utility = utility_matrix({"nospam": {"nospam": 3}, "spam": {"spam": 1}}, MAIL)
    assert decide(np.array([[0.25, 0.75]]), utility).tolist() == [0]


@given(at=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 5e-324, 0.5, np.nextafter(1, 0)])))
def test_a_threshold_decides_its_class_at_exactly_it_whichever_comes_first(at):
    for positive in (0, 1):
        utility = threshold_utility(positive, at)
        for share in (at, at - 1e-9, at + 1e-9, 0.0, 1.0):
            if 0 <= share <= 1:
                shares = np.empty((1, 2))
                shares[0, positive], shares[0, 1 - positive] = share, 1 - share
                assert (decide(shares, utility)[0] == positive) == (share >= at or at - share < 1e-12)


def test_what_rounding_may_part_is_a_tie():
    third = 0.3333333333333333
    assert decide(np.array([[third, np.nextafter(third, 1), third]])).tolist() == [0]
    assert decide(np.array([[0.3, 0.3 + 9e-13, 0.4 - 9e-13], [0.5 - 1e-11, 0.5 + 1e-11, 0.0]])).tolist() == [2, 1]
    assert decide(np.array([[0.1, 0.45, 0.45 + 1e-15]])).tolist() == [1]
    shares = np.array([[0.5 - 1e-13, 0.5 + 1e-13], [0.5 - 1e-11, 0.5 + 1e-11]])
    for size in (1e-100, 1.0, 1e100):
        assert decide(shares, size * np.eye(2)).tolist() == [0, 1]


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_the_decision_has_the_largest_expected_utility(n_classes, seed):
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=(n_classes, n_classes))
    shares = rng.dirichlet(np.ones(n_classes), 20)
    worth = np.einsum("dk,nk->nd", utility, shares)
    np.testing.assert_allclose(expected_utility(shares, utility), worth)
    chosen = decide(shares, utility)
    assert (worth[np.arange(20), chosen] >= worth.max(axis=1) - 1e-12).all()
    one_by_one = [int(decide(shares[row : row + 1], utility)[0]) for row in range(20)]
    assert one_by_one == chosen.tolist()


def test_without_utilities_the_likeliest_class():
    shares = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    assert (decide(shares) == shares.argmax(axis=1)).all()
    assert (decide(shares, np.eye(4)) == shares.argmax(axis=1)).all()
    np.testing.assert_array_equal(regrets(None, 3), 1 - np.eye(3))
    np.testing.assert_array_equal(regrets(np.array([[0.0, -1.0], [-10.0, 0.0]]), 2), [[0, 1], [10, 0]])


@pytest.mark.parametrize(
    ("utility", "said"),
    [
        ({"ham": {"spam": 1}}, "utility names 'ham', which is no class; the classes are 'nospam', 'spam'"),
        ({"spam": {"ham": 1}}, "utility names 'ham', which is no class"),
        ({}, "does not depend on the class that is decided"),
        ({"spam": {"spam": 2}, "nospam": {"spam": 2}}, "does not depend on the class that is decided"),
        ({"spam": {"spam": 1e200}}, "at most 1e\\+150"),
        ({"spam": 1}, "parameter utility must be an object of objects of finite numbers"),
        ({"spam": {"spam": float("nan")}}, "parameter utility must be an object of objects of finite numbers"),
        ([], "parameter utility must be"),
    ],
)
def test_a_wrong_utility_is_refused_by_name(utility, said):
    with pytest.raises(ParameterError, match=said) as caught:
        DecisionTreeClassifier(utility=utility).fit([[0.0], [1.0]], Series(MAIL, np.array([0.0, 1.0])))
    assert caught.value.field == "utility"


def test_a_threshold_is_a_probability():
    with pytest.raises(ParameterError, match="threshold must be"):
        threshold_utility(1, 1.5)


@pytest.mark.parametrize(
    ("column", "utility"),
    [
        (Column("y", Kind.BOOLEAN, ("false", "true"), "boolean"), {False: {True: -1}, True: {False: -10}}),
        (Column("y", Kind.BOOLEAN, ("false", "true"), "boolean"), {"false": {"true": -1}, "true": {"false": -10}}),
        (Column("y", Kind.NOMINAL, ("0", "1"), "number"), {0: {1: -1}, 1: {0: -10}}),
        (Column("y", Kind.NOMINAL, ("0", "1"), "number"), {"0": {"1": -1}, "1.0": {"0": -10}}),
    ],
)
def test_labels_of_any_type_are_named_by_value_or_text(column, utility):
    np.testing.assert_array_equal(utility_matrix(utility, column), [[0, -1], [-10, 0]])
    target = Series(column, np.array([0.0, 1.0, 1.0]))
    model = DecisionTreeClassifier(utility=utility, class_weight={next(iter(utility)): 2.0})
    state = load(dump_model(model.fit([[0.0], [1.0], [1.0]], target)))
    assert json.loads(json.dumps(state.header["parameters"]["utility"])) == {
        column.levels[0]: {column.levels[1]: -1.0},
        column.levels[1]: {column.levels[0]: -10.0},
    }
    np.testing.assert_array_equal(load_model(state).utility_, model.utility_)


def test_a_fold_is_judged_by_the_decisions():
    """Where a wrong 'b' is terrible, only 'a' is ever decided."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(rng.random(60) < 0.7, "b", "a")
    careful = DecisionTreeClassifier(max_depth=2, leaf_estimate="laplace", utility={"b": {"a": -1e6}, "a": {"b": -1}})
    summary = cross_validate(careful, X, y, folds=3).summary
    assert summary["metrics"]["accuracy"]["mean"] == pytest.approx((y == "a").mean())


def test_classes_in_another_order_than_the_tables():
    """A learner's class codes and those of the judged table differ; the labels count."""
    levels = ("b", "a")
    target = Series(Column("y", Kind.NOMINAL, levels), np.array([0.0, 1.0] * 20))
    table = Table.from_array(np.arange(40, dtype=float)[:, None] % 2, ["x"])
    summary = cross_validate(make("decision-tree-classifier"), table, target, folds=4).summary
    assert summary["metrics"]["accuracy"]["mean"] == 1.0
    assert replace(target.column).levels == levels
