"""Plans: groups stay together, time is followed, repeats differ, and what has no sense is refused by name."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import TimeSeriesSplit

from learners.base import Classifier
from learners.decisions import utility_matrix
from learners.errors import DataError, ParameterError
from learners.evaluation import Judging, Plan, cross_validate
from learners.evaluation.folds import dealing_order, hold_out, k_fold
from learners.evaluation.leaving_out import answers_left_out, joined, judge_left_out
from learners.evaluation.plan import Repeated
from learners.linear import LinearRegressor
from learners.neighbors import NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.table import Column, Kind, Series, Table
from tests.learners.examples import Majority, Mean


def numbers(values) -> Series:
    return Series(Column("y"), np.asarray(values, dtype=float))


def labels(codes) -> Series:
    return Series(Column("y", Kind.NOMINAL, ("a", "b", "c")), np.asarray(codes, dtype=float))


def rows_tested(splits) -> list[list[int]]:
    return [splits[number].test.tolist() for number in range(len(splits))]


@given(st.lists(st.integers(0, 7), min_size=2, max_size=60), st.integers(0, 2**40), st.data())
def test_groups_are_never_parted_and_every_row_is_tested_once(groups, seed, data):
    groups = np.array(groups, dtype=float)
    count = len(np.unique(groups))
    if count < 2:
        return
    k = data.draw(st.integers(2, count))
    target = labels(data.draw(st.lists(st.integers(0, 2), min_size=len(groups), max_size=len(groups))))
    splits = Plan(folds=k).splits(target, seed, groups=Series(Column("g"), groups))
    assert sorted(row for rows in rows_tested(splits) for row in rows) == list(range(len(groups)))
    for number in range(k):
        split = splits[number]
        assert len(split.test) > 0
        assert not set(groups[split.train]) & set(groups[split.test])


@pytest.mark.parametrize("codes", [None, np.arange(3000) % 3])
def test_groups_of_like_size_make_folds_of_like_size_and_mixture(codes):
    groups = numbers(np.repeat(np.arange(300), 10))
    target = numbers(np.zeros(3000)) if codes is None else labels(codes)
    folds = Plan(folds=5).splits(target, 1, groups=groups)
    assert [len(rows) for rows in rows_tested(folds)] == pytest.approx([600] * 5, abs=10)
    held = Plan("hold-out", fraction=0.3).splits(target, 1, groups=groups)
    assert len(held[0].test) == pytest.approx(900, abs=10)


def test_groups_are_stratified_as_far_as_they_allow():
    # 40 groups of one class each, 10 rows a group: a fold in four has no better than 10 groups, 5 of each class
    codes = np.repeat(np.arange(40) % 2, 10)
    groups = numbers(np.repeat(np.arange(40), 10))
    for seed in range(5):
        folds = Plan(folds=4).splits(labels(codes), seed, groups=groups)
        for rows in rows_tested(folds):
            assert np.bincount(codes[rows], minlength=2).tolist() == [50, 50]


@given(st.lists(st.integers(0, 30), min_size=4, max_size=60), st.data())
def test_what_is_tested_is_later_than_what_is_learned_from(times, data):
    distinct = len(set(times))
    if distinct < 2:
        return
    k = data.draw(st.integers(1, distinct - 1))
    series = numbers(times)
    splits = Plan(folds=k).splits(numbers(times), times=series)
    assert len(splits) == k
    seen: set[int] = set()
    for number in range(k):
        split = splits[number]
        assert series.cells[split.train].max() < series.cells[split.test].min()
        assert not seen & set(split.test.tolist())
        seen |= set(split.test.tolist())
    assert seen | set(splits[0].train.tolist()) == set(range(len(times)))
    held = Plan("hold-out").splits(numbers(times), times=series)[0]
    assert series.cells[held.train].max() < series.cells[held.test].min()


def test_different_times_are_parted_as_scikit_learn_does():
    order = np.random.default_rng(3).permutation(60)
    splits = Plan(folds=5).splits(numbers(order), times=numbers(order))
    peer = [set(test) for _, test in TimeSeriesSplit(5).split(np.zeros(60))]
    assert [set(order[rows]) for rows in rows_tested(splits)] == peer


def test_of_two_groups_the_first_that_is_dealt_is_learned_from():
    """It is nearer to the 70 % that are to be learned from than to the 30 that are tested."""
    for seed in range(6):
        groups = np.repeat([0.0, 1.0], 10)
        first = int(dealing_order(2, seed, None)[0])
        split = Plan("hold-out", fraction=0.3).splits(numbers(groups), seed, groups=numbers(groups))[0]
        assert set(groups[split.train]) == {first}


def test_rare_classes_are_shared_like_common_ones():
    """200 groups of one class and 8 of another: each of 4 folds has 2 of the rare ones, in any order of the groups."""
    codes, groups = np.repeat([0] * 200 + [1] * 8, 5), np.repeat(np.arange(208), 5)
    for seed in range(5):
        folds = Plan(folds=4).splits(labels(codes), seed, groups=numbers(groups))
        assert [int(codes[rows].sum()) for rows in rows_tested(folds)] == [10] * 4


def test_ten_stratified_folds_are_drawn_or_a_quarter_is_held_out_unless_told_otherwise():
    codes = np.arange(40) % 3
    for plan, known in ((Plan(), codes), (Plan(stratified=False), None)):
        folds = k_fold(40, 10, 4, known)
        assert rows_tested(plan.splits(labels(codes), 4)) == [folds[number].test.tolist() for number in range(10)]
        assert len(rows_tested(plan.splits(labels(codes), 4, groups=numbers(np.arange(40))))) == 10
    for plan, known in ((Plan("hold-out"), codes), (Plan("hold-out", stratified=False), None)):
        (split,) = rows_tested(plan.splits(labels(codes), 4))
        assert split == hold_out(40, 0.25, 4, known)[0].test.tolist()
    held = Plan("hold-out", fraction=0.4).splits(labels(codes), times=numbers(np.arange(40)))
    assert held[0].test.tolist() == list(range(24, 40))
    with pytest.raises(IndexError):
        held[1]
    with pytest.raises(ParameterError, match="at least 2 rows; there is 1"):
        Plan("leave-one-out").splits(labels([0]))


@pytest.mark.parametrize("grouped", [False, True])
def test_classes_that_are_too_rare_are_named(grouped):
    target = labels([*[0, 1] * 10, 2])
    groups = numbers(np.arange(21) // 2) if grouped else None
    assert Plan(folds=3).splits(target, groups=groups).warnings == (
        "class 'c' has 1 of the rows: fewer than the 3 folds, so some folds have none to test",
    )
    split = Plan("hold-out", fraction=0.3).splits(target, groups=groups)
    missing = "test" if 20 in split[0].train else "train on"
    assert split.warnings == (f"class 'c': no row of it is there to {missing}",)
    assert Plan(folds=3).splits(labels([0, 0, 0, 1, 1, 1])).warnings == ()  # as many as there are folds


def test_repeats_are_the_folds_of_the_following_seeds():
    target = labels(np.arange(30) % 3)
    splits = Plan(folds=5, repeats=3).splits(target, 7)
    assert isinstance(splits, Repeated)
    drawn = [rows_tested(Plan(folds=5).splits(target, seed)) for seed in (7, 8, 9)]
    assert rows_tested(splits) == [rows for folds in drawn for rows in folds]
    assert rows_tested(splits)[:5] != rows_tested(splits)[5:10]
    with pytest.raises(IndexError):
        splits[15]


def test_repeated_folds_count_each_row_once_in_the_pooled_interval():
    target, table = labels(np.arange(30) % 2), Table.from_array(np.zeros((30, 1)))
    once = cross_validate(Majority(), table, target, Plan(folds=5)).summary["pooled"]["accuracy_interval"]
    for repeats in (2, 4):
        often = cross_validate(Majority(), table, target, Plan(folds=5, repeats=repeats)).summary
        assert often["pooled"]["accuracy_interval"] == once
        assert (often["folds"], often["repeats"]) == (5 * repeats, repeats)
        assert often["metrics"]["accuracy"]["count"] == 5 * repeats


def test_leave_one_out_is_judged_on_all_answers_together():
    # always the majority of the others: of 4 a and 3 b, every b is told a, and every a too, or a tie told a
    target, table = labels([0, 0, 0, 0, 1, 1, 1]), Table.from_array(np.zeros((7, 1)))
    found = cross_validate(Majority(), table, target, Plan("leave-one-out"))
    assert found.summary["pooled"]["confusion"][:2] == [[4.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    assert found.results[0].rows.probabilities[0].tolist() == [0.5, 0.5, 0.0]
    assert found.summary["method"] == "leave-one-out"
    assert found.summary["metrics"]["accuracy"]["interval"]["method"] == "wilson"
    assert (found.results[0].n_train, found.results[0].n_test) == (6, 7)


class Counting(Mean):
    """Knows the mean of all other rows without being fitted again."""

    fits = 0
    leaves_one_out = True

    def fit(self, X, y, sample_weight=None, **more):
        Counting.fits += 1
        return super().fit(X, y, sample_weight, **more)

    def leave_one_out(self, X, y, sample_weight=None):
        values = y.cells
        weights = np.ones(len(values)) if sample_weight is None else sample_weight
        return (weights @ values - weights * values) / (weights.sum() - weights)


class CountingShares(Majority):
    """The same of class shares."""

    fits = 0
    leaves_one_out = True

    def fit(self, X, y, sample_weight=None, **more):
        CountingShares.fits += 1
        return super().fit(X, y, sample_weight, **more)

    def leave_one_out(self, X, y, sample_weight=None):
        own = np.eye(len(y.column.levels))[y.codes]
        return (own.sum(axis=0) - own) / (len(own) - 1)


@pytest.mark.parametrize(("fast", "slow"), [(Counting, Mean), (CountingShares, Majority)])
def test_a_fast_path_of_leave_one_out_gives_the_same(fast, slow):
    generator = np.random.default_rng(2)
    target = (
        labels(generator.integers(0, 3, 25)) if issubclass(fast, Classifier) else numbers(generator.normal(size=25))
    )
    table = Table.from_array(np.zeros((25, 1)))
    fast.fits = 0
    quick = cross_validate(fast(), table, target, Plan("leave-one-out"))
    assert fast.fits == 0
    long = cross_validate(slow(), table, target, Plan("leave-one-out"))
    assert quick.results[0].rows.predicted == pytest.approx(long.results[0].rows.predicted, rel=1e-12)
    assert quick.results[0].metrics == pytest.approx(long.results[0].metrics, rel=1e-9)


def test_a_fast_path_takes_weights_into_account():
    generator = np.random.default_rng(4)
    target, table = numbers(generator.normal(size=25)), Table.from_array(np.zeros((25, 1)))
    judging = Judging(weights=generator.random(25) + 0.1)
    quick, long = (
        cross_validate(make(), table, target, Plan("leave-one-out"), judging=judging) for make in (Counting, Mean)
    )
    assert quick.results[0].rows.predicted == pytest.approx(long.results[0].rows.predicted, rel=1e-12)
    assert quick.results[0].metrics == pytest.approx(long.results[0].metrics, rel=1e-9)


class Careful(CountingShares):
    """Decides for c unless it is all but sure, by a declared utility."""

    utility: ClassVar = {"a": {"b": -9.0, "c": -9.0}, "b": {"a": -9.0, "c": -9.0}}

    def fit(self, X, y, sample_weight=None, **more):
        super().fit(X, y, sample_weight, **more)
        self.utility_ = utility_matrix(self.utility, self.target_)
        return self


def test_a_fast_path_decides_by_the_learners_utility(monkeypatch):
    target, table = labels(np.arange(30) % 5 % 3), Table.from_array(np.zeros((30, 1)))
    quick = cross_validate(Careful(), table, target, Plan("leave-one-out")).results[0]
    monkeypatch.setattr(Careful, "leave_one_out", lambda self, *given: None)
    long = cross_validate(Careful(), table, target, Plan("leave-one-out")).results[0]
    assert quick.rows.predicted.tolist() == long.rows.predicted.tolist() == [2.0] * 30
    assert quick.metrics == pytest.approx(long.metrics)
    assert quick.metrics["mean_utility"] == 0  # of what is decided for c nothing is said
    given = Judging(utility=np.array([[0.0, 0, 0], [0, 0, 0], [1, 2, 4]]))
    judged = cross_validate(Careful(), table, target, Plan("leave-one-out"), judging=given).results[0]
    assert judged.metrics["mean_utility"] == pytest.approx((12 * 1 + 12 * 2 + 6 * 4) / 30)


@pytest.mark.parametrize("classes", [True, False])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_nearest_neighbours_left_out_one_by_one_and_by_passing_over_them(classes, metric, monkeypatch):
    generator = np.random.default_rng(6)
    values = generator.integers(0, 6, (40, 2)).astype(float)  # with ties
    values[0, 1] = 99  # without this row the column is as narrow as the others
    target = labels(generator.integers(0, 3, 40)) if classes else numbers(generator.normal(size=40))
    make = NearestNeighborsClassifier if classes else NearestNeighborsRegressor
    learner, table = make(k=3, scaling="none", metric=metric), Table.from_array(values)
    assert learner.leaves_one_out
    quick = cross_validate(learner, table, target, Plan("leave-one-out")).results[0]
    monkeypatch.setattr(make, "leave_one_out", lambda self, *given: None)
    long = cross_validate(learner, table, target, Plan("leave-one-out")).results[0]
    assert quick.rows.predicted == pytest.approx(long.rows.predicted, rel=1e-12)
    assert quick.metrics == pytest.approx(long.metrics)


@pytest.mark.parametrize(
    "parameters",
    [
        {"scaling": "range"},
        {"choose_k": "leave-one-out"},
        {"kernel": "gaussian"},
        {"voters": "all"},
        {"metric": "chebyshev"},
        {"metric": "minimum"},
        {"weighting": "information-gain"},
        {"search": "hashing"},
        {"reduction": "condensed"},
    ],
    ids=lambda parameters: next(iter(parameters.values())),
)
def test_what_is_fitted_to_all_rows_has_no_fast_path(parameters):
    assert NearestNeighborsClassifier(scaling="none").leaves_one_out
    assert not NearestNeighborsClassifier(**{"scaling": "none"} | parameters).leaves_one_out


def test_rows_that_are_weighed_or_have_levels_or_gaps_have_no_fast_path():
    """A spread that one row alone makes is gone without it, and so is the most that a gap counts."""
    table, target = Table.from_array(np.arange(6.0)[:, None]), labels([0, 1, 2, 0, 1, 2])
    learner = NearestNeighborsClassifier(k=1, scaling="none")
    assert learner.leave_one_out(table, target).argmax(axis=1).tolist() == [1, 0, 1, 2, 0, 1]
    assert learner.leave_one_out(table, target, np.ones(6)) is None
    gappy = Table.from_array(np.array([[0.0], [1], [np.nan], [3], [4], [5]]))
    assert learner.leave_one_out(gappy, target) is None
    levels = Table((Column("x", Kind.NOMINAL, tuple("abcdef")),), table.values)
    assert learner.leave_one_out(levels, target) is None


@pytest.mark.parametrize("weighted", [False, True])
def test_least_squares_left_out_one_by_one_and_by_their_hat(weighted, monkeypatch):
    generator = np.random.default_rng(9)
    values = generator.normal(size=(30, 3)) * [1, 1e3, 1e-3] + [0, 5e3, 0]
    target, table = numbers(values @ [1.0, 2e-3, 500.0] + generator.normal(size=30)), Table.from_array(values)
    judging = Judging(weights=generator.random(30) + 0.2) if weighted else None
    learner = LinearRegressor()
    assert learner.leave_one_out(table, target) is not None
    quick = cross_validate(learner, table, target, Plan("leave-one-out"), judging=judging).results[0]
    monkeypatch.setattr(LinearRegressor, "leave_one_out", lambda self, *given: None)
    long = cross_validate(learner, table, target, Plan("leave-one-out"), judging=judging).results[0]
    assert quick.rows.predicted == pytest.approx(long.rows.predicted, rel=1e-9)
    assert quick.metrics == pytest.approx(long.metrics, rel=1e-9)


def test_least_squares_without_a_formula_have_no_fast_path():
    target, table = numbers(np.arange(6.0) ** 2), Table.from_array(np.arange(12.0).reshape(6, 2) ** 2)
    alone = Table.from_array(np.column_stack([np.arange(6.0), np.arange(6) == 2]))  # one row tells a coefficient
    gappy = Table.from_array(np.array([[0.0], [1], [np.nan], [3], [4], [5]]))
    twice = Table.from_array(np.repeat(np.arange(6.0)[:, None], 2, axis=1))
    for other in (alone, gappy, twice):
        assert LinearRegressor().leave_one_out(other, target) is None
    for learner in (LinearRegressor(penalty="ridge"), LinearRegressor(degree=2)):
        assert not learner.leaves_one_out
        assert learner.leave_one_out(table, target) is None


def test_a_group_is_left_out_as_a_whole():
    target, table = numbers([0.0, 0, 6, 6]), Table.from_array(np.zeros((4, 1)))
    judging = Judging(groups=numbers([1, 1, 2, 2]))
    found = cross_validate(Counting(), table, target, Plan("leave-one-out"), judging=judging).results[0]
    assert found.rows.predicted.tolist() == [6, 6, 0, 0]  # the fast path is of rows, not of groups
    assert (found.n_train, found.n_test) == (2, 4)


@pytest.mark.parametrize("learner", [Counting, Mean])
def test_parts_of_leave_one_out_are_every_third_row_and_judged_together_by_weight(learner):
    values, weights = np.arange(10.0) ** 2, np.arange(10.0) % 3 + 1
    target, table, judging = numbers(values), Table.from_array(np.zeros((10, 1))), Judging(weights=weights)
    splits = Plan("leave-one-out").splits(target)
    parts = [answers_left_out(learner, table, target, splits, judging, part=(first, 3)) for first in range(3)]
    assert [part.rows.tolist() for part in parts] == [list(range(first, 10, 3)) for first in range(3)]
    found = judge_left_out(learner, joined(parts, None), target, judging, n_splits=10)
    others = [np.average(np.delete(values, row), weights=np.delete(weights, row)) for row in range(10)]
    assert found.rows.predicted == pytest.approx(others)
    assert found.metrics["mean_absolute_error"] == pytest.approx(np.average(abs(values - others), weights=weights))
    assert (found.n_train, found.n_test, found.test_weight) == (9, 10, weights.sum())
    assert found.effective_rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


@pytest.mark.parametrize(
    ("plan", "given_groups", "given_times", "field", "words"),
    [
        (Plan(folds=4), [0, 0, 1, 1, 2, 2], None, "folds", "<= 3 .the number of groups"),
        (Plan(folds=1), None, None, "folds", ">= 2 and <= 6"),
        (Plan(folds=3), None, [0, 0, 1, 1, 2, 2], "folds", "<= 2 .one less than the different times"),
        (Plan(folds=0), None, [0, 1, 2, 3, 4, 5], "folds", ">= 1"),
        (Plan("hold-out"), None, [1] * 6, "time", "2 different times"),
        (Plan("hold-out"), [1] * 6, None, "groups", "2 groups"),
        (Plan("hold-out", fraction=1.0), [0, 0, 1, 1, 2, 2], None, "fraction", "< 1"),
        (Plan("hold-out", fraction=0), None, [0, 1, 2, 3, 4, 5], "fraction", "> 0"),
        (Plan("leave-one-out"), [1] * 6, None, "groups", "2 groups"),
        (Plan("leave-one-out"), None, [0, 1, 2, 3, 4, 5], "time", "later rows"),
        (Plan("leave-one-out", repeats=2), None, None, "repeats", "nothing is drawn"),
        (Plan(repeats=2), None, [0, 1, 2, 3, 4, 5], "repeats", "nothing is drawn"),
        (Plan(repeats=0), None, None, "repeats", ">= 1"),
        (Plan("bootstrap"), None, None, "method", "k-fold, hold-out, leave-one-out"),
        (Plan(folds=2), [0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 5], "groups", "not both"),
    ],
)
def test_a_bad_plan_is_refused_by_name(plan, given_groups, given_times, field, words):
    groups = None if given_groups is None else numbers(given_groups)
    times = None if given_times is None else numbers(given_times)
    with pytest.raises(ParameterError, match=words) as refused:
        plan.splits(numbers(np.arange(6)), groups=groups, times=times)
    assert refused.value.field == field


def test_rows_without_group_or_time_are_named():
    target = numbers([1, 2, 3])
    with pytest.raises(DataError, match=r"row 1 .* has no group in column 'who'"):
        Plan(folds=2).splits(target, groups=Series(Column("who"), np.array([1, np.nan, 2])))
    with pytest.raises(DataError, match=r"row 2 .* has no time in column 'when'"):
        Plan(folds=2).splits(target, times=Series(Column("when"), np.array([1, 2, np.nan])))
    with pytest.raises(DataError, match="3 rows but 2 groups"):
        Plan(folds=2).splits(target, groups=numbers([1, 2]))
