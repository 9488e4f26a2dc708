"""Learners compared in pairs: the tests that hold for each way of judging, and why there is none."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from learners import catalog
from learners.evaluation import Judging, Plan, cross_validate
from learners.evaluation.comparison import row_losses
from learners.evaluation.crossval import joined
from learners.evaluation.pairs import Judged, Terms, compare_pairs, pairs_of
from learners.evaluation.results import FoldResult
from learners.table import Table

ROWS = 60
NAMES = ["stump", "tree", "neighbours"]


def table(*, numbers=False):
    generator = np.random.default_rng(3)
    x, z = generator.random((2, ROWS)).round(3)
    y = x + z if numbers else np.where((x > 0.5) ^ (z > 0.4) ^ (generator.random(ROWS) < 0.1), "yes", "no")
    columns = {"x": x.tolist(), "z": z.tolist(), "y": y.tolist(), "t": [float(row // 2) for row in range(ROWS)]}
    return Table.from_columns(columns)


def judged(plan, *, numbers=False, timed=False, **judging):
    data = table(numbers=numbers)
    kind = "regressor" if numbers else "classifier"
    learners = [(f"decision-tree-{kind}", {"max_depth": 1}), (f"decision-tree-{kind}", {"max_depth": 3})]
    learners.append((f"nearest-neighbors-{kind}", {"k": 3}))
    found = []
    own = Judging(times=data.column("t") if timed else None, **judging)
    for name, parameters in learners:
        learner = catalog.make(name, parameters)
        results = cross_validate(learner, data.select(["x", "z"]), data.column("y"), plan, 5, judging=own).results
        losses = None if plan.repeats > 1 else row_losses(joined([one.rows for one in results], None), own.utility)
        found.append(Judged(results, losses))
    return found


def test_which_pairs_are_compared():
    assert pairs_of(3, None, 5) == [(1, 0), (2, 0), (2, 1)]
    assert pairs_of(3, 1, 5) == [(0, 1), (2, 1)]
    assert pairs_of(4, None, 3) == [(1, 0), (2, 0), (3, 0)]
    assert len(pairs_of(5, None, 5)) == 10


def test_every_metric_of_folds_has_nadeau_and_bengios_test_and_mcnemar_its_own():
    plan = Plan(folds=5)
    found = judged(plan)
    compared = compare_pairs(found, NAMES, pairs_of(3, None, 5), Terms(plan))
    json.dumps(compared, allow_nan=False)
    assert [(one["learner"], one["against"]) for one in compared] == [
        ("tree", "stump"),
        ("neighbours", "stump"),
        ("neighbours", "tree"),
    ]
    mine, theirs = found[1], found[0]
    assert set(compared[0]["metrics"]) == set(mine.folds[0].metrics)
    for name, test in compared[0]["metrics"].items():
        gaps = [a.metrics[name] - b.metrics[name] for a, b in zip(mine.folds, theirs.folds, strict=True)]
        error = math.sqrt((1 / 5 + 1 / 4) * np.var(gaps, ddof=1))
        assert test["difference"] == pytest.approx(np.mean(gaps)), name
        assert test["standard_error"] == pytest.approx(error)
        assert test["p_value"] == pytest.approx(2 * stats.t.sf(abs(np.mean(gaps)) / error, 4))
        ends = stats.t.interval(0.95, 4, np.mean(gaps), error)
        assert [test["interval"][end] for end in ("low", "high")] == pytest.approx(ends)
        assert (test["test"], test["count"], test["degrees_of_freedom"]) == ("corrected-resampled-t", 5, 4)
        assert test["test_share"] == pytest.approx(1 / 4)
    ps = [one["metrics"]["log_loss"]["p_value"] for one in compared]
    order = np.argsort(ps)
    expected = np.maximum.accumulate([min(1.0, ps[place] * (3 - rank)) for rank, place in enumerate(order)])
    told = [compared[place]["metrics"]["log_loss"]["adjusted_p_value"] for place in order]
    assert told == pytest.approx(expected.tolist())
    wrong, also = mine.losses["error"], theirs.losses["error"]
    only = int(((wrong == 0) & (also == 1)).sum()), int(((wrong == 1) & (also == 0)).sum())
    mcnemar = compared[0]["mcnemar"]
    assert (mcnemar["rows"], mcnemar["only_first_right"], mcnemar["only_second_right"]) == (ROWS, *only)
    assert mcnemar["p_value"] == pytest.approx(stats.binomtest(only[0], sum(only)).pvalue)
    assert [one["notes"] for one in compared] == [[], [], []]


@pytest.mark.parametrize("plan", [Plan("hold-out", fraction=0.4), Plan("leave-one-out")])
def test_one_part_is_tested_over_its_rows(plan):
    found = judged(plan)
    (compared, *_) = compare_pairs(found, NAMES, [(2, 1)], Terms(plan))
    for name, test in compared["metrics"].items():
        if name in ("error", "log_loss", "brier_score", "accuracy"):
            losses = [
                1 - one.losses["error"] if name == "accuracy" else one.losses[name] for one in (found[2], found[1])
            ]
            assert test["p_value"] == pytest.approx(stats.ttest_rel(*losses).pvalue)
            assert (test["test"], test["test_share"], test["untested"]) == ("paired-t", None, None)
        else:
            assert test["test"] is test["p_value"] is test["interval"] is test["adjusted_p_value"] is None
            assert test["untested"].endswith(f"{name} is no mean over rows, which could be tested")
        means = [one.folds[0].metrics[name] for one in (found[2], found[1])]
        assert test["difference"] == pytest.approx(means[0] - means[1])
    assert compared["mcnemar"]["untested"] is None


def test_folds_in_the_order_of_time_have_mcnemars_test_alone():
    plan = Plan(folds=4)
    found = judged(plan, timed=True)
    (compared,) = compare_pairs(found, NAMES, [(1, 0)], Terms(plan, ordered=True))
    assert {one["test"] for one in compared["metrics"].values()} == {None}
    gap = np.mean(
        [a.metrics["error"] - b.metrics["error"] for a, b in zip(found[1].folds, found[0].folds, strict=True)]
    )
    assert compared["metrics"]["error"]["difference"] == pytest.approx(gap)
    assert "order of time are not drawn at random" in compared["metrics"]["error"]["untested"]
    assert compared["mcnemar"]["rows"] == len(found[0].losses["error"]) < ROWS
    assert "follow each other in time" in compared["notes"][0]


def test_repeats_answer_rows_again_and_numbers_are_neither_right_nor_wrong():
    plan = Plan(folds=3, repeats=2)
    (compared,) = compare_pairs(judged(plan), NAMES, [(1, 0)], Terms(plan))
    assert compared["metrics"]["error"]["count"] == 6
    assert "repeats answer them again" in compared["mcnemar"]["untested"]
    plan = Plan(folds=3)
    (compared,) = compare_pairs(judged(plan, numbers=True), NAMES, [(1, 0)], Terms(plan))
    assert compared["metrics"]["mean_squared_error"]["p_value"] < 1
    assert "the learners answer numbers" in compared["mcnemar"]["untested"]


def test_folds_are_paired_by_their_numbers_and_shares_are_of_all():
    """Two folds of other sizes, told in any order: errors 0.4 and 0.1 against 0.2 and 0.25."""
    one = [FoldResult(1, 6, 3, 3.0, 3.0, {"error": 0.4}), FoldResult(2, 8, 1, 1.0, 1.0, {"error": 0.1})]
    two = [FoldResult(1, 6, 3, 3.0, 3.0, {"error": 0.2}), FoldResult(2, 8, 1, 1.0, 1.0, {"error": 0.25})]
    (compared,) = compare_pairs([Judged(one), Judged(two[::-1])], ["a", "b"], [(0, 1)], Terms(Plan(folds=2)))
    test = compared["metrics"]["error"]
    assert test["difference"] == pytest.approx((0.2 - 0.15) / 2)
    assert test["test_share"] == pytest.approx((3 / 6 + 1 / 8) / 2)
    assert test["standard_error"] == pytest.approx(math.sqrt((1 / 2 + 5 / 16) * np.var([0.2, -0.15], ddof=1)))
    one[1] = FoldResult(2, 8, 1, 1.0, 1.0, {"error": None})
    (compared,) = compare_pairs([Judged(one), Judged(two)], ["a", "b"], [(0, 1)], Terms(Plan(folds=2)))
    assert compared["metrics"]["error"]["untested"] == "error is undefined in 1 of 2 folds"


def test_one_row_has_no_test_and_rows_of_a_group_are_warned_of():
    found = [
        Judged([FoldResult(1, 5, 1, 1.0, 1.0, {"error": error})], {"error": np.array([error])}) for error in (1.0, 0.0)
    ]
    (compared,) = compare_pairs(found, ["a", "b"], [(0, 1)], Terms(Plan("hold-out")))
    assert compared["metrics"]["error"]["untested"] == "there is one row, and a test needs two"
    assert (compared["mcnemar"]["rows"], compared["mcnemar"]["only_second_right"]) == (1, 1)
    assert compared["notes"] == []
    (compared,) = compare_pairs(found, ["a", "b"], [(0, 1)], Terms(Plan("hold-out"), grouped=True))
    assert [note.endswith("also where they are of one group") for note in compared["notes"]] == [True]
    assert Terms(Plan(folds=3)).answers_once
    assert not Terms(Plan(folds=3, repeats=2)).answers_once


def test_mcnemars_p_values_are_adjusted_over_all_pairs():
    """By hand: of 5 and of 4 rows that only one gets right p is 2 / 2^5 and 2 / 2^4."""
    losses = {"a": np.zeros(9), "b": np.repeat([1.0, 0.0], [5, 4]), "c": np.repeat([0.0, 1.0], [5, 4])}
    found = [Judged([FoldResult(1, 5, 9, 9.0, 9.0, {"error": own.mean()})], {"error": own}) for own in losses.values()]
    compared = compare_pairs(found, list(losses), [(1, 0), (2, 0)], Terms(Plan("leave-one-out")))
    assert [one["mcnemar"]["p_value"] for one in compared] == pytest.approx([1 / 16, 1 / 8])
    assert [one["mcnemar"]["adjusted_p_value"] for one in compared] == pytest.approx([2 / 16, 1 / 8])


def test_what_was_not_judged_or_not_alike_says_so():
    plan = Plan("hold-out")
    weights = np.ones(ROWS)
    found = judged(plan, weights=weights)
    failed, weighed = compare_pairs([*found[:2], None], NAMES, [(2, 0), (1, 0)], Terms(plan, weighted=True))
    assert (failed["metrics"], failed["mcnemar"]["p_value"]) == ({}, None)
    assert "could not be learned with" in failed["mcnemar"]["untested"]
    assert "unlike weight" in weighed["metrics"]["error"]["untested"]
    assert weighed["mcnemar"]["untested"] is None
    assert "whatever it is" in weighed["notes"][0]
    utility = np.array([[1.0, 0], [0, 2]])
    plan = Plan(folds=3)
    found = judged(plan, utility=utility)
    alike, own = (
        compare_pairs(found, NAMES, [(1, 0)], Terms(plan, has_utility=has))[0]["metrics"]["mean_utility"]
        for has in (True, False)
    )
    assert alike["difference"] == own["difference"]
    assert (alike["untested"], own["p_value"]) == (None, None)
    assert "give evaluation.utility" in own["untested"]
