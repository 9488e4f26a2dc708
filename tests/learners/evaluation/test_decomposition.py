"""Bias, variance and description lengths: identities, closed forms, and what theory says of simple learners."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.base import no_progress
from learners.checks.require import require_json
from learners.errors import DataError, ParameterError
from learners.evaluation import Judging, Plan
from learners.evaluation.decomposition import bias_variance, decompose, squared, zero_one
from learners.evaluation.description import class_bits, n_blocks, prequential, two_part
from learners.evaluation.failing import AllFailed
from learners.evaluation.folds import dealing_order
from learners.params import integer, learner
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier, DecisionTreeRegressor
from tests.learners.examples import Majority, Mean


@given(st.integers(2, 6), st.integers(1, 8), st.integers(0, 2**32), st.integers(2, 4))
def test_the_parts_of_the_zero_one_loss_add_up(rounds, rows, seed, classes):
    generator = np.random.default_rng(seed)
    answers, actual = generator.integers(0, classes, (rounds, rows)), generator.integers(0, classes, rows)
    found = zero_one(answers, actual, classes)
    assert found.error == pytest.approx((answers != actual).mean())
    assert found.bias + found.variance == pytest.approx(found.error)
    assert found.variance == pytest.approx(found.unbiased_variance - found.biased_variance)
    assert found.kohavi_wolpert_bias + found.kohavi_wolpert_variance == pytest.approx(found.error)
    require_json(found.to_json(), "metrics")


@given(st.integers(2, 6), st.integers(1, 8), st.integers(0, 2**32))
def test_the_parts_of_the_squared_loss_add_up(rounds, rows, seed):
    generator = np.random.default_rng(seed)
    answers, actual = generator.normal(size=(rounds, rows)), generator.normal(size=rows)
    found = squared(answers, actual)
    assert found.bias + found.variance == pytest.approx(found.error) == pytest.approx(((answers - actual) ** 2).mean())


def test_the_zero_one_parts_by_hand():
    # row 1 (truth 0): answers 0 0 1, main 0, right; row 2 (truth 1): 0 0 1, main 0, wrong
    found = zero_one(np.array([[0, 0], [0, 0], [1, 1]]), np.array([0, 1]), 2)
    assert (found.error, found.bias) == pytest.approx((0.5, 0.5))
    assert (found.unbiased_variance, found.biased_variance) == pytest.approx((1 / 6, 1 / 6))


def test_of_answers_as_often_the_first_class_is_the_main_one():
    found = zero_one(np.array([[1, 2], [0, 1]]), np.array([0, 1]), 3)  # rightly 0 and 1
    assert (found.bias, found.unbiased_variance, found.biased_variance) == (0, 0.5, 0)
    found = zero_one(np.array([[1, 2], [0, 1]]), np.array([1, 2]), 3)  # wrongly 0 and 1
    assert (found.bias, found.unbiased_variance, found.biased_variance) == (1, 0, 0.5)


def test_the_mean_has_the_variance_of_a_mean():
    generator = np.random.default_rng(4)
    values = generator.normal(size=400)
    split = Plan("hold-out", fraction=0.5).splits(Series(Column("y"), values))[0]
    found = decompose(Mean(), Table.from_array(np.zeros((400, 1))), values, split, rounds=400)
    assert found.variance == pytest.approx(values[split.train].var() / 200, rel=0.2)
    centre = values[split.train].mean()
    assert found.bias == pytest.approx(((values[split.test] - centre) ** 2).mean(), rel=0.02)


def test_tested_rows_count_by_their_weight():
    """All training numbers are 0, so the loss is the weighted mean square of the tested ones."""
    split = Plan("hold-out", fraction=0.3).splits(Series(Column("y"), np.zeros(20)))[0]
    values, weights = np.zeros(20), np.ones(20)
    values[split.test], weights[split.test] = np.arange(6.0), np.arange(6.0, 0, -1)
    found = decompose(Mean(), Table.from_array(np.zeros((20, 1))), values, split, 3, judging=Judging(weights=weights))
    assert found.error == found.bias == pytest.approx((5 * 1 + 4 * 4 + 3 * 9 + 2 * 16 + 25) / 21)


def test_folds_without_weight_have_no_part_and_groups_stay_together():
    values, weights = np.arange(12.0), np.repeat([1.0, 2.0, 0.0], 4)
    groups = Series(Column("g"), np.repeat(np.arange(3.0), 4))
    table, judging = Table.from_array(np.zeros((12, 1))), Judging(weights=weights, groups=groups)
    found = bias_variance(Mean(), table, values, Plan(folds=3), 4, judging=judging)
    assert sorted(fold["test_weight"] for fold in found["folds"]) == [0, 4, 8]
    one, two = ({fold["test_weight"]: fold["error"] for fold in found["folds"] if "error" in fold}[w] for w in (4, 8))
    assert found["error"] == pytest.approx((one + 2 * two) / 3)
    times = Judging(times=Series(Column("t"), np.arange(12.0)))
    timed = bias_variance(Mean(), table, values, Plan(folds=3), 4, judging=times)
    assert [(fold["n_train"], fold["n_test"]) for fold in timed["folds"]] == [(3, 3), (6, 3), (9, 3)]


def test_samples_are_drawn_from_the_training_rows_alone():
    split = Plan("hold-out").splits(Series(Column("y"), np.zeros(40)))[0]
    values = np.zeros(40)
    values[split.test] = 3.0
    found = decompose(Mean(), Table.from_array(np.zeros((40, 1))), values, split, rounds=5)
    assert (found.error, found.bias, found.variance) == (9.0, 9.0, 0.0)


@given(st.integers(2, 4), st.integers(1, 6), st.integers(0, 2**32))
def test_a_weight_counts_as_so_many_rows(rounds, rows, seed):
    generator = np.random.default_rng(seed)
    weights = generator.integers(0, 4, rows)
    weights[0] += 1
    again = np.repeat(np.arange(rows), weights)
    codes, actual = generator.integers(0, 3, (rounds, rows)), generator.integers(0, 3, rows)
    weighed, repeated = zero_one(codes, actual, 3, weights.astype(float)), zero_one(codes[:, again], actual[again], 3)
    assert weighed.to_json() == pytest.approx(repeated.to_json())
    numbers, truth = generator.normal(size=(rounds, rows)), generator.normal(size=rows)
    weighed, repeated = squared(numbers, truth, weights.astype(float)), squared(numbers[:, again], truth[again])
    assert weighed.to_json() == pytest.approx(repeated.to_json())


def test_rows_without_weight_have_no_loss():
    nothing = np.zeros(2)
    assert zero_one(np.zeros((3, 2), int), np.zeros(2, int), 2, nothing).to_json() == {"loss": "0/1", "rounds": 3}
    assert squared(np.zeros((3, 2)), np.zeros(2), nothing).to_json() == {"loss": "squared", "rounds": 3}


def test_rows_without_weight_are_as_if_they_were_not_there_however_large():
    answers, actual, weights = np.array([[1.0, 1e308], [3, -1e308]]), np.array([1.0, 1e308]), np.array([2.0, 0])
    found = squared(answers, actual, weights)
    assert (found.error, found.bias, found.variance) == (2, 1, 1)
    assert squared(answers, actual).to_json() == {"loss": "squared", "rounds": 2}  # beyond the largest double


def test_samples_are_learned_from_with_the_weights_of_their_rows():
    # what is learned from is 5 but for rows of next to no weight: every sample's mean is 5
    split = Plan("hold-out", fraction=0.25).splits(Series(Column("y"), np.zeros(80)))[0]
    values, weights = np.full(80, 5.0), np.ones(80)
    values[split.train[:20]], weights[split.train[:20]] = 1e3, 1e-12
    values[split.test] = 7.0
    found = decompose(Mean(), Table.from_array(np.zeros((80, 1))), values, split, 20, judging=Judging(weights=weights))
    assert (found.error, found.bias, found.variance) == pytest.approx((4, 4, 0), abs=1e-6)


def test_all_folds_are_the_mean_over_tested_rows():
    generator = np.random.default_rng(6)
    values, weights = generator.normal(size=50), generator.integers(0, 3, 50).astype(float)
    table, plan = Table.from_array(generator.random((50, 2))), Plan(folds=3)
    found = bias_variance(Mean(), table, values, plan, 7, 5, judging=Judging(weights=weights))
    splits = plan.splits(Series(Column("y"), values), 5)
    for number, fold in enumerate(found["folds"], start=1):
        own = decompose(Mean(), table, values, splits[number - 1], 7, (5, number), judging=Judging(weights=weights))
        tested = splits[number - 1].test
        sizes = (fold["fold"], fold["n_train"], fold["n_test"], fold["test_weight"])
        assert sizes == (number, 50 - len(tested), len(tested), weights[tested].sum())
        assert {name: fold[name] for name in own.to_json()} == own.to_json()
    assert len({fold["variance"] for fold in found["folds"]}) == 3  # each fold draws samples of its own
    for name in ("error", "bias", "variance"):
        expected = sum(fold["test_weight"] * fold[name] for fold in found["folds"]) / weights.sum()
        assert found[name] == pytest.approx(expected)
    assert found["error"] == pytest.approx(found["bias"] + found["variance"])


def test_errors_name_the_rows_as_the_caller_numbers_them():
    values, table = np.arange(12.0), Table.from_array(np.arange(12.0)[:, None])
    values[7] = -1e150
    judging = Judging(rows=np.arange(100, 112))
    with pytest.raises(DataError, match="in row 107;") as caught:
        bias_variance(DecisionTreeRegressor(), table, values, Plan(folds=3), 5, judging=judging)
    assert caught.value.row == 107


def test_a_deeper_tree_has_less_bias_and_more_variance():
    generator = np.random.default_rng(2)
    x = generator.random((300, 2))
    wide, narrow = x[:, 0] > 0.6, (x[:, 0] < 0.25) & (x[:, 1] > 0.5)
    codes = (wide | narrow) ^ (generator.random(300) < 0.1)
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), codes.astype(float))
    split = Plan("hold-out", fraction=0.5).splits(target)[0]
    table = Table.from_array(x)
    stump, deep = (decompose(DecisionTreeClassifier(max_depth=d), table, target, split, 25) for d in (1, None))
    assert deep.kohavi_wolpert_variance > stump.kohavi_wolpert_variance
    assert deep.kohavi_wolpert_bias < stump.kohavi_wolpert_bias


def test_fifty_samples_are_drawn_where_no_number_is_asked_for():
    values, table = np.arange(8.0), Table.from_array(np.zeros((8, 1)))
    split = Plan("hold-out").splits(Series(Column("y"), values))[0]
    found = decompose(Mean(), table, values, split)
    assert found.rounds == 50
    assert found == decompose(Mean(), table, values, split, 50)
    assert bias_variance(Mean(), table, values, Plan("hold-out"))["rounds"] == 50


def test_one_sample_has_no_variance_to_speak_of():
    split = Plan("hold-out").splits(Series(Column("y"), np.arange(8.0)))[0]
    with pytest.raises(ParameterError, match="rounds must be a whole number >= 2"):
        decompose(Mean(), Table.from_array(np.zeros((8, 1))), np.arange(8.0), split, 1)


def test_bits_of_classes_are_closed_forms():
    assert class_bits(np.array([0, 1, 1, 0]), np.full((4, 2), 0.5)) == pytest.approx(4)
    assert class_bits(np.array([0, 1]), np.array([[0.25, 0.75], [0.5, 0.5]])) == pytest.approx(3)
    found = two_part(10.0, np.zeros(8, int), np.tile([1.0, 0, 0, 0], (8, 1)))
    assert (found.bits, found.uniform_bits) == pytest.approx((10.0, 16.0))
    assert two_part(1.0, np.zeros(8, int), np.full((8, 2), 0.5)).to_json()["uniform_bits"] == 8


def test_the_prequential_length_by_hand_and_against_no_learning():
    # all of one class of two: 8 bits, then 8 rows at 9/10, 16 at 17/18, 32 at 33/34
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.zeros(64))
    found = prequential(Majority(), Table.from_array(np.zeros((64, 1))), target)
    expected = 8 - 8 * np.log2(9 / 10) - 16 * np.log2(17 / 18) - 32 * np.log2(33 / 34)
    assert found.bits == pytest.approx(expected)
    assert found.uniform_bits == 64
    assert [known for known, _ in found.blocks] == [8, 16, 32]


def test_of_three_classes_a_row_takes_log_3_bits_without_help():
    column = Column("y", Kind.NOMINAL, ("a", "b", "c"))
    table, target = Table.from_array(np.zeros((32, 1))), Series(column, np.zeros(32))
    found = prequential(Majority(), table, target)
    assert found.bits == pytest.approx(8 * np.log2(3) - 8 * np.log2(9 / 11) - 16 * np.log2(17 / 19))
    assert found.uniform_bits == pytest.approx(32 * np.log2(3))
    reluctant = prequential(Reluctant(needed=9), table, target)
    assert reluctant.bits == pytest.approx(16 * np.log2(3) - 16 * np.log2(17 / 19))
    five = prequential(Majority(), table.take(np.arange(5)), target.take(np.arange(5)))
    assert (five.bits, five.uniform_bits, five.blocks) == (pytest.approx(5 * np.log2(3)), five.bits, ())


def test_a_block_is_told_by_the_rows_before_it_alone():
    # 8 bits for 8 rows of one class; each of the 8 rows of the other then has (8 * 0 + 1) / (8 + 2)
    codes = np.zeros(16)
    codes[dealing_order(16, 7, None)[8:]] = 1.0
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), codes)
    found = prequential(Majority(), Table.from_array(np.zeros((16, 1))), target, 7)
    assert found.blocks == ((8, pytest.approx(8 * np.log2(10))),)
    assert found.bits == pytest.approx(8 + 8 * np.log2(10))


def test_what_can_be_learned_is_told_in_fewer_bits_than_what_cannot():
    generator = np.random.default_rng(0)
    x = generator.random((256, 1))
    column = Column("y", Kind.NOMINAL, ("a", "b"))
    clear, noise = (Series(column, codes.astype(float)) for codes in ((x[:, 0] > 0.4), generator.random(256) < 0.5))
    tree = DecisionTreeClassifier(max_depth=2, leaf_estimate="laplace")
    table = Table.from_array(x)
    assert prequential(tree, table, clear, 5).bits < 0.4 * prequential(tree, table, noise, 5).bits
    with pytest.raises(DataError, match="numeric"):
        prequential(Mean(), table, x[:, 0])


def test_blocks_double_until_all_rows_are_told():
    assert [n_blocks(rows) for rows in (1, 8, 9, 16, 17, 32, 33, 1000)] == [0, 0, 1, 1, 2, 2, 3, 7]


@learner
class Reluctant(Majority):
    """Learns from no fewer rows than it needs."""

    needed: int = integer(9, "Least number of rows.")

    def fit(self, X, y, sample_weight=None, *, progress=no_progress):
        if X.n_rows < self.needed:
            raise DataError(f"{X.n_rows} rows are too few")
        return super().fit(X, y, sample_weight, progress=progress)


def test_a_block_that_cannot_be_learned_for_is_told_without_help():
    table, target = Table.from_array(np.zeros((64, 1))), Series(Column("y", Kind.NOMINAL, ("a", "b")), np.zeros(64))
    found = prequential(Reluctant(needed=9), table, target)
    assert found.bits == pytest.approx(16 - 16 * np.log2(17 / 18) - 32 * np.log2(33 / 34))
    with pytest.raises(AllFailed, match=r"none of the 3 blocks can be learned for: .* 8 rows are too few"):
        prequential(Reluctant(needed=65), table, target)
