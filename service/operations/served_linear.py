"""What makes one row through a model tree cheap: its leaf, and then the leaf's function in plain floats."""

from __future__ import annotations

from collections.abc import Sequence

from learners.linear_function import LinearFunction
from learners.trees.model_tree.fitted import FittedModelTree
from service.operations.served_tree import Descent


class LinearDescent:
    """Answers single rows of a model tree, to the bit as the learner does.

    Args:
        learner: fitted.
    """

    def __init__(self, learner: FittedModelTree) -> None:
        self._learner = learner
        self._descent = Descent(learner.tree_, learner.packed_tree_, learner.columns_)
        self._functions: dict[int, LinearFunction] = {}

    def value(self, cells: Sequence[float]) -> float | None:
        """The answer; None if a level decides nothing. No cell may be missing."""
        leaf = self._descent.leaf(cells)
        if leaf < 0:
            return None
        function = self._functions.get(leaf)
        if function is None:
            function = self._functions[leaf] = self._learner.function(leaf)
        return function.value(cells)
