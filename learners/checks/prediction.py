"""Checks of ``predict`` and ``predict_proba``: shapes, labels, names of columns, one row and many."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, cast

import numpy as np

from learners.base import Classifier
from learners.checks import samples
from learners.checks.require import MakeLearner, answers, refusal, require, require_same
from learners.decisions import TIE
from learners.errors import DataError, SchemaError
from learners.table import Column, Kind, Series, Table
from learners.types import Array


def one_row_equals_batch(make: MakeLearner) -> None:
    """A row is answered alike, alone and among others, to the bit."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    batch = answers(model, sample.table)
    singles = [answers(model, sample.table.take(np.array([row]))) for row in range(sample.table.n_rows)]
    require_same(np.concatenate(singles), batch, "rows asked one by one")


def no_rows_give_no_answers(make: MakeLearner) -> None:
    """A table without rows is a fair question."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    empty = sample.table.take(np.empty(0, dtype=np.int64))
    require(model.predict(empty).shape == (0,), "predict of no rows is not an empty array")
    require(model.explain(empty) == [], "explain of no rows is not an empty list")
    require(len(answers(model, empty)) == 0, "no rows gave answers")


def answers_are_finite(make: MakeLearner) -> None:
    """One finite number, or one probability a class, for each row."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    predicted = answers(model, sample.table)
    require(len(predicted) == sample.table.n_rows, "not one answer a row")
    require(predicted.dtype == np.float64 and np.isfinite(predicted).all(), "an answer is not a finite number")


def probabilities_agree_with_predict(make: MakeLearner) -> None:
    """Each row sums to 1 over all classes, and ``predict`` is what they decide for."""
    sample = samples.mixed(type(make()).capabilities)
    model = _classifier(make, sample.table, sample.target)
    shares = model.predict_proba(sample.table)
    require(shares.shape == (sample.table.n_rows, len(model.classes_)), f"probabilities have shape {shares.shape}")
    require(((shares >= 0) & (shares <= 1)).all(), "a probability is outside 0 to 1")
    require((np.abs(shares.sum(axis=1) - 1) <= 1e-9).all(), "probabilities do not sum to 1")
    decided = model.decide(shares)
    best = shares.argmax(axis=1) if model.utility_ is None else decided
    apart = np.take_along_axis(shares, best[:, None], 1) - np.take_along_axis(shares, decided[:, None], 1)
    require((apart <= TIE).all(), "a class is decided for that is not the likeliest")
    require_same(model.predict(sample.table), model.classes_[decided], "predict against probabilities")


def labels_come_back_as_given(make: MakeLearner) -> None:
    """In their own type and spelling, in the order of the levels, words like ``nan`` included."""
    sample = samples.numeric("classification")
    targets = (
        Column("y", Kind.NOMINAL, ("nan", "None", "")),
        Column("y", Kind.NOMINAL, ('a, "b"', "it's |", "日本 x=1 and")),
        Column("y", Kind.NOMINAL, ("1", "2.5", "10"), "number"),
        Column("y", Kind.NOMINAL, ("01", "1", "1.0")),
        Column("y", Kind.ORDINAL, ("low", "middle", "high")),
    )
    for column in targets:
        model = _classifier(make, sample.table, samples.renamed(sample.target, column))
        require(tuple(model.classes_.tolist()) == column.labels, f"classes_ are {model.classes_}, not {column.labels}")
        require(set(model.predict(sample.table).tolist()) <= set(column.labels), "a label came back changed")
    two = Series(Column("y", Kind.BOOLEAN, ("false", "true"), "boolean"), (sample.target.codes == 2).astype(float))
    found = _classifier(make, sample.table, two).predict(sample.table).tolist()
    require(all(isinstance(label, bool) for label in found), f"boolean labels came back as {type(found[0]).__name__}")


def array_labels_come_back_as_given(make: MakeLearner) -> None:
    """Labels given as an array have the classes that occur, sorted."""
    sample = samples.numeric("classification")
    codes = sample.target.codes
    for labels in (np.array(["b", "a", "c"]), np.array([3, 1, 2]), np.array([2.0, 1.0, 3.0])):
        model = _classifier(make, sample.table, labels[codes])
        require(model.classes_.tolist() == sorted(labels.tolist()), f"classes_ are {model.classes_}")
        require(set(model.predict(sample.table).tolist()) <= set(labels.tolist()), "a label came back changed")
    mixed = [1, "1"] * (sample.table.n_rows // 2)
    refusal(DataError, lambda: make().fit(sample.table, mixed), 'labels 1 and "1" together')


def _classifier(make: MakeLearner, table: Table, target: object) -> Classifier:
    model = make().fit(table, target)
    if not isinstance(model, Classifier):
        raise AssertionError(f"{type(model).__name__} is no classifier")
    return model


def columns_are_found_by_name(make: MakeLearner) -> None:
    """Another order, and columns that the model does not know, change no answer."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    wanted = answers(model, sample.table)
    turned = sample.table.select(sample.table.names[::-1])
    require_same(answers(model, turned), wanted, "columns in reverse order")
    wider = samples.with_column(turned, Column("further"), np.arange(float(turned.n_rows)))
    require_same(answers(model, wider), wanted, "with a further column")


def wrong_columns_are_refused(make: MakeLearner) -> None:
    """A column that is absent is named; an array of another width and a text for a number are refused."""
    sample = samples.numeric(type(make()).capabilities.task)
    model = make().fit(sample.table, sample.target)
    error = refusal(SchemaError, lambda: model.predict(sample.table.drop(["width"])), "a table without a column")
    require("width" in str(error), f"the absent column is not named: {error}")
    narrow = sample.table.values[:, :2]
    refusal(SchemaError, lambda: model.predict(narrow), "an array of another width")
    refusal(DataError, lambda: model.predict(sample.table.values[0]), "an array of one dimension")
    texts = Table.from_columns({name: ["some", "text"] for name in sample.table.names})
    error = refusal(SchemaError, lambda: model.predict(texts), "texts for numbers")
    require("height" in str(error), f"the column is not named: {error}")
    infinite = sample.table.values.copy()
    infinite[0, 0] = -np.inf
    refusal(DataError, lambda: model.predict(infinite), "an infinite cell")


def threads_may_share_a_model(make: MakeLearner) -> None:
    """Prediction keeps no state."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    wanted = answers(model, sample.table)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: answers(model, sample.table), range(16)):
            require_same(found, wanted, "asked from several threads at once")


class _Fed(Protocol):
    def feed(self, X: Table, state: Mapping[str, Any] | None = None) -> tuple[Array, dict[str, Any]]: ...


def steps_are_answered_as_beginnings(make: MakeLearner) -> None:
    """A sequence fed in pieces, its state handed on as JSON, has the answers to its beginnings, to the bit."""
    sample = samples.sequences(type(make()).capabilities.task)
    model = make().fit(sample.table, sample.target)
    fed = cast("_Fed", model)
    for row in range(0, sample.table.n_rows, 5):
        values = sample.table.take(np.array([row])).to_columns()
        path: Any = values["path"][0]
        beginnings = [_with_path(values, path[:end]) for end in range(1, len(path) + 1)]
        wanted = np.concatenate([answers(model, table) for table in beginnings])
        for cut in range(len(path) + 1):
            state, found = None, []
            for piece in (path[:cut], path[cut:]):
                if piece:
                    told, after = fed.feed(_with_path(values, piece), state)
                    state = json.loads(json.dumps(after, allow_nan=False))
                    found.append(told)
            require_same(np.concatenate(found), wanted, f"row {row} fed in pieces, cut at step {cut}")


def _with_path(values: Mapping[str, Any], path: list[Any]) -> Table:
    return Table.from_columns({**values, "path": [path]})
