"""Single rows by their neighbours: every way gives the bytes that many rows together get."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from learners.neighbors import NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.table import Column, Kind, Series, Table
from service.operations.served_neighbours import neighbours_of_one
from tests.service.operations.serving_models import serve

NAMES = ("no", "yes", "perhaps")


def made(n_columns: int, n_rows: int, parameters: dict[str, Any], *, regression: bool = False) -> tuple[Any, Table]:
    """A model, and rows to ask: near training rows, on them, and beyond them all."""
    generator = np.random.default_rng(n_columns)
    values = np.round(generator.normal(size=(n_rows, n_columns)), 1)
    names = [f"x{place}" for place in range(n_columns)]
    total = values[:, : min(3, n_columns)].sum(axis=1) + generator.normal(0, 0.3, n_rows)
    target = Series(Column("y"), total)
    if not regression:
        target = Series(Column("y", Kind.NOMINAL, NAMES), np.digitize(total, [-0.5, 0.8]).astype(float))
    learner = (NearestNeighborsRegressor if regression else NearestNeighborsClassifier)(**parameters)
    learner.fit(Table.from_array(values, names), target)
    asked = np.vstack([values[:30], generator.normal(size=(40, n_columns)), generator.normal(0, 4, (10, n_columns))])
    return serve(learner, "regression" if regression else "classification"), Table.from_array(asked, names)


@pytest.mark.parametrize("n_columns", [1, 2, 6, 15])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"k": 1}, {"kernel": "gaussian"}, {"scaling": "none"}, {"weighting": "given", "column_weights": {"x0": 0.2}}],
    ids=str,
)
def test_one_row_is_answered_as_many_are(n_columns: int, parameters: dict[str, Any]) -> None:
    for regression in (False, True):
        model, asked = made(n_columns, 600, parameters, regression=regression)
        wanted = model.answers(asked.values)
        rows = asked.values.tolist()
        found = [model.answer_plain([row], explain=False) for row in rows] * 2  # a second time, from what is kept
        assert found == [[members] for members in wanted] * 2


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_other_distances_are_answered_where_cells_are_small(metric: str) -> None:
    model, asked = made(2, 600, {"metric": metric})
    found = [model.answer_plain([row], explain=False) for row in asked.values.tolist()]
    answered = [(one[0], members) for one, members in zip(found, model.answers(asked.values), strict=True) if one]
    assert len(answered) > 60
    assert all(one == members for one, members in answered)


def test_what_neither_way_covers_goes_the_general_way() -> None:
    for parameters in ({"metric": "minkowski"}, {"voters": "all", "kernel": "gaussian"}):
        model, _ = made(6, 100, parameters)
        assert neighbours_of_one(model.learner) is None
    model, _ = made(15, 100, {})
    hashed = copy(model.learner)
    hashed.index_ = replace(hashed.index_, tables=object())  # whose answers may be others
    assert neighbours_of_one(model.learner) is not None
    assert neighbours_of_one(hashed) is None
