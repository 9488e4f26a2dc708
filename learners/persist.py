"""Models as bytes: arrays and a JSON header in the safetensors container. No code is ever loaded.

Layout (safetensors): 8 bytes little-endian length of the JSON header, the header, the arrays.
Rulewood's own header is one JSON text under ``__metadata__.rulewood``. A sha256 over that text and
all arrays guards against damage; ``format`` counts layout changes, and older ones are brought
forward by :data:`UPGRADES`.
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
from learners.errors import ModelFormatError
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

#: Functions that bring a state of format k to format k + 1, by k.
UPGRADES: dict[int, Callable[[ModelState], ModelState]] = {}


def dump(state: ModelState) -> bytes:
    """The bytes of a model; equal states give equal bytes."""
    arrays = {name: np.ascontiguousarray(array) for name, array in sorted(state.arrays.items())}
    header = json.dumps(state.header, sort_keys=True, allow_nan=False, ensure_ascii=False)
    metadata = {"rulewood": header, "format": str(FORMAT), "sha256": _checksum(header, arrays)}
    return bytes(save_tensors(arrays, metadata=metadata))


def load(data: bytes | memoryview | mmap.mmap) -> ModelState:
    """The inverse of :func:`dump`; arrays are read-only views of ``data``.

    Raises:
        ModelFormatError: damaged, foreign or of a newer format.
    """
    view = memoryview(data)
    entries = _header(view)
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or "rulewood" not in metadata:
        raise ModelFormatError("not a Rulewood model: the header has no entry 'rulewood'")
    version = int(metadata.get("format", 0))
    if not 1 <= version <= FORMAT:
        raise ModelFormatError(f"the model has format {version}; this version reads 1 to {FORMAT}")
    start = 8 + int.from_bytes(view[:8], "little")
    arrays = {name: _array(view[start:], name, entry) for name, entry in sorted(entries.items())}
    if _checksum(metadata["rulewood"], arrays) != metadata.get("sha256"):
        raise ModelFormatError("the model is damaged: its checksum does not match")
    state = ModelState(json.loads(metadata["rulewood"]), arrays)
    for step in range(version, FORMAT):
        state = UPGRADES[step](state)
    return state


def load_file(path: Path) -> ModelState:
    """Read a model by mapping its file, so that all processes of a host share one copy."""
    with path.open("rb") as file:
        if path.stat().st_size < 8:
            raise ModelFormatError("not a Rulewood model: too short")
        return load(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _header(view: memoryview) -> dict[str, Any]:
    length = int.from_bytes(view[:8], "little") if len(view) >= 8 else 0
    if not 0 < length <= min(len(view) - 8, _MAX_HEADER):
        raise ModelFormatError("not a Rulewood model: no header")
    try:
        header = json.loads(bytes(view[8 : 8 + length]))
    except (ValueError, RecursionError) as error:
        raise ModelFormatError("not a Rulewood model: its header is not JSON") from error
    if not isinstance(header, dict):
        raise ModelFormatError("not a Rulewood model: its header is not an object")
    return header


def _array(body: memoryview, name: str, entry: Mapping[str, Any]) -> Array:
    try:
        begin, end = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        return np.frombuffer(body[begin:end], dtype=dtype).reshape(entry["shape"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(f"the model is damaged: array {name!r} cannot be read") from error


def _checksum(header: str, arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}|{array.dtype.str}|{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
