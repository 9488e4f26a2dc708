"""What a model's rules do on stored rows: support and confidence of each, and the rows of one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from learners.base import Learner
from learners.errors import LearnerError, quoted
from learners.reasons.support import rows_of_rule, supports
from learners.rules.rule import RuleSet
from learners.types import FloatArray, IntArray
from service.errors import Fault, Invalid, NotFound
from service.formats.table_file import rows
from service.operations.explanation.positions import decode_position
from service.operations.explanation.rules import Paging, page_json, rules_of_model
from service.operations.long_work import Amount, pause
from service.operations.served import ServedModel
from service.operations.stored_rows import Shelf, StoredRows, read_stored, unfit

_pause = partial(pause, amount=Amount(parameter="dataset"))


def rules_on(shelf: Shelf, model: ServedModel, dataset_id: str, paging: Paging) -> dict[str, Any]:
    """A page of the rules with what each does on the rows of a dataset.

    Raises:
        NotFound: there is no such dataset. Conflict: the model has no rules, or the cursor is of another version.
        Invalid: the dataset does not fit the model. TooLarge: it has too many cells. BadRequest: a bad cursor.
    """
    first = decode_position(model.identity, paging.cursor)
    rules = rules_of_model(model)
    read = read_stored(shelf, model, dataset_id)
    try:
        found = supports(model.learner, rules, read.table, read.truth, read.weights, _pause)
    except LearnerError as error:
        raise unfit(error) from None
    end = first + paging.limit
    page = replace(rules, rules=rules.rules[first:end]).to_json() | page_json(model, end, len(rules.rules))
    record = model.identity.to_json() | page | {"dataset": read.to_json()}
    for rule, support in zip(record["rules"], found[first:end], strict=True):
        rule["on_dataset"] = support.to_json()
    return record


def refuse_dataset(rule_format: str) -> NoReturn:
    """Raise :class:`Invalid`: figures of a dataset are given as JSON only."""
    message = f"figures on a dataset are given as JSON, not as {rule_format}"
    raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter="dataset", allowed="format=json")])


def refuse_simplified() -> NoReturn:
    """Raise :class:`Invalid`: figures of a dataset belong to rules as they are."""
    message = "figures on a dataset are given for the rules as they are, not simplified"
    raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter="simplify", allowed=[False])])


def rows_of(
    shelf: Shelf, model: ServedModel, rule_id: str, *, dataset_id: str | None, offset: int, limit: int
) -> dict[str, Any]:
    """Some of the rows that a rule answers.

    Args:
        shelf: where to look.
        model: whose rule.
        rule_id: as the rules have it.
        dataset_id: whose rows; None for those that the version learned from.
        offset, limit: which of the rule's rows are given.

    Raises:
        NotFound: there is no such rule or dataset. Conflict: the model has no rules.
        Invalid: the dataset does not fit the model. TooLarge: it has too many cells.
    """
    rules = rules_of_model(model)
    place = next((place for place, rule in enumerate(rules.rules) if rule.id == rule_id), None)
    if place is None:
        raise NotFound(
            f"{model.identity.name}:{model.identity.version} has no rule {quoted(rule_id)}; see its rules",
            [Fault("no such rule", parameter="rule_id", value=rule_id)],
        )
    read = read_stored(shelf, model, dataset_id)
    numbers, shares = _numbers(model.learner, rules, place, read)
    page = numbers[offset : offset + limit].tolist()
    values = {number: rows(read.table, number, 1)[0] for number in page}
    return {
        "model": model.identity.name,
        "version": model.identity.version,
        "rule": rules.rules[place].to_json(),
        "dataset": read.to_json(),
        "offset": offset,
        "total": len(numbers),
        "rows": [
            {"row": number, "share": share, "values": values[number]}
            for number, share in zip(page, shares[offset : offset + limit].tolist(), strict=True)
        ],
    }


def _numbers(learner: Learner, rules: RuleSet, place: int, read: StoredRows) -> tuple[IntArray, FloatArray]:
    try:
        numbers, shares = rows_of_rule(learner, rules, place, read.table, _pause)
    except LearnerError as error:
        raise unfit(error) from None
    counted = read.weights[numbers] > 0
    return numbers[counted], shares[counted]
