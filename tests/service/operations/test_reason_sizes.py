"""The length of reasons is known before they are written, and limited alike in every format."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from learners.base import Learner
from learners.ensembles.adaboost import AdaBoostClassifier
from learners.ensembles.bagging import BaggingClassifier, BaggingRegressor
from learners.ensembles.forest import RandomForestClassifier, RandomForestRegressor
from learners.neural import NeuralNetworkClassifier
from learners.rules import RuleSetClassifier
from learners.table import Column, Series, Table
from learners.trees import DecisionTreeClassifier
from learners.trees.paths import MAX_TESTS
from learners.types import FloatArray
from service.errors import TooLarge
from service.operations.answering import Call, Format, answer
from service.operations.predict import Bounds
from service.operations.reason_sizes import reason_sizes
from service.operations.rows import Options
from service.operations.served import ServedModel
from tests.service.operations.serving_models import (
    describe,
    mixed_classifier,
    mixed_model_tree,
    mixed_regressor,
    mixed_table,
    serve,
)


def rows_with_gaps() -> FloatArray:
    values = mixed_table(seed=5)[0].values.copy()
    values[np.random.default_rng(5).random(values.shape) < 0.2] = np.nan
    values[0] = np.nan
    values[1, 2] = -1
    return values


def mixed_rules() -> ServedModel:
    return serve(RuleSetClassifier().fit(*mixed_table()))


@pytest.mark.parametrize("make", [mixed_classifier, mixed_regressor, mixed_model_tree])
def test_of_a_tree_the_length_is_that_of_the_reason(make: Callable[[], ServedModel]) -> None:
    model = make()
    values = rows_with_gaps()
    found = np.concatenate(list(reason_sizes(model.learner, values)))
    told = model.learner.explain(Table(model.inputs.columns, values))
    assert found.tolist() == [one.n_tests for one in told]
    assert len(set(found.tolist())) > 3


def test_of_rules_it_is_the_conditions_of_one_and_the_number_of_those_before() -> None:
    learner = mixed_rules().learner
    values = rows_with_gaps()
    told = [one.to_json() for one in learner.explain(Table(learner.columns_, values))]
    assert np.concatenate(list(reason_sizes(learner, values))).tolist() == [
        len(one["conditions"]) + one["rank"] - 1 for one in told
    ]


def test_of_very_many_branches_it_is_no_less_than_what_is_told() -> None:
    rows = np.arange(1200.0).reshape(-1, 1)
    learner = DecisionTreeClassifier().fit(rows, np.where(rows[:, 0] % 2 == 0, "a", "b"))
    sizes = np.concatenate(list(reason_sizes(learner, np.array([[np.nan], [600.0]]))))
    cut, whole = learner.explain([[np.nan], [600.0]])
    assert cut.n_tests <= sizes[0] <= MAX_TESTS
    assert sizes[1] == whole.n_tests


ENSEMBLES: list[tuple[Callable[..., Learner], bool]] = [
    (BaggingClassifier, False),
    (RandomForestClassifier, False),
    (AdaBoostClassifier, False),
    (partial(AdaBoostClassifier, max_depth=4), False),
    (BaggingRegressor, True),
    (RandomForestRegressor, True),
]


@pytest.mark.parametrize(("make", "of_numbers"), ENSEMBLES)
@pytest.mark.parametrize("nominal", ["subset", "multiway"])
def test_of_an_ensemble_the_length_is_that_of_the_reason(
    make: Callable[..., Learner], of_numbers: bool, nominal: str
) -> None:
    table, target = mixed_table()
    answers = Series(Column("y"), target.cells + table.values[:, 1]) if of_numbers else target
    learner = make(members=12, nominal=nominal).fit(table, answers)
    values = rows_with_gaps()
    found = np.concatenate(list(reason_sizes(learner, values)))
    assert found.tolist() == [one.n_tests for one in learner.explain(Table(learner.columns_, values))]


@pytest.mark.parametrize(
    "member",
    [
        {"learner": "rule-set-classifier"},
        {"learner": "logistic-classifier"},
        {"learner": "decision-tree-classifier", "parameters": {"formula_tests": "boolean", "max_depth": 3}},
    ],
)
@pytest.mark.parametrize("make", [AdaBoostClassifier, BaggingClassifier])
def test_of_other_members_it_is_the_votes_and_the_reasons_of_those_that_are_told(
    make: Callable[..., Learner], member: dict[str, Any]
) -> None:
    learner = make(members=8, member=member).fit(*mixed_table())
    values = rows_with_gaps()
    found = np.concatenate(list(reason_sizes(learner, values)))
    assert found.tolist() == [one.n_tests for one in learner.explain(Table(learner.columns_, values))]


def test_of_an_ensemble_whose_members_tell_not_all_branches_it_is_still_that() -> None:
    rows = np.arange(1500.0).reshape(-1, 1)
    learner = BaggingClassifier(members=3).fit(rows, np.where(rows[:, 0] % 2 == 0, "a", "b"))
    values = np.array([[600.0], [np.nan], [np.nan]])
    found = np.concatenate(list(reason_sizes(learner, values)))
    told = learner.explain(values)
    assert found.tolist() == [one.n_tests for one in told]
    assert 3 * MAX_TESTS - 3000 < found[1] <= 3 + 3 * MAX_TESTS


def test_rows_of_large_ensembles_are_counted_and_told_alike_however_many_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = BaggingClassifier(members=5).fit(*mixed_table())
    values = rows_with_gaps()
    together = [one.to_json() for one in learner.explain(Table(learner.columns_, values))]
    monkeypatch.setattr("learners.ensembles.reasons._NODES_AT_ONCE", 1)
    assert [one.to_json() for one in learner.explain(Table(learner.columns_, values))] == together
    sizes = list(reason_sizes(learner, values))
    assert len(sizes) >= np.isnan(values).any(axis=1).sum()
    assert len(np.concatenate(sizes)) == len(values)


def _sent(form: Format) -> bytes:
    """Four rows, of which two lack a value."""
    rows = [{"size": 0.5, "a:b": 1}, {"size": None, "a:b": 1}, {"size": -1, "a:b": 2}, {"size": None, "a:b": 0}]
    if form == "json":
        return json.dumps({"rows": rows}).encode()
    if form == "ndjson":
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    if form == "arrow":
        table = pa.Table.from_pylist(rows)
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue()
    comma = "," if form == "csv" else "\t"
    lines = [comma.join("" if value is None else str(value) for value in row.values()) for row in rows]
    return "\n".join([comma.join(rows[0]), *lines]).encode()


@pytest.mark.parametrize("form", ["json", "csv", "tsv", "ndjson", "arrow"])
@pytest.mark.parametrize("wanted", ["json", "csv", "ndjson"])
def test_one_limit_holds_in_every_format_before_anything_is_sent(form: Format, wanted: Format) -> None:
    model = mixed_classifier()
    values = np.full((4, len(model.inputs.columns)), np.nan)
    values[:, 0], values[:, 1] = [0.5, np.nan, -1, np.nan], [1, 1, 2, 0]
    sizes = [one.n_tests for one in model.learner.explain(Table(model.inputs.columns, values))]
    call = Call(form, wanted, Options(explain=True))

    def ask(most: int) -> bytes:
        reply = answer(model, _sent(form), call, replace(Bounds(), tests=most), describe, lambda rows: None)
        return reply.body if isinstance(reply.body, bytes) else b"".join(reply.body)

    assert ask(sum(sizes)).count(b"\n") >= (wanted != "json")
    with pytest.raises(TooLarge, match=f"at most {sum(sizes) - 1} tests .* the first 3 rows") as caught:
        ask(sum(sizes) - 1)
    assert (caught.value.faults[0].parameter, caught.value.faults[0].allowed) == ("explain", sum(sizes) - 1)
    with pytest.raises(TooLarge, match="the first row alone goes through"):
        ask(sizes[0] - 1)


def test_rows_that_are_not_explained_have_no_such_limit() -> None:
    model, body = mixed_classifier(), _sent("csv")
    answer(model, body, Call("csv", "csv"), replace(Bounds(), tests=1), describe, lambda rows: None)


def test_a_row_in_error_counts_for_nothing() -> None:
    model = mixed_classifier()
    call = Call("json", "json", Options(explain=True))
    rows = [{"size": "many"}] * 5 + [{"size": 0.5}]
    values = np.full((1, len(model.inputs.columns)), np.nan)
    values[0, 0] = 0.5
    (reason,) = model.learner.explain(Table(model.inputs.columns, values))
    body = json.dumps({"rows": rows}).encode()
    reply = answer(model, body, call, replace(Bounds(), tests=reason.n_tests), describe, lambda rows: None)
    assert isinstance(reply.body, bytes)
    assert json.loads(reply.body)["summary"] == {"rows": 6, "failed": 5}


def test_the_reason_of_a_large_network_counts_its_weights_and_ends_soon() -> None:
    """600 by 600 rectified units bend the way at some thousand points; as many as work allows are looked at."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 4))
    target = np.where(rows[:, 0] > 0, "a", "b")
    small, large = (
        NeuralNetworkClassifier(hidden_units=units, epochs=3, activation="relu").fit(rows, target)
        for units in ((4,), (600, 600))
    )
    assert np.concatenate(list(reason_sizes(small, rows[:2]))).tolist() == [4 + 60 * 5 * small.n_weights // 4_000] * 2
    (size,) = np.concatenate(list(reason_sizes(large, rows[:1]))).tolist()
    assert size == 4 + 60 * 5 * large.n_weights // 4_000 > 25_000
    looked_at = []
    network = large.network_
    original = type(network).input_gradients

    def counted(self: Any, points: Any, unit: int) -> Any:
        looked_at.append(len(points))
        return original(self, points, unit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(network), "input_gradients", counted)
        large.explain(rows[:1])
    assert sum(looked_at) <= 5 * (2 * 600_000_000 // (5 * large.n_weights) + 4)
