"""Model files: equal states are equal bytes, any change is noticed, no copy is made, no code is run."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load as foreign_load
from safetensors.numpy import save as foreign_save

from learners import persist
from learners.base import ModelState
from learners.errors import ModelFormatError
from learners.persist import dump, load, load_file

STATE = ModelState(
    {"learner": "example", "names": ["é", '"sha256": "', None, 1.5], "params": {"depth": None}},
    {
        "doubles": np.linspace(-1, 1, 7),
        "matrix": np.arange(6, dtype=np.int32).reshape(2, 3),
        "flags": np.array([True, False]),
        "bytes": np.arange(3, dtype=np.int8),
        "none": np.empty((0, 4)),
        "single": np.array(2.5),
    },
)
DATA = dump(STATE)


def test_a_state_comes_back() -> None:
    found = load(DATA)
    assert found.header == STATE.header
    assert set(found.arrays) == set(STATE.arrays)
    for name, array in STATE.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert np.array_equal(found.arrays[name], array)


def test_equal_states_are_equal_bytes() -> None:
    turned = ModelState(
        dict(reversed(STATE.header.items())), {name: array.copy() for name, array in reversed(STATE.arrays.items())}
    )
    assert {dump(turned) for _ in range(20)} == {DATA}
    fortran = ModelState(STATE.header, {**STATE.arrays, "matrix": np.asfortranarray(STATE.arrays["matrix"])})
    assert dump(fortran) == DATA
    swapped = ModelState(STATE.header, {**STATE.arrays, "doubles": STATE.arrays["doubles"].astype(">f8")})
    assert dump(swapped) == DATA


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(DATA)
    damaged[place] ^= change
    with pytest.raises(ModelFormatError):
        load(damaged)


def test_every_byte_is_guarded() -> None:
    for place in range(len(DATA)):
        damaged = bytearray(DATA)
        damaged[place] ^= 1
        with pytest.raises(ModelFormatError):
            load(damaged)


@given(st.integers(0, len(DATA) - 1))
def test_a_file_cut_short_is_noticed(length: int) -> None:
    with pytest.raises(ModelFormatError):
        load(DATA[:length])


def test_a_file_with_more_at_its_end_is_noticed() -> None:
    with pytest.raises(ModelFormatError, match="damaged"):
        load(DATA + b"\0")


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(ModelFormatError, match="not a Rulewood model"):
        load(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x95pickle bytes",
        foreign_save({"a": np.zeros(3)}),
        foreign_save({"a": np.zeros(3)}, metadata={"rulewood": "no json"}),
        foreign_save({"a": np.zeros(3)}, metadata={"rulewood": "[1]"}),
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 200_000) + b"[" * 200_000,
    ],
    ids=["pickle", "safetensors", "text", "list", "header list", "huge header", "deep header"],
)
def test_foreign_files_are_refused_as_foreign(data: bytes) -> None:
    with pytest.raises(ModelFormatError, match="not a Rulewood model"):
        load(data)


def test_a_newer_format_is_refused_with_both_numbers() -> None:
    newer = foreign_save({}, metadata={"rulewood": json.dumps({"format": 2, "sha256": "", "header": {}})})
    with pytest.raises(ModelFormatError, match="format 2; this version reads 1 to 1"):
        load(newer)


def test_older_formats_are_brought_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persist, "FORMAT", 3)
    monkeypatch.setitem(persist.UPGRADES, 1, lambda state: ModelState({**state.header, "second": 2}, state.arrays))
    monkeypatch.setitem(persist.UPGRADES, 2, lambda state: ModelState({**state.header, "third": 3}, state.arrays))
    found = load(DATA)
    assert (found.header["second"], found.header["third"]) == (2, 3)


def test_loaded_arrays_are_views_that_cannot_be_written() -> None:
    data = bytearray(DATA)
    for array in load(data).arrays.values():
        assert not array.flags.writeable
        assert not array.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        load(data).arrays["doubles"][0] = 1


def test_a_mapped_file_is_used_in_place(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(DATA)
    arrays = load_file(path).arrays
    assert np.array_equal(arrays["doubles"], STATE.arrays["doubles"])
    assert not arrays["doubles"].flags.writeable
    assert not arrays["doubles"].flags.owndata
    path.unlink()  # the mapping outlives the name
    assert arrays["doubles"][-1] == 1


@pytest.mark.parametrize("data", [b"", b"short"])
def test_short_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match="too short"):
        load_file(path)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([object()]), np.zeros(2, complex), np.zeros(2, "M8[s]")])
def test_arrays_of_other_types_are_refused_by_name(array: np.ndarray) -> None:
    with pytest.raises(ModelFormatError, match="array 'odd'"):
        dump(ModelState({}, {"odd": array}))


def test_a_header_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        dump(ModelState({"share": float("nan")}))


def test_the_container_is_safetensors_that_others_read() -> None:
    assert np.array_equal(foreign_load(DATA)["matrix"], STATE.arrays["matrix"])


headers = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@given(headers)
def test_any_json_header_comes_back(header: dict) -> None:
    assert load(dump(ModelState(header))).header == header
