"""Weights of a sum in few digits, so that people can read the test; its threshold is exact on what was written."""

from __future__ import annotations

#: Significant decimal digits of a weight.
WEIGHT_DIGITS = 4


def rounded(weight: float) -> float:
    """The nearest number of so many digits."""
    return float(f"{weight:.{WEIGHT_DIGITS}g}")
