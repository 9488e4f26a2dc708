"""Folds: a partition, stratified to within one row, the same everywhere for the same seed."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.errors import ParameterError
from learners.evaluation.folds import hold_out, k_fold
from tests.shared import trap_path

seeds = st.integers(0, 2**64)


@given(st.data(), seeds)
def test_folds_part_the_rows_and_deal_every_class_evenly(data, seed):
    codes = np.array(data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=60)))
    k = data.draw(st.integers(2, len(codes)))
    folds = k_fold(len(codes), k, seed, codes)
    tested = np.concatenate([folds[fold].test for fold in range(k)])
    assert sorted(tested) == list(range(len(codes)))
    for fold in range(k):
        split = folds[fold]
        assert sorted([*split.train, *split.test]) == list(range(len(codes)))
    assert folds.sizes.max() - folds.sizes.min() <= 1
    for code in range(5):
        counts = [int((codes[folds[fold].test] == code).sum()) for fold in range(k)]
        assert max(counts) - min(counts) <= 1


@given(st.integers(2, 80), st.floats(0.01, 0.99), seeds)
def test_plain_hold_out_has_the_rounded_share(n, fraction, seed):
    split, warnings = hold_out(n, fraction, seed)
    assert len(split.test) == min(max(round(fraction * n), 1), n - 1)
    assert sorted([*split.train, *split.test]) == list(range(n))
    assert warnings == ()


@given(st.lists(st.integers(0, 3), min_size=4, max_size=80), st.floats(0.05, 0.95), seeds)
def test_hold_out_takes_every_class_in_proportion(codes, fraction, seed):
    codes = np.array(codes)
    split, _ = hold_out(len(codes), fraction, seed, codes)
    for code in range(4):
        expected = (codes == code).sum() * len(split.test) / len(codes)
        assert abs((codes[split.test] == code).sum() - expected) < 1


def test_a_fold_follows_from_rows_classes_count_and_seed():
    codes = np.arange(50) % 3
    first, second = k_fold(50, 10, 7, codes), k_fold(50, 10, 7, codes.copy())
    assert np.array_equal(first.assignment, second.assignment)
    assert not np.array_equal(first.assignment, k_fold(50, 10, 8, codes).assignment)


def test_the_shuffle_deals_the_rows_in_the_order_of_pcg64s_raw_words():
    words = np.random.PCG64(0).random_raw(8).tolist()
    order = sorted(range(8), key=lambda row: words[row])
    expected = [0] * 8
    for place, row in enumerate(order):
        expected[row] = place % 4
    assert k_fold(8, 4, 0).assignment.tolist() == expected
    # numpy guarantees the stream; should it ever change, every recorded fold would
    assert expected == [0, 2, 1, 0, 2, 3, 3, 1]


def test_folds_without_classes_are_shuffled():
    assignment = k_fold(1000, 10, 0).assignment
    assert not np.array_equal(assignment, np.arange(1000) % 10)
    assert np.bincount(assignment).tolist() == [100] * 10


def test_a_class_rarer_than_the_folds_gives_a_warning_and_no_failure():
    with trap_path("rare_class.csv").open() as file:
        labels = [row["y"] for row in csv.DictReader(file)]
    names = sorted(set(labels))
    codes = np.array([names.index(label) for label in labels])
    folds = k_fold(len(codes), 10, 0, codes, names)
    assert len(folds) == 10
    rare = [name for name in names if labels.count(name) < 10]
    assert rare
    assert [warning.split("'")[1] for warning in folds.warnings] == rare
    assert all("fewer than the 10 folds" in warning for warning in folds.warnings)


def test_a_class_that_one_part_lacks_is_named_by_the_hold_out():
    split, warnings = hold_out(10, 0.3, 0, np.array([0] * 9 + [1]), ["a", "b"])
    missing = "test" if 9 in split.train else "train on"
    assert warnings == (f"class 'b': no row of it is there to {missing}",)


def test_many_rare_classes_are_counted_not_listed():
    warnings = k_fold(40, 20, 0, np.arange(40) % 30).warnings
    assert len(warnings) == 6
    assert warnings[-1].startswith("25 more classes")


def test_leave_one_out_is_as_many_folds_as_rows():
    folds = k_fold(7, 7, 3)
    assert sorted(int(folds[fold].test[0]) for fold in range(7)) == list(range(7))


@pytest.mark.parametrize("folds", [1, 0, -3, 15, 2.5, True, "10", None])
def test_a_number_of_folds_out_of_range_is_refused_with_the_range(folds):
    with pytest.raises(ParameterError, match=r"folds must be a whole number >= 2 and <= 14 .*it is ") as caught:
        k_fold(14, folds)
    assert caught.value.field == "folds"


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, float("nan"), "half", True, None])
def test_a_fraction_out_of_range_is_refused_with_the_range(fraction):
    with pytest.raises(ParameterError, match="fraction must be a number > 0 and < 1") as caught:
        hold_out(14, fraction)
    assert caught.value.field == "fraction"


@pytest.mark.parametrize("seed", [-1, 0.5, None, True])
def test_a_bad_seed_is_refused(seed):
    with pytest.raises(ParameterError, match="seed must be a whole number >= 0"):
        k_fold(14, 2, seed)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_rows_are_refused(n):
    with pytest.raises(ParameterError, match="at least 2 rows"):
        k_fold(n, 2)
    with pytest.raises(ParameterError, match="at least 2 rows"):
        hold_out(n)


def test_a_fold_beyond_the_last_is_refused():
    with pytest.raises(IndexError):
        k_fold(10, 5)[5]
