"""How much each column matters to a model: by its tree's tests, or by what it does on stored rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learners._accel import uncompiled
from learners.ensembles.fitted import FittedEnsemble
from learners.errors import LearnerError, ParameterError
from learners.reasons.permutation import default_metric, permutation_importance
from learners.table import Series
from learners.trees.estimator import FittedTree, TreeEstimator
from learners.types import IntArray
from service.errors import Conflict, Fault, Invalid, TooLarge
from service.operations.long_work import Amount, parts, pause
from service.operations.served import ServedModel
from service.operations.stored_rows import Shelf, StoredRows, read_stored, unfit

#: Most answers of a tree for one request, rows times columns times repeats: some seconds of work.
MAX_ANSWERS = 4_000_000
#: The same of any other model, each of whose answers takes as long as some 40 of a tree.
MAX_SLOW_ANSWERS = 100_000


@dataclass(frozen=True)
class Shuffled:
    """How importance by permutation is measured.

    Attributes:
        dataset: id of the rows.
        metric: by which the model is judged; ``None`` for its task's usual one.
        repeats: shuffles of each column.
        seed: of the shuffles, and of the choice of rows.
        n_rows: so many rows, drawn at random, are enough; ``None`` for all.
    """

    dataset: str
    metric: str | None = None
    repeats: int = 5
    seed: int = 0
    n_rows: int | None = None


def importances(model: ServedModel) -> dict[str, Any]:
    """The version and each column's share of the decrease of impurity; or what an ensemble measured instead.

    Raises:
        Conflict: the model is neither a tree nor of learners that lower an impurity.
    """
    learner = model.learner
    if not isinstance(learner, TreeEstimator | FittedEnsemble) or not hasattr(learner, "feature_importances_"):
        message = f"{learner.name} has no impurity that its columns decrease; ask for kind=permutation"
        raise Conflict(f"The model has no such importances: {message}", [Fault(message, parameter="ref")])
    shares = learner.feature_importances_.tolist()
    listed = [
        {"column": column.name, "importance": share} for column, share in zip(learner.columns_, shares, strict=True)
    ]
    return model.identity.to_json() | {"kind": getattr(learner, "importance", "impurity"), "importances": listed}


def shuffled_importances(shelf: Shelf, model: ServedModel, wanted: Shuffled) -> dict[str, Any]:
    """The version and how much worse it answers stored rows when the values of one column are shuffled among them.

    Raises:
        NotFound: there is no such dataset. TooLarge: it has too many cells, or rows for so many repeats.
        Invalid: the dataset does not fit the model, none of its rows can be judged, or there is no such metric.
    """
    read = read_stored(shelf, model, wanted.dataset)
    rows = _drawn(read, wanted)
    learner = model.learner
    _check_work(len(rows) * len(learner.columns_) * wanted.repeats, len(learner.columns_), model, wanted)
    target = Series(learner.target_, read.truth[rows])
    try:
        with uncompiled():
            found = permutation_importance(
                learner,
                read.table.take(rows),
                target,
                read.weights[rows],
                metric=wanted.metric,
                repeats=wanted.repeats,
                seed=wanted.seed,
                division=_Turns(model, len(rows), wanted.repeats).of,
            )
    except ParameterError as error:
        raise Invalid(f"The request is not valid: {error}", [Fault(str(error), parameter=error.field)]) from None
    except LearnerError as error:
        raise unfit(error) from None
    listed = [
        {"column": one.column, "importance": one.mean, "standard_error": one.standard_error}
        | ({} if wanted.repeats > 1 else {"standard_error": None})
        for one in found
    ]
    return model.identity.to_json() | {
        "kind": "permutation",
        "metric": wanted.metric or default_metric(learner),
        "repeats": wanted.repeats,
        "seed": wanted.seed,
        "dataset": read.to_json(),
        "n_rows": len(rows),
        "importances": listed,
    }


class _Turns:
    """The rows, and then those of all shuffles, in parts."""

    def __init__(self, model: ServedModel, n_rows: int, repeats: int) -> None:
        self._first = model.rows_at_once
        count = n_rows * (1 + len(model.learner.columns_) * repeats)
        self._amount = Amount("answers", "n_rows", count=count, asked=n_rows)

    def of(self, rows: int) -> Iterator[slice]:
        """So many more rows."""
        if self._amount.before:
            pause(0, rows, self._amount)
        yield from parts(rows, self._first, self._amount)
        self._amount = replace(self._amount, before=self._amount.before + rows)


def _drawn(read: StoredRows, wanted: Shuffled) -> IntArray:
    """The rows by which the model is judged, ascending: those with a target and a weight, or some of them."""
    usable = np.flatnonzero(~np.isnan(read.truth) & (read.weights > 0))
    if not len(usable):
        message = "no row of the dataset has a target that the model knows and a weight above 0"
        raise Invalid(f"The dataset does not fit: {message}", [Fault(message, parameter="dataset")])
    if wanted.n_rows is None or wanted.n_rows >= len(usable):
        return usable
    drawn: IntArray = np.random.default_rng(wanted.seed).choice(usable, wanted.n_rows, replace=False)
    return np.sort(drawn)


def _check_work(n_answers: int, n_columns: int, model: ServedModel, wanted: Shuffled) -> None:
    most = MAX_ANSWERS if isinstance(model.learner, FittedTree) else MAX_SLOW_ANSWERS
    if n_answers <= most:
        return
    n_rows = most // (n_columns * wanted.repeats)
    raise TooLarge(
        f"The model would have to answer {n_answers} rows, and at most {most} are answered for one request; with "
        f"{n_columns} columns and {wanted.repeats} repeats give n_rows up to {n_rows}, which are drawn by the seed",
        [Fault("too many rows", parameter="n_rows", allowed=n_rows)],
    )
