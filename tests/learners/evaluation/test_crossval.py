"""Cross-validation: folds stand alone, leak nothing, keep the classes in schema order, and give plain JSON."""

from __future__ import annotations

import csv
import json
import math
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

from learners.base import no_progress
from learners.checks.require import require_json
from learners.errors import ROW, Cancelled, DataError, ParameterError
from learners.evaluation import (
    FoldResult,
    Judging,
    Plan,
    Split,
    combine,
    cross_validate,
    evaluate_fold,
    out_of_fold,
)
from learners.evaluation.fold import align_probabilities
from learners.evaluation.intervals import of_rows, over_folds, wilson
from learners.persist import dump, load
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.examples import Majority, Mean
from tests.shared import trap_path


def target_of(labels: list[str], levels: tuple[str, ...] | None = None) -> Series:
    return Series.from_values("y", labels, Column("y", Kind.NOMINAL, levels or tuple(sorted(set(labels)))))


def numbered(n: int) -> Table:
    return Table.from_array(np.arange(float(n))[:, None], ["row"])


class Recorder(Majority):
    """Keeps the rows that it saw, by the number written in their only column."""

    seen: ClassVar[list[set[int]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Any = no_progress) -> Recorder:
        Recorder.seen.append({int(value) for value in X.values[:, 0]})
        self.weights = sample_weight
        super().fit(X, y, sample_weight, progress=progress)
        return self


def test_a_fold_learns_from_its_training_rows_only():
    Recorder.seen = []
    target = target_of(["a", "b"] * 20)
    found = cross_validate(Recorder, numbered(40), target, folds=5, seed=3)
    plan = Plan(folds=5).splits(target, 3)
    assert Recorder.seen == [set(plan[fold].train.tolist()) for fold in range(5)]
    for seen, result in zip(Recorder.seen, found.results, strict=True):
        assert seen.isdisjoint(result.rows.rows.tolist())


def test_single_folds_in_any_order_equal_the_whole():
    target, table = target_of(["a", "a", "b"] * 10), numbered(30)
    whole = cross_validate(Majority(), table, target, folds=6, seed=1)
    plan = Plan(folds=6).splits(target, 1)
    singles = [evaluate_fold(Majority, table, target, plan[i], fold=i + 1) for i in reversed(range(6))]
    # through the wire and back, as a job keeps them, beside what it notes itself
    records = [{**one.to_json(), "dropped_rows": 0} for one in singles]
    require_json(records, "the folds")
    kept = [FoldResult.from_json(json.loads(json.dumps(record))) for record in records]
    assert combine(kept, target.column) == whole.summary


def test_the_summary_by_hand():
    # 8 a and 4 b in 4 folds: each fold tests 2 a and 1 b, answers a, is right 2 times in 3
    target = target_of(["a"] * 8 + ["b"] * 4)
    summary = cross_validate(Majority(), numbered(12), target, folds=4).summary
    accuracy = summary["metrics"]["accuracy"]
    assert accuracy["values"] == pytest.approx([2 / 3] * 4)
    assert accuracy["mean"] == pytest.approx(2 / 3)
    assert accuracy["standard_error"] == pytest.approx(0)
    assert summary["pooled"]["confusion"] == [[8.0, 0.0], [4.0, 0.0]]
    assert summary["pooled"]["accuracy_interval"] == wilson(8, 12).to_json()
    assert summary["pooled"]["per_class"][1] == {
        "label": "b",
        "precision": None,
        "recall": 0.0,
        "f1": 0.0,
        "support": 4.0,
    }
    assert summary["classes"] == ["a", "b"]
    assert (summary["method"], summary["folds"], summary["rows"], summary["task"]) == (
        "k-fold",
        4,
        12,
        "classification",
    )
    assert summary["metrics"]["log_loss"]["mean"] == pytest.approx(-(2 * np.log(2 / 3) + np.log(1 / 3)) / 3)


def test_regression_is_summarised_with_students_interval_and_the_training_mean_as_measure():
    values = np.arange(12.0)
    found = cross_validate(Mean(), numbered(12), Series(Column("y"), values), folds=3, seed=0)
    errors = found.summary["metrics"]["mean_absolute_error"]
    expected = over_folds(errors["values"], test_share=0.5, bounds=(0.0, math.inf))
    assert errors["interval"] == expected.interval.to_json()
    assert errors["corrected_interval"] == expected.corrected_interval.to_json()
    # the learner answers the training mean itself
    assert found.summary["metrics"]["relative_absolute_error"]["values"] == pytest.approx([1, 1, 1])
    assert "pooled" not in found.summary


def test_a_hold_out_has_wilsons_interval():
    target = target_of(["a", "b", "a", "a"] * 25)
    found = cross_validate(Majority(), numbered(100), target, Plan("hold-out", fraction=0.25), seed=5)
    assert found.summary["method"] == "hold-out"
    accuracy = found.summary["metrics"]["accuracy"]
    assert accuracy["interval"] == wilson(accuracy["mean"] * 25, 25).to_json()
    assert accuracy["standard_error"] is None


def test_what_a_model_warns_of_is_told_with_its_fold():
    model = DecisionTreeRegressor(min_leaf=50)
    found = cross_validate(model, numbered(12), np.arange(12.0), folds=2)
    (own,) = model.fit(numbered(12), np.arange(12.0)).training_notes()["warnings"]
    assert [text.startswith(f"fold {number}: ") for number, text in enumerate(found.summary["warnings"], 1)] == [
        True
    ] * 2
    assert all(text[8:16] == own[:8] for text in found.summary["warnings"])


def test_what_a_plan_warns_of_is_told_before_what_folds_do():
    target, plan = target_of([*["a", "b"] * 6, "c"]), Plan(folds=3)
    (of_plan,) = plan.splits(target).warnings
    told = cross_validate(Majority(), numbered(13), target, plan).summary["warnings"]
    assert "class 'c' has 1 of the rows: fewer than the 3 folds" in of_plan
    assert told[0] == of_plan
    assert all(text.startswith("fold ") for text in told[1:])


def test_a_regressors_hold_out_has_an_interval_over_rows():
    found = cross_validate(Mean(), numbered(40), np.arange(40.0), Plan("hold-out", fraction=0.5))
    assert found.summary["metrics"]["mean_absolute_error"]["interval"]["method"] == "student-t"


def test_a_class_that_a_training_part_lacks_keeps_its_column_with_probability_0():
    with trap_path("rare_class.csv").open() as file:
        labels = [row["y"] for row in csv.DictReader(file)]
    target = target_of(labels, levels=("never", *sorted(set(labels))))
    found = cross_validate(Majority(), numbered(len(labels)), target, folds=10)
    answers = out_of_fold(found.results, len(labels))
    assert answers.probabilities.shape == (len(labels), len(target.column.levels))
    assert answers.probabilities.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(answers.actual, target.cells)
    assert (answers.probabilities[:, 0] == 0).all()
    single = [code for code in range(1, 4) if (target.codes == code).sum() == 1]
    assert single
    for code in single:
        assert (answers.probabilities[target.codes == code, code] == 0).all()
    assert any("never predicted" in warning for warning in found.summary["warnings"])
    assert not any("'never'" in warning for warning in found.summary["warnings"])  # which no row has
    require_json(found.summary, "metrics")


def test_probabilities_are_put_in_the_order_of_the_schema():
    given = Column("y", Kind.NOMINAL, ("c", "a"))
    wanted = Column("y", Kind.NOMINAL, ("a", "b", "c"))
    assert align_probabilities(np.array([[0.75, 0.25]]), given, wanted).tolist() == [[0.25, 0.0, 0.75]]
    with pytest.raises(DataError, match="'c'"):
        align_probabilities(np.array([[0.75, 0.25]]), given, Column("y", Kind.NOMINAL, ("a", "b")))


def test_a_category_that_only_tests_see_stops_nothing():
    # 30 rows with 30 codes: every test row holds a code that its training rows lack
    codes = [f"c{row}" for row in range(30)]
    table = Table.from_columns({"code": codes})
    found = cross_validate(Majority(), table, target_of(["a", "b"] * 15), folds=10)
    assert found.summary["rows"] == 30


def test_weights_weigh_training_and_judging():
    target = target_of(["a", "b"] * 10)
    weights = np.array([3.0, 1.0] * 10)
    found = cross_validate(Majority(), numbered(20), target, folds=5, judging=Judging(weights=weights))
    assert found.summary["pooled"]["confusion"] == [[30.0, 0.0], [10.0, 0.0]]
    assert found.summary["metrics"]["accuracy"]["mean"] == pytest.approx(0.75)
    # one row of weight 3 tells less than three rows: (2*3 + 2*1)^2 / (2*9 + 2*1) = 3.2 a fold
    assert found.results[0].effective_rows == pytest.approx(3.2)


def test_of_numbers_errors_of_tested_and_learned_rows_and_their_centre_are_weighted():
    """The learner answers the weighted mean of what it learned from, from which relative errors are measured."""
    values, weights = np.arange(12.0) ** 2, np.arange(12.0) % 3 + 1
    judging = Judging(weights=weights, judge_training=True)
    found = cross_validate(Mean(), numbered(12), values, folds=3, judging=judging)
    splits = Plan(folds=3).splits(Series(Column("y"), values))
    for number, result in enumerate(found.results):
        train, test = splits[number].train, splits[number].test
        mean = np.average(values[train], weights=weights[train])
        learned, tested = (np.average(abs(values[own] - mean), weights=weights[own]) for own in (train, test))
        assert result.training["mean_absolute_error"] == pytest.approx(learned)
        assert result.metrics["mean_absolute_error"] == pytest.approx(tested)
        assert result.metrics["relative_absolute_error"] == pytest.approx(1)
        assert result.test_weight == weights[test].sum()
        assert result.effective_rows == pytest.approx(weights[test].sum() ** 2 / (weights[test] ** 2).sum())
        assert result.intervals == {}
    means = [result.training["mean_absolute_error"] for result in found.results]
    assert found.summary["training"]["mean_absolute_error"] == pytest.approx(np.mean(means))


@pytest.mark.parametrize("given", [None, np.array([[2.0, -5.0], [-7.0, 3.0]])])
def test_decisions_are_worth_what_is_given_else_what_the_learner_says(given):
    """Utilities have what is decided down and what is true across; a confusion matrix has the truth down."""
    values = np.random.default_rng(8).normal(size=40)
    target = target_of(np.where(values + np.random.default_rng(9).normal(size=40) > 0, "b", "a").tolist())
    own = DecisionTreeClassifier(max_depth=1, utility={"a": {"b": -3.0}, "b": {"a": -1.0}})
    worth = np.array([[0.0, -3.0], [-1.0, 0.0]]) if given is None else given
    judging = Judging(utility=given, judge_training=True)
    (result,) = cross_validate(
        own, Table.from_array(values[:, None]), target, Plan("hold-out"), judging=judging
    ).results
    tested = [worth[int(d), int(t)] for d, t in zip(result.rows.predicted, result.rows.actual, strict=True)]
    assert result.metrics["mean_utility"] == pytest.approx(np.mean(tested))
    assert result.intervals["mean_utility"] == of_rows(np.array(tested)).to_json()
    train = Plan("hold-out").splits(target)[0].train
    decided = [target.column.labels.index(label) for label in result.model.predict(values[train, None])]
    learned = [worth[d, t] for d, t in zip(decided, target.codes[train], strict=True)]
    assert result.training["mean_utility"] == pytest.approx(np.mean(learned))
    assert len(set(tested)) >= 2


def test_a_summary_has_the_level_that_is_asked_for_and_all_folds_calibration():
    target = target_of(["a"] * 8 + ["b"] * 4)
    results = cross_validate(Majority(), numbered(12), target, folds=4).results
    summary = combine(results, target.column, level=0.8)
    losses = summary["metrics"]["log_loss"]
    expected = over_folds(losses["values"], 1 / 3, 0.8, (0.0, math.inf))
    assert (losses["interval"], losses["corrected_interval"]) == (
        expected.interval.to_json(),
        expected.corrected_interval.to_json(),
    )
    assert summary["pooled"]["accuracy_interval"] == wilson(8, 12, 0.8).to_json()
    (bin_of_all,) = [one for one in summary["pooled"]["calibration"]["bins"] if one["weight"]]
    assert (bin_of_all["weight"], bin_of_all["accuracy"]) == (12, pytest.approx(2 / 3))
    assert [one["from"] <= 2 / 3 < one["to"] for one in summary["pooled"]["calibration"]["bins"]].count(True) == 1


def test_weighed_rows_have_no_intervals_over_rows_and_their_calibration_is_weighted():
    target, weights = target_of(["a", "b", "a", "a"] * 10), np.arange(40.0) % 2 + 1
    judging = Judging(weights=weights)
    found = cross_validate(Majority(), numbered(40), target, Plan("hold-out"), judging=judging)
    (result,) = found.results
    tested = result.rows.rows
    assert result.intervals == {}
    assert result.test_weight == weights[tested].sum()
    assert sum(one["weight"] for one in found.summary["pooled"]["calibration"]["bins"]) == weights[tested].sum()
    right = weights[tested][target.codes[tested] == 0].sum()
    share = right / weights[tested].sum()
    rows = weights[tested].sum() ** 2 / (weights[tested] ** 2).sum()
    assert found.summary["metrics"]["accuracy"]["interval"] == wilson(share * rows, rows).to_json()


def test_a_result_goes_through_bytes_with_its_rows():
    found = cross_validate(Majority(), numbered(12), target_of(["a", "b", "b"] * 4), folds=3).results[1]
    copy = FoldResult.from_state(load(dump(found.to_state())))
    assert copy.to_json() == found.to_json()
    assert np.array_equal(copy.rows.probabilities, found.rows.probabilities)
    assert np.array_equal(copy.rows.rows, found.rows.rows)


def test_parts_that_overlap_or_are_empty_are_refused():
    table, target = numbered(4), target_of(["a", "b"] * 2)
    with pytest.raises(DataError, match="judged on rows that it learned from"):
        evaluate_fold(Majority, table, target, Split(np.array([0, 1]), np.array([1, 2])))
    with pytest.raises(DataError, match="fold 2 has 0 training and 1 test rows"):
        evaluate_fold(Majority, table, target, Split(np.array([], dtype=int), np.array([1])), fold=2)


def test_missing_targets_and_folds_out_of_range_are_refused_by_name():
    with pytest.raises(DataError, match=r"missing .* in row 1"):
        cross_validate(Majority(), numbered(3), target_of(["a", None, "b"], ("a", "b")), folds=2)
    with pytest.raises(ParameterError, match="folds"):
        cross_validate(Majority(), numbered(4), target_of(["a", "b"] * 2), folds=5)


def test_progress_covers_the_folds_in_order_and_may_cancel():
    told: list[float] = []

    def listen(share: float, message: str) -> None:
        told.append(share)
        if len(told) > 5:
            raise Cancelled("enough")

    target = target_of(["a", "b"] * 10)
    with pytest.raises(Cancelled):
        cross_validate(Majority(), numbered(20), target, folds=10, progress=listen)
    assert told == sorted(told)
    assert told[1] == pytest.approx(0.1)


def test_folds_of_missing_rows_do_not_pass_as_all():
    found = cross_validate(Majority(), numbered(12), target_of(["a", "b"] * 6), folds=3)
    with pytest.raises(DataError, match="8 answers to 8 rows, not one to each of 12"):
        out_of_fold(found.results[:2], 12)
    often = cross_validate(Majority(), numbered(12), target_of(["a", "b"] * 6), Plan(folds=3, repeats=2))
    with pytest.raises(DataError, match="24 answers to 12 rows, not one"):
        out_of_fold(often.results, 12)
    with pytest.raises(DataError, match="no folds"):
        combine([], target_of(["a"]).column)


class Broken(Mean):
    """Answers with what is no number."""

    def predict(self, X: Any) -> Any:
        return super().predict(X) * np.nan


def test_answers_that_are_no_numbers_leave_undefined_metrics_and_plain_json():
    found = cross_validate(Broken, numbered(12), np.arange(12.0), Plan("hold-out"))
    assert set(found.results[0].metrics.values()) == {None}
    assert not any("beyond the largest number" in text for text in found.summary["warnings"])  # no root is known
    require_json([found.summary, found.results[0].to_json()], "metrics")


def test_the_parameters_of_a_given_learner_are_copied():
    found = cross_validate(Majority(smoothing=1e9), numbered(12), target_of(["a", "a", "b"] * 4), folds=3)
    assert out_of_fold(found.results, 12).probabilities == pytest.approx(0.5, abs=1e-6)


def test_squares_that_no_double_holds_are_warned_of():
    rng = np.random.default_rng(0)
    table = Table.from_columns({"x": rng.normal(size=20).tolist()})
    summary = cross_validate(Mean(), table, rng.normal(size=20) * 1e200, folds=2).summary
    assert summary["metrics"]["mean_squared_error"]["mean"] is None
    assert summary["metrics"]["root_mean_squared_error"]["mean"] > 1e199
    assert summary["warnings"] == [
        "mean_squared_error is beyond the largest number in 2 of 2 folds and null there; root_mean_squared_error "
        "tells the same"
    ]


@pytest.mark.parametrize(
    "plan", [Plan(folds=3), Plan(folds=2, repeats=2), Plan("hold-out", fraction=0.2), Plan("leave-one-out")]
)
def test_errors_name_the_rows_as_the_caller_numbers_them(plan: Plan) -> None:
    values = np.arange(12.0)
    values[7] = -1e150
    target = Series(Column("y", Kind.NUMERIC), values)
    numbers = np.arange(100, 112)
    for judging, row in ((None, 7), (Judging(rows=numbers), 107)):
        with pytest.raises(DataError, match=f"is -1e\\+150 in row {row};") as caught:
            cross_validate(DecisionTreeRegressor(), numbered(12), target, plan, seed=5, judging=judging)
        assert (caught.value.row, caught.value.field) == (row, "y")
    learned = np.arange(3, 12)
    taken = Judging(rows=numbers).taken(learned)
    with pytest.raises(DataError, match="in row 107;"):
        cross_validate(DecisionTreeRegressor(), numbered(12).take(learned), target.take(learned), plan, judging=taken)


def test_an_error_of_a_row_reads_the_same_in_another_process() -> None:
    error = DataError(f"row {ROW} of {ROW}", field="y", row=2)
    assert str(error) == "row 2 of 2"
    again = pickle.loads(pickle.dumps(error.renumbered([5, 6, 9])))
    assert (str(again), again.row, again.field) == ("row 9 of 9", 9, "y")
    assert str(again.renumbered(np.arange(20, 40))) == "row 29 of 29"
    assert str(error) == "row 2 of 2"
    plain = DataError("all of it")
    assert plain.renumbered([1]) is plain
