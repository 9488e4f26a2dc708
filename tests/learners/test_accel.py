"""Kernels run as plain Python and compiled, in any order, in one process."""

from __future__ import annotations

import numpy as np
import pytest

from learners._accel import INTERPRETED, inner_kernel, kernel, lean_inner_kernel, uncompiled
from learners.types import FloatArray


@lean_inner_kernel
def _square(number: float) -> float:
    return number * number


@inner_kernel
def _fourth(number: float) -> float:
    return _square(_square(number))


@kernel
def _sum_of_fourths(numbers: FloatArray) -> float:
    total = 0.0
    for number in numbers:
        total += _fourth(number)
    return total


@kernel
def _largest_fourth(numbers: FloatArray) -> float:
    return max(_fourth(numbers[0]), _fourth(numbers[-1]))


def test_plain_python_never_meets_the_machine_code_of_an_inner_kernel() -> None:
    numbers = np.array([1.0, 2.0, 3.0])
    assert _sum_of_fourths(numbers) == 98.0
    with uncompiled():
        assert _largest_fourth(numbers) == 81.0
        assert _fourth(3.0) == 81.0
    assert _largest_fourth(numbers) == 81.0


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_an_inner_kernel_is_called_by_kernels_only() -> None:
    with pytest.raises(TypeError, match="called by kernels only"):
        _fourth(3.0)
