"""Pages of a list, newest first, that stay in step while rows come and go."""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import TypeVar

from sqlalchemy import Select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from service.errors import BadRequest, Fault

Row = TypeVar("Row")


def encode_cursor(created_at: float, row_id: str) -> str:
    """An opaque text that names the last row of a page."""
    return base64.urlsafe_b64encode(json.dumps([created_at, row_id]).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[float, str]:
    """The inverse of :func:`encode_cursor`.

    Raises:
        BadRequest: no page ever gave this cursor.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        created_at, row_id = json.loads(base64.b64decode(padded, altchars="-_", validate=True))
        if isinstance(created_at, float) and math.isfinite(created_at) and isinstance(row_id, str):
            return created_at, row_id
    except (binascii.Error, ValueError, TypeError, RecursionError):
        pass
    fault = Fault("take `next_cursor` of the page before, or none", parameter="cursor")
    raise BadRequest("The cursor is not one that this service gave.", [fault])


def page_of(
    session: Session,
    statement: Select[Row],
    created_at: InstrumentedAttribute[float],
    row_id: InstrumentedAttribute[str],
    cursor: str | None,
    limit: int,
) -> tuple[list[Row], str | None]:
    """Rows of ``statement`` by ``created_at`` and id, newest first, from the cursor on.

    Returns:
        At most ``limit`` rows, and the cursor of the next page or None at the end.
    """
    if cursor is not None:
        statement = statement.where(tuple_(created_at, row_id) < tuple_(*decode_cursor(cursor)))
    rows = list(session.scalars(statement.order_by(created_at.desc(), row_id.desc()).limit(limit + 1)))
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], encode_cursor(getattr(last, created_at.key), getattr(last, row_id.key))
