"""What schemathesis does not know by itself: how NDJSON is written, and what there is on the service.

``RULEWOOD_FUZZ_KNOWN`` may hold a JSON object of path parameters whose values exist: about every second
well-formed request is sent to one of them, so that it gets beyond "there is no such thing". ``RULEWOOD_FUZZ_KEY`` may
be the id of the key with which all is sent, which a link from the list of keys would end one day.
"""

from __future__ import annotations

import io
import json
import os
from typing import Any

import pyarrow as pa
import schemathesis
from schemathesis import GenerationMode

KNOWN: dict[str, str] = json.loads(os.environ.get("RULEWOOD_FUZZ_KNOWN", "{}"))
OWN_KEY = os.environ.get("RULEWOOD_FUZZ_KEY")
#: What ends the things that the others need.
ENDING = ("deleteDataset", "deleteModel", "archiveVersion", "deleteJob", "revokeKey", "deleteAlias")


def _is_wellformed(case: Any) -> bool:
    return case.meta is None or case.meta.generation.mode is GenerationMode.POSITIVE


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """One JSON text a line; a text goes as it is."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bytes):
        return value
    rows = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@schemathesis.serializer("application/vnd.apache.arrow.stream")
def as_bytes(context: Any, value: Any) -> bytes:
    """A stream where it shall be well formed, which no schema can say of bytes; else whatever it made."""
    if _is_wellformed(context.case):
        sink = io.BytesIO()
        table = pa.table({"value": [str(value)[:20].encode("utf-8", "replace").decode()]})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue()
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """Send a well-formed request to something that exists, if its path parameter says so by its length."""
    if _is_wellformed(case) and case.operation.definition.raw.get("operationId") not in ENDING:
        for name, value in dict(case.path_parameters or {}).items():
            is_known = name in KNOWN and (name != "name" or "/models/" in case.path)
            if is_known and len(str(value)) % 2 == 0:
                case.path_parameters[name] = KNOWN[name]
    if OWN_KEY and OWN_KEY in dict(case.path_parameters or {}).values():
        case.path_parameters = dict.fromkeys(case.path_parameters, "another")
    return case
