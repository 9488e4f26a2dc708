"""Growing networks as learners of tables."""

from __future__ import annotations

import numpy as np
import pytest

from learners.errors import ParameterError
from learners.neural import GrowingNetworkClassifier, GrowingNetworkRegressor
from learners.persist import dump, load
from tests.learners.tables import read
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


def test_what_has_no_effect_is_refused() -> None:
    values, labels = _parity(2)
    with pytest.raises(ParameterError, match="no rows are held out"):
        GrowingNetworkClassifier(patience=7).fit(values, labels)
    with pytest.raises(ParameterError, match="spread"):
        GrowingNetworkClassifier(spread=0.1).fit(values, labels)
