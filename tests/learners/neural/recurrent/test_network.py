"""A network fed whole, in pieces, alone and among others; its derivatives by the inputs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.errors import DataError
from learners.neural.recurrent.network import RecurrentNetwork
from learners.neural.recurrent.sequences import Sequences
from learners.neural.recurrent.structure import Structure
from tests.learners.neural.numeric import differences

KINDS: list[dict[str, Any]] = [
    {"is_recurrent": True},
    {"is_recurrent": True, "hidden": (4, 3), "activation": "sigmoid", "shortcuts": True},
    {"is_recurrent": False, "hidden": (4, 3), "delays": 3},
    {"is_recurrent": False, "activation": "relu", "delays": 4, "shortcuts": True},
]


def network(delays: int = 1, **options: Any) -> RecurrentNetwork:
    structure = Structure(**({"inputs": 2 * delays, "hidden": (5,), "outputs": 2} | options))
    rng = np.random.default_rng(1)
    return RecurrentNetwork(structure, rng.normal(size=structure.n_weights), delays)


def sequences(lengths: list[int], seed: int = 0) -> Sequences:
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Sequences(np.random.default_rng(seed).normal(size=(int(starts[-1]), 2)), starts)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=25)
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_a_sequence_is_answered_alike_alone_among_others_and_in_pieces(
    kind: dict[str, Any], lengths: list[int], seed: int
) -> None:
    made, rows = network(**kind), sequences(lengths, seed)
    among = made.scores(rows)
    for row, length in enumerate(lengths):
        alone = rows.take(np.array([row]))
        np.testing.assert_array_equal(made.scores(alone)[0], among[row])
        whole, end = made.feed(alone.values, made.start())
        np.testing.assert_array_equal(whole[-1], among[row])
        state, cut = made.start(), seed % (length + 1)
        for place, piece in enumerate((alone.values[:cut], alone.values[cut:])):
            found, after = made.feed(piece, state)
            np.testing.assert_array_equal(found, whole[cut * place :][: len(piece)])
            state = made.read_state(json.loads(json.dumps(after.to_json())))
        np.testing.assert_array_equal(state.units, end.units)
        np.testing.assert_array_equal(state.window, end.window)
        assert state.steps == length


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 6])
def test_derivatives_by_the_inputs_are_central_differences(kind: dict[str, Any], length: int) -> None:
    made, rows = network(**kind), sequences([length, length], seed=3)
    found = made.input_gradients(rows, 1)
    assert found.shape == (2, 2 * length)
    for row in range(2):
        steps = rows.take(np.array([row]))

        def score(flat: np.ndarray, starts: np.ndarray = steps.starts) -> float:
            return float(made.scores(Sequences(flat.reshape(-1, 2), starts))[0, 1])

        np.testing.assert_allclose(found[row], differences(score, steps.values.ravel()), atol=1e-6)


def test_a_window_reaches_back_to_the_first_step_and_no_further() -> None:
    rows = Sequences(np.array([[1.0], [2], [3], [7], [8]]), np.array([0, 3, 5]))
    assert rows.windows(3).tolist() == [[1, 0, 0], [2, 1, 0], [3, 2, 1], [7, 0, 0], [8, 7, 0]]
    assert rows.last_windows(3).tolist() == [[3, 2, 1], [8, 7, 0]]
    assert rows.last_windows(9).tolist() == [[3, 2, 1], [8, 7, 0]]
    assert rows.take(np.array([1, 0])).values.ravel().tolist() == [7, 8, 1, 2, 3]


def test_a_network_comes_back_from_its_state() -> None:
    made, rows = network(**KINDS[1]), sequences([3, 1])
    header, arrays = made.to_state()
    again = RecurrentNetwork.from_state(json.loads(json.dumps(header)), arrays)
    np.testing.assert_array_equal(again.scores(rows), made.scores(rows))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"units": [0.0] * 4}, "state.units is a list of 5 numbers"),
        ({"units": [0.0, 0, 0, 0, "1"]}, "state.units holds '1', which is no number"),
        ({"units": [0.0, 0, 0, 0, float("nan")]}, "holds nan"),
        ({"units": [10**400, 0, 0, 0, 0]}, "no number of a state"),
        ({"window": []}, "state.window is a list of the last 2 steps"),
        ({"window": [[0.0, 1.0], [True, 0.0]]}, r"state.window\[1\] holds true"),
        ({"steps": -1}, "state.steps is a number of steps, not -1"),
        ({"steps": 1.5}, "not 1.5"),
        ({"more": 1}, "state has the members steps, window, units, columns"),
    ],
)
def test_a_state_that_no_model_gave_is_refused(changes: dict[str, Any], said: str) -> None:
    made = network(delays=3)
    with pytest.raises(DataError, match=said):
        made.read_state(made.start().to_json() | changes)
    with pytest.raises(DataError, match="state has the members"):
        made.read_state([1])


def test_of_a_window_no_unit_is_remembered() -> None:
    made, steps = network(is_recurrent=False, delays=3), np.random.default_rng(3).normal(size=(5, 2))
    whole, _ = made.feed(steps, made.start())
    state = made.feed(steps[:2], made.start())[1].to_json()
    assert state["units"] == []
    np.testing.assert_array_equal(made.feed(steps[2:], made.read_state(state))[0], whole[2:])


def test_what_is_remembered_begins_with_a_rotation() -> None:
    structure = Structure(inputs=3, hidden=(4, 2), outputs=1)
    first, second, _ = structure.layers(structure.initial(np.random.default_rng(0)))
    for layer, size in ((first, 4), (second, 2)):
        own = layer[-1 - size : -1]
        np.testing.assert_allclose(own @ own.T, np.eye(size), atol=1e-12)
        assert not layer[-1].any()
