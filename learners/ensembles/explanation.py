"""The reasons of ensembles: each member's vote, or of stumps what each column adds to the votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from learners.conditions import name_text, scalar_text
from learners.explanation import Explanation, PathExplanation
from learners.types import FloatArray, Scalar

#: Columns and classes that a text names; a record holds all.
_SHOWN = 5


@dataclass(frozen=True)
class ColumnVotes:
    """What the stumps on one column vote for.

    Attributes:
        column: its name; ``None`` of members without a test.
        observed: the row's value; ``None`` where it is missing or unseen.
        state: ``known``, ``missing`` or ``unseen``.
        members: how many stumps test the column.
        votes: by class, the share of all votes' weight that they give it.
        margin: how much they add to the margin.
    """

    column: str | None
    observed: Scalar | None
    state: Literal["known", "missing", "unseen"]
    members: int
    votes: tuple[float, ...]
    margin: float

    def to_json(self, labels: tuple[Scalar, ...]) -> dict[str, Any]:
        return {
            "column": self.column,
            "observed": self.observed,
            "state": self.state,
            "members": self.members,
            "votes": _by_label(labels, self.votes),
            "margin": self.margin,
        }

    def text(self) -> str:
        if self.column is None:
            return f"without a test: {self.margin:+.4f}"
        value = scalar_text(self.observed) if self.state == "known" else self.state
        return f"{name_text(self.column)} = {value}: {self.margin:+.4f}"


@dataclass(frozen=True)
class AdditiveExplanation:
    """The exact sum over the columns that boosted stumps are.

    Attributes:
        labels: the classes.
        answer: the class of most votes.
        against: the class of the next most; ``None`` if there is one class only.
        margin: the answer's votes less those, as a share of all; the columns' margins sum to it.
        weight: of all votes, the sum of the members' alphas.
        columns: the largest margin first, by its magnitude.
    """

    labels: tuple[Scalar, ...]
    answer: Scalar
    against: Scalar | None
    margin: float
    weight: float
    columns: tuple[ColumnVotes, ...]

    @property
    def kind(self) -> Literal["additive"]:
        return "additive"

    @property
    def n_tests(self) -> int:
        return len(self.columns)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "answer": self.answer,
            "against": self.against,
            "margin": self.margin,
            "weight": self.weight,
            "columns": [one.to_json(self.labels) for one in self.columns],
        }

    def text(self) -> str:
        """The columns that add most to the margin."""
        shown = "; ".join(one.text() for one in self.columns[:_SHOWN])
        more = f"; {len(self.columns) - _SHOWN} more" if len(self.columns) > _SHOWN else ""
        return f"{scalar_text(self.answer)} by a margin of {self.margin:.4f} = {shown}{more}"

    def replayed(self) -> FloatArray:
        return np.asarray(np.sum([one.votes for one in self.columns], axis=0))


@dataclass(frozen=True)
class MemberVote:
    """One member's part in an answer.

    Attributes:
        member: its number, from 0 on.
        weight: its share of all members' weight.
        leaf: the node of its own tree that answers, that of the largest share where the row is divided; ``None``
            of a member that is no tree.
        shares: class shares, or for a vote 1 for one class; empty for regression.
        value: of a regression.
    """

    member: int
    weight: float
    leaf: int | None
    shares: tuple[float, ...]
    value: float | None

    def to_json(self, labels: tuple[Scalar, ...], *, hard: bool) -> dict[str, Any]:
        record: dict[str, Any] = {"member": self.member, "weight": self.weight, "leaf": self.leaf}
        if self.value is not None:
            return record | {"value": self.value}
        label = labels[int(np.argmax(self.shares))]
        return record | {"label": label} | ({} if hard else {"distribution": _by_label(labels, self.shares)})


@dataclass(frozen=True)
class MemberPath:
    """The way of the row through one member's own tree."""

    member: int
    path: PathExplanation

    def to_json(self) -> dict[str, Any]:
        return {"member": self.member, **self.path.to_json()}


@dataclass(frozen=True)
class MemberReason:
    """Why one member that is no tree of the ensemble's own votes as it does, in its own words."""

    member: int
    reason: Explanation

    def to_json(self) -> dict[str, Any]:
        return {"member": self.member, **self.reason.to_json()}


@dataclass(frozen=True)
class VotesExplanation:
    """Every member's vote, and the paths or reasons of those that the answer owes most.

    Attributes:
        labels: the classes; empty for regression.
        hard: whether a member votes for one class, not with its shares.
        votes: in the members' order.
        paths: of a few members, if these are trees.
        reasons: of a few members, if these are other learners.
    """

    labels: tuple[Scalar, ...]
    hard: bool
    votes: tuple[MemberVote, ...]
    paths: tuple[MemberPath, ...] = ()
    reasons: tuple[MemberReason, ...] = ()

    @property
    def kind(self) -> Literal["votes"]:
        return "votes"

    @property
    def n_tests(self) -> int:
        told = [one.path.n_tests for one in self.paths] + [one.reason.n_tests for one in self.reasons]
        return len(self.votes) + sum(told)

    def replayed(self) -> FloatArray:
        answers = [one.shares if one.value is None else one.value for one in self.votes]
        return np.asarray(np.array([one.weight for one in self.votes]) @ np.array(answers))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "votes": [one.to_json(self.labels, hard=self.hard) for one in self.votes],
            **(
                {"reasons": [one.to_json() for one in self.reasons]}
                if self.reasons
                else {"paths": [one.to_json() for one in self.paths]}
            ),
        }

    def text(self) -> str:
        """How the members are divided."""
        if not self.labels:
            values = [one.value for one in self.votes if one.value is not None]
            return f"{len(values)} members say {min(values):.6g} to {max(values):.6g}; together {self.replayed():.6g}"
        ranked = sorted(zip(self.replayed().tolist(), range(len(self.labels)), strict=True), key=lambda one: -one[0])
        shown = ", ".join(f"{scalar_text(self.labels[code])} {share:.4f}" for share, code in ranked[:_SHOWN])
        return f"{len(self.votes)} members vote: {shown}"


def _by_label(labels: tuple[Scalar, ...], shares: tuple[float, ...] | list[float]) -> list[dict[str, Any]]:
    return [{"label": label, "share": share} for label, share in zip(labels, shares, strict=True)]
