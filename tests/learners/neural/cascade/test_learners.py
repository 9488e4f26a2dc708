"""Both learners: what they make of tables, tell, and store."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.catalog import dump_model, load_model, make
from learners.errors import ParameterError
from learners.neural import CascadeCorrelationClassifier, CascadeCorrelationRegressor
from learners.persist import load
from learners.table import Table
from tests.learners.tables import read, read_file
from tests.shared import generated_path


@pytest.mark.parametrize(
    ("number", "published", "parameters"),
    [
        (1, 1.0, {"activation": "gaussian"}),
        (2, 1.0, {"activation": "gaussian", "tolerance": 0.2}),
        (3, 0.972, {"max_hidden": 0, "output_decay": 0.001}),
    ],
)
def test_monks_problems_are_learned_as_published(number, published, parameters):
    """Thrun et al. (1991), The MONK's problems, CMU-CS-91-197: 100, 100 and 97.2 percent of the test rows."""
    train, labels = read(f"monks-{number}-train", "class")
    test, truth = read(f"monks-{number}-test", "class")
    model = CascadeCorrelationClassifier(**parameters).fit(as_names(train), labels)
    assert model.score(as_names(test), truth) >= published


def as_names(table):
    """Numbers that are names, as levels."""
    columns = {name: [f"v{cell:g}" for cell in table.values[:, place]] for place, name in enumerate(table.names)}
    return Table.from_columns(columns)


def test_what_growth_did_is_told_and_stored():
    table, target = read_file(generated_path("two-spirals.csv"), "class")
    model = CascadeCorrelationClassifier(max_hidden=5, placement="both").fit(table, target)
    notes = model.training_notes()
    assert notes["hidden_units"] == 5
    assert notes["stopped"] == "max_hidden"
    assert notes["unit_layers"][0] == 1
    assert notes["layers"] == max(notes["unit_layers"])
    assert [step["hidden_units"] for step in notes["history"]] == [0, 1, 2, 3, 4, 5]
    assert notes["epochs"] == sum(step["candidate_epochs"] + step["output_epochs"] for step in notes["history"])
    again = load_model(load(dump_model(model)))
    assert again.training_notes() == notes
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert dump_model(again) == dump_model(model)


@pytest.mark.parametrize("loss", ["squared", "cross-entropy"])
def test_three_classes_are_learned_with_either_loss(loss):
    table, target = read("iris", "class")
    model = CascadeCorrelationClassifier(loss=loss, max_hidden=4).fit(table, target)
    shares = model.predict_proba(table)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert model.score(table, target) > 0.97


def test_numbers_are_learned_better_than_by_a_line():
    table, prices = read("housing", "class")
    target = np.array([float(price) for price in prices.column.levels])[prices.codes]
    line, grown = (CascadeCorrelationRegressor(max_hidden=units).fit(table, target) for units in (0, 8))
    least_squares = make("linear-regressor").fit(table, target).score(table, target)
    assert line.score(table, target) == pytest.approx(least_squares, abs=0.005)
    assert grown.score(table, target) > 0.88


def test_rows_held_out_stop_growth():
    table, target = read("pima", "class")
    model = CascadeCorrelationClassifier(validation_fraction=0.25).fit(table, target)
    assert model.notes_["stopped"] == "validation"
    assert model.notes_["hidden_units"] == int(np.argmin(model.history_["validation_error"]))


def test_a_factor_without_siblings_is_refused():
    with pytest.raises(ParameterError, match=r"descendant_factor.*placement"):
        make("cascade-correlation-classifier", {"descendant_factor": 0.5})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("candidates", 3),
        ("activation", "tanh"),
        ("placement", "sibling"),
        ("candidate_rate", 2.0),
        ("candidate_epochs", 5),
        ("candidate_decay", 0.1),
        ("candidate_patience", 3),
        ("candidate_change", 0.5),
    ],
)
def test_what_is_of_hidden_units_is_refused_where_there_are_none(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=rf"parameter {name} = .* has no effect, since max_hidden = 0") as caught:
        CascadeCorrelationRegressor.from_params({"max_hidden": 0, name: value}).check_together()
    assert caught.value.field == name
    CascadeCorrelationRegressor.from_params({"max_hidden": 1, name: value}).check_together()
