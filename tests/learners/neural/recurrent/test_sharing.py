"""Units with the same weights at each place of a window: the groups, their gradients, and what they are good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.base import no_progress
from learners.errors import ParameterError
from learners.neural import TimeDelayNetworkClassifier
from learners.neural.recurrent.learning import Errors, learn
from learners.neural.recurrent.sequences import Sequences
from learners.neural.recurrent.sharing import share_steps
from learners.neural.recurrent.structure import Structure
from learners.neural.recurrent.teaching import Lesson
from learners.neural.recurrent.unfolding import Taught, unfold
from learners.neural.training import Options
from learners.persist import dump, load
from learners.table import Table
from tests.learners.neural.numeric import differences

#: Two units that see 2 of 4 steps of 3 numbers, at 3 places; 5 more in a second layer.
STRUCTURE = Structure(12, (6, 5), 1, is_recurrent=False)


def test_copies_see_the_steps_one_place_on_with_the_same_weights() -> None:
    sharing = share_steps(STRUCTURE, 4, 2)
    assert sharing.n_free == (2 * 3 * 2 + 2) + (6 + 1) * 5 + (5 + 1) * 1
    theta = sharing.alike(np.random.default_rng(0).normal(size=STRUCTURE.n_weights))
    first = STRUCTURE.layers(theta)[0]
    by_step = first[:-1].reshape(4, 3, 3, 2)
    for place in range(3):
        np.testing.assert_array_equal(by_step[place : place + 2, :, place], by_step[:2, :, 0])
        np.testing.assert_array_equal(first[-1].reshape(3, 2)[place], first[-1, :2])
        assert (np.delete(by_step[:, :, place], [place, place + 1], axis=0) == 0).all()
    assert len(np.unique(theta)) == sharing.n_free + 1  # and 0


def test_a_gradient_is_the_average_over_the_copies() -> None:
    sharing, rng = share_steps(STRUCTURE, 4, 2), np.random.default_rng(1)
    theta = sharing.alike(rng.normal(size=STRUCTURE.n_weights))
    taught = Taught(rng.normal(size=(7, 12)), np.arange(8), rng.normal(size=(7, 1)), np.ones(7))
    shape, nothing = STRUCTURE.shape(), np.zeros(STRUCTURE.n_weights)
    gradient = np.zeros(STRUCTURE.n_weights)
    unfold(theta, shape, taught, np.arange(7), 0, gradient)
    sharing.average(gradient)
    for group in (0, 7, 13, 14, sharing.n_free - 1):
        moved = (sharing.groups == group).astype(float)
        slope = differences(
            lambda t, d=moved: unfold(theta + t[0] * d, shape, taught, np.arange(7), 0, nothing.copy()), np.zeros(1)
        )
        np.testing.assert_allclose(gradient[sharing.groups == group], slope[0] / moved.sum(), atol=1e-6)
    assert (gradient[sharing.groups < 0] == 0).all()


@pytest.mark.parametrize("optimizer", ["rprop", "adam", "quickprop", "sgd"])
def test_copies_stay_alike_while_they_learn(optimizer: str) -> None:
    sharing, rng = share_steps(STRUCTURE, 4, 2), np.random.default_rng(2)
    rows = Sequences(rng.normal(size=(60, 3)), np.arange(0, 61, 6))
    lesson = Lesson(rows, rng.normal(size=(60, 1)), np.ones(60))
    options = Options(optimizer, batch=4, epochs=5, rate=0.01)
    found = learn(STRUCTURE, 4, lesson, None, Errors(decay=0.01, sharing=sharing), options, rng, no_progress)
    np.testing.assert_array_equal(found.theta, sharing.alike(found.theta))
    assert found.history.errors[-1] < found.history.errors[0]


def test_a_pattern_somewhere_in_the_window_is_learned_from_fewer_rows() -> None:
    """Whether 1, -1, 1 stands anywhere among twelve noisy steps."""
    rng = np.random.default_rng(0)
    steps = rng.normal(0, 0.4, size=(300, 12))
    holds = rng.random(300) < 0.5
    for row, place in zip(np.flatnonzero(holds), rng.integers(0, 10, holds.sum()), strict=True):
        steps[row, place : place + 3] += [1.5, -1.5, 1.5]
    table, target = Table.from_columns({"steps": steps.tolist()}), np.where(holds, "yes", "no")
    learned, tested = np.arange(100), np.arange(100, 300)
    common: dict[str, Any] = {"window": 12, "hidden_units": (2,), "epochs": 150, "decay": 0.01, "seed": 1}
    scores = {}
    for shared in (None, 3):
        model = TimeDelayNetworkClassifier(**common, shared_steps=shared).fit(table.take(learned), target[learned])
        scores[shared] = model.score(table.take(tested), target[tested])
        loaded = TimeDelayNetworkClassifier.from_state(load(dump(model.get_state())))
        np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert model.training_notes()["weights"] == (3 * 2 + 2) + (10 * 2 + 1)
    assert scores[3] > 0.9
    assert scores[3] > scores[None] + 0.1


def test_as_many_shared_steps_as_the_window_are_refused() -> None:
    table = Table.from_columns({"steps": [[1, 2, 3], [3, 2, 1]]})
    with pytest.raises(ParameterError, match="leaves one place"):
        TimeDelayNetworkClassifier(window=3, shared_steps=3).fit(table, ["a", "b"])
    short = TimeDelayNetworkClassifier(window=9, shared_steps=4, epochs=2).fit(table, ["a", "b"])
    assert short.predict_proba(table).shape == (2, 2)
