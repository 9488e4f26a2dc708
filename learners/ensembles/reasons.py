"""Why an ensemble of trees answered as it did."""

from __future__ import annotations

import math
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
from learners.trees.paths import explain_reached
from learners.trees.setup import by_column
from learners.types import FloatArray, IntArray, Scalar

#: Paths of so many members are told.
MOST_PATHS = 3
#: Rows whose reasons are made together.
_ROWS_AT_ONCE = 256


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
    for first in range(0, len(values), _ROWS_AT_ONCE):
        cells = by_column(values[first : first + _ROWS_AT_ONCE])
        answers, leaves = members.each(cells, hard=hard), members.leaves(cells)
        for row, paths in enumerate(_paths(members, weights, cells, answers, labels)):
            votes = tuple(
                MemberVote(m, float(weights[m]), int(leaves[m, row]), *_said(answers[m, row].tolist(), labels))
                for m in range(len(members))
            )
            found.append(VotesExplanation(labels, hard, votes, paths))
    return found


def _said(answer: list[float], labels: tuple[Scalar, ...]) -> tuple[tuple[float, ...], float | None]:
    return (tuple(answer), None) if labels else ((), answer[0])


def _heaviest(answers: FloatArray, weights: FloatArray, labels: tuple[Scalar, ...]) -> list[int]:
    """The members that give most weight to the answer, or whose number is nearest to it; the first of equal ones."""
    total = weights @ answers
    worth = weights * answers[:, int(np.argmax(total))] if labels else -np.abs(answers[:, 0] - total[0])
    order: list[int] = np.argsort(-worth, kind="stable")[:MOST_PATHS].tolist()
    return order


def _paths(
    members: MemberTrees, weights: FloatArray, cells: FloatArray, answers: FloatArray, labels: tuple[Scalar, ...]
) -> list[tuple[MemberPath, ...]]:
    """Of each row the paths of its heaviest members; all rows and members walk together."""
    heaviest = [_heaviest(answers[:, row], weights, labels) for row in range(cells.shape[1])]
    rows = np.repeat(np.arange(len(heaviest)), [len(of_row) for of_row in heaviest])
    reached = iter(members.reached(cells, rows, np.array([m for of_row in heaviest for m in of_row])))
    return [
        tuple(_path(members, m, cells[:, row].copy(), labels, *next(reached)) for m in of_row)
        for row, of_row in enumerate(heaviest)
    ]


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
