"""Whether the service is alive and can work."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from service.errors import Unavailable
from service.store import workers
from service.store.session import Store


def live() -> dict[str, Any]:
    """The process answers."""
    return {"status": "live", "version": version("rulewood")}


def ready(store: Store) -> dict[str, Any]:
    """The store can be reached and has the tables of this version.

    Raises:
        Unavailable: it cannot, or it has not.
    """
    if not store.is_current():
        raise Unavailable("The store has other tables than this version needs; run 'rulewood db upgrade'")
    with store.read() as session:
        n_workers = len(workers.alive(session))
    return {"status": "ready", "store": store.dialect, "workers": n_workers}
