"""Bias, variance and description lengths: identities, closed forms, and what theory says of simple learners."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.checks.require import require_json
from learners.errors import DataError, ParameterError
from learners.evaluation import Plan
from learners.evaluation.decomposition import decompose, squared, zero_one
from learners.evaluation.description import class_bits, prequential, two_part
from learners.evaluation.folds import dealing_order
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier
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


def test_the_mean_has_the_variance_of_a_mean():
    generator = np.random.default_rng(4)
    values = generator.normal(size=400)
    split = Plan("hold-out", fraction=0.5).splits(Series(Column("y"), values))[0]
    found = decompose(Mean(), Table.from_array(np.zeros((400, 1))), values, split, rounds=400)
    assert found.variance == pytest.approx(values[split.train].var() / 200, rel=0.2)
    centre = values[split.train].mean()
    assert found.bias == pytest.approx(((values[split.test] - centre) ** 2).mean(), rel=0.02)


def test_samples_are_drawn_from_the_training_rows_alone():
    split = Plan("hold-out").splits(Series(Column("y"), np.zeros(40)))[0]
    values = np.zeros(40)
    values[split.test] = 3.0
    found = decompose(Mean(), Table.from_array(np.zeros((40, 1))), values, split, rounds=5)
    assert (found.error, found.bias, found.variance) == (9.0, 9.0, 0.0)


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


def test_one_sample_has_no_variance_to_speak_of():
    split = Plan("hold-out").splits(Series(Column("y"), np.arange(8.0)))[0]
    with pytest.raises(ParameterError, match="rounds must be a whole number >= 2"):
        decompose(Mean(), Table.from_array(np.zeros((8, 1))), np.arange(8.0), split, 1)


def test_bits_of_classes_are_closed_forms():
    assert class_bits(np.array([0, 1, 1, 0]), np.full((4, 2), 0.5)) == pytest.approx(4)
    assert class_bits(np.array([0, 1]), np.array([[0.25, 0.75], [0.5, 0.5]])) == pytest.approx(3)
    found = two_part(10.0, np.zeros(8, int), np.tile([1.0, 0, 0, 0], (8, 1)))
    assert (found.bits, found.uniform_bits) == pytest.approx((10.0, 16.0))


def test_the_prequential_length_by_hand_and_against_no_learning():
    # all of one class of two: 8 bits, then 8 rows at 9/10, 16 at 17/18, 32 at 33/34
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.zeros(64))
    found = prequential(Majority(), Table.from_array(np.zeros((64, 1))), target)
    expected = 8 - 8 * np.log2(9 / 10) - 16 * np.log2(17 / 18) - 32 * np.log2(33 / 34)
    assert found.bits == pytest.approx(expected)
    assert found.uniform_bits == 64
    assert [known for known, _ in found.blocks] == [8, 16, 32]


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
    learner = DecisionTreeClassifier(max_depth=2, leaf_estimate="laplace")
    table = Table.from_array(x)
    assert prequential(learner, table, clear, 5).bits < 0.4 * prequential(learner, table, noise, 5).bits
    with pytest.raises(DataError, match="numeric"):
        prequential(Mean(), table, x[:, 0])
