"""What the searches of one tree for rows that stay divided among leaves have in common."""

from __future__ import annotations

import numpy as np

from learners.reasons.nearest.programmes import Programmes
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.wanted.targets import Target, answers_of
from learners.reasons.work import Work
from learners.table import Table
from learners.trees.estimator import FittedTree
from learners.types import BoolArray, FloatArray

#: Margins this far below 0, in units of the largest, may be what rounding leaves of 0.
_SLACK = 1e-9


class MixedSeeker:
    """The searches of one tree for rows that stay divided.

    Args:
        learner: a fitted tree.
        target: the wanted answer.
        steps: what changes are allowed, and how they are compared.
        work: of the request.
    """

    def __init__(self, learner: FittedTree, target: Target, steps: RegionSteps, work: Work) -> None:
        self.learner = learner
        self.target = target
        self.steps = steps
        self.work = work
        self.programmes = Programmes(steps, work)
        self.margins = target.margins(learner.packed_tree_.answers)
        self.slack = _SLACK * float(np.abs(self.margins).max(initial=0.0))

    def hold(self, rows: FloatArray) -> BoolArray:
        """Which rows, shape (n, d), the tree itself answers as wanted."""
        table = Table(self.learner.columns_, np.asfortranarray(rows))
        return self.target.holds(answers_of(self.learner, table))

    def holds_divided(self, cells: FloatArray) -> bool:
        """Whether a row, shape (d,), is divided among leaves and has the wanted answer."""
        return len(self.learner.packed_tree_.reach(cells)[0]) > 1 and bool(self.hold(cells[None])[0])

    def leaf(self, cells: FloatArray) -> int:
        """The leaf that takes the largest share of a row, of those with the wanted answer if there are any."""
        packed = self.learner.packed_tree_
        leaves, _ = packed.reach(cells)
        wanted = leaves[self.target.holds(packed.answers[leaves])]
        return int(wanted[0] if len(wanted) else leaves[0])
