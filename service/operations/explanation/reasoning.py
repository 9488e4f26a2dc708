"""What the answers about counterfactuals and questions have in common: rows in, one record a row out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from learners._accel import uncompiled
from learners.base import Classifier, Learner
from learners.errors import LearnerError, ParameterError
from learners.rules.fitted import FittedRules
from learners.table import Table
from learners.trees.estimator import FittedTree
from service.errors import Conflict, Fault, Invalid, ServiceError, TooLarge
from service.operations.predict import MAX_NAMES, refuse_if_all_bad, tell_unseen, with_faults
from service.operations.rows import Encoded, Options, encode_records, missing_columns
from service.operations.served import ServedModel

#: Most rows of one request.
MAX_ROWS = 100
#: Most rows times nodes of the tree: some seconds of work.
MAX_WORK = 1_000_000
#: The same of a tree with tests of several values, whose leaves are looked at one by one.
MAX_COMBINED_WORK = 50_000
#: Most labels that the conditions of one answer may name: some 20 MB.
MAX_LABELS = 1_000_000

Describe = Callable[[Fault], dict[str, Any]]
#: From the table of the good rows to a record for each.
Reason = Callable[[Table], list[dict[str, Any]]]


@dataclass(frozen=True)
class Rows:
    """Rows as they were sent, how they are read, and what is wrong with numbers in them, by row."""

    rows: Sequence[Any]
    unseen: Literal["reject", "missing", "other"] = "other"
    strict: bool = False
    bad_numbers: Mapping[int, list[Fault]] = field(default_factory=dict)


def reason_about(model: ServedModel, sent: Rows, describe: Describe, reason: Reason, n_told: int = 0) -> dict[str, Any]:
    """The whole answer: each row's own answer with what is to be said of it, or its error.

    Args:
        model: which answers.
        sent: its rows.
        describe: how faults of rows are written.
        reason: what is to be said of the good rows.
        n_told: of each row so many sets of conditions are told, which may name every level.

    Raises:
        TooLarge: too many rows. Invalid: every row is bad, or an option is. Conflict: this cannot be told of the model.
    """
    _check_size(len(sent.rows), model.learner, n_told)
    options = Options(unseen=sent.unseen, strict=sent.strict)
    encoded = with_faults(encode_records(sent.rows, model.inputs, options), sent.bad_numbers)
    refuse_if_all_bad(encoded)
    good = [row for row in range(encoded.n_rows) if row not in encoded.faults]
    table = Table(encoded.columns or model.inputs.columns, np.asfortranarray(encoded.values[good]))
    with _in_terms_of_the_request(model), uncompiled():
        reasons = reason(table)
    for at, row in enumerate(good):
        if row in encoded.unseen and options.unseen == "other":
            tell_unseen(reasons[at], dict(encoded.unseen[row]))
    answers = _answers(model, table)
    warnings = warnings_of(encoded, model, options)
    by_row = {row: {"row": row, **answers[at], **reasons[at], **warnings.get(row, {})} for at, row in enumerate(good)}
    for row, faults in encoded.faults.items():
        error = {"title": Invalid.title, "errors": [describe(one) for one in faults[:20]], "errors_total": len(faults)}
        by_row[row] = {"row": row, "error": error}
    answer = model.identity.to_json()
    if model.decision is not None:
        answer["decision"] = model.decision.told
    answer |= {"rows": [by_row[row] for row in range(encoded.n_rows)]}
    for name, columns in (("ignored_columns", encoded.ignored), ("absent_columns", encoded.absent)):
        if columns:
            answer[name] = columns[:MAX_NAMES]
        if len(columns) > MAX_NAMES:
            answer[f"{name}_total"] = len(columns)
    return answer | {"summary": {"rows": encoded.n_rows, "failed": len(encoded.faults)}}


def tree_of(model: ServedModel, why: str) -> FittedTree:
    """The model's tree.

    Args:
        model: whose.
        why: what of other models stands against it.

    Raises:
        Conflict: it is none.
    """
    if not isinstance(model.learner, FittedTree):
        message = f"{model.learner.name} is no tree: {why}"
        raise Conflict(f"This is told of trees only: {message}", [Fault(message, parameter="ref")])
    return model.learner


def _check_size(n_rows: int, learner: Learner, n_told: int) -> None:
    size, tested = _size_of(learner)
    combined = isinstance(learner, FittedTree) and len(learner.tree_.combined) > 0
    work = MAX_COMBINED_WORK if combined else MAX_WORK
    n_labels = n_told * sum(len(learner.columns_[feature].levels) for feature in tested)
    most = max(1, min(MAX_ROWS, work // size, MAX_LABELS // max(n_labels, 1)))
    if n_rows > most:
        raise TooLarge(
            f"The request has {n_rows} rows; of this model, of {size} nodes or conditions, at most {most} are answered "
            "at once",
            [Fault("too many rows", parameter="rows", allowed=most)],
        )


def _size_of(learner: Learner) -> tuple[int, list[int]]:
    """The number of nodes of a tree or conditions of rules, and the columns that they test."""
    if isinstance(learner, FittedTree):
        features = learner.tree_.feature
    elif isinstance(learner, FittedRules):
        features = learner.ordered_rules_.feature
    else:
        return 1, []
    of_table = (features >= 0) & (features < len(learner.columns_))  # others are tests of several values
    return max(len(features), 1), np.unique(features[of_table]).tolist()


@contextmanager
def _in_terms_of_the_request(model: ServedModel) -> Iterator[None]:
    """Turn the library's refusals into those of a request."""
    try:
        yield
    except LearnerError as error:
        raise refusal(model, error) from None


def refusal(model: ServedModel, error: LearnerError) -> ServiceError:
    """The problem for what the library refused: an option, or the model itself."""
    if not isinstance(error, ParameterError):
        return Conflict(f"This cannot be told of the model: {error}", [Fault(str(error), parameter="ref")])
    field = error.field or "body"
    parameter, _, column = field.partition(".")
    allowed: Any = None
    if parameter == "wanted" and model.identity.task == "classification":
        allowed = list(model.identity.classes)
    elif not column and parameter in ("fixed", "directions", "costs", "allowed"):
        allowed = [one.name for one in model.inputs.columns]
    fault = Fault(str(error), parameter=field, column=column or None, allowed=allowed)
    return Invalid(f"The request is not valid: {error}", [fault])


def _answers(model: ServedModel, table: Table) -> list[dict[str, Any]]:
    if not table.n_rows:
        return []
    numbers = model.numbers(table)
    if not isinstance(model.learner, Classifier):
        return [{"value": value} for value in numbers[:, 0].tolist()]
    pairs = zip(model.decided(numbers), numbers.tolist(), strict=True)
    return [label | {"probabilities": row} for label, row in pairs]


def warnings_of(encoded: Encoded, model: ServedModel, options: Options) -> dict[int, dict[str, Any]]:
    """By row, what had to be assumed of it."""
    missing = missing_columns(encoded, model.inputs.columns)
    found: dict[int, dict[str, Any]] = {}
    for row in sorted({*missing, *encoded.unseen} - encoded.faults.keys()):
        warnings: list[dict[str, Any]] = [
            {"kind": "unseen", "column": name, "value": value, "treated_as": options.unseen}
            for name, value in encoded.unseen.get(row, ())
        ]
        if row in missing:
            warnings.append({"kind": "missing", "columns": missing[row][:MAX_NAMES]})
        found[row] = {"warnings": warnings}
    return found
