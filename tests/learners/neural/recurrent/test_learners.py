"""Recurrent and time-delay networks as learners: what they learn, tell, keep and refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.errors import Cancelled, DataError, ParameterError, SchemaError
from learners.neural import (
    RecurrentNetworkClassifier,
    RecurrentNetworkRegressor,
    TimeDelayNetworkClassifier,
    TimeDelayNetworkRegressor,
)
from learners.neural.recurrent.state import StateError
from learners.persist import dump, load
from learners.table import Column, Kind, Series, Table

BITS = Column("next", Kind.NOMINAL, ("0", "1"), "number")


def temporal_xor(n_rows: int, length: int, seed: int) -> Table:
    """Two random bits, then whether they differ, and so on (Elman 1990)."""
    drawn = np.random.default_rng(seed).integers(0, 2, (n_rows, length // 3, 2))
    bits = np.concatenate([drawn, drawn.sum(axis=2, keepdims=True) % 2], axis=2)
    return Table.from_columns({"bits": bits.reshape(n_rows, -1).tolist()})


def test_the_third_bit_of_temporal_exclusive_or_is_foreseen() -> None:
    table, target = temporal_xor(40, 45, 1), Series(BITS, np.zeros(40))
    made = RecurrentNetworkClassifier(
        hidden_units=(8,), taught="next-step", optimizer="adam", rate=0.02, batch=5, epochs=70
    ).fit(table, target)
    test = temporal_xor(1, 600, 2)
    shares, state = made.feed(test)
    wrong = (shares[:-1, 1] - test.columns[0].sequences[0][1:, 0]) ** 2
    third = np.arange(1, 600) % 3 == 2
    assert wrong[third].mean() < 0.05
    assert wrong[~third].mean() == pytest.approx(0.25, abs=0.05)  # bits that nothing tells
    assert state["steps"] == 600


def test_a_label_for_each_step_is_taught_by_rows_that_grow() -> None:
    rng = np.random.default_rng(0)
    bits = [rng.integers(0, 2, 9).tolist() for _ in range(20)]
    rows = [row[:end] for row in bits for end in range(1, 10)]
    made = RecurrentNetworkClassifier(hidden_units=(6,), optimizer="adam", rate=0.05, batch=5, epochs=100)
    made.fit(Table.from_columns({"bits": rows}), [changes(row) for row in rows])
    fresh = [rng.integers(0, 2, 9).tolist() for _ in range(20)]
    wanted = [changes(row[:end]) for row in fresh for end in range(1, 10)]
    found = [made.classes_[made.decide(made.feed(Table.from_columns({"bits": [row]}))[0])] for row in fresh]
    assert np.mean(np.concatenate(found) == wanted) > 0.97


def changes(bits: list[int]) -> str:
    """Whether the last bit is another than the one before: exclusive or, delayed by a step."""
    return "yes" if len(bits) > 1 and bits[-1] != bits[-2] else "no"


def test_a_text_is_a_string_of_symbols() -> None:
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("abc"), rng.integers(2, 7))) for _ in range(80)]
    table = Table.from_columns({"word": words}, [Column("word", Kind.TEXT)])
    first = [word[0] for word in words]
    made = RecurrentNetworkClassifier(hidden_units=(8,), epochs=200, rate=0.1).fit(table, first)
    assert made.score(table, first) > 0.97
    (told,) = made.explain(table.take(np.array([0])))
    for score in told.to_json()["scores"]:
        (part,) = score["contributions"]
        assert len(part["steps"]) == len(words[0])
        assert sum(part["steps"]) == pytest.approx(part["contribution"], abs=1e-12)
        assert abs(score["gap"]) <= 1.01e-6 * max(1, abs(score["score"] - score["baseline"]))


def test_a_window_with_shortcuts_alone_is_a_linear_autoregression() -> None:
    series = np.random.default_rng(5).normal(size=400)
    for step in range(2, 400):
        series[step] += 1.2 * series[step - 1] - 0.5 * series[step - 2]
    rows, following = [series[end - 6 : end].tolist() for end in range(6, 400)], series[6:]
    made = TimeDelayNetworkRegressor(
        window=2, hidden_units=(1,), shortcuts=True, activation="relu", decay=0.0, epochs=500
    ).fit(Table.from_columns({"past": rows}), following)
    matrix = np.column_stack([series[5:-1], series[4:-2], np.ones(394)])
    fitted = matrix @ np.linalg.lstsq(matrix, following, rcond=None)[0]
    error = np.mean((made.predict(Table.from_columns({"past": rows})) - following) ** 2)
    assert error <= np.mean((fitted - following) ** 2) * 1.001


def test_only_the_window_counts() -> None:
    rows = [[0.0, 1, 2, 3], [5, 6, 2, 3], [1, 2], [3, 4, 9], [7]]
    table = Table.from_columns({"past": rows})
    made = TimeDelayNetworkRegressor(window=2, epochs=5).fit(table, np.arange(5.0))
    assert made.predict(table)[0] == made.predict(table)[1]
    assert made.explain(table)[1].to_json()["scores"][0]["contributions"][0]["steps"][:2] == [0, 0]
    wide = TimeDelayNetworkRegressor(window=100, epochs=5).fit(table, np.arange(5.0))
    assert wide.network_.delays == 4  # no row has more steps


def table_of_all() -> tuple[Table, np.ndarray]:
    rng = np.random.default_rng(7)
    lengths = rng.integers(1, 6, 25)
    data: dict[str, Any] = {
        "pulse": [rng.normal(size=(length, 2)).tolist() for length in lengths],
        "word": ["".join(rng.choice(list("xy"), length)) for length in lengths],
        "age": rng.normal(size=25).tolist(),
        "colour": rng.choice(["red", "green"], 25).tolist(),
    }
    data["pulse"][3] = data["word"][4] = data["age"][5] = None
    return Table.from_columns(data, [Column("word", Kind.TEXT)]), rng.normal(size=25)


@pytest.mark.parametrize("learner", [RecurrentNetworkRegressor, TimeDelayNetworkRegressor])
def test_a_model_of_all_kinds_of_columns_is_kept_to_the_bit(learner: type[RecurrentNetworkRegressor]) -> None:
    table, target = table_of_all()
    made = learner(epochs=8, hidden_units=(4, 3), validation_fraction=0.2).fit(table, target)
    again = learner.from_state(load(dump(made.get_state())))
    np.testing.assert_array_equal(again.predict(table), made.predict(table))
    assert [one.to_json() for one in again.explain(table)] == [one.to_json() for one in made.explain(table)]
    alone = [again.predict(table.take(np.array([row])))[0] for row in range(25)]
    np.testing.assert_array_equal(alone, made.predict(table))
    assert sum(len(column.levels) for column in made.columns_ if column.is_open) == 1  # no training row is kept
    for one, answer in zip(made.explain(table), made.predict(table), strict=True):
        assert one.replayed() == pytest.approx(answer, rel=1e-9)
    fed, state = again.feed(table.take(np.array([0])))
    assert fed[-1] == alone[0]
    assert again.feed(table.take(np.array([0])), state)[1]["steps"] == 2 * state["steps"]
    with pytest.raises(DataError, match="is not as it was in the steps before; give it alike"):
        again.feed(table.take(np.array([1])), state)


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ({"age": None}, r"column 'age' is not as it was in the steps before \(it is missing here\)"),
        ({"age": 4.0}, "column 'age' is not as it was"),
        ({"pulse": None}, "column 'pulse' is missing here and was known in the steps before"),
    ],
)
def test_a_piece_that_changes_what_holds_for_the_whole_sequence_is_refused(piece: dict[str, Any], said: str) -> None:
    table, target = table_of_all()
    made = RecurrentNetworkRegressor(epochs=2).fit(table.select(["pulse", "word", "age"]), target)

    def row(**changes: Any) -> Table:
        cells = {"pulse": [[1.0, 2.0], [0.0, 1.0]], "word": "xy", "age": 3.0} | changes
        return Table.from_columns({name: [cell] for name, cell in cells.items()}, made.columns_)

    state = made.feed(row())[1]
    assert made.feed(row(), state)[1]["steps"] == 4
    with pytest.raises(DataError, match=said) as refused:
        made.feed(row(**piece), state)
    assert refused.value.field == next(iter(piece))
    with pytest.raises(StateError, match=r"state\.columns is a list of"):
        made.feed(row(), state | {"columns": [1]})


def test_what_cannot_be_learned_is_known_by_the_columns() -> None:
    bits, word, age = Column("bits", Kind.SEQUENCE), Column("word", Kind.TEXT), Column("age")
    number = Column("y")
    with pytest.raises(DataError, match="no column is of kind sequence or text"):
        RecurrentNetworkRegressor().check_columns([age], number)
    with pytest.raises(DataError, match="needs one column of sequences or texts; there are 2: 'bits', 'word'"):
        RecurrentNetworkRegressor(taught="next-step").check_columns([bits, word], number)
    with pytest.raises(DataError, match="learns classes from texts; column 'word' is text"):
        TimeDelayNetworkRegressor(taught="next-step").check_columns([word, age], number)
    with pytest.raises(ParameterError, match="at most 10000000 are learned") as refused:
        RecurrentNetworkClassifier(hidden_units=(1_000,) * 6).check_columns([bits], BITS)
    assert refused.value.field == "hidden_units"
    TimeDelayNetworkClassifier(hidden_units=(1_000,) * 6).check_columns([bits, age], BITS)


def test_rows_without_steps_are_warned_of() -> None:
    table = Table.from_columns({"x": [1.0, 2.0, 3.0]})
    made = RecurrentNetworkRegressor(epochs=2).fit(table, [1.0, 2.0, 3.0])
    assert made.training_notes()["warnings"] == ["no column is of sequences or texts: each row was learned as one step"]


def test_of_one_answer_steps_are_fed_too() -> None:
    table = Table.from_columns({"bits": [[1, 0], [1]]})
    made = RecurrentNetworkClassifier().fit(table, ["a", "a"])
    shares, state = made.feed(table.take(np.array([0])))
    assert shares.tolist() == [[1.0], [1.0]]
    assert made.feed(table.take(np.array([1])), state)[1]["steps"] == 3


def test_what_cannot_be_fed_is_told() -> None:
    table = Table.from_columns({"bits": [[1, 0], [1]]})
    made = RecurrentNetworkRegressor(epochs=2).fit(table, [1.0, 2.0])
    with pytest.raises(DataError, match="one row at a time; there are 2"):
        made.feed(table)
    with pytest.raises(DataError, match="state has the members"):
        made.feed(table.take(np.array([0])), {"units": []})
    with pytest.raises(SchemaError, match="has 2 numbers a step, where others of its column have 1"):
        made.predict(Table.from_columns({"bits": [[[1, 2]]]}))


def test_training_stops_by_rows_held_out_and_keeps_the_best() -> None:
    rng = np.random.default_rng(2)
    table = Table.from_columns({"noise": rng.normal(size=(60, 5)).tolist()})
    made = RecurrentNetworkRegressor(validation_fraction=0.3, patience=10, epochs=400, hidden_units=(12,))
    made.fit(table, rng.normal(size=60))
    notes, judged = made.training_notes(), made.history_["validation_error"]
    assert notes["stopped"] == "patience"
    assert notes["best_epoch"] == int(np.argmin(judged)) + 1 == len(judged) - 10


def test_training_tells_its_epochs_and_is_cancelled_between_them() -> None:
    table, told = temporal_xor(4, 9, 0), []

    def progress(share: float, message: str) -> None:
        told.append(message)
        if len(told) == 5:
            raise Cancelled("asked to stop")

    with pytest.raises(Cancelled):
        RecurrentNetworkClassifier(taught="every-step").fit(table, [0, 1, 0, 1], progress=progress)
    assert told[-1].startswith("epoch 4 of 200, error ")


def test_a_training_that_diverges_says_when_and_what_to_do() -> None:
    table = Table.from_columns({"past": [[1.0, 2], [3, 1], [5, 0]]})
    made = RecurrentNetworkRegressor(optimizer="sgd", rate=90, clip=None, activation="relu", epochs=500)
    with pytest.raises(ParameterError, match=r"training diverged at epoch \d+: lower the rate \(90\)") as caught:
        made.fit(table, [1.0, 2.0, 4.0])
    assert caught.value.field == "rate"
    assert not made.is_fitted


def test_clipped_gradients_are_no_longer_than_asked() -> None:
    table = Table.from_columns({"past": [[1.0, 2], [3, 1], [5, 0]]})
    start = RecurrentNetworkRegressor(epochs=1, rate=1e-9).fit(table, [1.0, 2.0, 4.0]).network_.theta
    moved = RecurrentNetworkRegressor(optimizer="sgd", rate=1.0, momentum=0.0, clip=0.01, epochs=1)
    moved.fit(table, [1.0, 2.0, 4.0])
    assert np.linalg.norm(moved.network_.theta - start) == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize("optimizer", ["sgd", "quickprop", "rprop", "adam"])
def test_every_optimizer_lowers_the_error(optimizer: str) -> None:
    table = temporal_xor(10, 12, 4)
    made = RecurrentNetworkClassifier(taught="next-step", optimizer=optimizer, epochs=60, truncation=3)
    errors = made.fit(table, Series(BITS, np.zeros(10))).history_["training_error"]
    assert errors[-1] < 0.97 * errors[0]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"hidden_units": []}, "hidden_units"),
        ({"hidden_units": [1000] * 10, "taught": "now"}, "taught"),
        ({"patience": 3}, "patience"),
        ({"batch": 4}, "batch"),
        ({"clip": 2.0}, "clip"),
    ],
)
def test_parameters_without_sense_are_named(parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        TimeDelayNetworkClassifier.from_params(parameters).fit(temporal_xor(3, 6, 0), [0, 1, 0])
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("activation", "wrong", "allowed"),
    [
        ("tanh", 5.0, "from -1 to 1"),
        ("tanh", -1.5, "from -1 to 1"),
        ("sigmoid", -0.5, "from 0 to 1"),
        ("relu", -1.0, "not below 0"),
    ],
)
def test_a_state_of_units_that_no_unit_can_say_is_refused(activation: str, wrong: float, allowed: str) -> None:
    series = np.random.default_rng(0).normal(size=(20, 4))
    table = Table.from_columns({"series": series.tolist()})
    model = RecurrentNetworkRegressor(epochs=2, activation=activation).fit(table, series.sum(axis=1))
    row = table.take(np.array([0]))
    _, state = model.feed(row)
    model.feed(row, state)
    with pytest.raises(StateError, match=rf"state.units holds {wrong}; what these units say is {allowed}"):
        model.feed(row, state | {"units": [wrong, *state["units"][1:]]})
