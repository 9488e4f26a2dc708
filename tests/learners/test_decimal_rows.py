"""Decimal numbers read by machine code are what ``float`` says, to the bit, or are left to others."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from learners.decimal_rows import POWERS, TOLD, decimal_rows
from learners.types import FloatArray

pytestmark = pytest.mark.usefixtures("native_folder")

SIGN = st.sampled_from(["", "-"])
DIGITS = st.text("0123456789", min_size=1, max_size=22)
TEXTS = st.builds(
    lambda sign, whole, parts, exponent: sign + whole + parts + exponent,
    SIGN,
    DIGITS | st.just(""),
    st.just("") | DIGITS.map(lambda digits: "." + digits) | st.just("."),
    st.just("")
    | st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 400)),
)


def read(text: bytes, n_columns: int, begin: int = 0, free: int = 0) -> tuple[FloatArray, int, list[list[int]]] | None:
    """The lines of a text from a place on, how many cells are empty, and what is told of those left to others."""
    assert decimal_rows.loaded is not None
    n_lines = text.count(b"\n", begin) + (not text.endswith(b"\n"))
    found = np.full((n_lines, n_columns), 7.0)
    told = np.zeros((free, TOLD), np.int64)
    addresses = np.array([np.frombuffer(text, np.uint8).ctypes.data, POWERS.ctypes.data, told.ctypes.data], np.uint64)
    sizes = np.array([len(text), begin, len(text), n_lines, n_columns, free])
    n_empty = decimal_rows.loaded(addresses.ctypes.data, sizes.ctypes.data, found.ctypes.data)
    return None if n_empty < 0 else (found, n_empty, told[: sizes[-1]].tolist())


def one(text: str, before: int = 0, behind: int = 0) -> float | None:
    """A number at some distance from both ends of a text."""
    line = "1," * before + text + ",2" * behind
    found = read(line.encode(), before + 1 + behind)
    if found is None:
        return None
    row = found[0][0].tolist()
    assert row[:before] + row[before + 1 :] == [1.0] * before + [2.0] * behind
    return float(row[before])


def same(first: float, text: str) -> bool:
    second = float(text)  # raises ValueError where it is no number
    return first == second and math.copysign(1, first) == math.copysign(1, second)


@given(TEXTS | st.floats(allow_nan=False, allow_infinity=False).map(repr), st.integers(0, 40), st.integers(0, 40))
@example("9007199254740992", 0, 0)
@example("9007199254740993", 0, 0)
@example("9007199254740993.0", 9, 9)
@example("0.30000000000000004", 5, 0)
@example("5e-324", 0, 5)
@example("2.2250738585072011e-308", 0, 0)
@example("1.7976931348623159e308", 0, 0)
@example("1e22", 0, 0)
@example("1e23", 0, 0)
@example("9007199254740991e22", 0, 0)
@example("-0", 0, 0)
@example("-0.0e5", 3, 3)
@example("1" * 400, 0, 0)
def test_a_number_is_the_nearest_double_or_left_to_others(text: str, before: int, behind: int) -> None:
    found = one(text, before, behind)
    assert found is None or same(found, text)


@given(st.integers(0, 2**53), st.integers(0, 22), SIGN, st.integers(0, 20), st.integers(0, 20))
def test_few_digits_are_always_read(digits: int, n_behind: int, sign: str, before: int, behind: int) -> None:
    for text in (
        f"{sign}{Decimal(digits).scaleb(-n_behind):f}",
        f"{sign}{digits}e-{n_behind}",
        f"{sign}{digits}E{n_behind}",
    ):
        found = one(text, before, behind)
        assert found is not None
        assert same(found, text)


@given(st.integers(0, 2**53 - 1), st.integers(-1074, 971))
def test_what_lies_halfway_between_two_doubles_is_rounded_to_the_even_one(mantissa: int, power: int) -> None:
    halfway = Decimal(2 * mantissa + 1) * Decimal(2) ** (power - 1)
    for text in (f"{halfway:f}", f"{halfway:e}", str(halfway)):
        found = one(text)
        assert found is None or same(found, text)


OTHERS = ["+1", ".", "-", "-.", "1e", "1e+", "1e-", "e5", ".e5", "1.2.3", "1..2", "--1", "1-", "1-2", "1e5.0", "1e5e5"]
OTHERS += [
    "nan",
    "inf",
    "0x10",
    "1_000",
    '"1"',
    "1;2",
    "1/2",
    "1:2",
    "\u0661",
    "\x001",
    "1\x00",
    "1\r1",
    "\r1",
    "12345678a",
]
OTHERS += [" 1", "1 ", "12345678.90123.4", "1.2345678.9", "123456789012345.6.", "a23456789.01234"]


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize("distance", [0, 1, 30])
def test_anything_else_is_left_to_others(text: str, distance: int) -> None:
    assert one(text, distance, distance) is None


def test_some_cells_may_be_left_to_others() -> None:
    text = b"a,1,0.30000000000000004\n,2.5,x y\n3,nan,4"
    assert read(text, 3, free=3) is None
    found = read(text, 3, free=4)
    assert found is not None
    cells, n_empty, told = found
    assert [(text[start:stop], cell) for start, stop, cell in told] == [
        (b"a", 0), (b"0.30000000000000004", 2), (b"x y", 5), (b"nan", 7)
    ]  # fmt: skip
    assert (cells[0, 1], cells[1, 1], cells[2, 0], cells[2, 2], n_empty) == (1.0, 2.5, 3.0, 4.0, 1)
    assert np.isnan(cells[1, 0])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 31])
@pytest.mark.parametrize("n_lines", [1, 2, 50])
def test_lines_become_rows(end: str, is_closed: bool, n_columns: int, n_lines: int) -> None:
    cells = np.random.default_rng(n_lines).integers(-10_000, 10_000, (n_lines, n_columns)) / 100
    text = end.join(",".join(map(str, row)) for row in cells.tolist()) + end * is_closed
    for begin in (0, 1, 7, 64):
        found = read(b"x" * begin + text.encode(), n_columns, begin)
        assert found is not None
        assert found[0].tobytes() == cells.tobytes()
        assert found[1] == 0


@given(st.lists(st.lists(st.sampled_from(["", "1", "-2.5", "1234.5678901"]), min_size=3, max_size=3), min_size=1))
def test_empty_cells_are_counted(rows: list[list[str]]) -> None:
    found = read("\n".join(",".join(row) for row in rows).encode(), 3)
    wanted = np.array([[float(cell or "nan") for cell in row] for row in rows])
    assert found is not None
    np.testing.assert_array_equal(found[0], wanted)
    assert found[1] == np.isnan(wanted).sum()


@pytest.mark.parametrize("line", ["1,2", "1,2,3,4", "", "1,2,3,", ",1,2,3", "1\n2,3", "1,2,3\n", "\r"])
@pytest.mark.parametrize("place", [0, 20, 39])
def test_lines_with_another_number_of_cells_are_left_to_others(line: str, place: int) -> None:
    lines = ["1.5,2.25,-3"] * 40
    lines[place] = line
    assert read("\n".join(lines).encode() + b"\n", 3) is None


@pytest.mark.parametrize("text", ["\n1", "1\n\n2", "1\n\n", "\r\n1"])
def test_a_blank_line_is_no_empty_cell(text: str) -> None:
    assert read(text.encode(), 1) is None
