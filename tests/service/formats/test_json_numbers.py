"""Long texts are read in halves, by yyjson's own interface; what comes of them is what Python's readers say."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from learners.types import FloatArray
from service.formats import json_numbers, yyjson
from service.formats.json_numbers import read_matrix
from service.formats.yyjson import KIND, LIST, NULL, OBJECT, PADDING, REAL, SIGNED, TEXT, UNSIGNED, parsed, text_of

COMPACT, SPACED = (",", ":"), (", ", ": ")


def cells(n_rows: int, gaps: float = 0.0) -> list[list[float | int | None]]:
    """Rows of four: numbers of all sizes, small ones, whole ones, and those that have gaps."""
    rng = np.random.default_rng(3)
    wide = rng.normal(size=n_rows) * 10.0 ** rng.integers(-300, 300, n_rows)
    whole = rng.integers(-(2**62), 2**62, n_rows)
    last = np.where(rng.random(n_rows) < gaps, np.nan, rng.random(n_rows))
    columns = [wide.tolist(), rng.random(n_rows).round(2).tolist(), whole.tolist(), last.tolist()]
    return [[None if cell != cell else cell for cell in row] for row in zip(*columns, strict=True)]


def request(rows: list[list[float | int | None]], separators: tuple[str, str] = COMPACT) -> bytes:
    return json.dumps({"columns": ["a", "b", "c", "d"], "data": rows}, separators=separators).encode()


def numbers(rows: list[list[float | int | None]]) -> FloatArray:
    return np.array([[np.nan if cell is None else float(cell) for cell in row] for row in rows])


def halved(body: bytes) -> bool:
    return len(json_numbers._halves(body)) == 2


@pytest.mark.parametrize("separators", [COMPACT, SPACED])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_long_matrix_is_read_to_the_bit(separators: tuple[str, str], gaps: float) -> None:
    rows = cells(12_000, gaps)
    body = request(rows, separators)
    assert halved(body)
    read = read_matrix(body)
    assert read is not None
    assert read.is_complete == (not gaps)
    assert read.cells.tobytes() == numbers(rows).tobytes()


def test_a_long_text_that_was_cut_within_a_name_is_read_as_a_whole() -> None:
    body = json.dumps({"columns": ["a],[b" * 200_000], "data": [[1], [2.5]]}, separators=COMPACT).encode()
    assert halved(body)
    read = read_matrix(body)
    assert read is not None
    assert read.cells.tolist() == [[1.0], [2.5]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"],[", b"],[[1],[2]],["),
        (b"],[", b',"],["],['),
        (b"],[", b"]],[["),
        (b"],[", b"]},{["),
        (b"],[", b',"x":1],['),
        (b"],[", b",1],["),
        (b"],[", b'],"data":[['),
        (b"],[", b"],[],["),
    ],
)
@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_what_is_wrong_in_either_half_is_refused(old: bytes, new: bytes, place: float) -> None:
    body = request(cells(12_000))
    at = body.index(old, int(len(body) * place))
    spoilt = body[:at] + new + body[at + len(old) :]
    assert halved(spoilt)
    assert read_matrix(spoilt) is None


@pytest.mark.parametrize("end", [b"", b"}", b"]", b"]}}", b",", b"]}]}", b',"data":[[1,2,3,4]]}'])
def test_a_long_text_must_end_as_it_should(end: bytes) -> None:
    body = request(cells(12_000))
    assert read_matrix(body.removesuffix(b"]}") + end) is None


def test_a_minus_before_zero_is_kept_where_the_general_way_keeps_it() -> None:
    matrix = read_matrix(b'{"columns":["a","b"],"data":[[-0,-0.0]]}')
    assert matrix is not None
    assert np.signbit(matrix.cells).tolist() == [[False, True]]


def test_texts_that_are_read_at_the_same_time_do_not_disturb_each_other() -> None:
    bodies = [(rows, request(rows)) for rows in (cells(9_000), cells(11_000, 0.1), cells(13_000))]
    with ThreadPoolExecutor(3) as threads:
        for (rows, _), read in zip(bodies * 4, threads.map(read_matrix, [body for _, body in bodies * 4]), strict=True):
            assert read is not None
            assert read.cells.tobytes() == numbers(rows).tobytes()


def test_values_come_as_the_library_says() -> None:
    text = b'{"a":[7,-7,0.5,null,true,"x\\u0041"]}'
    for maker in (lambda: text, lambda: bytearray(text + PADDING)):
        with parsed(maker) as parts:
            assert parts is not None
            values = parts[0]
            kinds = [tag & 0xFF for tag in values[:, 0].tolist()]
            assert [kinds[0] & KIND, kinds[1] & KIND, kinds[2] & KIND] == [OBJECT, TEXT, LIST]
            assert kinds[3:7] == [UNSIGNED, SIGNED, REAL, NULL]
            assert values[3:5, 1].tolist() == [7, -7]
            assert values[5:6, 1].view(np.float64).tolist() == [0.5]
            assert text_of(values[-1]) == b"xA"


def test_without_the_library_all_goes_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yyjson, "_library", lambda: None)
    assert read_matrix(b'{"columns":["a"],"data":[[1]]}') is None


def test_a_library_that_lays_values_out_otherwise_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    read = yyjson._library()
    assert read is not None
    monkeypatch.setattr(yyjson, "_PROBED", yyjson._PROBED[:-1])
    assert not yyjson._means_the_same(read)
