"""Checks of unusual data: missing and unseen values, one class, one row, one column, hard numbers."""

from __future__ import annotations

import numpy as np

from learners.base import Classifier, Learner
from learners.checks import samples
from learners.checks.require import MakeLearner, answers, refusal, require, require_close, require_same
from learners.errors import DataError, LearnerError
from learners.table import MISSING, UNSEEN, Column, Kind, Series, Table


def missing_cells_are_answered(make: MakeLearner) -> None:
    """With some, with a column of nothing else, with a row of nothing else."""
    sample = samples.mixed(type(make()).capabilities)
    gaps = Table(sample.table.columns, np.where(np.arange(sample.table.n_columns) == 1, MISSING, sample.table.values))
    for table in (sample.table, gaps):
        model = make().fit(table, sample.target)
        nothing = Table(table.columns, np.full((2, table.n_columns), MISSING))
        _require_answers(model, table, "rows with missing cells")
        _require_answers(model, nothing, "a row with nothing known")


def missing_cells_are_refused(make: MakeLearner) -> None:
    """A learner that cannot take them names the column, in training and in prediction."""
    sample = samples.numeric(type(make()).capabilities.task)
    values = sample.table.values.copy()
    values[4, 1] = MISSING
    gaps = Table(sample.table.columns, values)
    model = make().fit(sample.table, sample.target)
    for action, what in (
        (lambda: make().fit(gaps, sample.target), "a missing cell in training"),
        (lambda: model.predict(gaps), "a missing cell in prediction"),
    ):
        error = refusal(LearnerError, action, what)
        require("width" in str(error), f"{what}: the column is not named: {error}")


def unseen_levels_are_answered(make: MakeLearner) -> None:
    """A level that no training row had gets one finite answer, always the same."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    values = sample.table.values.copy()
    for index, column in enumerate(sample.table.columns):
        if not column.is_numeric:
            values[:, index] = UNSEEN
    unseen = Table(sample.table.columns, values)
    _require_answers(model, unseen, "unseen levels")
    some = unseen.take(np.arange(5))
    wanted = answers(model, some)
    for _ in range(100):
        require_same(answers(model, some), wanted, "unseen levels asked again")


def levels_are_found_by_their_text(make: MakeLearner) -> None:
    """Rows whose table has its levels in another order, or more of them, are answered alike."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    position = sample.table.position("colour")
    colour = sample.table.columns[position]
    turned = samples.recoded(sample.table.column("colour"), ("never", *reversed(colour.levels)))
    columns = (*sample.table.columns[:position], turned.column, *sample.table.columns[position + 1 :])
    values = sample.table.values.copy()
    known = ~np.isnan(values[:, position])
    values[known, position] = turned.cells[known]
    require_same(answers(model, Table(columns, values)), answers(model, sample.table), "levels in another order")


def strange_levels_are_levels(make: MakeLearner) -> None:
    """Any text is a category: blanks, commas, quotes, none at all."""
    names = ("a,a", "", "3 speed", "b:b", "it's", "|", "日本", '"', "NaN", "None")
    rows = 60
    codes = (np.arange(rows) % len(names)).astype(np.float64)
    table = Table((Column("a, b = 'c'", Kind.NOMINAL, names),), codes[:, None])
    model = make().fit(table, _follow(make, codes < 5))
    _require_answers(model, table, "strange level names")
    model.explain(table)


def categories_are_refused(make: MakeLearner) -> None:
    """A learner that cannot take them names the column."""
    table = Table.from_columns({"colour": ["red", "green"] * 10})
    error = refusal(DataError, lambda: make().fit(table, _follow(make, np.arange(20) % 2 == 0)), "a nominal column")
    require("colour" in str(error), f"the column is not named: {error}")


def one_class_is_certain(make: MakeLearner) -> None:
    """Where one class occurs it has probability 1, and the schema's other classes keep columns of 0."""
    sample = samples.mixed(type(make()).capabilities)
    only = Series(sample.target.column, np.full(sample.table.n_rows, 1.0))
    found = answers(make().fit(sample.table, only), sample.table)
    require_close(found, np.tile([0.0, 1.0, 0.0], (len(found), 1)), "a target of one class")


def class_without_rows_keeps_its_column(make: MakeLearner) -> None:
    """A class of the schema that no row has keeps its place, with probability 0."""
    sample = samples.mixed(type(make()).capabilities)
    two = Series(sample.target.column, np.where(sample.target.cells == 1, 0.0, sample.target.cells))
    shares = answers(make().fit(sample.table, two), sample.table)
    require(shares.shape[1] == 3 and (shares[:, 1] == 0).all(), "a class without rows has not probability 0 throughout")


def constant_target_is_answered(make: MakeLearner) -> None:
    """Where all rows have one value, it is the answer."""
    sample = samples.mixed(type(make()).capabilities)
    constant = Series(sample.target.column, np.full(sample.table.n_rows, -3.25))
    found = answers(make().fit(sample.table, constant), sample.table)
    require_close(found, np.full(len(found), -3.25), "a target of one value")


def one_row_is_learned(make: MakeLearner) -> None:
    """From one row, that row's target is the answer to everything."""
    sample = samples.mixed(type(make()).capabilities)
    row = np.array([2])
    model = make().fit(sample.table.take(row), sample.target.take(row))
    predicted = model.predict(sample.table)
    wanted = sample.target.column.decode(float(sample.target.cells[2]))
    require(all(answer == wanted for answer in predicted.tolist()), f"one row of {wanted!r} taught something else")


def one_column_is_learned(make: MakeLearner) -> None:
    """One column is enough."""
    sample = samples.numeric(type(make()).capabilities.task)
    table = sample.table.select(["height"])
    _require_answers(make().fit(table, sample.target), table, "a table of one column")


def constant_columns_are_learned(make: MakeLearner) -> None:
    """With nothing to tell rows apart, all get one answer."""
    sample = samples.numeric(type(make()).capabilities.task)
    table = Table(sample.table.columns, np.full(sample.table.values.shape, 7.5))
    found = answers(make().fit(table, sample.target), table)
    require_same(found, np.repeat(found[:1], len(found), axis=0), "equal rows")


def hard_numbers_are_learned_or_refused(make: MakeLearner) -> None:
    """Huge, tiny and neighbouring doubles: a finite answer, or a refusal that names the column."""
    half = np.arange(20) % 2 == 0
    pairs = [(-1.46e258, 1.7e308), (5e-324, 1e-323), (16777216.0, 16777217.0), (0.3, 0.30000000000000004), (0.0, 1e-7)]
    for low, high in pairs:
        table = Table.from_array(np.where(half, low, high)[:, None], ["reading"])
        with np.errstate(all="raise", under="ignore"):
            try:
                model = make().fit(table, _follow(make, half))
                _require_answers(model, table, f"{low!r} against {high!r}")
            except DataError as error:
                require("reading" in str(error), f"the column is not named: {error}")


def _follow(make: MakeLearner, condition: np.ndarray) -> Series:
    """A target that follows a condition, of the kind that the learner learns."""
    if type(make()).capabilities.task == "regression":
        return Series(Column("y"), np.where(condition, 10.0, 20.0))
    return Series(Column("y", Kind.NOMINAL, ("yes", "no")), np.where(condition, 0.0, 1.0))


def _require_answers(model: Learner, table: Table, what: str) -> None:
    found = answers(model, table)
    require(len(found) == table.n_rows and np.isfinite(found).all(), f"{what}: not one finite answer a row")
    if isinstance(model, Classifier):
        require((np.abs(found.sum(axis=1) - 1) <= 1e-9).all(), f"{what}: probabilities do not sum to 1")
