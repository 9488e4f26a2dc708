"""Searching: grids, the size wrapper, nesting, locked tests, learning curves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.tree import DecisionTreeRegressor as PeerTree

from learners.errors import DataError, ParameterError
from learners.evaluation import Judging, Plan, Split, cross_validate
from learners.evaluation.choosing import Convergence, best_of, check_metric, converged_after, grid_points
from learners.evaluation.learning_curve import learning_curve, partial_split
from learners.evaluation.search import grid_search, nested, select, size_search
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier, DecisionTreeRegressor
from tests.learners.examples import Majority, Mean


def wave(rows: int = 240, seed: int = 0) -> tuple[Table, Series]:
    generator = np.random.default_rng(seed)
    x = generator.random(rows)
    y = np.sin(7 * x) + generator.normal(scale=0.3, size=rows)
    return Table.from_array(x[:, None]), Series(Column("y"), y)


def classes(rows: int = 200, seed: int = 1) -> tuple[Table, Series]:
    generator = np.random.default_rng(seed)
    x = generator.random((rows, 2))
    codes = ((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)) ^ (generator.random(rows) < 0.1)
    return Table.from_array(x), Series(Column("y", Kind.NOMINAL, ("a", "b")), codes.astype(float))


def test_a_grid_has_every_combination_the_last_name_fastest():
    assert grid_points({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]
    with pytest.raises(ParameterError, match="at least one parameter"):
        grid_points({})
    with pytest.raises(ParameterError, match="no value of 'a'"):
        grid_points({"a": []})
    with pytest.raises(ParameterError, match="the value 1 of 'a' twice"):
        grid_points({"a": [1, 2, 1]})
    assert len(grid_points({"a": [1, True]})) == 2


def test_a_grid_search_finds_what_scikit_learns_finds():
    table, target = wave()
    plan = Plan(folds=4)
    splits = plan.splits(target, 2)
    fold_of = np.empty(len(target), int)
    for number in range(4):
        fold_of[splits[number].test] = number
    grid = {"max_depth": [1, 2, 3, 4, 6], "min_leaf": [1, 10]}
    found = select(DecisionTreeRegressor(), grid_search(DecisionTreeRegressor(), grid, plan, 2), table, target)
    peer = GridSearchCV(
        PeerTree(random_state=0),
        {"max_depth": grid["max_depth"], "min_samples_leaf": grid["min_leaf"]},
        cv=PredefinedSplit(fold_of),
        scoring="neg_mean_squared_error",
    ).fit(table.values, target.cells)
    scores = [one.value("mean_squared_error") for one in found.search.candidates]
    assert scores == pytest.approx(-peer.cv_results_["mean_test_score"], rel=1e-6)
    assert found.search.parameters["max_depth"] == peer.best_params_["max_depth"]
    assert found.model.predict(table) == pytest.approx(peer.predict(table.values), rel=1e-9)


def test_of_equally_good_the_first_is_best_and_more_is_better_where_it_is():
    assert best_of("error", [0.3, 0.1, 0.1]) == 1
    assert best_of("accuracy", [0.3, None, 0.9, 0.9]) == 2
    with pytest.raises(DataError, match="undefined for every candidate"):
        best_of("roc_auc", [None, None])


@pytest.mark.parametrize(
    ("losses", "rule", "expected"),
    [
        ([1, 0.5, 0.3, 0.3, 0.3], Convergence(2, 0.0), 5),
        ([1, 0.5, 0.3, 0.3], Convergence(2, 0.0), None),
        ([1, 0.5, 0.495, 0.493, 0.492], Convergence(3, 0.01), 5),
        ([0, 0, 0], Convergence(1, 0.0), 2),
        ([1, 1, 0.4, 0.4], Convergence(2, 0.0), None),
        ([100, 50, 49.5, 49.3, 49.2], Convergence(3, 0.01), 5),  # a share of the first, whatever its unit
        ([100, 50, 48.5, 48.4, 48.3], Convergence(3, 0.01), None),
        ([1, 0.5, 0.2, 0.5, 0.5], Convergence(2, 0.0), 5),  # it fell in between
        ([1, 0.5, 0.5, 0.2, 0.5], Convergence(2, 0.0), None),
        ([], Convergence(), None),
    ],
)
def test_the_training_error_has_converged_when_it_no_longer_falls(losses, rule, expected):
    assert converged_after(losses, rule) == expected


def test_the_wrapper_stops_refits_on_all_it_knows_and_is_judged_on_what_was_locked():
    table, target = classes()
    learner = DecisionTreeClassifier()
    searcher = size_search(learner, "max_leaves", Plan(folds=4), 5, convergence=Convergence(2, 0.0), most=60)
    found = select(learner, searcher, table, target, test=Plan("hold-out"), seed=9)
    sizes = [one.parameters["max_leaves"] for one in found.search.candidates]
    assert sizes == list(range(1, len(sizes) + 1))
    training = [one.training("error") for one in found.search.candidates]
    assert converged_after(training, Convergence(2, 0.0)) == len(sizes)
    assert training[0] > training[-1]
    validation = [one.value("error") for one in found.search.candidates]
    assert found.search.parameters["max_leaves"] == sizes[int(np.argmin(validation))] > 3
    split = Plan("hold-out").splits(target, 9)[0]
    alone = DecisionTreeClassifier(**found.search.parameters).fit(table.take(split.train), target.take(split.train))
    assert found.model.get_state().header == alone.get_state().header
    assert found.test.n_test == len(split.test)
    assert found.test.metrics["accuracy"] == alone.score(table.take(split.test), target.take(split.test))


def test_the_wrapper_wants_a_whole_number_to_vary():
    with pytest.raises(ParameterError, match=r"size must be one of max_depth, max_leaves, .*; it is 'min_gain'"):
        size_search(DecisionTreeClassifier(), "min_gain")


def test_sizes_go_from_the_least_to_the_most_by_the_plan_seed_and_metric_that_are_given():
    table, target = wave(40)
    never = Convergence(100)
    searcher = size_search(
        DecisionTreeRegressor(), "max_leaves", Plan(folds=3), 7, "mean_absolute_error", most=4, convergence=never
    )
    search = select(DecisionTreeRegressor(), searcher, table, target).search
    assert [one.parameters for one in search.candidates] == [{"max_leaves": size} for size in (1, 2, 3, 4)]
    assert search.metric == "mean_absolute_error"
    alone = cross_validate(
        DecisionTreeRegressor(max_leaves=2), table, target, Plan(folds=3), 7, judging=Judging(judge_training=True)
    )
    assert search.candidates[1].summary == alone.summary
    assert search.candidates[1].training("mean_squared_error") == alone.summary["training"]["mean_squared_error"]
    cut = DecisionTreeRegressor(discretise="equal-width")
    found = select(cut, size_search(cut, "bins", Plan(folds=2), most=3, convergence=never), table, target)
    assert [one.parameters["bins"] for one in found.search.candidates] == [2, 3]  # one interval is none
    assert Convergence() == Convergence(3, 0.01)


def test_weights_count_in_the_last_fit_and_on_the_locked_rows_and_times_lock_the_latest():
    values, weights = np.arange(16.0) ** 2, np.arange(16.0) % 3 + 1
    table, times = Table.from_array(np.zeros((16, 1))), Series(Column("t"), np.arange(16.0)[::-1])
    searcher = grid_search(Mean(), {"shrinkage": [0.0]}, Plan(folds=2))
    judging = Judging(weights=weights)
    assert select(Mean(), searcher, table, values, judging=judging).model.mean_ == pytest.approx(
        np.average(values, weights=weights)
    )
    timed = Judging(weights=weights, times=times)
    found = select(Mean(), searcher, table, values, judging=timed, test=Plan("hold-out"))
    assert found.test.rows.rows.tolist() == [0, 1, 2, 3]
    mean = np.average(values[4:], weights=weights[4:])
    assert found.model.mean_ == pytest.approx(mean)
    expected = np.average(abs(values[:4] - mean), weights=weights[:4])
    assert found.test.metrics["mean_absolute_error"] == pytest.approx(expected)
    outer = nested(Mean(), searcher, table, values, Plan(folds=4), 5, judging=judging)
    splits = Plan(folds=4).splits(Series(Column("y"), values), 5)
    assert [one.rows.rows.tolist() for one in outer.results] == [splits[number].test.tolist() for number in range(4)]
    assert [one.test_weight for one in outer.results] == [weights[splits[number].test].sum() for number in range(4)]


def test_the_locked_rows_have_no_part_in_the_choice():
    table, target = classes()
    lock = Plan("hold-out", stratified=False)  # so that other classes make no other split
    split = lock.splits(target, 0)[0]
    changed = target.cells.copy()
    changed[split.test] = 1 - changed[split.test]
    learner = DecisionTreeClassifier()
    searcher = grid_search(learner, {"max_depth": [1, 2, 5]}, Plan(folds=3))
    one, other = (
        select(learner, searcher, table, wanted, test=lock) for wanted in (target, Series(target.column, changed))
    )
    assert [c.summary for c in one.search.candidates] == [c.summary for c in other.search.candidates]
    assert one.test.metrics["error"] == pytest.approx(1 - other.test.metrics["error"])


def test_nesting_tells_that_choosing_among_noise_gains_nothing():
    generator = np.random.default_rng(3)
    table = Table.from_array(generator.random((120, 3)))
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), (np.arange(120) % 2).astype(float))
    learner = DecisionTreeClassifier()
    searcher = grid_search(learner, {"max_depth": [1, 2, 3], "min_leaf": [1, 5, 9]}, Plan(folds=4))
    best = select(learner, searcher, table, target).search
    outer = nested(learner, searcher, table, target, Plan(folds=4), 1)
    assert best.candidates[best.chosen].value("error") < outer.summary["metrics"]["error"]["mean"]
    assert outer.summary["metrics"]["error"]["mean"] > 0.4


def test_nesting_chooses_by_the_inner_rows_alone():
    """By leave-one-out on n numbers +-1 of mean m, 0 errs 1 and the others' mean (n / (n - 1))^2 (1 - m^2)."""
    outer = Plan("hold-out", fraction=0.25, stratified=False)
    split = outer.splits(Series(Column("y"), np.zeros(20)), 3)[0]
    cells = np.full(20, 10.0)  # of the tested rows; with them the mean would be the better answer by far
    cells[split.train] = [1.0, *[1.0, -1.0] * 7]
    target, seen = Series(Column("y"), cells), []
    learner = Mean()
    inner = grid_search(learner, {"shrinkage": [0, 1]}, Plan("leave-one-out"))

    def noting(table, known, judging, progress):
        seen.append((table.values[:, 0].tolist(), known.cells.tolist(), judging.rows.tolist()))
        search = inner(table, known, judging, progress)
        errors = [one.value("mean_squared_error") for one in search.candidates]
        assert errors == pytest.approx([(15 / 14) ** 2 * (1 - 1 / 15**2), 1.0])
        return search

    found = nested(learner, noting, Table.from_array(np.arange(20.0)[:, None]), target, outer, 3)
    rows = split.train.tolist()
    assert seen == [(rows, cells[rows].tolist(), rows)]
    assert found.results[0].model.get_params()["shrinkage"] == 1
    assert found.results[0].metrics["mean_squared_error"] == 100.0  # the chosen one answers 0


def test_groups_and_weights_go_along_into_the_search():
    table, target = classes(120)
    groups = Series(Column("g"), np.repeat(np.arange(12.0), 10))
    judging = Judging(weights=np.arange(1.0, 121), groups=groups)
    learner = DecisionTreeClassifier()
    searcher = grid_search(learner, {"max_depth": [1, 3]}, Plan(folds=3))
    found = select(learner, searcher, table, target, judging=judging, test=Plan("hold-out"))
    split = Plan("hold-out").splits(target, 0, groups=groups)[0]
    inner = cross_validate(
        DecisionTreeClassifier(max_depth=3),
        table.take(split.train),
        target.take(split.train),
        Plan(folds=3),
        judging=judging.taken(split.train),
    )
    assert found.search.candidates[1].summary == inner.summary


def test_metrics_are_named_where_a_task_has_none_of_that_name():
    assert check_metric(None, "classification") == "error"
    assert check_metric(None, "regression") == "mean_squared_error"
    with pytest.raises(ParameterError, match="metric must be one of error, accuracy"):
        check_metric("r2", "classification")
    with pytest.raises(ParameterError, match="metric"):
        check_metric("mean_utility", "classification")
    assert check_metric("mean_utility", "classification", has_utility=True) == "mean_utility"


def test_a_learning_curve_falls_and_its_smaller_parts_lie_in_the_larger():
    table, target = classes(300)
    points = learning_curve(DecisionTreeClassifier(), table, target, (0.1, 0.5, 1.0), Plan(folds=3))
    errors = [point["metrics"]["error"]["mean"] for point in points]
    assert errors[0] > errors[-1]
    assert [point["train_rows"] for point in points] == [20, 100, 200]
    assert points[-1]["metrics"] == cross_validate(DecisionTreeClassifier(), table, target, 3).summary["metrics"]
    assert points[0]["training"]["error"] == 0
    split = Plan(folds=3).splits(target)[0]
    parts = [set(partial_split(split, share, target, 0).train.tolist()) for share in (0.1, 0.4, 1.0)]
    assert parts[0] < parts[1] < parts[2] == set(split.train.tolist())
    codes = target.codes
    for share in (0.1, 0.4):
        rows = partial_split(split, share, target, 0).train
        assert codes[rows].mean() == pytest.approx(codes[split.train].mean(), abs=1 / len(rows))


def test_every_share_to_learn_from_has_the_classes_in_proportion():
    """To one row of each class, in whatever order the rows of classes come."""
    for seed in range(20):
        codes = np.random.default_rng(seed).permutation(np.repeat([0.0, 1.0, 2.0], [60, 30, 10]))
        target = Series(Column("y", Kind.NOMINAL, ("a", "b", "c")), codes)
        split = Split(np.arange(100), np.arange(0))
        for share in (0.1, 0.35, 0.5, 0.8):
            rows = partial_split(split, share, target, seed).train
            assert np.bincount(target.codes[rows]) == pytest.approx(share * np.array([60, 30, 10]), abs=1)


@pytest.mark.parametrize("timed", [False, True])
def test_the_points_of_a_learning_curve_are_those_of_its_parts_by_weight(timed):
    values, weights = np.random.default_rng(5).normal(size=26), np.arange(26.0) % 3 + 1
    table, target = Table.from_array(np.zeros((26, 1))), Series(Column("y"), values)
    times = Series(Column("t"), np.arange(26.0)) if timed else None
    judging, plan = Judging(weights=weights, times=times), Plan(folds=3)
    points = learning_curve(Mean(), table, target, (0.25, 1.0), plan, 3, judging=judging)
    splits = plan.splits(target, 3, times=times)
    for point in points:
        sizes, tested, learned = [], [], []
        for number in range(3):
            part = partial_split(splits[number], point["share"], target, 3, times)
            mean = np.average(values[part.train], weights=weights[part.train])
            errors = [np.average(abs(values[own] - mean), weights=weights[own]) for own in (part.test, part.train)]
            sizes.append(len(part.train))
            tested.append(errors[0])
            learned.append(errors[1])
        assert point["train_rows"] == pytest.approx(np.mean(sizes))
        assert point["metrics"]["mean_absolute_error"]["values"] == pytest.approx(tested)
        assert point["training"]["mean_absolute_error"] == pytest.approx(np.mean(learned))
    split = splits[0]
    other = partial_split(split, 0.5, target, 4, times)
    assert (other.train.tolist() == partial_split(split, 0.5, target, 3, times).train.tolist()) == timed
    three = Split(split.train[:3], split.test)
    assert [len(partial_split(three, share, target, 3, times).train) for share in (0.01, 0.5, 0.8)] == [1, 2, 2]


def test_a_learning_curve_over_time_learns_from_the_latest():
    times = Series(Column("t"), np.arange(20.0))
    target = Series(Column("y"), np.arange(20.0))
    split = Plan("hold-out").splits(target, times=times)[0]
    assert partial_split(split, 0.2, target, 0, times).train.tolist() == [12, 13, 14]
    with pytest.raises(ParameterError, match="shares"):
        learning_curve(Mean(), Table.from_array(np.zeros((20, 1))), target, (0.5, 1.5))


def test_mean_utility_may_choose():
    table, target = classes(100)
    judging = Judging(utility=np.array([[0.0, -1], [-9, 0]]))
    found = select(
        Majority(), grid_search(Majority(), {"smoothing": [0, 1]}, Plan(folds=3), 0, "mean_utility"), table, target,
        judging=judging,
    )  # fmt: skip
    assert found.search.metric == "mean_utility"
    own = DecisionTreeClassifier(max_depth=1, utility={"a": {"b": -9.0}})
    searched = select(own, grid_search(own, {"min_leaf": [1, 5]}, Plan(folds=3), 0, "mean_utility"), table, target)
    assert searched.search.metric == "mean_utility"  # the learner's own
