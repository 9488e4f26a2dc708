"""Integrated gradients against closed forms, and reasons that give the answer again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from learners.neural import NeuralNetworkRegressor, RecurrentNetworkRegressor, TimeDelayNetworkRegressor
from learners.neural.attributing import TOLERANCE, integrate
from learners.table import Table
from tests.learners.neural.families import SmallClassifier, SmallRegressor


def test_of_a_linear_score_each_input_adds_its_weight_times_its_way() -> None:
    weights, baseline = np.array([2.0, -1.0, 0.5]), np.array([1.0, 1.0, 0.0])
    rows = np.array([[3.0, 5.0, 7.0], [1.0, 1.0, 0.0]])
    found = integrate(lambda x: x @ weights, lambda x: np.tile(weights, (len(x), 1)), baseline, rows)
    np.testing.assert_allclose(found.amounts, (rows - baseline) * weights, rtol=1e-12)
    assert found.baseline == 1.0
    assert found.scores.tolist() == [4.5, 1.0]


def test_of_a_product_each_factor_adds_half() -> None:
    def gradients(x: Any) -> Any:
        return x[:, ::-1]

    found = integrate(lambda x: x[:, 0] * x[:, 1], gradients, np.zeros(2), np.array([[3.0, 4.0]]))
    np.testing.assert_allclose(found.amounts, [[6.0, 6.0]], rtol=1e-12)


@pytest.mark.parametrize("kink", [0.1, 1 / 3, 0.999999, 2e-7])
def test_a_rectified_unit_is_complete_across_its_kink(kink: float) -> None:
    def scores(x: Any) -> Any:
        return np.maximum(x[:, 0] + x[:, 1] - kink, 0.0)

    def gradients(x: Any) -> Any:
        return np.where(x[:, :1] + x[:, 1:] > kink, 1.0, 0.0) * np.ones(2)

    found = integrate(scores, gradients, np.zeros(2), np.array([[0.75, 0.25], [0.1, 0.1]]))
    np.testing.assert_allclose(found.amounts[0], (1 - kink) * np.array([0.75, 0.25]), atol=2 * TOLERANCE)


def test_a_step_between_huge_numbers_is_found_by_halving() -> None:
    found = integrate(
        lambda x: np.tanh(x[:, 0]), lambda x: 1 - np.tanh(x) ** 2, np.zeros(1), np.array([[1e6], [-30.0], [0.0]])
    )
    np.testing.assert_allclose(found.amounts[:, 0], [1, -1, 0], atol=TOLERANCE)


@pytest.mark.parametrize("learner", [SmallClassifier, SmallRegressor])
def test_contributions_are_complete_and_of_the_score(learner: Any) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(50, 3))
    table = Table.from_columns(
        {
            "a": values[:, 0].tolist(),
            "b": values[:, 1].tolist(),
            "c": [["x", "y", "z"][k % 3] for k in range(49)] + [None],
        }
    )
    answer = values[:, 0] - 2 * values[:, 1] + 3
    model = learner().fit(table, answer if learner is SmallRegressor else np.digitize(answer, [2.0, 4.0]))
    reasons = model.explain(table)
    for row, reason in enumerate(reasons):
        for score in reason.scores:
            assert [part.column for part in score.contributions] == ["a", "b", "c"]
            difference = score.value - score.baseline
            assert abs(score.gap) <= TOLERANCE * max(1, abs(difference)) * 1.01
        said = model.predict_proba(table)[row] if learner is SmallClassifier else model.predict(table)[row]
        np.testing.assert_allclose(reason.replayed(), said, rtol=1e-12)
    assert reasons[49].scores[0].contributions[2].state == "missing"
    alone = model.explain(table.take(np.array([7])))[0].to_json()["scores"][0]
    together = reasons[7].to_json()["scores"][0]
    for one, other in zip(alone["contributions"], together["contributions"], strict=True):
        assert one["contribution"] == pytest.approx(other["contribution"], rel=1e-9, abs=1e-12)


def test_columns_of_no_use_and_one_class_are_explained_too() -> None:
    table = Table.from_columns({"a": [1.0, 2.0, 3.0], "k": [5.0, 5.0, 5.0]})
    reason = SmallClassifier().fit(table, ["only", "only", "only"]).explain(table)[0]
    assert [part.column for part in reason.scores[0].contributions] == ["a"]
    assert reason.replayed().tolist() == [1.0]
    flat = SmallRegressor().fit(table.select(["k"]), [1.0, 2.0, 6.0])
    assert flat.predict(table.select(["k"])).tolist() == [3.0, 3.0, 3.0]
    assert flat.explain(table.select(["k"]))[0].text() == "3 = 3 (gap 0)"


def test_a_score_that_goes_under_in_its_contributions_is_told_to_be_incomplete() -> None:
    weights, rows = np.array([1.0, 1.0, -1.0]), np.array([[1e30, 1.0, 1e30], [2.0, 1.0, 1.0]])
    found = integrate(
        lambda x: x[:, 1] + (x[:, 0] - x[:, 2]), lambda x: np.tile(weights, (len(x), 1)), np.zeros(3), rows
    )
    assert found.complete.tolist() == [False, True]


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("unit", [1.0, 1e138])
@pytest.mark.parametrize("learner", [RecurrentNetworkRegressor, TimeDelayNetworkRegressor, NeuralNetworkRegressor])
def test_contributions_add_up_whatever_the_magnitude(learner: Any, unit: float, activation: str) -> None:
    values = np.random.default_rng(0).normal(size=(60, 4))
    asked = np.vstack([values[:3], np.full((1, 4), 1e300)])

    def table(rows: Any) -> Table:
        if learner is NeuralNetworkRegressor:
            return Table.from_columns({f"x{place}": column.tolist() for place, column in enumerate(rows.T)})
        return Table.from_columns({"series": rows.tolist()})

    model = learner(epochs=5, activation=activation)
    model.fit(table(values), values.sum(axis=1) * unit)
    for answer, reason in zip(model.predict(table(asked)), model.explain(table(asked)), strict=True):
        (score,) = reason.scores
        total = score.baseline + sum(part.amount for part in score.contributions)
        assert score.complete
        assert total == pytest.approx(answer, rel=1e-5, abs=3e-6 * model.outputs_.unit)
        assert reason.replayed() == pytest.approx(answer, rel=1e-12)


def test_a_way_that_bends_too_often_is_told_to_be_incomplete_after_so_many_points() -> None:
    looked_at: list[int] = []

    def gradients(x: NDArray[np.float64]) -> NDArray[np.float64]:
        looked_at.append(len(x))
        return 1e9 * np.cos(1e9 * x)

    found = integrate(lambda x: np.sin(1e9 * x[:, 0]), gradients, np.zeros(1), np.array([[1.0]]), most_parts=60)
    assert not found.complete[0]
    assert 20 < sum(looked_at) <= 60 * 5
    assert np.abs(found.amounts).sum() <= 2 * 60  # and not the 1e9 of single points: no part changes by more than 2
    few = integrate(lambda x: x[:, 0] ** 3, lambda x: 3 * x**2, np.zeros(1), np.array([[2.0]]), most_parts=4)
    assert few.complete[0]
    np.testing.assert_allclose(few.amounts, [[8.0]], rtol=1e-12)


def test_points_of_wide_rows_are_looked_at_some_at_a_time() -> None:
    width, held = 400_000, []

    def gradients(x: NDArray[np.float64]) -> NDArray[np.float64]:
        held.append(x.size)
        return 2 * x

    row = np.linspace(0.0, 1.0, width)
    found = integrate(lambda x: (x**2).sum(axis=1), gradients, np.zeros(width), row[None])
    assert max(held) <= 5 * width  # five points: those of one part, of the four there are
    np.testing.assert_allclose(found.amounts[0], row**2, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("learner", "hidden"), [(RecurrentNetworkRegressor, [5, 3]), (TimeDelayNetworkRegressor, [4])])
def test_the_slopes_of_many_sequences_are_those_of_each_and_of_differences(
    learner: Any, hidden: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    series = rng.normal(size=(30, 6))
    model = learner(epochs=3, hidden_units=hidden, shortcuts=True).fit(
        Table.from_columns({"s": series.tolist()}), series.sum(axis=1)
    )
    for length in (1, 6, 15):
        rows = rng.normal(size=(7, length))
        points, network = model.inputs_.points, model.network_
        found = network.input_gradients(points(rows), 0)
        moved = np.eye(length)[:, None] * 1e-6
        upper, lower = (
            np.array([network.scores(points(rows + sign * move))[:, 0] for move in moved]) for sign in (1, -1)
        )
        np.testing.assert_allclose(found, ((upper - lower) / 2e-6).T, atol=1e-7)
        monkeypatch.setattr("learners.neural.recurrent.network._AT_ONCE", 1)
        np.testing.assert_allclose(network.input_gradients(points(rows), 0), found, rtol=1e-12, atol=1e-15)
        monkeypatch.undo()
