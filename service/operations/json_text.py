"""The encoder of answers: strict JSON, floats in the shortest form that reads back to the same double."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np


def _plain(value: Any) -> Any:
    """A number of numpy as Python's: records should hold none, but an answer is not to fail for it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} has no JSON")


#: NaN would come out as null, so callers see to it that there is none.
encode_json = msgspec.json.Encoder(enc_hook=_plain).encode
