"""Rules of a small tree in place of a model, with how faithful it is."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

import numpy as np

from learners._accel import uncompiled
from learners.base import Classifier
from learners.errors import LearnerError
from learners.preprocessing.step_facts import step_facts
from learners.rules.access import rules_of
from learners.surrogate import surrogate_of
from learners.types import IntArray
from service.errors import Fault, Invalid, TooLarge
from service.operations.explanation.rules import pause_among_rules
from service.operations.long_work import Amount, parts
from service.operations.served import ServedModel
from service.operations.stored_rows import Shelf, StoredRows, read_stored, unfit

#: Cells from which a tree is grown at most, without a compiler: about two seconds of work.
MAX_CELLS = 15_000
#: Fewer rows tell too little of a model.
_LEAST_ROWS = 50


def surrogate_rules(
    shelf: Shelf, model: ServedModel, dataset_id: str | None, max_rules: int, *, simplify: bool
) -> dict[str, Any]:
    """The version, the rules of a tree fitted to its answers to stored rows, and how faithful these are.

    Args:
        shelf: where to look.
        model: in whose place.
        dataset_id: whose rows; None for those that the version learned from. Of many some are drawn.
        max_rules: leaves of the tree at most.
        simplify: see :func:`learners.rules.access.rules_of`.

    Raises:
        NotFound: there is no such dataset. TooLarge: it has too many cells, or the model too many columns.
        Invalid: the dataset does not fit the model, or fewer than 2 of its rows count.
    """
    read = read_stored(shelf, model, dataset_id)
    try:
        asked = model.learner.check_table(read.table)
        rows = _drawn(read, step_facts(asked.take(np.zeros(0, np.int64))).n_columns)
        with uncompiled():
            division = partial(parts, first=model.rows_at_once, amount=Amount(parameter="dataset"))
            found = surrogate_of(model.learner, asked.take(rows), max_leaves=max_rules, division=division)
    except LearnerError as error:
        raise unfit(error) from None
    rules = rules_of(found.tree, simplify=simplify, pause=pause_among_rules)
    told = {
        "dataset": read.to_json(),
        "n_rows": len(rows),
        "measure": "agreement" if isinstance(model.learner, Classifier) else "r_squared",
        "fidelity": found.fidelity,
        "judged_rows": found.rows,
    }
    page = {"n_rules": len(rules.rules), "next_cursor": None}
    return model.identity.to_json() | rules.to_json() | page | {"surrogate": told}


def _drawn(read: StoredRows, n_columns: int) -> IntArray:
    """The rows that count, ascending; of many as many as are quickly learned from, always the same."""
    usable = np.flatnonzero(read.weights > 0)
    most = MAX_CELLS // n_columns
    if len(usable) <= most:
        return usable
    if most < _LEAST_ROWS:
        allowed = MAX_CELLS // _LEAST_ROWS
        message = f"a surrogate is learned from at most {allowed} columns for one request; the model has {n_columns}"
        raise TooLarge(message, [Fault("too many columns", parameter="surrogate", allowed=allowed)])
    drawn: IntArray = np.sort(np.random.default_rng(0).choice(usable, most, replace=False))
    return drawn


def refuse_as_text(rule_format: str) -> NoReturn:
    """Raise :class:`Invalid`: a surrogate's rules come with their fidelity."""
    message = f"a surrogate's rules come with their fidelity, as JSON, not as {rule_format}"
    raise Invalid(
        f"The request is not valid: {message}", [Fault(message, parameter="surrogate", allowed="format=json")]
    )
