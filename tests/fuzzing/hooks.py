"""What schemathesis does not know by itself: how NDJSON is written."""

from __future__ import annotations

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """One JSON text a line; a text goes as it is."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bytes):
        return value
    rows = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
