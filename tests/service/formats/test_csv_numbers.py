"""CSV of numbers is read as the general way reads it, to the bit, by machine code and by yyjson."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.decimal_rows import decimal_rows
from learners.types import FloatArray
from service.formats import yyjson
from service.formats.csv_numbers import read_csv_numbers
from service.formats.halves import HALVED_BYTES
from service.formats.record_texts import read_csv
from service.formats.written_numbers import PLAIN

WAYS = ["machine code", "yyjson"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, native_folder: object, monkeypatch: pytest.MonkeyPatch) -> str:
    """By what is read; the other is not there."""
    if request.param == "yyjson":
        monkeypatch.setattr(decimal_rows, "loaded", None)
    else:
        monkeypatch.setattr(yyjson, "_library", lambda: None)
    return str(request.param)


def lines_of(n_rows: int, gaps: float, digits: int) -> list[str]:
    """Rows of four: numbers of many sizes, small ones, whole ones, and those that have gaps."""
    rng = np.random.default_rng(3)
    wide = rng.normal(size=n_rows) * 10.0 ** rng.integers(-9, 9, n_rows)
    whole = rng.integers(-(2**40), 2**40, n_rows)
    columns = [
        [f"{cell:.{digits}g}" for cell in wide.tolist()],
        list(map(str, rng.random(n_rows).round(2).tolist())),
        list(map(str, whole.tolist())),
        ["" if is_gap else str(cell) for is_gap, cell in zip(rng.random(n_rows) < gaps, whole.tolist(), strict=True)],
    ]
    return [",".join(row) for row in zip(*columns, strict=True)]


def numbers(lines: list[str]) -> FloatArray:
    return np.array([[float(cell or "nan") for cell in line.split(",")] for line in lines])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_long_text_is_read_to_the_bit(way: str, end: str, is_closed: bool, gaps: float) -> None:
    lines = lines_of(20_000, gaps, 9)
    body = ("a,b,c,d" + end + end.join(lines) + end * is_closed).encode()
    assert len(body) > HALVED_BYTES
    read = read_csv_numbers(body, body.index(b"\n") + 1, 4)
    assert read is not None
    assert read.is_complete == (not gaps)
    assert read.cells.tobytes() == numbers(lines).tobytes()


@pytest.mark.usefixtures("native_folder")
def test_numbers_of_many_digits_are_read_by_yyjson(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_of(20_000, 0.0, 17)
    body = "\n".join(lines).encode()
    read = read_csv_numbers(body, 0, 4)
    assert read is not None
    assert read.cells.tobytes() == numbers(lines).tobytes()
    monkeypatch.setattr(yyjson, "_library", lambda: None)
    assert read_csv_numbers(body, 0, 4) is None


def test_some_numbers_of_many_digits_are_read_one_by_one(native_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_of(20_000, 0.0, 9)
    lines[7::100] = ["0.30000000000000004,-1e-300,2.5e300,123456789012345678901"] * 200
    body = "\n".join(lines).encode()
    monkeypatch.setattr(yyjson, "_library", lambda: None)
    read = read_csv_numbers(body, 0, 4)
    assert read is not None
    assert read.cells.tobytes() == numbers(lines).tobytes()
    lines[9] = "1,2,3,1e999"
    assert read_csv_numbers("\n".join(lines).encode(), 0, 4) is None


@pytest.mark.parametrize(
    "line",
    [b"1,2],[3,4", b"1,2,3", b"1,2,3,4,5", b"", b"1,2,3,null", b"1,2,3, 4", b'1,2,3,"4"', b"1,2,3,x", b"1,2,3\r4"],
)
@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_line_that_is_no_row_of_numbers_is_left_to_others(way: str, line: bytes, place: float) -> None:
    lines = [b"1.5,2.25,-3e5,4.125"] * 40_000
    lines[int(len(lines) * place)] = line
    assert read_csv_numbers(b"a,b,c,d\n" + b"\n".join(lines), 8, 4) is None


@pytest.mark.parametrize("body", [b"a\n", b"a\n\n", b"a\n\n1", b"a\r\n\r\n", b"a\n" + b"\n" * 1000])
def test_blank_lines_are_left_to_others(way: str, body: bytes) -> None:
    assert read_csv_numbers(body, body.index(b"\n") + 1, 1) is None


def test_a_minus_before_zero_is_kept_where_the_general_way_keeps_it(way: str) -> None:
    read = read_csv_numbers(b"a,b\n-0,0\n", 4, 2)
    assert read is not None
    assert np.signbit(read.cells).tolist() == [[True, False]]


@pytest.mark.parametrize("way_", WAYS)
@pytest.mark.usefixtures("native_folder")
@given(
    text=st.text("0019.,,,-+eE \r\n\n\"'", max_size=60) | st.text("019.,-e\n", max_size=60), n_columns=st.integers(1, 3)
)
def test_what_is_read_is_what_the_general_way_reads(way_: str, text: str, n_columns: int) -> None:
    header = ",".join("abc"[:n_columns]) + "\n"
    with pytest.MonkeyPatch.context() as patch:
        if way_ == "yyjson":
            patch.setattr(decimal_rows, "loaded", None)
        read = read_csv_numbers((header + text).encode(), len(header), n_columns)
    if read is None:
        return
    rows = read_csv((header + text).encode(), ",").data
    wanted = [[np.nan if cell is None else PLAIN.number(cell) for cell in row] for row in rows]
    assert read.cells.tobytes() == np.array(wanted, float).tobytes()
    assert read.is_complete == (not np.isnan(read.cells).any())


def test_texts_that_are_read_at_the_same_time_do_not_disturb_each_other(way: str) -> None:
    texts = [lines_of(n_rows, 0.1, 9) for n_rows in (18_000, 20_000, 22_000)]
    bodies = ["\n".join(lines).encode() for lines in texts]
    with ThreadPoolExecutor(3) as threads:
        for lines, read in zip(
            texts * 4, threads.map(lambda body: read_csv_numbers(body, 0, 4), bodies * 4), strict=True
        ):
            assert read is not None
            assert read.cells.tobytes() == numbers(lines).tobytes()


def test_without_either_all_goes_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decimal_rows, "loaded", None)
    monkeypatch.setattr(yyjson, "_library", lambda: None)
    assert read_csv_numbers(b"a\n1\n", 2, 1) is None
