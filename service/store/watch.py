"""Whether anybody wrote to the store, told for next to nothing."""

from __future__ import annotations

import sqlite3

from service.store.session import Store


class Watch:
    """On SQLite, whether any connection has committed since the last question; elsewhere it never says so.

    A question takes microseconds, where a query takes a thousand. To be asked by one thread.
    """

    def __init__(self, store: Store) -> None:
        self._file = store.engine.url.database if store.dialect == "sqlite" else None
        self._connection: sqlite3.Connection | None = None
        self._seen = 0

    def has_changed(self) -> bool:
        """Whether it has; true also where that cannot be told just now."""
        if self._file is None:
            return False
        try:
            if self._connection is None:
                self._connection = sqlite3.connect(self._file, isolation_level=None)
            version = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error:
            return True
        has_changed, self._seen = version != self._seen, version
        return has_changed

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
