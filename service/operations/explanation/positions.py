"""Cursors into a list that a model version has as a whole: they name the version and how far one has come."""

from __future__ import annotations

import base64
import binascii
import json

from service.errors import BadRequest, Conflict, Fault
from service.operations.identity import Identity


def encode_position(identity: Identity, position: int) -> str:
    """An opaque text that names the first item of a page."""
    text = json.dumps([identity.version, identity.fingerprint, position])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_position(identity: Identity, cursor: str | None) -> int:
    """The inverse; 0 without a cursor.

    Raises:
        BadRequest: no page ever gave this cursor.
        Conflict: it is of another version, as when an alias was moved between two pages, or of a deleted one.
    """
    if cursor is None:
        return 0
    version, fingerprint, position = _decode(cursor)
    if (version, fingerprint) != (identity.version, identity.fingerprint):
        which = f"a deleted version {version}" if version == identity.version else f"version {version}"
        message = f"the cursor is of {which}, but this is version {identity.version}; begin with the first page"
        raise Conflict(f"The pages do not belong together: {message}", [Fault(message, parameter="cursor")])
    return position


def _decode(cursor: str) -> tuple[int, str, int]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        version, fingerprint, position = json.loads(base64.b64decode(padded, altchars="-_", validate=True))
        if type(version) is int and type(fingerprint) is str and type(position) is int and position >= 0:
            return version, fingerprint, position
    except (binascii.Error, ValueError, TypeError, RecursionError):
        pass
    fault = Fault("take `next_cursor` of the page before, or none", parameter="cursor")
    raise BadRequest("The cursor is not one that this service gave.", [fault])
