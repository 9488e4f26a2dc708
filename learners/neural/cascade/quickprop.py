"""Steps of both phases: quickprop, see :func:`learners.neural.optimizers.quickprop_step`, in single precision.

Weights keep 24 bits, single precision, while all sums are in double. Sums of many rows differ in their last bits by the
order of the rows, by whether a row counts twice or is there twice, and from machine to machine; hundreds of steps would
make other networks of that. What is rounded away after each step cannot grow.
"""

from __future__ import annotations

from learners._accel import lean_inner_kernel
from learners.neural.optimizers import quickprop_step
from learners.types import FloatArray

#: 2^29 + 1 splits 24 bits from a double (Veltkamp).
_SPLIT = 536870913.0


@lean_inner_kernel
def rounded(number: float) -> float:
    """The number to 24 significant bits."""
    spread = number * _SPLIT
    return spread - (spread - number)


@lean_inner_kernel
def step_weights(weights: FloatArray, memory: FloatArray, rate: float, mu: float) -> None:
    """A step of every weight.

    Args:
        weights: shape (A, B); changed.
        memory: from 0 on slopes, slopes before and last steps, shape (>= 3, A, B); the latter two are changed.
        rate: of the plain descent. mu: most growth of a step.
    """
    for first in range(weights.shape[0]):
        for second in range(weights.shape[1]):
            slope, previous, step = memory[0, first, second], memory[1, first, second], memory[2, first, second]
            moved = rounded(weights[first, second] + quickprop_step(slope, previous, step, rate, mu))
            memory[1, first, second] = slope
            memory[2, first, second] = moved - weights[first, second]
            weights[first, second] = moved
