"""Why an ensemble of trees answered as it did."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from learners.decisions import decide
from learners.ensembles.explanation import (
    AdditiveExplanation,
    ColumnVotes,
    MemberPath,
    MemberVote,
    VotesExplanation,
)
from learners.ensembles.members import MemberTrees
from learners.explanation import Explanation
from learners.table import UNSEEN, Column
from learners.trees.cells import by_column
from learners.trees.paths import explain_reached, told_tests
from learners.types import FloatArray, IntArray, Scalar

#: Paths of so many members are told.
MOST_PATHS = 3
#: Rows whose reasons are made together, and nodes that rows with unknown values may reach together; it bounds the
#: memory.
_ROWS_AT_ONCE, _NODES_AT_ONCE = 256, 2_000_000


def explain_votes(
    members: MemberTrees, weights: FloatArray, values: FloatArray, labels: tuple[Scalar, ...], *, hard: bool
) -> list[Explanation]:
    """Every member's vote for each row, and the paths of the members that the answer owes most.

    Args:
        weights: of the members, summing to 1.
        values: shape (n, d).
        labels: of the classes; empty for regression.
        hard: see :meth:`~learners.ensembles.members.MemberTrees.answers`.
    """
    found: list[Explanation] = []
    for cells in _in_parts(members, values):
        answers, leaves = members.each(cells, hard=hard), members.leaves(cells)
        for row, paths in enumerate(_paths(members, weights, cells, answers, labels)):
            votes = tuple(
                MemberVote(m, float(weights[m]), int(leaves[m, row]), *said(answers[m, row].tolist(), labels))
                for m in range(len(members))
            )
            found.append(VotesExplanation(labels, hard, votes, paths))
    return found


def votes_sizes(
    members: MemberTrees, weights: FloatArray, values: FloatArray, labels: tuple[Scalar, ...], *, hard: bool
) -> Iterator[IntArray]:
    """How many votes and tests the reason of each row holds, of some rows at a time, without writing any.

    Args:
        members, weights, values, labels, hard: as for :func:`explain_votes`.
    """
    for cells in _in_parts(members, values):
        rows, asked, reached = _reached(members, weights, cells, members.each(cells, hard=hard), labels)
        found = np.full(cells.shape[1], len(members), np.int64)
        depths = members.nodes.depth
        told = [
            told_tests(depths[leaves + root], shares)
            for root, (leaves, shares) in zip(members.bounds[asked].tolist(), reached, strict=True)
        ]
        np.add.at(found, rows, np.array(told, np.int64))
        yield found


def _in_parts(members: MemberTrees, values: FloatArray) -> Iterator[FloatArray]:
    """The cells by column of so many rows at a time as are looked at together; values of shape (n, d)."""
    with_levels = np.array([not column.is_numeric for column in members.columns])
    first = 0
    while first < len(values):
        part = values[first : first + _ROWS_AT_ONCE]
        unknown = (np.isnan(part) | (with_levels & (part < 0))).any(axis=1)
        # each row with an unknown value may reach every leaf of every member
        n_together = int(np.searchsorted(np.cumsum(unknown) * members.nodes.n_nodes, _NODES_AT_ONCE, side="right"))
        part = part[: max(1, n_together)]
        yield by_column(part)
        first += len(part)


def said(answer: list[float], labels: tuple[Scalar, ...]) -> tuple[tuple[float, ...], float | None]:
    """A member's answer as its vote tells it: class shares, or a number."""
    return (tuple(answer), None) if labels else ((), answer[0])


def heaviest(answers: FloatArray, weights: FloatArray, labels: tuple[Scalar, ...]) -> list[int]:
    """The members that give most weight to the answer, or whose number is nearest to it; the first of equal ones."""
    total = weights @ answers
    worth = weights * answers[:, int(np.argmax(total))] if labels else -np.abs(answers[:, 0] - total[0])
    order: list[int] = np.argsort(-worth, kind="stable")[:MOST_PATHS].tolist()
    return order


def _paths(
    members: MemberTrees, weights: FloatArray, cells: FloatArray, answers: FloatArray, labels: tuple[Scalar, ...]
) -> list[tuple[MemberPath, ...]]:
    """Of each row the paths of its heaviest members."""
    found: list[list[MemberPath]] = [[] for _ in range(cells.shape[1])]
    rows, asked, reached = _reached(members, weights, cells, answers, labels)
    for row, member, ends in zip(rows.tolist(), asked.tolist(), reached, strict=True):
        found[row].append(_path(members, member, cells[:, row].copy(), labels, *ends))
    return [tuple(paths) for paths in found]


def _reached(
    members: MemberTrees, weights: FloatArray, cells: FloatArray, answers: FloatArray, labels: tuple[Scalar, ...]
) -> tuple[IntArray, IntArray, list[tuple[IntArray, FloatArray]]]:
    """Rows with their heaviest members, and the leaves that each such pair reaches; all of them walk together."""
    of_rows = [heaviest(answers[:, row], weights, labels) for row in range(cells.shape[1])]
    rows = np.repeat(np.arange(len(of_rows)), [len(of_row) for of_row in of_rows])
    asked = np.array([m for of_row in of_rows for m in of_row])
    return rows, asked, members.reached(cells, rows, asked)


def _path(
    members: MemberTrees,
    member: int,
    row: FloatArray,
    labels: tuple[Scalar, ...],
    leaves: IntArray,
    shares: FloatArray,
) -> MemberPath:
    answers = members.packed.answers[members.bounds[member] : members.bounds[member + 1]]
    path = explain_reached(members.tree(member), answers, members.columns, row, labels or None, leaves, shares)
    return MemberPath(member, path)


def explain_columns(
    members: MemberTrees,
    weights: FloatArray,
    total: float,
    values: FloatArray,
    labels: tuple[Scalar, ...],
    *,
    hard: bool,
) -> list[Explanation]:
    """Of stumps that vote, what each column adds to each row's votes.

    Args:
        weights: of the members, summing to 1; ``total`` is the sum before.
        values: shape (n, d).
        labels: of the classes.
        hard: see :meth:`~learners.ensembles.members.MemberTrees.answers`.
    """
    found: list[Explanation] = []
    feature = members.nodes.feature[members.roots].astype(np.int64)
    used, place = np.unique(feature, return_inverse=True)
    counts = np.bincount(place)
    for first in range(0, len(values), _ROWS_AT_ONCE):
        part = values[first : first + _ROWS_AT_ONCE]
        votes = members.each(by_column(part), hard=hard) * weights[:, None, None]
        by_used = np.zeros((len(used), *votes.shape[1:]))
        np.add.at(by_used, place, votes)
        found += [
            _of_row(members.columns, used, counts, by_used[:, row], part[row], total, labels)
            for row in range(len(part))
        ]
    return found


def _of_row(
    columns: tuple[Column, ...],
    used: IntArray,
    counts: IntArray,
    votes: FloatArray,
    row: FloatArray,
    total: float,
    labels: tuple[Scalar, ...],
) -> AdditiveExplanation:
    sums = votes.sum(axis=0)
    answer = int(decide(sums[None])[0])
    others = [code for code in np.argsort(-sums, kind="stable").tolist() if code != answer]
    against = others[0] if others else None
    margins = votes[:, answer] - (votes[:, against] if against is not None else 0.0)
    listed = tuple(
        ColumnVotes(*_cell(columns, int(used[i]), row), int(counts[i]), tuple(votes[i].tolist()), float(margins[i]))
        for i in np.argsort(-np.abs(margins), kind="stable").tolist()
    )
    other = None if against is None else labels[against]
    return AdditiveExplanation(labels, labels[answer], other, float(margins.sum()), total, listed)


def _cell(
    columns: tuple[Column, ...], index: int, row: FloatArray
) -> tuple[str | None, Scalar | None, Literal["known", "missing", "unseen"]]:
    """A column's name and what the row has there."""
    if index < 0:
        return None, None, "known"
    column, cell = columns[index], float(row[index])
    if math.isnan(cell):
        return column.name, None, "missing"
    if not column.is_numeric and cell == UNSEEN:
        return column.name, None, "unseen"
    return column.name, column.decode(cell), "known"
