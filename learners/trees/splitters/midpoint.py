"""The number between two neighbouring values that really separates them."""

from __future__ import annotations

from learners._accel import lean_kernel


@lean_kernel
def midpoint(lower: float, upper: float) -> float:
    """A threshold t with ``lower <= t < upper``: halfway, or ``lower`` if halfway rounds onto ``upper``.

    Halving before adding cannot overflow. For denormals the halves may round; the result is
    brought back between the two.
    """
    middle = lower / 2.0 + upper / 2.0
    if middle < lower or middle >= upper:
        return lower
    return middle
