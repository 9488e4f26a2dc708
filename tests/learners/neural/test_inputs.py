"""Rows as inputs, classes and numbers as targets, and scores as answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from learners.decisions import decide
from learners.errors import DataError
from learners.neural import CascadeCorrelationClassifier, NeuralNetworkClassifier
from learners.neural.classifier import NetworkClassifier
from learners.neural.inputs import LARGEST_INPUT, Inputs
from learners.neural.targets import ClassTarget, NumberTarget
from learners.table import Table

TABLE = Table.from_columns({"x": [1.0, 3.0, None, 5.0], "colour": ["red", "green", "blue", "red"]})


def test_inputs_know_their_columns_and_mean() -> None:
    inputs = Inputs.fit(TABLE, np.array([1.0, 1.0, 1.0, 3.0]), scaling="none")
    rows = inputs.batch(TABLE)
    assert rows.flags.c_contiguous
    assert inputs.owners(5).tolist() == [0, 0, 1, 1, 1]  # x, its gap, blue, green, red
    assert rows[:, 1].tolist() == [0, 0, 1, 0]
    np.testing.assert_allclose(inputs.baseline(5), np.average(rows, axis=0, weights=[1, 1, 1, 3]))
    again = Inputs.from_arrays(inputs.to_arrays(), TABLE.columns)
    assert np.array_equal(again.batch(TABLE), rows)
    assert inputs.knows(1, 0.0, TABLE.columns[1])
    assert not inputs.knows(1, -1.0, TABLE.columns[1])


def test_no_input_is_beyond_what_sums_bear() -> None:
    inputs = Inputs.fit(Table.from_array(np.array([[0.0], [1.0]])), np.ones(2))
    assert inputs.batch(Table.from_array(np.array([[1e300], [-1e300]]))).tolist() == [[LARGEST_INPUT], [-LARGEST_INPUT]]
    with pytest.raises(DataError, match="'x0' goes beyond 1e\\+30"):
        Inputs.fit(Table.from_array(np.array([[0.0], [1e31]])), np.ones(2), scaling="none")


@pytest.mark.parametrize("factor", [5e-300, 1.0, 1e300])
def test_numbers_are_standardised_and_come_back(factor: float) -> None:
    cells, weights = np.array([1.0, 2.0, 2.0, 7.0]) * factor, np.array([2.0, 1.0, 1.0, 1.0])
    target = NumberTarget.fit(cells, weights)
    coded = target.coded(cells)
    repeated = np.repeat(coded[:, 0], [2, 1, 1, 1])
    assert repeated.mean() == pytest.approx(0, abs=1e-12)
    assert repeated.std() == pytest.approx(1)
    np.testing.assert_allclose(target.answers(coded), np.minimum(cells, 1e300))


def test_one_number_is_the_answer_to_the_bit() -> None:
    target = NumberTarget.fit(np.full(3, 0.1), np.ones(3))
    assert target.is_constant
    assert target.answers(np.zeros((2, 1))).tolist() == [0.1, 0.1]


def test_classes_are_ordered_by_their_first_row() -> None:
    target = ClassTarget.fit(np.array([3.0, 0.0, 3.0, 1.0]), np.ones(4), 4, "softmax")
    assert target.present == (3, 0, 1)
    assert target.coded(np.array([0.0, 3.0])).tolist() == [[0, 1, 0], [1, 0, 0]]
    scores = np.log(np.array([[0.5, 0.3, 0.2]]))
    np.testing.assert_allclose(target.answers(scores), [[0.3, 0.2, 0.0, 0.5]])
    np.testing.assert_allclose(target.answers(target.mean_scores()[None]), [[0.25, 0.25, 0.0, 0.5]])


def test_two_classes_have_one_unit_that_of_the_later() -> None:
    target = ClassTarget.fit(np.array([1.0, 0.0, 0.0, 0.0]), np.array([3.0, 1.0, 1.0, 1.0]), 2, "softmax")
    assert (target.link, target.n_outputs) == ("logistic", 1)
    assert target.coded(np.array([1.0, 0.0])).tolist() == [[0], [1]]
    np.testing.assert_allclose(target.answers(np.array([[np.log(3.0)]])), [[0.75, 0.25]])
    np.testing.assert_allclose(target.answers(target.mean_scores()[None]), [[0.5, 0.5]])


def test_sigmoids_are_divided_by_their_sum() -> None:
    target = ClassTarget.fit(np.arange(3.0), np.ones(3), 3, "sigmoids")
    shares = np.array([0.9, 0.6, 0.3])
    scores = np.log(shares / (1 - shares))[None]
    np.testing.assert_allclose(target.answers(scores), [shares / shares.sum()])
    np.testing.assert_allclose(target.answers(np.array([[-1e9, -1e9, 1e9]])), [[0, 0, 1]], atol=1e-300)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
def test_the_answer_is_the_class_of_the_largest_score_however_sure_all_are(scores: list[float]) -> None:
    target = ClassTarget.fit(np.array([2.0, 0.0, 1.0]), np.ones(3), 3, "sigmoids")
    shares = target.answers(np.array([scores]))[0]
    assert shares.sum() == pytest.approx(1, abs=1e-14)
    by_class = np.array(scores)[[1, 2, 0]]  # units are in the order of the first rows
    assert by_class[decide(shares[None])[0]] >= by_class.max() - 1e-8 * max(1.0, np.abs(by_class).max())


def test_of_functions_that_are_both_1_the_larger_score_decides() -> None:
    target = ClassTarget.fit(np.arange(3.0), np.ones(3), 3, "sigmoids")
    shares = target.answers(np.array([[-225.0, 129.0, 445.0], [129.0, 129.0, -2.0], [-800.0, -750.0, -900.0]]))
    np.testing.assert_allclose(shares[0], [np.exp(-225.0) / 2, 0.5, 0.5], atol=1e-11)
    assert decide(shares).tolist() == [2, 0, 1]
    assert shares[1, 0] == shares[1, 1]
    np.testing.assert_allclose(shares[2], [np.exp(-50.0), 1.0, np.exp(-150.0)], rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        CascadeCorrelationClassifier(max_hidden=2),
        NeuralNetworkClassifier(loss="squared", activation="relu", epochs=30),
        NeuralNetworkClassifier(outputs="sigmoid", activation="relu", epochs=30),
    ],
)
def test_label_and_reason_agree_far_away(model: NetworkClassifier) -> None:
    rows, classes = load_iris(return_X_y=True)
    model.fit(rows, np.array(["a", "b", "c"])[classes])
    far = rows.mean(axis=0) + np.random.default_rng(0).normal(size=(200, 4)) * 1e3
    for label, shares, reason in zip(model.predict(far), model.predict_proba(far), model.explain(far), strict=True):
        scores = {one["label"]: one["score"] for one in reason.to_json()["scores"]}
        assert scores[label] >= max(scores.values()) - 1e-9 * max(map(abs, scores.values()))
        np.testing.assert_allclose(reason.replayed(), shares, atol=1e-11)
