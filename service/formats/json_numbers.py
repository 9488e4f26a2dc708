"""Large matrices of numbers out of JSON, by simdjson: no Python object is made of any number.

It reads exactly what the general decoder (:mod:`service.strict_json`) reads: numbers are rounded to the
nearest double, and whatever JSON forbids is refused. At anything but numbers and nulls it gives up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.table import MISSING
from learners.types import FloatArray

#: simdjson makes arrays of numbers only, so a null goes in as this one. Where a body writes the same number
#: itself, there are more of it than there were nulls.
_STAND_IN = "-9.109383701528e307"
_NULL = b"null"


def read_matrix(body: bytes) -> FloatArray | None:
    """The rows of ``{"columns": [...], "data": [[...], ...]}``, each with as many numbers or nulls as names.

    Args:
        body: the text.

    Returns:
        float64 of shape (n, d), row-major, n > 0, NaN for null; None if the text is anything else, or if
        a name has a bracket (brackets are counted to see that no row holds a list) or the word null.
    """
    import simdjson

    if body[:1] != b"{":  # simdjson would skip a byte order mark
        return None
    text = body.replace(_NULL, _STAND_IN.encode())
    try:
        request: Any = simdjson.Parser().parse(text)
        if sorted(request.keys()) != ["columns", "data"]:  # a repeated key would be here twice
            return None
        names, data = request["columns"].as_list(), request["data"]
        is_flat = body.count(b"[") == len(data) + 2 and not any("[" in name or _STAND_IN in name for name in names)
        if not is_flat or set(map(len, data)) != {len(names)}:
            return None
        numbers = np.frombuffer(data.as_buffer(of_type="d")).reshape(len(data), len(names))
    except (ValueError, TypeError, AttributeError, KeyError, RuntimeError):  # simdjson, at other texts and types
        return None
    return _with_missing(numbers, (len(text) - len(body)) // (len(_STAND_IN) - len(_NULL)))


def _with_missing(numbers: FloatArray, n_missing: int) -> FloatArray | None:
    """NaN in place of the stand-in, which must occur so often."""
    if not n_missing:
        return numbers
    is_missing = numbers == float(_STAND_IN)
    return np.where(is_missing, MISSING, numbers) if np.count_nonzero(is_missing) == n_missing else None
