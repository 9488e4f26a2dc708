"""What both phases share: one array that says how a phase goes and how far it is, and when it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from learners._accel import lean_inner_kernel
from learners.types import FloatArray

#: Places in a phase's array that say how it goes; see :class:`Phase`, and for the outputs :mod:`.outputs`.
RATE, MU, DECAY, CHANGE, PATIENCE, MAX_EPOCHS, OFFSET, TOLERANCE, KIND = 0, 1, 2, 3, 4, 5, 6, 7, 8
#: Most epochs of one call.
LIMIT = 9
#: Places that say how far it is: epochs done, the last figure that was a change, the epoch of the end unless another
#: change comes, the figure now, the first and the least one, how many answers are wrong, and how the phase ended.
EPOCH, LAST, QUIT, FIGURE, FIRST, LEAST, WRONG, STATUS = 10, 11, 12, 13, 14, 15, 16, 17
_SIZE = 18
#: How a phase ended, or that it has not.
RUNNING, SOLVED, STAGNANT, TIMEOUT, DIVERGED = 0, 1, 2, 3, 4
STATUSES = ("running", "solved", "stagnant", "timeout", "diverged")


@dataclass(frozen=True)
class Phase:
    """One phase's quickprop and its end.

    Attributes:
        rate: of plain descent, for the mean over the rows.
        mu: most growth of a step.
        decay: share of each weight that is added to its slope.
        change, patience: the phase ends when its figure (loss or score) has not changed by this share of its last
            change for so many epochs.
        max_epochs: most epochs.
    """

    rate: float
    mu: float = 2.0
    decay: float = 0.0
    change: float = 0.01
    patience: int = 8
    max_epochs: int = 100

    def started(self, *, quits: int, limit: int) -> FloatArray:
        """The array of a phase at its start; it ends at epoch ``quits`` unless there is a change."""
        made = np.zeros(_SIZE)
        made[RATE], made[MU], made[DECAY], made[CHANGE] = self.rate, self.mu, self.decay, self.change
        made[PATIENCE], made[MAX_EPOCHS] = self.patience, self.max_epochs
        made[LIMIT], made[QUIT] = limit, quits
        return made


@lean_inner_kernel
def settle(figure: float, phase: FloatArray) -> None:
    """Note the figure of this epoch, and whether it or the number of epochs ends the phase."""
    phase[FIGURE] = figure
    if not math.isfinite(figure):
        phase[STATUS] = DIVERGED
    elif phase[EPOCH] == 0.0:
        phase[FIRST] = figure
        phase[LAST] = figure
    elif abs(figure - phase[LAST]) > phase[CHANGE] * phase[LAST]:
        phase[LAST] = figure
        phase[QUIT] = phase[EPOCH] + phase[PATIENCE]
    elif phase[EPOCH] >= phase[QUIT]:
        phase[STATUS] = STAGNANT
    if phase[STATUS] == RUNNING and phase[EPOCH] >= phase[MAX_EPOCHS]:
        phase[STATUS] = TIMEOUT
