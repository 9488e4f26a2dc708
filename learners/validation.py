"""What callers may hand to a learner, and the one form into which it is brought.

``fit`` and ``predict`` take a :class:`~learners.table.Table`, a data frame or anything array-like;
everything after these functions is a table of known columns, a target without gaps and weights
that are finite.
"""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from learners.errors import ROW, DataError, ParameterError, quoted
from learners.matching import frame_cells, is_frame, is_missing
from learners.parts import is_sound, is_sound_target, note_sound
from learners.table import EXACT_INTEGER, UNSEEN, Column, Kind, LevelType, Series, Table, canonical_text
from learners.types import Array, FloatArray

#: A weight below this, but for 0, might make a quotient of weights infinite.
LEAST_WEIGHT = 1e-100
#: Beyond this a target's square times the largest sum of weights might be no double.
LARGEST_TARGET = 1e140
#: As what errors name weights.
WEIGHTS = "sample_weight"
#: Cells that are looked at together: what is made of them stays small beside a large table.
_CELLS_AT_ONCE = 1_000_000


def as_table(X: Any) -> Table:
    """A table from a Table, a data frame (anything with ``columns``) or an array-like of numbers.

    Raises:
        DataError: not two-dimensional, complex, infinite, or a text that is no number.
    """
    if isinstance(X, Table):
        table = X
    elif is_frame(X):
        table = Table.from_columns({str(name): frame_cells(X[name]) for name in X.columns})
    else:
        table = Table.from_array(_matrix(X))
    if not is_sound(table):
        _refuse_infinite(table)
    return table


def _matrix(X: Any) -> Array:
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data were passed for X, but dense data are required; call X.toarray() first")
    try:
        matrix = np.asarray(X)
        if np.iscomplexobj(matrix):
            raise DataError("Complex data not supported: a column is a quantity or a name")
        if matrix.dtype.kind in "Mm":
            raise DataError("dates and durations are no numbers: pass a Table, or convert them first")
        return np.asarray(matrix, dtype=np.float64)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"X must be a rectangle of numbers (NaN is missing): {error}") from error


def _refuse_infinite(table: Table) -> None:
    at_once = max(_CELLS_AT_ONCE // max(table.n_rows, 1), 1)
    for first in range(0, table.n_columns, at_once):
        infinite = np.isinf(table.values[:, first : first + at_once])
        if infinite.any():
            row, column = (int(index[0]) for index in np.nonzero(infinite))
            name = table.columns[first + column].name
            raise DataError(
                f"column {quoted(name)} is infinite in row {ROW}; only finite numbers and NaN (missing) are allowed "
                "(inf)",
                field=name,
                row=row,
            )


def check_training(
    X: Any, y: Any, *, classification: bool, opened: Container[Kind] = frozenset()
) -> tuple[Table, Series]:
    """The table and target of a fit, checked against each other.

    Args:
        X, y: as ``fit`` takes them.
        classification: whether the target has levels.
        opened: which columns that are open to any text or sequence may be learned from.

    Raises:
        DataError: no rows, no columns, lengths differ, a column of a kind that is not learned from, a cell is no
            code of its column, the target has missing, unseen or infinite values.
    """
    table = as_table(X)
    if table.n_columns == 0:
        raise DataError(f"0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required.")
    target = as_target(y, classification=classification)
    if len(target) != table.n_rows:
        raise DataError(f"X has {table.n_rows} rows but y has {len(target)}: inconsistent numbers of samples")
    if table.n_rows == 0:
        raise DataError(
            "Found array with 0 sample(s) while a minimum of 1 is required: there are no rows to learn from"
        )
    was_sound = is_sound(table)
    for index, column in enumerate(table.columns):
        if column.is_open and column.kind not in opened:
            raise DataError(
                f"column {quoted(column.name)} is {column.kind}, which this learner does not learn from; leave it out",
                field=column.name,
            )
        if not was_sound:
            check_codes(column, table.values[:, index])
    if not is_sound_target(table, target):
        _check_target(target)
    note_sound(table, target)
    return table, target


def check_codes(column: Column, cells: FloatArray) -> None:
    """Refuse cells of a column with levels that are neither a code, nor missing, nor unseen.

    Raises:
        DataError: names the column and the row.
    """
    if column.is_numeric:
        return
    bad = ~(np.isnan(cells) | ((cells >= UNSEEN) & (cells < len(column.levels)) & (cells == np.floor(cells))))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"column {quoted(column.name)} holds {cells[row]!r} in row {ROW}, which is no code of its "
            f"{len(column.levels)} levels",
            field=column.name,
            row=row,
        )


def target_numbers(target: Series) -> FloatArray:
    """The numbers of a target to learn from, contiguous, shape (n,).

    Raises:
        DataError: sums of their squares might not be finite; names the target and the row.
    """
    numbers = np.ascontiguousarray(target.cells)
    huge = np.abs(numbers) > LARGEST_TARGET
    if huge.any():
        row = int(np.argmax(huge))
        raise DataError(
            f"the target is {numbers[row]:g} in row {ROW}; its squares must be finite, so at most "
            f"{LARGEST_TARGET:g} in magnitude is allowed",
            field=target.column.name,
            row=row,
        )
    return numbers


def _check_target(target: Series) -> None:
    name = target.column.name
    missing = np.isnan(target.cells)
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(f"the target is missing (NaN) in row {ROW}; drop such rows first", field=name, row=row)
    if target.column.is_numeric:
        infinite = np.isinf(target.cells)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise DataError(f"the target is infinite (inf) in row {ROW}; it must be finite", field=name, row=row)
        return
    check_codes(target.column, target.cells)
    unseen = target.cells == UNSEEN
    if unseen.any():
        row = int(np.argmax(unseen))
        raise DataError(f"the target of row {ROW} is none of its column's levels", field=name, row=row)


def as_target(y: Any, *, classification: bool) -> Series:
    """A target from a Series or an array-like of shape (n,)."""
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None")
    if isinstance(y, Series):
        if y.column.is_numeric == classification or y.column.is_open:
            wanted = "nominal, ordinal or boolean" if classification else "numeric"
            raise DataError(
                f"the target {quoted(y.column.name)} is {y.column.kind}; it must be {wanted}", field=y.column.name
            )
        return y
    values = _vector(y)
    if np.iscomplexobj(values):
        raise DataError("Complex data not supported: the target is a quantity or a name")
    return _class_target(values) if classification else _numeric_target(values)


def _vector(y: Any) -> Array:
    # numpy would quietly turn [1, "1"] into two texts and [True, 1] into two numbers
    mixed = isinstance(y, list | tuple) and len({type(value) for value in y}) > 1
    values = np.asarray(y, dtype=object if mixed else None)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected", UserWarning, stacklevel=4)
        values = values.ravel()
    if values.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    return values


def _numeric_target(values: Array) -> Series:
    try:
        cells = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the target must be numbers: {error}", field="y") from error
    if not np.isfinite(cells).all():
        raise DataError("the target contains NaN or infinity (inf); it must be finite", field="y")
    return Series(Column("y"), cells)


def _class_target(values: Array) -> Series:
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise DataError("Input y contains NaN or infinity (inf); every row needs a label", field="y")
        if (values != np.floor(values)).any():
            raise DataError("Unknown label type: continuous. The target of a classifier must be labels, not quantities")
    level_type = _level_type(values)
    if level_type == "boolean":
        return Series(Column("y", Kind.BOOLEAN, ("false", "true"), "boolean"), values.astype(np.float64))
    distinct, codes = np.unique(values, return_inverse=True)
    levels = tuple(canonical_text(value) for value in distinct.tolist())
    return Series(Column("y", Kind.NOMINAL, levels, level_type), codes.astype(np.float64))


def _level_type(values: Array) -> LevelType:
    by_kind: dict[str, LevelType] = {"b": "boolean", "i": "number", "u": "number", "f": "number", "U": "text"}
    if values.dtype.kind in by_kind:
        return by_kind[values.dtype.kind]
    found = {_scalar_type(value) for value in values.tolist()}
    if len(found) > 1:
        raise DataError(
            "Unknown label type: y mixes texts, numbers or booleans; write all labels in one type", field="y"
        )
    return found.pop() if found else "text"


def _scalar_type(value: Any) -> LevelType:
    if is_missing(value):
        raise DataError("Input y contains NaN: every row needs a label", field="y")
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, int | float | np.integer | np.floating):
        return "number"
    if isinstance(value, str):
        return "text"
    raise DataError(f"Unknown label type: {quoted(value)}; a label is a text, a number or a boolean", field="y")


def check_named_once(labels: Iterable[Any], target: Column, parameter: str) -> None:
    """Raise :class:`ParameterError` if two of a parameter's labels are one class (``1`` and ``"1.0"``)."""
    named: dict[str, Any] = {}
    for label in labels:
        first = named.setdefault(target.level_text(label), label)
        if first is not label:
            raise ParameterError(
                f"{parameter} names {quoted(first)} and {quoted(label)}, which are the same class", field=parameter
            )


def labels_of(y: Any) -> Array:
    """The labels or numbers of a target as an array of shape (n,), whether it is a Series or array-like.

    A Series of labels gives an object array; what is missing in it is ``None``.
    """
    if not isinstance(y, Series):
        return np.asarray(y)
    if y.column.is_numeric:
        return y.cells
    labels = np.empty(len(y.column.labels) + 1, dtype=object)
    labels[:-1] = y.column.labels
    found: Array = labels[y.codes]  # -1, missing or unseen, is the last entry: None
    return found


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Row weights as float64, shape (n,); all ones where none are given.

    Sums of weights, and of weights times squares, must be finite and must not lose a weight of 1, so
    the sum is at most 2^53; a quotient of weights must be finite too, so none but 0 is below 1e-100.

    Raises:
        DataError: wrong shape, negative, NaN, infinite, too large or too small, or all zero.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights = _weight_array(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar", field=WEIGHTS)
    if weights.shape != (n_rows,):
        raise DataError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!", field=WEIGHTS)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"the weight of row {ROW} is {weights[row]}; weights are finite (not NaN, not inf) and >= 0",
            field=WEIGHTS,
            row=row,
        )
    if not (weights > 0).any():
        raise DataError("every weight is zero, so there are no rows to learn from", field=WEIGHTS)
    _check_magnitudes(weights)
    return weights


def _check_magnitudes(weights: FloatArray) -> None:
    too_small = (weights > 0) & (weights < LEAST_WEIGHT)
    if too_small.any():
        row = int(np.argmax(too_small))
        raise DataError(
            f"the weight of row {ROW} is {weights[row]}; weights are 0 or at least {LEAST_WEIGHT:g}",
            field=WEIGHTS,
            row=row,
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not total <= EXACT_INTEGER:
        raise DataError(f"the weights sum to {total:g}; their sum is at most 2^53 = {EXACT_INTEGER}", field=WEIGHTS)


def _weight_array(sample_weight: Any) -> FloatArray:
    try:
        return np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights must be numbers: {error}", field=WEIGHTS) from error
