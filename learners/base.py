"""The contract of every learner: constructor stores, ``fit`` checks, learned state ends in ``_``.

scikit-learn's estimator contract, with two additions: inside, data are a
:class:`~learners.table.Table`, and every learner can explain, save and load itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from learners.class_weights import weigh
from learners.decisions import decide, plain_utility
from learners.errors import ModelFormatError, NotFittedError, SchemaError, quoted
from learners.explanation import Bounds, Explanation
from learners.matching import conform, conform_frame, is_frame
from learners.params import Parameterised
from learners.table import Column, Kind, Series, Table
from learners.types import Array, FloatArray, IntArray
from learners.validation import (
    as_table,
    as_target,
    check_training,
    check_weights,
    labels_of,
    target_numbers,
)

__all__ = [
    "Capabilities",
    "Classifier",
    "Learner",
    "ModelState",
    "Progress",
    "Regressor",
    "as_table",
    "as_target",
    "check_training",
    "check_weights",
    "no_progress",
    "target_numbers",
]

#: Called by ``fit`` now and then with the share done in [0, 1] and a short message; it may raise
#: :class:`~learners.errors.Cancelled` to stop the fit.
Progress = Callable[[float, str], None]


def no_progress(share: float, message: str) -> None:
    """The progress callback that ignores everything."""


@dataclass(frozen=True)
class Capabilities:
    """What a learner can do; the conformance suite, the catalogue and the service go by it.

    Attributes:
        task: ``classification`` or ``regression``.
        explanations: the kinds of record that ``explain`` gives.
        exports: the forms in which a fitted model can be written for other programs.
        missing: whether cells may be missing, in training and prediction.
        categories: whether columns may have levels.
        texts: whether columns may hold texts that are compared as such.
        sequences: whether columns may hold sequences of numbers.
        steps: whether a row's sequences can be fed in pieces (``feed``), with the state handed back to the caller.
        intervals: whether numbers come with where a further one should lie (``predict_intervals``).
        weights: whether ``fit`` takes row weights.
        supervised: whether it learns from a target; else ``fit`` leaves ``y`` aside, and what it answers should be 0.
        column_order_matters: whether training columns in another order may give another model where
            two are equally good.
        draws_columns: whether chance, by the columns' places, decides which are looked at.
        row_order_matters: the same of training rows.
        scale_matters: whether 2x + 1 in place of x may give another model.
    """

    task: str
    explanations: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    missing: bool = False
    categories: bool = False
    texts: bool = False
    sequences: bool = False
    steps: bool = False
    intervals: bool = False
    weights: bool = True
    supervised: bool = True
    column_order_matters: bool = False
    draws_columns: bool = False
    row_order_matters: bool = False
    scale_matters: bool = False


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
    #: Whether a small table is learned from within seconds without machine code.
    learns_uncompiled: ClassVar[bool] = True
    #: Attributes that hold functions of the caller's own; they are no parameters, and copies keep them.
    own_functions: ClassVar[tuple[str, ...]] = ()

    columns_: tuple[Column, ...]
    n_features_in_: int
    target_: Column

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

    def check_columns(self, columns: Sequence[Column], target: Column | None) -> None:
        """Refuse columns with which the parameters make no sense, by what is known before any row is read.

        Args:
            columns: to learn from. target: ``None`` of a learner without one.

        Raises:
            ParameterError, DataError: names the parameter or column.
        """

    def training_notes(self) -> dict[str, Any]:
        """What a fit chose, found and warns of beside the parameters, as plain JSON; empty if there is nothing."""
        return {}

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

    def _header(self) -> dict[str, Any]:
        """What every fitted model's header says; :meth:`_of_header` reads it."""
        self.check_fitted()
        return {
            "learner": self.name,
            "parameters": {name: self._plain(name, value) for name, value in self.get_params().items()},
            "columns": [column.to_json() for column in self.columns_],
            "named": hasattr(self, "feature_names_in_"),
            "target": self.target_.to_json(),
        }

    def _plain(self, name: str, value: Any) -> Any:
        """A parameter's value as JSON has it."""
        if isinstance(value, tuple | list):
            return [int(one) for one in value]
        return value.item() if isinstance(value, np.generic) else value

    @classmethod
    def _of_header(cls, header: dict[str, Any]) -> Self:
        """A learner that knows its columns and target again, but not yet what it has learned."""
        if header.get("learner") != cls.name:
            raise ModelFormatError(f"the model is a {header.get('learner')!r}, not a {cls.name!r}")
        made: Self = cls.from_params(header["parameters"])
        made.columns_ = tuple(Column.from_json(record) for record in header["columns"])
        made.n_features_in_ = len(made.columns_)
        if header["named"]:
            made.feature_names_in_ = np.array([column.name for column in made.columns_], dtype=object)
        made.target_ = Column.from_json(header["target"])
        return made

    @property
    def unpacked_bytes(self) -> int:
        """Memory that answering takes beside the model's own arrays, about."""
        return 0

    @property
    def is_fitted(self) -> bool:
        return hasattr(self, "columns_")

    def check_fitted(self) -> None:
        if not self.is_fitted:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet; call fit first")

    def check_table(self, X: Any) -> Table:
        """Rows for prediction as a table whose columns are the model's, matched by name.

        Levels are matched by their text, so a table with other codes is recoded; a level that the
        model does not know becomes ``UNSEEN``. An array has no names: its columns are taken in order.

        Raises:
            SchemaError: a column is absent, or numeric here and not there; an array of another width.
            DataError: an infinite value.
        """
        self.check_fitted()
        if not isinstance(X, Table) and is_frame(X) and hasattr(self, "feature_names_in_"):
            return conform_frame(X, self.columns_)
        table = as_table(X)
        return conform(table, self.columns_) if isinstance(X, Table) else self._by_position(table)

    def _by_position(self, table: Table) -> Table:
        """An array's columns are the model's in its order; numbers would be taken for codes, so refuse levels."""
        if table.n_columns != len(self.columns_):
            raise SchemaError(
                f"X has {table.n_columns} features, but {type(self).__name__} is expecting "
                f"{len(self.columns_)} features as input"
            )
        for column in self.columns_:
            if not column.is_numeric:
                raise SchemaError(
                    f"column {quoted(column.name)} is {column.kind}, so its values cannot be given as an array of "
                    "numbers; pass a Table or a data frame",
                    field=column.name,
                )
        return Table(self.columns_, table.values)

    def _remember_columns(self, X: Any, table: Table) -> None:
        self.columns_ = table.columns
        self.n_features_in_ = table.n_columns
        if isinstance(X, Table) or is_frame(X):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def copied(self, **changes: Any) -> Self:
        """An unfitted learner of the same parameters, but for some, and functions of the caller's own.

        Raises:
            ParameterError: a name is none of its parameters.
        """
        made = type(self)()
        made.set_params(**(self.get_params() | changes))
        vars(made).update({name: own for name, own in vars(self).items() if name in self.own_functions})
        return made

    def __sklearn_clone__(self) -> Self:
        return self.copied(**deepcopy(self.get_params()))

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Any:
        """Called by scikit-learn alone, so it is there to import when this runs."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        classification = self.capabilities.task == "classification"
        if not self.capabilities.supervised:
            return Tags(
                estimator_type=None,
                target_tags=TargetTags(required=False),
                transformer_tags=TransformerTags(),
                input_tags=InputTags(allow_nan=self.capabilities.missing),
            )
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
        utility_: what each decision (row) is worth for each true class (column), shape (K, K); or
            ``None``, if the likeliest class is decided for.
    """

    _estimator_type = "classifier"
    classes_: Array
    utility_: FloatArray | None = None

    def _plain(self, name: str, value: Any) -> Any:
        if value is not None and name == "class_weight":
            return {self.target_.level_text(label): float(factor) for label, factor in value.items()}
        if value is not None and name == "utility":
            return plain_utility(value, self.target_)
        return super()._plain(name, value)

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, *, opened: Container[Kind] = frozenset()
    ) -> tuple[Table, Series, FloatArray]:
        """What ``fit`` was given, checked together with the parameters; weights are times their classes' factors."""
        self.check_params()
        self.check_together()
        table, target = check_training(X, y, classification=True, opened=opened)
        weights = check_weights(sample_weight, table.n_rows)
        return table, target, weigh(weights, getattr(self, "class_weight", None), target)

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities in the order of ``classes_``, shape (n, K); each row sums to 1."""

    def predict(self, X: Any) -> Array:
        """The class decided for in each row: the likeliest, or that of the largest expected utility.

        Of equally good ones it is the first in ``classes_``.
        """
        shares = self.predict_proba(X)  # first, so that an unfitted learner says so
        winners: Array = self.classes_[self.decide(shares)]
        return winners

    def decide(self, probabilities: FloatArray) -> IntArray:
        """Code of the class decided for in each row of class probabilities (n, K), as ``predict`` does; shape (n,)."""
        return decide(probabilities, self.utility_)

    def deciding_by(self, utility: FloatArray) -> Self:
        """A copy that decides by other utilities, shape (K, K); its probabilities and reasons are the same."""
        self.check_fitted()
        made = copy(self)
        made.utility_ = utility
        return made

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy."""
        return float(np.average(self.predict(X) == labels_of(y), weights=sample_weight))


class Regressor(Learner):
    """A learner of numbers.

    Fitted attributes:
        target_: the target as a numeric column.
    """

    _estimator_type = "regressor"
    target_: Column

    def predict_intervals(self, X: Any, level: float | None = None) -> list[Bounds | None]:
        """Where a further number at each row should lie: of a learner whose capabilities name ``intervals``.

        Args:
            X: as for :meth:`predict`.
            level: how often it should, between 0 and 1; ``None``: as in reasons, which tell the same interval.

        Returns:
            One a row, about the number that :meth:`predict` gives; ``None`` where nothing tells it.

        Raises:
            TypeError: the learner tells none. ParameterError: a level that is none.
        """
        raise TypeError(f"{self.name} tells no intervals")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R^2."""
        actual = np.asarray(labels_of(y), dtype=np.float64)
        mean = np.average(actual, weights=sample_weight)
        residual = np.average((actual - self.predict(X)) ** 2, weights=sample_weight)
        total = np.average((actual - mean) ** 2, weights=sample_weight)
        return float(1 - residual / total) if total > 0 else float(residual == 0)
