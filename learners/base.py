"""The contract of every learner: constructor stores, ``fit`` checks, learned state ends in ``_``.

scikit-learn's estimator contract, with two additions: inside, data are a
:class:`~learners.table.Table`, and every learner can explain, save and load itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from learners.errors import DataError, NotFittedError, SchemaError, quoted
from learners.explanation import Explanation
from learners.params import Parameterised
from learners.table import UNSEEN, Column, Kind, LevelType, Series, Table, canonical_text
from learners.types import Array, FloatArray, Scalar

#: Called by ``fit`` now and then with the share done in [0, 1] and a short message; it may raise
#: :class:`~learners.errors.Cancelled` to stop the fit.
Progress = Callable[[float, str], None]


def no_progress(share: float, message: str) -> None:
    """The progress callback that ignores everything."""


@dataclass(frozen=True)
class Capabilities:
    """What a learner can do; the conformance suite, the catalogue and the service go by it."""

    task: str  # "classification" or "regression"
    explanations: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    missing: bool = False
    categories: bool = False
    weights: bool = True
    column_order_matters: bool = False


@dataclass
class ModelState:
    """A fitted model as data: what :mod:`learners.persist` writes and reads.

    Attributes:
        header: JSON values only.
        arrays: numpy arrays by name; after loading they may be read-only views of a mapped file.
    """

    header: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)


class Learner(Parameterised, ABC):
    """Base of all learners.

    Fitted attributes:
        columns_: the columns of the training table, in its order.
        n_features_in_: their number.
        feature_names_in_: their names, only if the training data had any (scikit-learn's rule).
    """

    #: Name in the catalogue, e.g. ``decision-tree-classifier``.
    name: ClassVar[str]
    #: One sentence for the catalogue.
    summary: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    columns_: tuple[Column, ...]
    n_features_in_: int

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Learn from a table and its target.

        Args:
            X: a :class:`Table`, or array-like of shape (n, d) of numbers (NaN is missing).
            y: a :class:`Series` or array-like of shape (n,).
            sample_weight: array-like of shape (n,), >= 0; a row of weight 0 is as if absent.
            progress: told how far the work is; may raise ``Cancelled``.

        Raises:
            ParameterError, DataError: see :mod:`learners.errors`.
        """

    @abstractmethod
    def predict(self, X: Any) -> Array:
        """The answer for each row, shape (n,)."""

    @abstractmethod
    def explain(self, X: Any) -> list[Explanation]:
        """The exact reason of each row's answer."""

    @abstractmethod
    def get_state(self) -> ModelState:
        """The fitted model as header and arrays, parameters and columns included."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: ModelState) -> Self:
        """The inverse of :meth:`get_state`; arrays are used as they are, not copied."""

    @property
    def is_fitted(self) -> bool:
        return hasattr(self, "columns_")

    def check_fitted(self) -> None:
        if not self.is_fitted:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet; call fit first")

    def check_table(self, X: Any) -> Table:
        """Rows for prediction as a table whose columns are the model's, matched by name.

        Levels are matched by their text, so a table with other codes is recoded; a level that the
        model does not know becomes ``UNSEEN``.

        Raises:
            SchemaError: a column is absent, or numeric here and not there.
        """
        self.check_fitted()
        if isinstance(X, Table):
            return _conform(X, self.columns_)
        table = as_table(X)
        if table.n_columns != len(self.columns_):
            raise SchemaError(
                f"X has {table.n_columns} features, but {type(self).__name__} is expecting "
                f"{len(self.columns_)} features as input"
            )
        return Table(self.columns_, table.values)

    def _remember_columns(self, X: Any, table: Table) -> None:
        self.columns_ = table.columns
        self.n_features_in_ = table.n_columns
        if isinstance(X, Table) or hasattr(X, "columns"):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Any:
        """Called by scikit-learn alone, so it is there to import when this runs."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        classification = self.capabilities.task == "classification"
        return Tags(
            estimator_type="classifier" if classification else "regressor",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if classification else None,
            regressor_tags=None if classification else RegressorTags(),
            input_tags=InputTags(allow_nan=self.capabilities.missing),
        )

    def __repr__(self) -> str:
        changed = {
            parameter.name: getattr(self, parameter.name)
            for parameter in self.parameters()
            if getattr(self, parameter.name) != parameter.default
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


class Classifier(Learner):
    """A learner of classes.

    Fitted attributes:
        classes_: the labels in class order, shape (K,), in their own type.
        target_: the target as a nominal, ordinal or boolean column.
    """

    _estimator_type = "classifier"
    classes_: Array
    target_: Column

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities in the order of ``classes_``, shape (n, K); each row sums to 1."""

    def predict(self, X: Any) -> Array:
        """The likeliest class of each row; of equally likely ones the first in ``classes_``."""
        winners: Array = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return winners

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))


class Regressor(Learner):
    """A learner of numbers.

    Fitted attributes:
        target_: the target as a numeric column.
    """

    _estimator_type = "regressor"
    target_: Column

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R^2."""
        actual = np.asarray(y, dtype=np.float64)
        mean = np.average(actual, weights=sample_weight)
        residual = np.average((actual - self.predict(X)) ** 2, weights=sample_weight)
        total = np.average((actual - mean) ** 2, weights=sample_weight)
        return float(1 - residual / total) if total > 0 else float(residual == 0)


def as_table(X: Any) -> Table:
    """A table from a Table, a data frame (anything with ``columns``) or an array-like of numbers.

    Raises:
        DataError: not two-dimensional, complex, infinite, or a text that is no number.
    """
    if isinstance(X, Table):
        table = X
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        table = Table.from_columns({str(name): _cells(X[name]) for name in X.columns})
    else:
        table = Table.from_array(_matrix(X))
    _refuse_infinite(table)
    return table


def _cells(values: Any) -> list[Scalar | None]:
    return [None if value is None or value != value else value for value in values.tolist()]


def _matrix(X: Any) -> Array:
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data were passed for X, but dense data are required; call X.toarray() first")
    matrix = np.asarray(X)
    if np.iscomplexobj(matrix):
        raise DataError("Complex data not supported: a column is a quantity or a name")
    return np.asarray(matrix, dtype=np.float64)


def _refuse_infinite(table: Table) -> None:
    infinite = np.isinf(table.values)
    if infinite.any():
        row, column = (int(index[0]) for index in np.nonzero(infinite))
        name = table.columns[column].name
        raise DataError(
            f"column {quoted(name)} is infinite in row {row}; only finite numbers and NaN (missing) are allowed (inf)",
            field=name,
        )


def _conform(table: Table, columns: Sequence[Column]) -> Table:
    if table.columns == tuple(columns):
        return table
    by_name: Mapping[str, int] = {name: index for index, name in enumerate(table.names)}
    absent = [column.name for column in columns if column.name not in by_name]
    if absent:
        raise SchemaError(
            f"column {quoted(absent[0])} is absent" + (f" (and {len(absent) - 1} more)" if absent[1:] else ""),
            field=absent[0],
        )
    values = np.empty((table.n_rows, len(columns)), order="F")
    for index, column in enumerate(columns):
        source = table.columns[by_name[column.name]]
        values[:, index] = _recode(source, column, table.values[:, by_name[column.name]])
    return Table(tuple(columns), values)


def _recode(source: Column, wanted: Column, cells: FloatArray) -> FloatArray:
    if source.is_numeric != wanted.is_numeric:
        raise SchemaError(f"column {quoted(wanted.name)} is {wanted.kind}, not {source.kind}", field=wanted.name)
    if source.is_numeric or source.levels == wanted.levels:
        return cells
    mapping = np.array([wanted.encode(label) for label in source.labels] + [UNSEEN])
    known = ~np.isnan(cells)
    recoded = cells.copy()
    recoded[known] = mapping[cells[known].astype(np.int64)]  # UNSEEN is -1: the last entry
    return recoded


def check_training(X: Any, y: Any, *, classification: bool) -> tuple[Table, Series]:
    """The table and target of a fit, checked against each other.

    Raises:
        DataError: no rows, no columns, lengths differ, the target has missing or infinite values.
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
    if np.isnan(target.cells).any():
        row = int(np.argmax(np.isnan(target.cells)))
        raise DataError(f"the target is missing (NaN) in row {row}; drop such rows first", field=target.column.name)
    return table, target


def as_target(y: Any, *, classification: bool) -> Series:
    """A target from a Series or an array-like of shape (n,)."""
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None")
    if isinstance(y, Series):
        if y.column.is_numeric == classification:
            wanted = "nominal, ordinal or boolean" if classification else "numeric"
            raise DataError(
                f"the target {quoted(y.column.name)} is {y.column.kind}; it must be {wanted}", field=y.column.name
            )
        return y
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = _flattened(values)
    if values.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    return _class_target(values) if classification else _numeric_target(values)


def _flattened(values: Array) -> Array:
    import warnings

    warnings.warn("A column-vector y was passed when a 1d array was expected", UserWarning, stacklevel=4)
    return values.ravel()


def _numeric_target(values: Array) -> Series:
    if np.iscomplexobj(values):
        raise DataError("Complex data not supported: the target is a quantity")
    cells = np.asarray(values, dtype=np.float64)
    if not np.isfinite(cells).all():
        raise DataError("the target contains NaN or infinity (inf); it must be finite", field="y")
    return Series(Column("y"), cells)


def _class_target(values: Array) -> Series:
    if np.iscomplexobj(values):
        raise DataError("Complex data not supported: the target is a name")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise DataError("Input y contains NaN or infinity (inf); every row needs a label", field="y")
        if (values != np.floor(values)).any():
            raise DataError("Unknown label type: continuous. The target of a classifier must be labels, not quantities")
    scalars = values.tolist()
    column = Column("y", Kind.NOMINAL, _ordered_levels(scalars), _level_type(scalars))
    return Series.from_values("y", scalars, column)


def _level_type(scalars: list[Any]) -> LevelType:
    if all(isinstance(value, bool) for value in scalars):
        return "boolean" if len(set(scalars)) == 2 else "text"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in scalars):
        return "number"
    return "text"


def _ordered_levels(scalars: list[Any]) -> tuple[str, ...]:
    if any(value is None or value != value for value in scalars):
        raise DataError("Input y contains NaN: every row needs a label", field="y")
    kinds = {bool if isinstance(v, bool) else str if isinstance(v, str) else float for v in scalars}
    if len(kinds) > 1:
        raise DataError(
            "Unknown label type: y mixes texts, numbers or booleans; write all labels in one type", field="y"
        )
    return tuple(canonical_text(value) for value in sorted(set(scalars)))


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Row weights as float64, shape (n,); all ones where none are given.

    Raises:
        DataError: wrong shape, negative, NaN or infinite, or all zero.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar", field="sample_weight")
    if weights.shape != (n_rows,):
        raise DataError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!", field="sample_weight")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"the weight of row {row} is {weights[row]}; weights are finite (not NaN, not inf) and >= 0",
            field="sample_weight",
        )
    if not (weights > 0).any():
        raise DataError("every weight is 0, so there are no rows to learn from", field="sample_weight")
    return weights
