"""Pruning as an option of the feed-forward learners; how elements are chosen is tested in ``test_pruning`` above."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.catalog import dump_model, load_model
from learners.errors import ParameterError
from learners.neural import NeuralNetworkClassifier, NeuralNetworkRegressor
from learners.persist import load
from learners.table import Table

SETTINGS: dict[str, Any] = {"hidden_units": [8], "optimizer": "rprop", "epochs": 150, "decay": 1e-3, "prune_epochs": 20}


def one_matters() -> tuple[Table, np.ndarray]:
    """Four columns of noise and one that decides."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(120, 5))
    return Table.from_array(values, ["noise", "more", "deciding", "other", "rest"]), (values[:, 2] > 0.2).astype(int)


@pytest.mark.parametrize("method", ["optimal-brain-damage", "each-weight", "magnitude"])
def test_links_of_columns_that_tell_nothing_go_first(method: str) -> None:
    table, target = one_matters()
    settings = SETTINGS | {"pruning": method, "prune_share": 0.3, "prune_tolerance": 1.0}
    model = NeuralNetworkClassifier.from_params(settings).fit(table, target)
    notes = model.training_notes()
    curve = notes["pruning"]["curve"]
    assert curve[0]["links"] == 5 * 8 + 8
    assert curve[notes["pruning"]["kept"]]["links"] < 0.4 * curve[0]["links"]
    assert [one["links"] for one in curve] == sorted((one["links"] for one in curve), reverse=True)
    assert notes["training_error"] == curve[notes["pruning"]["kept"]]["training_error"]
    assert "deciding" not in notes["unused_columns"]
    assert len(notes["unused_columns"]) >= 2
    assert model.score(table, target) > 0.95
    reason = model.explain(table.take(np.array([0])))[0]
    idle = [part.amount for part in reason.scores[0].contributions if part.column in notes["unused_columns"]]
    assert idle == [0.0] * len(idle)
    loaded = load_model(load(dump_model(model)))
    assert np.array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded.training_notes() == notes


def test_units_go_whole_and_rows_held_out_tell_when_to_stop() -> None:
    table, _ = one_matters()
    settings = SETTINGS | {
        "pruning": "optimal-brain-damage",
        "prune_by": "units",
        "prune_tolerance": 0.1,
        "validation_fraction": 0.3,
    }
    model = NeuralNetworkRegressor.from_params(settings).fit(table, table.values[:, 2] * 2.0)
    notes = model.training_notes()["pruning"]
    assert [one["units"] for one in notes["curve"]][:3] == [8, 7, 6]
    kept = notes["curve"][notes["kept"]]
    assert kept["validation_error"] <= 1.1 * notes["curve"][0]["validation_error"]
    assert model.network_.layout.sizes == (5, max(kept["units"], 1), 1)


def test_without_pruning_its_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"prune_share = 0\.3 has no effect with pruning = 'none'"):
        NeuralNetworkClassifier.from_params({"prune_share": 0.3}).fit(*one_matters())
