"""Keeping the nearest rows so far, in kernels."""

from __future__ import annotations

from learners._accel import lean_inner_kernel
from learners.types import FloatArray, IntArray


@lean_inner_kernel
def keep_nearer(near: FloatArray, near_rows: IntArray, power: float, row: int) -> None:
    """Put a row in its place among the nearest so far, the last of which is lost; it must be nearer than that."""
    place = len(near) - 1
    while place > 0 and (near[place - 1] > power or (near[place - 1] == power and near_rows[place - 1] > row)):
        near[place], near_rows[place] = near[place - 1], near_rows[place - 1]
        place -= 1
    near[place], near_rows[place] = power, row
