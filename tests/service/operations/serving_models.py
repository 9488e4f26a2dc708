"""Models in memory for tests, without store or server."""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.base import Learner
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.model_tree import ModelTreeRegressor
from learners.trees.regressor import DecisionTreeRegressor
from service.errors import Fault
from service.fault_json import fault_json
from service.operations.answering import Call, answer
from service.operations.identity import Identity
from service.operations.predict import Bounds
from service.operations.rows import Options
from service.operations.served import ServedModel

BOUNDS = Bounds(rows=1000, depth=32)
#: Every kind of column; names and levels that need care.
MIXED = (
    Column("size", Kind.NUMERIC),
    Column("a:b", Kind.NUMERIC),
    Column("colour", Kind.NOMINAL, ("blue", "green: dark", "rot \u00e4", '"q"', "a\\b")),
    Column("grade", Kind.ORDINAL, ("low", "middle", "high")),
    Column("on", Kind.BOOLEAN, ("false", "true"), "boolean"),
    Column("zip", Kind.NOMINAL, ("1", "2", "10.5", "9007199254740993"), "number"),
)
LABELS = Column("answer", Kind.NOMINAL, ("no", "yes", "per\u00f3"))


def mixed_table(n_rows: int = 300, seed: int = 0) -> tuple[Table, Series]:
    random = np.random.default_rng(seed)
    columns = [
        np.round(random.normal(size=n_rows), 2)
        if column.is_numeric
        else random.integers(0, len(column.levels), n_rows).astype(float)
        for column in MIXED
    ]
    values = np.asfortranarray(np.column_stack(columns))
    labels = ((values[:, 0] > 0.3) + (values[:, 2] == 1) * (values[:, 5] > 0)).astype(float)
    labels[random.random(n_rows) < 0.15] = 2.0
    return Table(MIXED, values), Series(LABELS, labels)


def serve(learner: Learner, task: str = "classification") -> ServedModel:
    return ServedModel(learner, Identity("default", "model", 3, task))


def mixed_classifier(nominal: str = "subset") -> ServedModel:
    return serve(DecisionTreeClassifier(nominal=nominal).fit(*mixed_table()))


def mixed_regressor() -> ServedModel:
    table, target = mixed_table()
    return serve(
        DecisionTreeRegressor().fit(table, Series(Column("y"), target.cells + table.values[:, 1])), "regression"
    )


def mixed_model_tree() -> ServedModel:
    table, target = mixed_table()
    answers = target.cells + table.values[:, 1] * np.where(table.values[:, 0] > 0, 3, -2) + (table.values[:, 2] == 3)
    learner = ModelTreeRegressor(min_deviation=0.3).fit(table, Series(Column("y"), answers))
    assert learner.n_leaves_ > 2
    return serve(learner, "regression")


def describe(fault: Fault) -> dict[str, Any]:
    return fault_json(fault)


def general(model: ServedModel, body: bytes, options: Options | None = None, **call: Any) -> bytes:
    """The answer by the general way."""
    reply = answer(model, body, Call(options=options or Options(), **call), BOUNDS, describe, lambda rows: None)
    return reply.body if isinstance(reply.body, bytes) else b"".join(reply.body)
