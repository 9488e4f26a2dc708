"""What a fitted model tree holds and answers, however it was grown."""

from __future__ import annotations

from learners.linear_function import LinearFunction
from learners.trees.estimator import FittedTree
from learners.trees.model_tree.leaves import LinearLeaves


class FittedModelTree(FittedTree):
    """A tree whose leaves answer by linear functions.

    Fitted attributes beside those of every tree:
        linear_: the leaves' functions as arrays. A node's ``value`` in ``tree_`` is its mean and variance.
    """

    linear_: LinearLeaves

    def function(self, leaf: int) -> LinearFunction:
        """The linear function of a leaf."""
        self.check_fitted()
        return self.linear_.function(leaf, self.columns_)
