"""Growing networks as learners of tables."""

from __future__ import annotations

import numpy as np
import pytest

from learners.base import Learner
from learners.errors import ParameterError
from learners.neural import GrowingNetworkClassifier, GrowingNetworkRegressor, NeuralNetworkRegressor
from learners.persist import dump, load
from tests.learners.tables import read
from tests.learners.trees.model_tree.tables import numeric_target
from tests.shared import generated_path


def _parity(n_bits: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.genfromtxt(generated_path(f"parity-{n_bits}.csv"), delimiter=",", skip_header=1)
    return values[:, :-1], np.where(values[:, -1] > 0, "odd", "even")


@pytest.mark.parametrize("growth", ["nodes", "meiosis"])
def test_parity_is_solved_by_few_units(growth: str) -> None:
    values, labels = _parity(4)
    model = GrowingNetworkClassifier(growth=growth).fit(values, labels)
    assert (model.predict(values) == labels).all()
    assert (model.predict_proba(values).max(axis=1) >= 0.6 - 1e-3).all()
    notes = model.training_notes()
    assert notes["stopped"] == "margin"
    assert 3 <= notes["hidden_units"] <= (5 if growth == "nodes" else 20)
    told = model.history_["hidden_units"]
    assert (told[0], told[-1]) == (1, notes["hidden_units"])
    assert len(told) == notes["epochs"] == len(model.history_["training_error"])
    loaded = GrowingNetworkClassifier.from_state(load(dump(model.get_state())))
    np.testing.assert_array_equal(loaded.predict_proba(values), model.predict_proba(values))
    assert loaded.training_notes() == notes


def test_classes_of_a_real_table_with_rows_held_out() -> None:
    table, target = read("iris", "class")
    model = GrowingNetworkClassifier(validation_fraction=0.3, patience=100, epochs=1_000).fit(table, target)
    assert model.score(table, target) >= 0.94
    notes = model.training_notes()
    assert notes["validation_error"] == model.history_["validation_error"].min()


def test_a_curve_needs_more_than_one_unit() -> None:
    x = np.linspace(-3, 3, 60)
    model = GrowingNetworkRegressor(margin=0.25, decay=0.0).fit(x[:, None], np.sin(2 * x))
    assert model.training_notes()["stopped"] == "margin"
    assert model.training_notes()["hidden_units"] >= 3
    assert np.abs(model.predict(x[:, None]) - np.sin(2 * x)).max() <= 0.25 * np.sin(2 * x).std() + 1e-9


def test_a_curve_is_learned_by_units_that_divide() -> None:
    x = np.linspace(-3, 3, 60)
    model = GrowingNetworkRegressor(growth="meiosis", margin=None, decay=0.0).fit(x[:, None], np.sin(2 * x))
    notes = model.training_notes()
    assert notes["hidden_units"] >= 3
    assert (notes["stopped"], notes["epochs"]) == ("epochs", 5_000)
    assert np.abs(model.predict(x[:, None]) - np.sin(2 * x)).max() <= 0.2


def test_numbers_of_a_real_table_are_learned_by_units_that_divide() -> None:
    """Beside a network of as many units, on rows that neither has seen."""
    table, target = numeric_target("auto-mpg", "mpg", ["car_name"])
    learned, asked = np.arange(0, table.n_rows, 2), np.arange(1, table.n_rows, 2)

    def squares(model: Learner) -> float:
        answers = model.fit(table.take(learned), target.take(learned)).predict(table.take(asked))
        return float(((answers - target.cells[asked]) ** 2).mean())

    grown = squares(GrowingNetworkRegressor(growth="meiosis", margin=None, epochs=1_000, decay=1e-3))
    assert grown <= 1.2 * squares(NeuralNetworkRegressor(hidden_units=(20,), decay=1e-3))
    assert grown <= 0.3 * target.cells[asked].var()


def test_what_has_no_effect_is_refused() -> None:
    values, labels = _parity(2)
    with pytest.raises(ParameterError, match="no rows are held out"):
        GrowingNetworkClassifier(patience=7).fit(values, labels)
    with pytest.raises(ParameterError, match="spread"):
        GrowingNetworkClassifier(spread=0.1).fit(values, labels)
