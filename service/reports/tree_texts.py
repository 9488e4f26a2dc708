"""The words of a tree picture: what a node says, what a branch asks, a row's own values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from learners.conditions import AnyCondition, Condition, CountCondition, SumCondition, scalar_text
from learners.decisions import decide
from learners.explanation import PathExplanation
from learners.linear_function import LinearFunction
from learners.table import Column
from learners.trees.combined.column import CombinedColumn
from learners.trees.nodes import LEAF, Nodes
from learners.trees.paths import condition_of
from learners.types import FloatArray, Scalar
from service.reports.tree_layout import Placed

#: Longer tests, in characters, are written out beneath the picture.
_MOST_IN_A_BOX = 28


@dataclass(frozen=True)
class Lit:
    """The way of one row through the tree, to be lit in its picture.

    Attributes:
        shares: node on the way -> share of the row that comes to it.
        observed: node -> what the row has in the column that is tested there, in words.
    """

    shares: Mapping[int, float] = field(default_factory=dict)
    observed: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, explanation: PathExplanation) -> Lit:
        """The way that an explanation tells."""
        shares, observed = {0: 1.0}, {}
        for branch in explanation.branches:
            for step in branch.steps:
                shares[step.child] = step.weight
                observed[step.node] = step.state if step.observed is None else short(step.observed)
        return cls(shares, observed)


class Wording:
    """What the nodes and branches of one tree say."""

    def __init__(
        self,
        nodes: Nodes,
        columns: Sequence[Column],
        target: Column,
        lit: Lit,
        utility: FloatArray | None = None,
        function: Callable[[int], LinearFunction] | None = None,
    ) -> None:
        self._nodes = nodes
        self._function = function
        self._utility = utility
        self._columns = columns
        self._lit = lit
        self.labels = [scalar_text(label) for label in target.labels]

    def shares(self, node: int) -> list[float]:
        """Class shares of a node, in class order."""
        return [float(share) for share in self._nodes.shares_of([node])[0]]

    def decided(self, node: int) -> int:
        """Code of the class that a node decides for."""
        return int(decide(self._nodes.shares_of([node]), self._utility)[0])

    def lines(self, placed: Placed) -> tuple[str, str]:
        """The large and the small line of a node."""
        node = placed.node
        rows = count_of_rows(float(self._nodes.weight[node]))
        if placed.children:
            condition = self.condition(placed.children[0])
            asked, observed = subject_text(condition), self._lit.observed.get(node)
            if isinstance(condition, CountCondition) and condition.interval is None and (observed or "").isdigit():
                observed = f"{observed} of them"
            return f"{asked} ?" if observed is None else f"{asked}: {observed}", rows
        answer, spread = self._answer(node, rows)
        return answer, f"{placed.folded} more leaves · {rows}" if placed.folded else spread

    def _answer(self, node: int, rows: str) -> tuple[str, str]:
        if not self.labels:
            mean, variance = self._nodes.value[node, :2].tolist()
            spread = f"± {max(variance, 0.0) ** 0.5:.3g} · {rows}"
            if self._function is not None and self._nodes.test[node] == LEAF:
                # not the deviation: it is that of the targets, and the function's errors are smaller
                return f"mean {mean:.4g}", f"{rows}: {function_text(self._function(node))}"
            return f"{mean:.6g}", spread
        shares = self.shares(node)
        best = self.decided(node)
        return self.labels[best], f"{percent(shares[best])} of {rows}" if self._nodes.weight[
            node
        ] else "no training rows"

    def tooltip(self, placed: Placed) -> str:
        """Everything about a node."""
        big, small = self.lines(placed)
        if self._function is not None and not placed.children and not placed.folded:
            small = f"{count_of_rows(float(self._nodes.weight[placed.node]))}; {self._function(placed.node).text()}"
        text = f"node {placed.node}: {big}, {small}"
        if self.labels:
            shares = self.shares(placed.node)
            order = sorted(range(len(shares)), key=lambda one: -shares[one])[:20]
            text += "; " + ", ".join(f"{self.labels[one]} {percent(shares[one])}" for one in order if shares[one])
        share = self._lit.shares.get(placed.node)
        return text if share is None else f"{text}; {percent(share)} of the row comes here"

    def long_test(self, placed: Placed) -> str | None:
        """The large line of a node that asks of several values, where that is too long for its box; else ``None``."""
        if not placed.children or not isinstance(self._columns[self._nodes.feature[placed.node]], CombinedColumn):
            return None
        asked, _ = self.lines(placed)
        return asked if len(asked) > _MOST_IN_A_BOX else None

    def condition(self, child: int) -> AnyCondition:
        """What the parent's test asks of the branch to a child."""
        node = int(self._nodes.parent[child])
        column = self._columns[self._nodes.feature[node]]
        return condition_of(self._nodes, column, node, child - int(self._nodes.first_child[node]))

    def missing(self, child: int) -> str:
        """Where a missing value goes."""
        node = int(self._nodes.parent[child])
        follows = int(self._nodes.missing_branch[node])
        if follows >= 0:
            return "or missing" if follows == child - self._nodes.first_child[node] else ""
        return f"missing: {percent(float(self._nodes.fraction[child]))}"


def subject_text(condition: AnyCondition) -> str:
    """What a test asks about, without what it asks of it; numbers to 6 digits."""
    if isinstance(condition, Condition):
        return condition.column
    if not isinstance(condition, CountCondition):
        return _sum_text(condition)
    if condition.interval is not None:
        return condition.interval.column
    terms = [_term_text(one) for one in condition.conditions]
    if condition.need in (1, len(condition.conditions)):
        return (" or " if condition.need == 1 else " and ").join(terms)
    return f"at least {condition.need} of: {', '.join(terms)}"


def _term_text(condition: Condition) -> str:
    """A simple test among others: several levels stand in braces."""
    if len(condition.values) < 2:
        return f"{condition.column} {test_text(condition)}"
    return f"{condition.column} {condition.operator} {{{', '.join(short(value) for value in condition.values)}}}"


def _sum_text(condition: SumCondition) -> str:
    pieces: list[str] = []
    for column, weight in condition.weights:
        sign = ("− " if weight < 0 else "+ ") if pieces else ("−" if weight < 0 else "")
        pieces.append(f"{sign}{'' if abs(weight) == 1 else short(abs(weight)) + '·'}{column}")
    return " ".join(pieces)


def line_text(condition: AnyCondition) -> str:
    """A test on a line of its own; one of several values is named by the node above it."""
    if isinstance(condition, Condition) or (isinstance(condition, CountCondition) and condition.interval is not None):
        return f"{subject_text(condition)} {test_text(condition)}"
    return test_text(condition)


def test_text(condition: AnyCondition) -> str:
    """A test without its subject; numbers to 6 digits."""
    if isinstance(condition, CountCondition):
        if condition.interval is None:
            return "yes" if condition.holds else "no"
        return f"{'' if condition.holds else 'not '}{test_text(condition.interval)}"
    if isinstance(condition, Condition) and condition.operator not in ("<=", ">"):
        return _set_text(condition)
    return f"{'≤' if condition.operator == '<=' else '>'} {short(condition.threshold)}"


def _set_text(condition: Condition) -> str:
    """A test of one of several levels, or of two bounds."""
    if condition.operator in ("in", "not in") and not condition.values:
        return "missing" if condition.operator == "in" else "known"
    if condition.operator in ("in", "not in"):
        shown = ", ".join(short(value) for value in condition.values[:100])
        several = len(condition.values) > 1  # "not a, b" would read as not a, but b
        sign = ("" if several else "=") if condition.operator == "in" else ("none of" if several else "not")
        return f"{sign} {shown}".strip()
    return f"{short(condition.low)} < … ≤ {short(condition.high)}"


def function_text(function: LinearFunction) -> str:
    """A linear function in few digits."""
    pieces = [f"{function.intercept:.4g}"]
    for term in function.terms:
        pieces.append(f"{'−' if term.coefficient < 0 else '+'} {abs(term.coefficient):.3g}·{term.variable_text()}")
    return " ".join(pieces)


def short(value: Scalar | None) -> str:
    """A value in few digits."""
    return f"{value:.6g}" if isinstance(value, float) else scalar_text(value)


def count_of_rows(weight: float, what: str = "row") -> str:
    """A weight as a number of rows."""
    return f"{_count(weight)} {what}{'' if weight == 1 else 's'}"


def _count(weight: float) -> str:
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.4g}" if weight < 1000 else f"{weight:,.1f}"


def percent(share: float) -> str:
    """Whole per cents; never 100 or 0 for something that is not all or nothing."""
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share * 100:.0f}%"
