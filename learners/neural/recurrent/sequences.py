"""Many sequences of unequal length as two arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.types import Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sequences:
    """n sequences of V variables a step.

    Attributes:
        values: float64 (S, V), C-contiguous: the steps of all sequences, one sequence after the other.
        starts: int64 (n + 1,), where each begins, and S; each has at least one step.
        answers: what is wanted after each step, float64 (S, O), where that does not follow from the rows' targets.
    """

    values: FloatArray
    starts: IntArray
    answers: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.starts)

    @property
    def ages(self) -> IntArray:
        """Of each step the number of steps before it in its sequence, shape (S,)."""
        found: IntArray = np.arange(len(self.values)) - np.repeat(self.starts[:-1], self.lengths)
        return found

    def take(self, chosen: Array) -> Sequences:
        """Some of the sequences, in that order."""
        lengths = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        steps = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[:-1][chosen], lengths)
        answers = None if self.answers is None else self.answers[steps]
        return Sequences(np.ascontiguousarray(self.values[steps]), starts, answers)

    def windows(self, delays: int) -> FloatArray:
        """Each step with those before it, shape (S, delays V): this step, the one before, ...; 0 before the first."""
        if delays == 1:
            return self.values
        ages = self.ages
        made = np.zeros((len(self.values), delays, self.values.shape[1]))
        for delay in range(delays):
            known = np.flatnonzero(ages >= delay)
            made[known, delay] = self.values[known - delay]
        return made.reshape(len(made), -1)

    def last_windows(self, delays: int) -> FloatArray:
        """The windows of the last steps alone, shape (n, D V), of as many steps D <= delays as there are at most."""
        delays = min(delays, int(self.lengths.max(initial=1)))
        made = np.zeros((len(self), delays, self.values.shape[1]))
        for delay in range(delays):
            known = np.flatnonzero(self.lengths > delay)
            made[known, delay] = self.values[self.starts[1:][known] - 1 - delay]
        return made.reshape(len(made), -1)
