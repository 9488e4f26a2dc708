"""Models as bytes: arrays and a JSON header in the safetensors container. No code is ever loaded.

Layout (safetensors): 8 bytes little-endian length of the JSON header, the header, the arrays.
Rulewood's own part is one JSON text under ``__metadata__.rulewood``: ``format``, ``sha256`` and the
model's ``header``. The checksum is taken over the whole file with its own 64 digits read as zeros,
so no byte can change unnoticed. ``format`` counts layout changes; older ones are brought forward by
:data:`UPGRADES`.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as save_tensors

from learners.base import ModelState
from learners.errors import ModelFormatError, quoted
from learners.types import Array

FORMAT = 1
_MAX_HEADER = 100_000_000
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|b1",
}
_ZEROS = "0" * 64
#: What stands before the digits of the checksum, as a JSON text within a JSON text.
_BEFORE_DIGITS = rb"\"sha256\": \""

#: Functions that bring a state of format k to format k + 1, by k.
UPGRADES: dict[int, Callable[[ModelState], ModelState]] = {}


def dump(state: ModelState) -> bytes:
    """The bytes of a model; equal states give equal bytes.

    Raises:
        ModelFormatError: an array of a type that the format does not hold.
    """
    arrays = {name: _storable(name, array) for name, array in sorted(state.arrays.items())}
    header = json.dumps(state.header, sort_keys=True, allow_nan=False, ensure_ascii=False)
    # one entry only: the container writes several in an order that differs from call to call
    metadata = {"rulewood": f'{{"format": {FORMAT}, "sha256": "{_ZEROS}", "header": {header}}}'}
    data = bytearray(save_tensors(arrays, metadata=metadata))
    place = _digits(data)
    data[place] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def load(data: bytes | bytearray | memoryview | mmap.mmap) -> ModelState:
    """The inverse of :func:`dump`; arrays are read-only views of ``data``.

    Raises:
        ModelFormatError: damaged, foreign or of a newer format.
    """
    view = memoryview(data).toreadonly()
    entries = _container(view)
    record = _record(entries.pop("__metadata__", None))
    version = record.get("format")
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise ModelFormatError(f"the model has format {quoted(version)}; this version reads 1 to {FORMAT}")
    _check(view, record.get("sha256"))
    body = view[8 + int.from_bytes(view[:8], "little") :]
    header = record.get("header")
    if not isinstance(header, dict):
        raise ModelFormatError("the model is damaged: it has no header")
    state = ModelState(header, {name: _array(body, name, entry) for name, entry in sorted(entries.items())})
    for step in range(version, FORMAT):
        state = UPGRADES[step](state)
    return state


def load_file(path: Path) -> ModelState:
    """Read a model by mapping its file, so that all processes of a host share one copy."""
    with path.open("rb") as file:
        if path.stat().st_size < 8:
            raise ModelFormatError("not a Rulewood model: too short")
        return load(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _storable(name: str, array: Array) -> Array:
    stored = np.ascontiguousarray(array).reshape(array.shape)
    stored = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
    if stored.dtype.str not in _DTYPES.values():
        raise ModelFormatError(f"array {name!r} is of type {array.dtype}; a model holds {', '.join(_DTYPES)}")
    return stored


def _container(view: memoryview) -> dict[str, Any]:
    length = int.from_bytes(view[:8], "little") if len(view) >= 8 else 0
    if not 0 < length <= min(len(view) - 8, _MAX_HEADER):
        raise ModelFormatError("not a Rulewood model: no header")
    return _json_object(bytes(view[8 : 8 + length]), "its header")


def _record(metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict) or not isinstance(metadata.get("rulewood"), str):
        raise ModelFormatError("not a Rulewood model: the header has no text 'rulewood'")
    return _json_object(metadata["rulewood"], "the header's entry 'rulewood'")


def _json_object(text: str | bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"not a Rulewood model: {what} is not JSON") from error
    if not isinstance(value, dict):
        raise ModelFormatError(f"not a Rulewood model: {what} is not an object")
    return value


def _digits(data: bytes | bytearray) -> slice:
    """Where the digits of the checksum stand in a file or in its head."""
    found = data.find(_BEFORE_DIGITS)
    if found < 0:
        raise ModelFormatError("the model is damaged: it has no checksum")
    start = found + len(_BEFORE_DIGITS)
    return slice(start, start + len(_ZEROS))


def _check(view: memoryview, expected: Any) -> None:
    head = bytearray(view[: 8 + int.from_bytes(view[:8], "little")])
    place = _digits(head)
    written = bytes(head[place])
    head[place] = _ZEROS.encode()
    digest = hashlib.sha256(head)
    digest.update(view[len(head) :])
    # the digits must be those that the record holds, or bytes elsewhere could pose as them
    if written.decode("latin-1") != expected or digest.hexdigest() != expected:
        raise ModelFormatError("the model is damaged: its checksum does not match")


def _array(body: memoryview, name: str, entry: Mapping[str, Any]) -> Array:
    try:
        begin, end = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        return np.frombuffer(body[begin:end], dtype=dtype).reshape(entry["shape"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(f"the model is damaged: array {name!r} cannot be read") from error
