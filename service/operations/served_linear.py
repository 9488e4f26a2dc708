"""What makes one row through a model tree cheap: its leaf, the leaf's function in plain floats, and its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from learners.linear_function import LinearFunction
from learners.trees.descent import Descent
from learners.trees.model_tree.fitted import FittedModelTree
from service.operations.json_text import encode_json
from service.operations.served_tree import ExplainRow, Reasons, observed_text


class LinearDescent:
    """Answers single rows of a model tree, to the bit as the learner does.

    Args:
        learner: fitted.
    """

    def __init__(self, learner: FittedModelTree) -> None:
        self._learner = learner
        self._functions: dict[int, LinearFunction] = {}
        self._reasons = _LinearReasons(learner, self.function)
        self.leaf = Descent(learner.packed_tree_, learner.columns_).leaf

    def function(self, leaf: int) -> LinearFunction:
        """A leaf's function, made once."""
        function = self._functions.get(leaf)
        if function is None:
            function = self._functions[leaf] = self._learner.function(leaf)
        return function

    def explained(self, members: bytes, leaf: int, cells: Sequence[float], explain: ExplainRow) -> bytes:
        """See :meth:`service.operations.served_tree.Reasons.added`."""
        return self._reasons.added(members, leaf, cells, explain)


class _LinearReasons(Reasons):
    """Reasons with more gaps: the value, and what each term on a number is and adds.

    A term on levels is told by the row's level, which tells kept reasons apart, so it has no gaps.
    """

    def __init__(self, learner: FittedModelTree, function: Callable[[int], LinearFunction]) -> None:
        super().__init__(learner.tree_, learner.columns_)
        self._function = function

    def _tested_levels(self, leaf: int) -> list[int]:
        coded = {term.feature for term in self._function(leaf).terms if term.ones is not None}
        return sorted(coded.union(super()._tested_levels(leaf)))

    def _other_gaps(self, leaf: int, gaps: list[tuple[int, int]]) -> Callable[[list[bytes], Sequence[float]], None]:
        """Those after the observed values: the answer, and term after term."""
        function, first = self._function(leaf), 2 * len(gaps) + 2

        def fill(text: list[bytes], cells: Sequence[float]) -> None:
            filled = [encode_json(function.value(cells))]
            for term in function.terms:
                if term.ones is None:
                    cell = cells[term.feature]
                    filled += (observed_text(cell), encode_json(float(cell)), encode_json(term.contribution(cell)))
            text[first::2] = filled

        return fill

    def _mark(self, branch: dict[str, Any], mark: str) -> None:
        super()._mark(branch, mark)
        branch["value"] = mark
        for term in branch["linear"]["terms"]:
            if "values" not in term:
                term["observed"] = term["value"] = term["contribution"] = mark
