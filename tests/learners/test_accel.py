"""Kernels run as plain Python and compiled, in any order, in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from learners import _sharing
from learners._accel import (
    INTERPRETED,
    digest_of,
    helping,
    inner_kernel,
    kernel,
    lean_inner_kernel,
    runs_compiled,
    uncompiled,
)
from learners.types import FloatArray

ROOT = Path(__file__).resolve().parents[2]


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


def _plainly(numbers: FloatArray) -> float:
    return float(numbers.sum())


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_whether_machine_code_runs_is_told() -> None:
    @kernel
    def fresh(numbers: FloatArray) -> float:
        return numbers[0]

    assert not runs_compiled(_plainly)
    assert runs_compiled(fresh)
    with uncompiled():
        assert not runs_compiled(fresh)
    _sum_of_fourths(np.ones(2))
    with uncompiled():
        assert runs_compiled(_sum_of_fourths)  # which numba's own object stands for by now


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_an_inner_kernel_is_called_by_kernels_only() -> None:
    with pytest.raises(TypeError, match="called by kernels only"):
        _fourth(3.0)


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_machine_code_is_found_by_what_a_kernel_does_not_by_where_it_lies(tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    program = "import numpy, sums; print(sums.total(numpy.arange(4.0)))"
    for place, step in (("here", 1), ("there", 1), ("changed", 2)):
        (tmp_path / place).mkdir()
        (tmp_path / place / "steps.py").write_text(
            f"from learners._accel import inner_kernel\n@inner_kernel\ndef step(x):\n    return x * {step}\n"
        )
        (tmp_path / place / "sums.py").write_text(
            "from learners._accel import kernel\nfrom steps import step\n"
            "@kernel\ndef total(numbers):\n    return step(numbers.sum())\n"
        )
        environment = os.environ | {"NUMBA_CACHE_DIR": str(kernels), "PYTHONPATH": f"{tmp_path / place}:{ROOT}"}
        answer = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert answer.stdout.strip() == str(6.0 * step), answer.stderr
    assert len(list(kernels.glob("sums.*.nbc"))) == len(list(kernels.glob("steps.*.nbc"))) == 2


_SHARED = """
import sys
from contextlib import nullcontext
import numpy
from learners import _accel, _turns
compiled = []
with _turns.telling(lambda: compiled.append(1)), _accel.helping() if "help" in sys.argv else nullcontext():
    import sums
    print(sums.total(numpy.arange(4.0)), len(compiled))
"""
_SUMS = """
from learners._accel import inner_kernel, kernel

@inner_kernel
def half(number: float) -> float:
    return number / 2

@inner_kernel
def quarter(number: float) -> float:
    return half(half(number))

@inner_kernel
def third(numbers: "FloatArray", which: int) -> float:
    return numbers[which] / 3 + half(2.0)

@kernel
def total(numbers: "FloatArray") -> float:
    return quarter(numbers[2]) + third(numbers, len(numbers) - 1)
"""


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_processes_share_what_they_compile_and_compile_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(_SUMS)
    kernels = tmp_path / "kernels"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(kernels), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, "-c", _SHARED]

    def answers(*arguments: str) -> list[float]:
        said = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, check=True)
        return [float(number) for number in said.stdout.split()]

    helper = subprocess.Popen([*command, "help"], env=environment, stdout=subprocess.PIPE, text=True)
    total, _ = answers()
    assert helper.communicate()[0].split()[0] == str(total) == "2.5"
    assert len(list(kernels.glob("*.nbc"))) == 4
    assert answers() == answers("help") == [2.5, 0]  # all is there
    for path in kernels.glob("sums.sums.total-*"):
        path.unlink()
    assert answers() == [2.5, 1]  # the inner kernels are there


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_helper_compiles_inner_kernels_last_one_first_with_the_types_they_are_called_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names: list[str] = []
    monkeypatch.setattr(_sharing, "turn", lambda folder, work: names.append(work) or nullcontext())
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    made: dict[str, Any] = {"__name__": "learners.sums"}
    source = tmp_path / "sums.py"
    source.write_text(_SUMS)
    exec(compile(_SUMS, str(source), "exec"), made)
    numbers = np.arange(4.0)
    with helping():
        assert made["total"](numbers) == 2.5
    inner = [made[name].dispatcher() for name in ("half", "quarter", "third")]
    assert [len(dispatcher.signatures) for dispatcher in inner] == [1, 1, 1]
    digests = [digest_of(made[name].py_func) for name in ("half", "third", "quarter")]
    first = list(dict.fromkeys(work.split()[0] for work in names))
    assert first[:3] == digests
