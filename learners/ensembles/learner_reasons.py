"""Why an ensemble of learners of any kind answered as it did: every vote, and the own reasons of a few members."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from learners.base import Learner
from learners.ensembles.explanation import MemberReason, MemberVote, VotesExplanation
from learners.ensembles.member_learners import MemberLearners
from learners.ensembles.reasons import heaviest, said
from learners.explanation import Explanation
from learners.table import Table
from learners.trees.cells import by_column
from learners.types import FloatArray, IntArray, Scalar

#: Rows whose reasons are made together.
_ROWS_AT_ONCE = 256

#: Of some rows at a time the length of the reason of each, by a learner and the rows' values, shape (n, d).
Sizes = Callable[[Learner, FloatArray], Iterator[IntArray]]


def explain_votes_of(
    members: MemberLearners, weights: FloatArray, values: FloatArray, labels: tuple[Scalar, ...], *, hard: bool
) -> list[Explanation]:
    """Every member's vote for each row, and the reasons of the members that the answer owes most.

    Args:
        members, weights, values, labels, hard: as for :func:`~learners.ensembles.reasons.explain_votes`.
    """
    found: list[Explanation] = []
    for part, answers in _in_parts(members, values, hard=hard):
        reasons: list[list[MemberReason]] = [[] for _ in range(len(part))]
        for member, rows in _told(answers, weights, labels):
            asked = Table(members.columns, part[rows])
            for row, reason in zip(rows.tolist(), members.learners[member].explain(asked), strict=True):
                reasons[row].append(MemberReason(member, reason))
        for row in range(len(part)):
            order = {member: place for place, member in enumerate(heaviest(answers[:, row], weights, labels))}
            votes = tuple(
                MemberVote(m, float(weights[m]), None, *said(answers[m, row].tolist(), labels))
                for m in range(len(members))
            )
            ordered = tuple(sorted(reasons[row], key=lambda one: order[one.member]))
            found.append(VotesExplanation(labels, hard, votes, reasons=ordered))
    return found


def sizes_of_votes_of(
    members: MemberLearners,
    weights: FloatArray,
    values: FloatArray,
    labels: tuple[Scalar, ...],
    sizes: Sizes,
    *,
    hard: bool,
) -> Iterator[IntArray]:
    """How long the reason of each row is, of some rows at a time, without writing any.

    Args:
        members, weights, values, labels, hard: as for :func:`explain_votes_of`.
        sizes: of the members' own reasons.
    """
    for part, answers in _in_parts(members, values, hard=hard):
        found = np.full(len(part), len(members), np.int64)
        for member, rows in _told(answers, weights, labels):
            found[rows] += np.concatenate(list(sizes(members.learners[member], part[rows])))
        yield found


def _in_parts(members: MemberLearners, values: FloatArray, *, hard: bool) -> Iterator[tuple[FloatArray, FloatArray]]:
    for first in range(0, len(values), _ROWS_AT_ONCE):
        part = values[first : first + _ROWS_AT_ONCE]
        yield part, members.each(by_column(part), hard=hard)


def _told(answers: FloatArray, weights: FloatArray, labels: tuple[Scalar, ...]) -> Iterator[tuple[int, IntArray]]:
    """Each member whose reason some rows are told, with these rows, ascending."""
    of_rows = np.array([heaviest(answers[:, row], weights, labels) for row in range(answers.shape[1])])
    for member in np.unique(of_rows).tolist():
        yield member, np.flatnonzero((of_rows == member).any(axis=1))
