"""Autoencoders: 8-3-8, the principal components, tied weights, and what comes back of columns of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA

from learners.catalog import dump_model, load_model
from learners.errors import ParameterError
from learners.neural import Autoencoder
from learners.persist import load
from learners.table import MISSING, UNSEEN, Column, Kind, Table
from tests.learners.tables import read

EIGHT: dict[str, Any] = {
    "hidden_units": [3],
    "activation": "sigmoid",
    "output_activation": "sigmoid",
    "scaling": "none",
    "optimizer": "rprop",
    "decay": 0.0,
    "epochs": 1500,
}


@pytest.mark.parametrize("seed", range(3))
def test_eight_units_come_back_through_three(seed: int) -> None:
    rows = np.eye(8)
    model = Autoencoder.from_params(EIGHT | {"seed": seed, "loss": "cross-entropy"}).fit(rows)
    back = model.network_.outputs(rows)
    assert ((back > 0.6) == (rows == 1)).all()  # the 40-20-40 rule
    assert ((back < 0.4) == (rows == 0)).all()
    code = model.transform(rows)
    assert code.shape == (8, 3)
    assert (model.predict(rows) < 0.05).all()


@pytest.mark.parametrize("tied", [False, True])
def test_the_code_of_linear_units_spans_the_principal_components(tied: bool) -> None:
    table, _ = read("iris", "class")
    settings = {"hidden_units": [2], "activation": "linear", "optimizer": "lbfgs", "decay": 0.0, "epochs": 5000}
    model = Autoencoder.from_params(settings | {"tied": tied}).fit(table)
    standard = model.inputs_.batch(table)
    components = PCA(2).fit(standard).components_.T
    encoder, decoder = (layer[:-1] for layer in model.network_.layout.layers(model.network_.theta))
    assert subspace_angles(encoder, components).max() < 1e-3
    assert subspace_angles(decoder.T, components).max() < 1e-3
    left = (standard - PCA(2).fit(standard).inverse_transform(PCA(2).fit_transform(standard))) ** 2
    assert model.predict(table).mean() == pytest.approx(left.mean(), rel=1e-6)
    assert model.score(table) == pytest.approx(-left.mean(), rel=1e-6)
    if tied:
        assert np.array_equal(encoder, decoder.T)


def test_depth_mirrors_the_encoder() -> None:
    rng = np.random.default_rng(0)
    model = Autoencoder(hidden_units=(6, 4, 2), epochs=3).fit(rng.normal(size=(30, 5)))
    assert model.network_.layout.sizes == (5, 6, 4, 2, 4, 6, 5)
    assert model.transform(rng.normal(size=(7, 5))).shape == (7, 2)
    assert model.fit_transform(rng.normal(size=(9, 5))).shape == (9, 2)


COLUMNS = (
    Column("x"),
    Column("colour", Kind.NOMINAL, ("red", "green", "blue", "never")),
    Column("grade", Kind.ORDINAL, ("low", "middle", "high")),
    Column("on", Kind.BOOLEAN, ("false", "true"), "boolean"),
    Column("same", Kind.NOMINAL, ("one", "other")),
)


def mixed(n_rows: int = 60) -> Table:
    row = np.arange(n_rows)
    cells = [row * 7.0 % 10, row % 3, row % 9 // 3, row % 2, np.ones(n_rows)]
    return Table(COLUMNS, np.column_stack(cells).astype(np.float64))


def test_columns_of_every_kind_come_back() -> None:
    table = mixed()
    settings = {"hidden_units": [12], "activation": "linear", "optimizer": "lbfgs", "decay": 0.0, "epochs": 2000}
    model = Autoencoder.from_params(settings).fit(table)  # as many units as the inputs: nothing need be lost
    back = model.reconstruct(table)
    assert back.columns == table.columns
    np.testing.assert_allclose(back.values, table.values, atol=1e-3)
    assert np.array_equal(back.values[:, 1:], table.values[:, 1:])


def test_the_errors_of_the_columns_are_the_answer() -> None:
    table = mixed()
    model = Autoencoder(hidden_units=(2,), epochs=40).fit(table)
    rows = table.values[:3].copy()
    rows[0, 0], rows[1, 1], rows[2, 2] = MISSING, UNSEEN, MISSING
    asked = Table(COLUMNS, rows)
    reasons = model.explain(asked)
    np.testing.assert_allclose([reason.replayed() for reason in reasons], model.predict(asked), rtol=1e-12)
    assert [reasons[row].columns[row].state for row in range(3)] == ["missing", "unseen", "missing"]
    assert np.array_equal([reason.code for reason in reasons], model.transform(asked))
    assert "same = other, back other" in reasons[0].text()
    assert reasons[0].to_json()["reconstructed"][4]["error"] == 0


def test_a_loaded_autoencoder_codes_alike() -> None:
    table = mixed()
    model = Autoencoder(hidden_units=(3, 2), epochs=5, tied=True).fit(table)
    loaded = load_model(load(dump_model(model)))
    assert isinstance(loaded, Autoencoder)
    assert np.array_equal(loaded.transform(table), model.transform(table))
    assert np.array_equal(loaded.reconstruct(table).values, model.reconstruct(table).values)


def test_rows_that_are_all_alike_have_nothing_to_encode() -> None:
    model = Autoencoder().fit(np.ones((4, 2)))
    assert model.predict(np.ones((2, 2))).tolist() == [0, 0]
    assert model.transform(np.ones((2, 2))).tolist() == [[0, 0, 0]] * 2
    assert model.reconstruct(np.zeros((1, 2))).values.tolist() == [[1, 1]]


def test_a_loss_of_shares_needs_outputs_that_are_shares() -> None:
    with pytest.raises(ParameterError, match="loss = 'cross-entropy' has no effect with output_activation"):
        Autoencoder.from_params({"loss": "cross-entropy"}).fit(np.eye(3))
    with pytest.raises(ParameterError, match="inputs from 0 to 1") as caught:
        Autoencoder.from_params({"loss": "cross-entropy", "output_activation": "sigmoid"}).fit(np.eye(3))
    assert caught.value.field == "scaling"


def test_columns_that_tell_nothing_are_warned_of() -> None:
    varied, constant = [1.0, 2.0, 3.0, 4.0], [7.0] * 4
    some = Autoencoder(hidden_units=(1,), epochs=100).fit(Table.from_columns({"x": varied, "c": constant}))
    assert some.warnings_ == ("columns that do not vary in the training rows add nothing to any row's error: 'c'",)
    none = Autoencoder(hidden_units=(1,), epochs=2).fit(Table.from_columns({"c": constant, "d": constant}))
    (warning,) = none.training_notes()["warnings"]
    assert warning.startswith("no column varies in the training rows ('c', 'd')")
    assert Autoencoder(hidden_units=(1,), epochs=100).fit(Table.from_columns({"x": varied})).warnings_ == ()
