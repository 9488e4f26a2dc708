"""The base of all networks, by a small family on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.neural.cascade.classifier import CascadeCorrelationClassifier
from learners.neural.examples import Examples, Learned
from learners.neural.feedforward.classifier import NeuralNetworkClassifier
from learners.neural.growing.classifier import GrowingNetworkClassifier
from learners.neural.recurrent.recurrent import RecurrentNetworkClassifier
from learners.persist import dump, load
from learners.table import Table
from tests.learners.neural.families import SmallClassifier, SmallRegressor


def test_rows_are_held_out_by_class_and_not_learned_from() -> None:
    seen: list[Examples] = []

    class Watching(SmallClassifier):
        def _learn(self, examples: Examples, progress: Any) -> Learned:
            seen.append(examples)
            return super()._learn(examples, progress)

    table = Table.from_array(np.arange(40.0)[:, None])
    weights = np.where(np.arange(40) < 4, 0.0, 2.0)
    Watching(validation_fraction=0.25, seed=3).fit(table, np.arange(40) % 3, weights)
    (examples,) = seen
    assert examples.validation is not None
    assert (len(examples.training.rows), len(examples.validation.rows)) == (27, 9)
    assert examples.validation.targets.sum(axis=0).tolist() == [3, 3, 3]
    both = np.concatenate([examples.training.rows, examples.validation.rows])[:, 0]
    assert len(np.unique(both)) == 36
    assert (examples.training.weights == 2).all()


def test_history_is_kept_whole_and_told_in_steps() -> None:
    rng = np.random.default_rng(0)
    model = SmallRegressor(steps=500).fit(rng.normal(size=(20, 2)), rng.normal(size=20))
    assert model.history_["step"].tolist() == list(range(1, 501))
    told = model.training_notes()
    assert told["hidden_units"] == 5
    assert len(told["history"]) == 200
    assert told["history"][0]["step"] == 1
    assert told["history"][-1] == {"step": 500, "training_error": model.history_["training_error"][-1]}
    loaded = SmallRegressor.from_state(load(dump(model.get_state())))
    assert loaded.training_notes() == told


def test_class_weights_count_as_rows() -> None:
    rng = np.random.default_rng(1)
    values, target = rng.normal(size=(30, 2)), np.array(["no", "yes"])[rng.integers(0, 2, 30)]
    weighted = SmallClassifier(class_weight={"yes": 3.0}).fit(values, target)
    by_rows = SmallClassifier().fit(values, target, np.where(target == "yes", 3.0, 1.0))
    assert np.array_equal(weighted.predict_proba(values), by_rows.predict_proba(values))


@pytest.mark.parametrize(
    ("learner", "patience", "most", "params"),
    [
        (NeuralNetworkClassifier, "patience", "epochs", {}),
        (NeuralNetworkClassifier, "patience", "epochs", {"optimizer": "lbfgs"}),
        (RecurrentNetworkClassifier, "patience", "epochs", {}),
        (GrowingNetworkClassifier, "patience", "epochs", {}),
        (GrowingNetworkClassifier, "patience", "epochs", {"growth": "meiosis"}),
        (CascadeCorrelationClassifier, "growth_patience", "max_hidden", {"tolerance": 0.0}),
        (CascadeCorrelationClassifier, "output_patience", "output_epochs", {"max_hidden": 2}),
        (CascadeCorrelationClassifier, "candidate_patience", "candidate_epochs", {"max_hidden": 2}),
    ],
)
def test_a_patience_as_long_as_the_whole_stops_nothing(
    learner: Any, patience: str, most: str, params: dict[str, Any]
) -> None:
    """What the parameters' meanings say, on rows of chance alone, where 1 stops early."""
    rng = np.random.default_rng(5)
    values, labels = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    shared = {most: 12, "validation_fraction": 0.3} | params
    first, same, longer = (
        learner.from_params(shared | {patience: waited}).fit(values, labels) for waited in (1, 12, 500)
    )
    courses = [{name: told.tolist() for name, told in made.history_.items()} for made in (first, same, longer)]
    assert courses[1] == courses[2]
    assert np.array_equal(same.predict_proba(values), longer.predict_proba(values))
    assert courses[0] != courses[1]
