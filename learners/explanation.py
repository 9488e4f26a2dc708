"""The records in which every learner gives its reasons; ``kind`` tells them apart.

All are plain data: :meth:`to_json` gives JSON that holds no NaN and no numpy type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from learners.conditions import AnyCondition
from learners.types import FloatArray, Scalar


@dataclass(frozen=True)
class Bounds:
    """Where an answer may lie.

    Attributes:
        level: how often it should hold.
        method: ``wilson``, of the decided class's probability; ``student-t``, of a further number like those that the
            answer is made of.
    """

    low: float
    high: float
    level: float
    method: Literal["wilson", "student-t"]

    def to_json(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "level": self.level, "method": self.method}


@dataclass(frozen=True)
class Step:
    """One test met on the way down a tree.

    Attributes:
        node: id of the node that holds the test.
        condition: the test in the form in which the followed branch satisfies it.
        observed: the row's value; of a weighted sum the sum, of a formula how many of its conditions hold;
            ``None`` where missing or unseen.
        state: ``known``; ``missing`` or ``unseen`` where the value decided nothing.
        child: id of the node that the branch leads to.
        weight: share of the row that follows this branch (1 unless a value was missing).
    """

    node: int
    condition: AnyCondition
    observed: Scalar | None
    state: Literal["known", "missing", "unseen"]
    child: int
    weight: float

    def to_json(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "condition": self.condition.to_json(),
            "observed": self.observed,
            "state": self.state,
            "child": self.child,
            "weight": self.weight,
        }


@dataclass(frozen=True)
class Branch:
    """One way from the root to a leaf that some share of the row follows.

    Attributes:
        leaf: id of the leaf (the node in which the walk ended).
        weight: share of the row that ended here; the shares of all branches sum to 1.
        steps: the tests on the way, in order.
        rows: number of training rows in the leaf; their weight is ``training_weight``.
        distribution: class shares of the leaf by label, or ``None`` for regression.
        value: the leaf's mean for regression, else ``None``.
    """

    leaf: int
    weight: float
    steps: tuple[Step, ...]
    rows: int
    training_weight: float
    distribution: tuple[tuple[Scalar, float], ...] | None = None
    value: float | None = None

    def to_json(self, written: dict[int, dict[str, Any]] | None = None) -> dict[str, Any]:
        """A JSON object; steps that are in ``written`` by their child already are taken from there."""
        known = {} if written is None else written
        for step in self.steps:
            if step.child not in known:
                known[step.child] = step.to_json()
        record: dict[str, Any] = {
            "leaf": self.leaf,
            "weight": self.weight,
            "steps": [known[step.child] for step in self.steps],
            "rows": self.rows,
            "training_weight": self.training_weight,
        }
        if self.distribution is not None:
            record["distribution"] = [{"label": label, "share": share} for label, share in self.distribution]
        if self.value is not None:
            record["value"] = self.value
        return record


@dataclass(frozen=True)
class PathExplanation:
    """Why a tree answered as it did: the branches that the row followed, in the order of the traversal.

    One branch for a row with nothing missing; several with their weights where a test met a value
    that is missing or unseen. The answer is the weighted mean of the branches' leaves. A row can
    follow thousands of branches; of so many the heaviest are given, and ``omitted_branches`` and
    ``omitted_weight`` say what is left out.
    """

    branches: tuple[Branch, ...]
    omitted_branches: int = 0
    omitted_weight: float = 0.0
    kind: Literal["path"] = "path"

    @property
    def n_tests(self) -> int:
        """Number of tests on all branches that are given: the explanation's length."""
        return sum(len(branch.steps) for branch in self.branches)

    def to_json(self) -> dict[str, Any]:
        written: dict[int, dict[str, Any]] = {}
        record: dict[str, Any] = {"kind": self.kind, "branches": [one.to_json(written) for one in self.branches]}
        if self.omitted_branches:
            record["omitted"] = {"branches": self.omitted_branches, "weight": self.omitted_weight}
        return record

    def text(self) -> str:
        """One line a branch: the tests joined by "and"."""
        lines = []
        for branch in self.branches:
            tests = " and ".join(step.condition.text() for step in branch.steps) or "always"
            share = "" if branch.weight == 1 else f" (weight {branch.weight:.6g})"
            lines.append(f"{tests}{share}")
        if self.omitted_branches:
            lines.append(f"and {self.omitted_branches} lighter branches (weight {self.omitted_weight:.6g})")
        return "\n".join(lines)


@dataclass(frozen=True)
class Judgement:
    """A condition of a rule with the row's value.

    Attributes:
        condition: the test.
        observed: the row's value; ``None`` where missing or unseen.
        state: ``known``, ``missing`` or ``unseen``.
    """

    condition: AnyCondition
    observed: Scalar | None
    state: Literal["known", "missing", "unseen"]

    def to_json(self) -> dict[str, Any]:
        return {"condition": self.condition.to_json(), "observed": self.observed, "state": self.state}


@dataclass(frozen=True)
class FailedRule:
    """A rule that was asked before the one that answered, and the first of its conditions that did not hold."""

    rank: int
    rule: str
    failed: Judgement

    def to_json(self) -> dict[str, Any]:
        return {"rank": self.rank, "rule": self.rule, "failed": self.failed.to_json()}


@dataclass(frozen=True)
class RuleExplanation:
    """Why an ordered rule set answered as it did: the first rule that covers the row.

    Attributes:
        rank: its place among the rules, from 1 on; the default comes last.
        rule: its id.
        is_default: whether no rule covers the row, so that the default answered.
        answer: its class.
        conditions: its conditions, all of which hold, with the row's values; none of the default.
        rows: training rows that it covers; of the default those that no rule covers.
        support: their weight.
        confidence: the answer's probability, an estimate (see :mod:`learners.rules.ranking`).
        distribution: the class probabilities by label, estimates as well.
        counts: weight of the training rows by class, in the order of ``distribution``; their shares are plain.
        failed: rules that were asked before, in their order, each with its first condition that does not hold;
            of many only the first are given, and ``omitted`` is the number of the others.
        undecided: how many of all rules asked before failed on a value that is missing or unseen.
    """

    rank: int
    rule: str
    is_default: bool
    answer: Scalar
    conditions: tuple[Judgement, ...]
    rows: int
    support: float
    confidence: float
    distribution: tuple[tuple[Scalar, float], ...]
    counts: tuple[float, ...]
    failed: tuple[FailedRule, ...]
    omitted: int = 0
    undecided: int = 0
    kind: Literal["rule"] = "rule"

    @property
    def n_tests(self) -> int:
        """Number of conditions that are given: the explanation's length."""
        return len(self.conditions) + len(self.failed)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "rank": self.rank,
            "rule": self.rule,
            "default": self.is_default,
            "answer": self.answer,
            "conditions": [condition.to_json() for condition in self.conditions],
            "rows": self.rows,
            "support": self.support,
            "confidence": self.confidence,
            "distribution": [{"label": label, "share": share} for label, share in self.distribution],
            "counts": list(self.counts),
            "failed": [rule.to_json() for rule in self.failed],
            "omitted_failed": self.omitted,
            "undecided": self.undecided,
        }

    def text(self) -> str:
        """The conditions joined by "and", and how many rules were asked before."""
        if self.is_default:
            tests = "no rule covers the row"
        else:
            tests = " and ".join(one.condition.text() for one in self.conditions)
        unknown = f"; {self.undecided} earlier rules ask for values that are not known" if self.undecided else ""
        return f"rule {self.rank}: {tests}{unknown}"


class Explanation(Protocol):
    """What ``explain`` returns for a row; each family of learners has records of its own kind."""

    @property
    def kind(self) -> str:
        """Which kind it is, one of those that the learner's capabilities name."""

    @property
    def n_tests(self) -> int:
        """How long it is: tests, neighbours, terms or votes."""

    def to_json(self) -> dict[str, Any]:
        """A JSON object with its ``kind``."""

    def text(self) -> str:
        """The same for people."""


@runtime_checkable
class Replaying(Protocol):
    """An explanation whose own numbers give the answer again."""

    def replayed(self) -> FloatArray:
        """The answer by what the record says alone: class probabilities, shape (K,), or the value, shape ()."""


def labelled(labels: tuple[Scalar, ...], shares: Mapping[int, float] | list[float]) -> tuple[tuple[Scalar, float], ...]:
    """Pair each class label with its share, in class order."""
    return tuple((label, float(shares[index])) for index, label in enumerate(labels))
