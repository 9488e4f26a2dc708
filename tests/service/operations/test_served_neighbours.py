"""Single rows by their neighbours: every way gives the bytes that many rows together get."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.neighbors import LocalLinearRegressor, NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.table import UNSEEN, Column, Kind, Series, Table
from service.operations.json_text import encode_json
from service.operations.served import ServedModel
from service.operations.served_neighbours import _ByMachineCode, neighbours_of_one
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


@st.composite
def models(draw: st.DrawFn) -> tuple[ServedModel, np.ndarray]:
    """A model of any table and any way to answer, and rows to ask, all of whose cells are known."""
    n_rows, n_columns = draw(st.integers(2, 200)), draw(st.integers(1, 5))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = generator.integers(0, draw(st.integers(2, 9)), (n_rows, n_columns)).astype(float)
    columns = [Column(f"x{place}") for place in range(n_columns)]
    if draw(st.booleans()):
        columns[-1] = Column("level", Kind.NOMINAL, tuple("abcdefghi"))
    asked = np.vstack([values[:8], values[:4]])
    asked[8:, :-1] += 0.25
    if draw(st.booleans()):
        values[generator.random(values.shape) < 0.2] = np.nan
    total = generator.normal(size=n_rows) if draw(st.booleans()) else np.zeros(n_rows)
    parameters = {
        "k": draw(st.integers(1, n_rows)),
        "metric": draw(st.sampled_from(["euclidean", "manhattan", "chebyshev", "minkowski"])),
        "kernel": draw(st.sampled_from(["uniform", "uniform", "inverse", "gaussian"])),
        "scaling": draw(st.sampled_from(["range", "standard", "none"])),
    }
    if draw(st.booleans()):
        target = Series(Column("y", Kind.NOMINAL, NAMES), np.digitize(total, [-0.5, 0.8]).astype(float))
        learner: Any = NearestNeighborsClassifier(**parameters)
    else:
        target = Series(Column("y"), total)
        kind = draw(st.sampled_from([NearestNeighborsRegressor, MedianOfNeighbors, LocalLinearRegressor]))
        learner = kind(**parameters)
    learner.fit(Table(tuple(columns), np.asfortranarray(values)), target)
    return serve(learner, learner.capabilities.task), asked


def MedianOfNeighbors(**parameters: Any) -> NearestNeighborsRegressor:
    return NearestNeighborsRegressor(answer="median", **parameters)


def reasons(model: ServedModel, rows: np.ndarray) -> list[Any]:
    return [one.to_json() for one in model.explanations(rows)]


@pytest.mark.usefixtures("native_folder")
@given(models())
def test_answers_and_reasons_stay_the_same_with_machine_code(made: tuple[ServedModel, np.ndarray]) -> None:
    model, asked = made
    before, told = [model.answer_plain([row], explain=False) for row in asked.tolist()], reasons(model, asked)
    wanted = model.answers(asked)
    if covered(model):
        model.take_up_machine_code()
    for _ in range(2):  # a second time, from what is kept
        after = [model.answer_plain([row], explain=False) for row in asked.tolist()]
        for found in (before, after):
            assert all(one is None or one == [members] for one, members in zip(found, wanted, strict=True))
    assert not covered(model) or None not in after
    assert reasons(model, asked) == told


@pytest.mark.usefixtures("native_folder")
@given(models(), st.integers(0, 2**32))
def test_intervals_are_those_of_reasons_alone_and_in_company(made: tuple[ServedModel, np.ndarray], seed: int) -> None:
    """Of rows with gaps too, before machine code and by it; classes have none beside their reasons."""
    model, asked = made
    asked = np.where(np.random.default_rng(seed).random(asked.shape) < 0.2, np.nan, asked)
    if not model.learner.capabilities.intervals:
        with pytest.raises(TypeError, match="tells no intervals"):
            next(model.intervals(asked))
        return
    wanted = [one["interval"] for one in reasons(model, asked)]
    for _ in range(2):
        assert intervals(model, asked) == wanted
        assert [intervals(model, row[None])[0] for row in asked] == wanted
        if covered(model):
            model.take_up_machine_code()


def intervals(model: ServedModel, rows: np.ndarray) -> list[Any]:
    return [None if one is None else one.to_json() for one in model.intervals(rows)]


def covered(model: ServedModel) -> bool:
    """Whether machine code can answer, however few rows the model has."""
    neighbours = model._neighbours
    return neighbours is not None and _ByMachineCode.covers(model.learner, neighbours._k)


@pytest.mark.usefixtures("native_folder")
@given(models(), st.integers(0, 2**32))
def test_plain_reasons_and_gaps_are_answered_as_many_rows_are(made: tuple[ServedModel, np.ndarray], seed: int) -> None:
    """Before machine code and by it; of rows with gaps and of levels never seen too."""
    model, asked = made
    incomplete = np.where(np.random.default_rng(seed).random(asked.shape) < 0.3, np.nan, asked)
    if model.inputs.columns[-1].kind is Kind.NOMINAL:
        incomplete[::3, -1] = UNSEEN
    wanted, told = model.answers(asked), reasons(model, asked)
    whole, why = model.answers(incomplete), reasons(model, incomplete)
    for _ in range(2):
        for row, members, reason in zip(asked.tolist(), wanted, told, strict=True):
            found = model.answer_plain([row], explain=True)
            assert found is None or found == [members + b',"explanation":' + encode_json(reason)]
        assert [model.answers(row[None])[0] for row in incomplete] == whole
        assert [reasons(model, row[None])[0] for row in incomplete] == why
        if covered(model):
            model.take_up_machine_code()


@pytest.mark.usefixtures("native_folder")
def test_machine_code_is_for_models_of_many_rows_and_numbers() -> None:
    model, asked = made(3, 1_200, {})
    assert model.gains_by_machine_code
    model.take_up_machine_code()
    assert not model.gains_by_machine_code
    rows = asked.values.tolist()
    assert model.answer_plain(rows[:3], explain=False) == model.answers(asked.values[:3])
    assert model.answer_plain([[10**400, 0.0, 0.0]], explain=False) is None
    for n_rows, parameters in (
        (600, {}),
        (1_200, {"k": 500}),
        (1_200, {"metric": "minkowski"}),
        (1_200, {"search": "brute"}),
    ):
        assert not made(3, n_rows, parameters)[0].gains_by_machine_code
    small = copy(model.learner)
    scaling = small.coordinates_.scaling
    for changed in (replace(scaling, exponent=scaling.exponent + 2_000), replace(scaling, unit=scaling.unit * 0)):
        small.coordinates_ = replace(small.coordinates_, scaling=changed)
        assert not _ByMachineCode.covers(small, 5)
