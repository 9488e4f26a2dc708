"""What a database says when it cannot, in the service's own errors."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from service.errors import Invalid, ServiceError, StorageFull, Unavailable

RETRY_AFTER = {"Retry-After": "2"}
#: What may be over when it is tried again.
PASSING = (Unavailable, StorageFull)

_SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_SQLITE_OUT_OF_REACH = {
    sqlite3.SQLITE_CANTOPEN: "The store cannot be opened.",
    sqlite3.SQLITE_READONLY: "The store is read-only.",
    sqlite3.SQLITE_IOERR: "The store's disk reports an error.",
    sqlite3.SQLITE_PERM: "The store may not be opened.",
}
# PostgreSQL: connection lost or refused (08), resources (53), shutting down (57P), lock or statement timeout,
# deadlock and serialization failure (40), a server that has become a read-only standby (25006).
_POSTGRESQL_PASSING = ("08", "53", "57", "40", "55P03", "25006")
_POSTGRESQL_FULL = "53100"
_POSTGRESQL_BAD_TEXT = ("22021", "22P05", "22P02")
#: No space on the device, no more of it for this user, no larger files for this process.
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def translated() -> Iterator[None]:
    """Turn a database's refusals into :class:`Unavailable`, :class:`StorageFull` or :class:`Invalid`.

    Whatever is not a refusal (a wrong statement, a broken constraint) passes as it is.
    """
    try:
        yield
    except exc.SQLAlchemyError as error:
        translation = _translate(error)
        if translation is None:
            raise
        raise translation from error
    except OSError as error:
        if is_no_space(error):
            raise storage_full() from error
        raise


def is_out_of_reach(error: BaseException | None) -> bool:
    """Whether an error of SQLite's means that its file cannot be written or read just now, locks aside."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_FULL or code in _SQLITE_OUT_OF_REACH


def is_no_space(error: BaseException) -> bool:
    """Whether a file could not be written because there is no room for it."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def storage_full() -> StorageFull:
    """The error for a full disk, wherever it was met."""
    return StorageFull("There is no space left for the store; nothing was changed.", headers=RETRY_AFTER)


def _unavailable(detail: str) -> Unavailable:
    return Unavailable(detail + " Nothing was changed; try again shortly.", headers=RETRY_AFTER)


def _translate(error: exc.SQLAlchemyError) -> ServiceError | None:
    if isinstance(error, exc.TimeoutError):
        return _unavailable("All connections to the store are in use.")
    if not isinstance(error, exc.StatementError):
        return None
    cause = error.orig
    if isinstance(cause, ServiceError):  # raised by a column type while a value was bound
        return cause
    if isinstance(cause, UnicodeEncodeError):
        return Invalid("The request has a text that cannot be stored.")
    if isinstance(cause, sqlite3.Error):
        return _translate_sqlite(cause)
    return _translate_postgresql(error) if isinstance(error, exc.DBAPIError) else None


def _translate_sqlite(cause: sqlite3.Error) -> ServiceError | None:
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return storage_full()
    if code in _SQLITE_BUSY:
        return _unavailable("The store is locked by another writer.")
    if code in _SQLITE_OUT_OF_REACH:
        return _unavailable(_SQLITE_OUT_OF_REACH[code])
    return None


def _translate_postgresql(error: exc.DBAPIError) -> ServiceError | None:
    state = getattr(error.orig, "sqlstate", None)
    if state == _POSTGRESQL_FULL:
        return storage_full()
    if state is not None and state.startswith(_POSTGRESQL_PASSING):
        return _unavailable("The store is busy or restarting.")
    if error.connection_invalidated or (state is None and isinstance(error, exc.OperationalError)):
        return _unavailable("The store cannot be reached.")
    if state in _POSTGRESQL_BAD_TEXT:
        return Invalid("The request has a text that cannot be stored.")
    return None
