"""Whether the service is alive and can work."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from importlib.metadata import version
from typing import Any

from service.errors import Unavailable
from service.store import workers
from service.store.failures import RETRY_AFTER
from service.store.session import Store

#: A store that is not heard of for so long is out of reach.
READY_SECONDS = 3.0


async def live() -> dict[str, Any]:
    """The process answers."""
    return {"status": "live", "version": version("rulewood")}


class Readiness:
    """Whether the store can be reached and has the tables of this version.

    No timeout of the database covers a server that has stopped and holds its connections, so each look is made in a
    thread that is waited for no longer than ``seconds``; while it hangs, those who ask wait for it and begin no other.

    Args:
        store: what is looked at.
        seconds: longest wait for an answer.
    """

    def __init__(self, store: Store, seconds: float = READY_SECONDS) -> None:
        self._store = store
        self._seconds = seconds
        self._guard = threading.Lock()
        self._last: Future[dict[str, Any]] | None = None

    async def check(self) -> dict[str, Any]:
        """What a service that is ready says of itself.

        Raises:
            Unavailable: it is not.
        """
        look = asyncio.wrap_future(self._look())
        try:
            return await asyncio.wait_for(asyncio.shield(look), self._seconds)
        except TimeoutError:
            raise Unavailable(f"The store did not answer within {self._seconds:g} s.", headers=RETRY_AFTER) from None

    def _look(self) -> Future[dict[str, Any]]:
        """The look that is being made, else a new one."""
        with self._guard:
            if self._last is None or self._last.done():
                self._last = Future()
                threading.Thread(target=self._run, args=(self._last,), name="readiness", daemon=True).start()
            return self._last

    def _run(self, look: Future[dict[str, Any]]) -> None:
        try:
            look.set_result(_ready(self._store))
        except Exception as error:
            look.set_exception(error)


def _ready(store: Store) -> dict[str, Any]:
    if not store.is_current():
        raise Unavailable("The store has other tables than this version needs; run 'rulewood db upgrade'")
    with store.read() as session:
        n_workers = len(workers.alive(session))
    return {"status": "ready", "store": store.dialect, "workers": n_workers}
