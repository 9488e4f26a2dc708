"""Random forests: bagged trees each of whose nodes looks for its test on some columns only (Breiman 2001)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from learners.base import Capabilities
from learners.ensembles.bagging import BaggedClassTrees, BaggedNumberTrees, BaggingClassifier, BaggingRegressor
from learners.params import integer, learner

_COLUMNS = "On how many columns, drawn at random, each node looks for its test; of fewer columns on all."


@learner
class RandomForestClassifier(BaggedClassTrees):
    """Bagged trees that differ more from each other, since each node sees but a few columns.

    Where none of a node's columns has a test, one more is drawn, until one has or none is left.
    """

    name: ClassVar[str] = "random-forest-classifier"
    summary: ClassVar[str] = (
        "Averages many trees on samples of the rows, each test chosen among a few columns drawn at random, and tells "
        "the error to be expected."
    )
    capabilities: ClassVar[Capabilities] = replace(
        BaggingClassifier.capabilities, draws_columns=True, column_order_matters=True
    )

    columns_a_node: int | None = integer(
        None, _COLUMNS, minimum=1, none_means="the square root of their number, rounded down", is_size=True
    )

    def _columns_a_node(self, n_columns: int) -> int | None:
        return math.isqrt(n_columns) or 1 if self.columns_a_node is None else int(self.columns_a_node)


@learner
class RandomForestRegressor(BaggedNumberTrees):
    """The same of numbers."""

    name: ClassVar[str] = "random-forest-regressor"
    summary: ClassVar[str] = (
        "Averages the numbers of many trees on samples of the rows, each test chosen among a few columns drawn at "
        "random, and tells the error to be expected."
    )
    capabilities: ClassVar[Capabilities] = replace(
        BaggingRegressor.capabilities, draws_columns=True, column_order_matters=True
    )

    columns_a_node: int | None = integer(
        None, _COLUMNS, minimum=1, none_means="a third of their number, rounded down", is_size=True
    )

    def _columns_a_node(self, n_columns: int) -> int | None:
        return max(n_columns // 3, 1) if self.columns_a_node is None else int(self.columns_a_node)
