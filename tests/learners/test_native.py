"""Functions that processes without numba load: written once, loaded by what they do, refused where they are none."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learners import _native
from learners._native import NativeFunction, array_at
from learners.types import FloatArray, IntArray

ROOT = Path(__file__).resolve().parents[2]
FACTOR = 3


def scaled_sum(arrays: Any, sizes: IntArray, numbers: FloatArray) -> int:
    values = array_at(arrays[0], sizes[0], np.int32)
    given = array_at(numbers, sizes[0])
    given[0] = given[1] / 0.0
    return FACTOR * values.sum()


CALL = """
import sys
from pathlib import Path
import numpy as np
from tests.learners.test_native import function
function.load(Path(sys.argv[1]))
values, numbers = np.array([1, 2, 4], np.int32), np.array([5.0, 1.0, 2.0])
table, sizes = np.array([values.ctypes.data], np.uint64), np.array([3])
print(function.loaded(table.ctypes.data, sizes.ctypes.data, numbers.ctypes.data), numbers.tolist())
print(function.loaded(table.ctypes.data, sizes.ctypes.data, np.zeros(3).tobytes()))
print("numba" in sys.modules, "llvmlite" in sys.modules)
"""
function = NativeFunction(scaled_sum, "pif")


def test_a_process_without_numba_calls_what_was_compiled(tmp_path: Path) -> None:
    assert not function.is_in(tmp_path)
    function.write(tmp_path)
    assert function.is_in(tmp_path)
    (written,) = tmp_path.glob("*.o")
    assert written.name == function.file
    before = written.stat()
    function.write(tmp_path)
    assert written.stat().st_mtime_ns == before.st_mtime_ns
    done = subprocess.run([sys.executable, "-c", CALL, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["21 [inf, 1.0, 2.0]", "21", "False True"]


def test_machine_code_stays_as_long_as_it_can_be_called(tmp_path: Path) -> None:
    own = NativeFunction(scaled_sum, "pif")
    own.write(tmp_path)
    values, sizes, numbers = np.array([1, 2, 4], np.int32), np.array([3]), np.zeros(3)
    table = np.array([values.ctypes.data], np.uint64)
    called = []
    for _ in range(3):  # loaded anew each time
        own.loaded = None
        own.load(tmp_path)
        called.append(own.loaded)
    own.loaded = None
    gc.collect()
    answers = [one(table.ctypes.data, sizes.ctypes.data, numbers.ctypes.data) for one in called if one is not None]
    assert answers == [21] * 3


def test_another_version_of_a_function_has_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    before = function.file
    _native.digest_of.cache_clear()
    assert function.file == before
    monkeypatch.setitem(globals(), "FACTOR", 4)
    _native.digest_of.cache_clear()
    assert function.file != before
    _native.digest_of.cache_clear()


def test_what_cannot_be_loaded_is_refused(tmp_path: Path) -> None:
    own = NativeFunction(scaled_sum, "pif")
    with pytest.raises(FileNotFoundError):
        own.load(tmp_path)
    own.write(tmp_path)
    whole = (tmp_path / own.file).read_bytes()
    for content in (b"", b"no machine code", whole[:-100], whole[:-100] + bytes(100)):
        (tmp_path / own.file).write_bytes(content)
        with pytest.raises(RuntimeError, match="damaged"):
            own.load(tmp_path)
    assert own.loaded is None


def test_where_kernels_run_as_plain_python_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "INTERPRETED", True)
    own = NativeFunction(scaled_sum, "pif")
    own.write(tmp_path)
    own.load(tmp_path)
    assert own.is_in(tmp_path)
    assert own.loaded is None
    assert not list(tmp_path.glob("*.o"))


def test_addresses_are_read_by_machine_code_only() -> None:
    with pytest.raises(TypeError, match="machine code"):
        array_at(0, 1)


SQUARES = """
define void @squares(<8 x double>* %at) {
  %values = load <8 x double>, <8 x double>* %at
  %squares = fmul <8 x double> %values, %values
  store <8 x double> %squares, <8 x double>* %at
  ret void
}
"""


def test_multiplications_take_no_registers_that_lower_the_clock() -> None:
    """Eight doubles at once are two halves to the processor."""
    from llvmlite import binding
    from numba.core.registry import cpu_target

    module = binding.parse_assembly(SQUARES)
    written = _native._narrow_machine(cpu_target.target_context.codegen()).emit_assembly(module)
    assert "mul" in written
    assert "zmm" not in written
