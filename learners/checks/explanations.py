"""Checks that an explanation is the reason: what it says, done again, gives the same answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import numpy as np

from learners.base import Classifier, Learner
from learners.checks import samples
from learners.checks.require import MakeLearner, answers, require, require_close, require_json
from learners.conditions import Condition, CountCondition, SumCondition
from learners.decisions import TIE
from learners.explanation import Branch, Explanation, Judgement, PathExplanation, Replaying, RuleExplanation, Step
from learners.linear_function import LinearBranch
from learners.table import UNSEEN, Column, Table
from learners.types import Array, Scalar


def explanation_replays_to_the_answer(make: MakeLearner) -> None:
    """Also for some rows with each cell blanked, and with unseen levels, where the learner takes them."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    for table in _variants(model, sample.table):
        explanations = model.explain(table)
        require(len(explanations) == table.n_rows, "not one explanation a row")
        replayed = np.array([_replay(model, table, row, one) for row, one in enumerate(explanations)])
        require_close(replayed, answers(model, table), "explanations done again")


def explanation_is_json_of_a_declared_kind(make: MakeLearner) -> None:
    """Each record is strict JSON, has a text, and is of a kind that the capabilities name."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    for explanation in model.explain(sample.table):
        require(explanation.kind in model.capabilities.explanations, f"kind {explanation.kind!r} is not declared")
        record = explanation.to_json()
        require_json(record, "an explanation")
        require(record["kind"] == explanation.kind, "the JSON does not tell its kind")
        require(explanation.text(), "an explanation has no text")


def reason_is_the_same_in_any_company(make: MakeLearner) -> None:
    """A row has the same reason, to the bit, alone, among others, and among others in another order."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    rows = np.arange(sample.table.n_rows)
    wanted = _records(model, sample.table, rows)
    for row in rows:
        require(_records(model, sample.table, rows[row : row + 1]) == wanted[row : row + 1], f"row {row} alone differs")
    turned = np.random.default_rng(0).permutation(rows)
    for some in (turned, turned[: len(rows) // 2]):
        found = _records(model, sample.table, some)
        require(found == [wanted[row] for row in some], "a row among others, or in another order, has another reason")


def _records(model: Learner, table: Table, rows: Array) -> list[tuple[str, str]]:
    """The reasons of some rows as they are told: numbers by all their digits."""
    return [(json.dumps(one.to_json()), one.text()) for one in model.explain(table.take(rows))]


def _variants(model: Learner, table: Table) -> list[Table]:
    """The table, and every third of its rows with a cell that is missing or unseen, for each column."""
    found, some = [table], table.take(np.arange(0, table.n_rows, 3))
    for index, column in enumerate(table.columns):
        if model.capabilities.missing:
            found.append(_with_cells(some, index, np.nan))
        if not column.is_numeric:
            found.append(_with_cells(some, index, UNSEEN))
    return found


def _with_cells(table: Table, index: int, cell: float) -> Table:
    values = table.values.copy()
    values[:, index] = cell
    return Table(table.columns, values)


def _replay(model: Learner, table: Table, row: int, explanation: Explanation) -> Array:
    if isinstance(explanation, RuleExplanation):
        return _replay_rule(table, row, explanation)
    if isinstance(explanation, Replaying):
        return explanation.replayed()
    require(isinstance(explanation, PathExplanation), f"nothing is known of the kind {explanation.kind!r}")
    return _replay_paths(model, table, row, cast("PathExplanation", explanation))


def _replay_paths(model: Learner, table: Table, row: int, explanation: PathExplanation) -> Array:
    branches = explanation.branches
    require(abs(sum(branch.weight for branch in branches) - 1) <= 1e-9, "the branches' weights do not sum to 1")
    weights = [branch.weight for branch in branches]
    require(weights == sorted(weights, reverse=True), "the heaviest branch does not come first")
    for branch in branches:
        _check_steps(branch.steps, table, row)
    answer: Array = np.sum([branch.weight * _leaf_answer(model, branch) for branch in branches], axis=0)
    return answer


def _replay_rule(table: Table, row: int, explanation: RuleExplanation) -> Array:
    """Every condition of the rule holds, and none does of those named of earlier rules."""
    require(explanation.is_default == (not explanation.conditions), "a rule without conditions is the default alone")
    require(
        len(explanation.failed) + explanation.omitted == explanation.rank - 1, "an earlier rule is not accounted for"
    )
    for judgement in explanation.conditions:
        require(_judge(judgement, table, row), f"row {row}: {judgement.condition.text()} does not hold")
    for earlier in explanation.failed:
        require(not _judge(earlier.failed, table, row), f"row {row}: {earlier.failed.condition.text()} holds")
    shares = np.array([share for _, share in explanation.distribution])
    said = dict(explanation.distribution)
    require(explanation.confidence == said[explanation.answer], "the confidence is not the answer's probability")
    require(explanation.confidence >= shares.max() - TIE, "the answer is not the likeliest class")
    return shares


def _judge(judgement: Judgement, table: Table, row: int) -> bool:
    """Whether a condition holds for the row, whose value and state must be as it says."""
    if not isinstance(judgement.condition, Condition):
        return _decided(judgement.condition, table, row) is True
    index = table.position(judgement.condition.column)
    column, cell = table.columns[index], float(table.values[row, index])
    state = "missing" if np.isnan(cell) else "unseen" if not column.is_numeric and cell == UNSEEN else "known"
    observed = column.decode(cell)
    require(judgement.observed == observed and judgement.state == state, f"row {row}: {column.name} is {observed!r}")
    if observed is None:  # nothing holds of a value that is not known, but that an unseen level is none of the known
        return state == "unseen" and judgement.condition.operator == "not in"
    return _holds(judgement.condition, column, observed)


def _leaf_answer(model: Learner, branch: Branch) -> Array:
    if not isinstance(model, Classifier):
        require(branch.value is not None, "a branch has no value")
        if isinstance(branch, LinearBranch):
            _check_contributions(branch)
        return np.array(branch.value)
    require(branch.distribution is not None, "a branch has no distribution")
    labels, shares = zip(*branch.distribution or (), strict=True)
    require(labels == model.target_.labels, f"a branch's labels are {labels}, not the classes")
    return np.array(shares)


def _check_contributions(branch: LinearBranch) -> None:
    """Intercept and contributions, added in their order, are the value."""
    total = branch.function.intercept
    require(len(branch.contributions) == len(branch.function.terms), "not one contribution a term")
    for contribution in branch.contributions:
        total += contribution.amount
    require(total == branch.value, f"the contributions add up to {total}, the value is {branch.value}")


def _check_steps(steps: Sequence[Step], table: Table, row: int) -> None:
    for step in steps:
        if not isinstance(step.condition, Condition):
            said, wanted = _decided(step.condition, table, row), True if step.state == "known" else None
            require(said is wanted, f"row {row}: {step.condition.text()} is {said}, but its value is {step.state}")
            continue
        index = table.position(step.condition.column)
        column, cell = table.columns[index], float(table.values[row, index])
        state = "missing" if np.isnan(cell) else "unseen" if not column.is_numeric and cell == UNSEEN else "known"
        observed = column.decode(cell)
        require(step.observed == observed, f"row {row}: observed {step.observed!r}, but the value is {observed!r}")
        if step.state == "known":
            require(state == "known", f"row {row}: {column.name} is {state}, not known")
            holds = observed is not None and _holds(step.condition, column, observed)
            require(holds, f"row {row}: {step.condition.text()} does not hold for {observed!r}")
        else:
            # a known level that the node never saw decides as little as one that no row had
            require(step.state == state or not column.is_numeric, f"row {row}: {column.name} is {state}")


def _decided(condition: CountCondition | SumCondition, table: Table, row: int) -> bool | None:
    """Whether a test of several values holds of a row, by its words alone; ``None`` where it is not known."""
    if isinstance(condition, SumCondition):
        total = 0.0
        for name, weight in condition.weights:
            total += weight * float(table.values[row, table.position(name)])
        if np.isnan(total):
            return None
        return total <= condition.threshold if condition.operator == "<=" else total > condition.threshold
    terms = [_decided_alone(one, table, row) for one in condition.conditions]
    if terms.count(True) >= condition.need:
        return condition.holds
    return None if terms.count(True) + terms.count(None) >= condition.need else not condition.holds


def _decided_alone(condition: Condition, table: Table, row: int) -> bool | None:
    """The same of a test of one value; an unseen level is none of those named, and has no place in an order."""
    index = table.position(condition.column)
    column, cell = table.columns[index], float(table.values[row, index])
    if np.isnan(cell):
        return None
    if not column.is_numeric and cell == UNSEEN:
        return {"in": False, "not in": True}.get(condition.operator)
    value = column.decode(cell)
    return None if value is None else _holds(condition, column, value)


def _holds(condition: Condition, column: Column, value: Scalar) -> bool:
    if condition.operator in ("in", "not in"):
        texts = [column.level_text(member) for member in condition.values]
        return (column.level_text(value) in texts) == (condition.operator == "in")
    place = _place(column, value)
    if condition.operator == "interval":
        low = -np.inf if condition.low is None else _place(column, condition.low)
        high = np.inf if condition.high is None else _place(column, condition.high)
        return low < place <= high
    threshold = condition.threshold
    require(threshold is not None, f"{condition.operator} without a threshold")
    limit = _place(column, threshold) if threshold is not None else np.nan
    return place <= limit if condition.operator == "<=" else place > limit


def _place(column: Column, value: Scalar) -> float:
    """Where a value stands in the column's order."""
    return column.encode(value)
