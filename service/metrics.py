"""What the service counts and measures, for Prometheus.

On the hot path a request costs two dictionary look-ups and a few additions to plain numbers; text is
made when it is asked for. Several processes may share one port (``serve --workers N``), and a scrape
meets any one of them. So each process keeps its numbers in a small file of a common folder as well,
written about once a second while they change, and the answer is the sum over the living processes.
"""

from __future__ import annotations

import json
import os
import threading
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Upper bounds of the latency histogram, in seconds.
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class _Route:
    """What happened on one route. ``buckets`` are not cumulative; the last is above all bounds."""

    statuses: dict[int, int] = field(default_factory=dict)
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


class Metrics:
    """The measures of one API process.

    Args:
        folder: where processes that share a port keep their numbers; None for a process alone.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.rows = 0
        self.gauges: dict[str, float] = {}
        self._routes: dict[str, _Route] = {}
        self._folder = folder
        self._written: dict[str, Any] = {}
        self._lock = threading.Lock()

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count one finished request; ``route`` is its template, never the path, whose number has no bound.

        Called from the event loop alone, so nothing is locked.
        """
        found = self._routes.get(route)
        if found is None:
            found = self._routes[route] = _Route()
        found.statuses[status] = found.statuses.get(status, 0) + 1
        found.buckets[bisect_left(BOUNDS, seconds)] += 1
        found.seconds += seconds

    def add_rows(self, n_rows: int) -> None:
        """Count rows that are answered; any thread may."""
        with self._lock:
            self.rows += n_rows

    def snapshot(self) -> dict[str, Any]:
        """This process's numbers as JSON values."""
        routes = {
            name: {
                "statuses": {str(status): count for status, count in dict(route.statuses).items()},
                "buckets": list(route.buckets),
                "seconds": route.seconds,
            }
            for name, route in dict(self._routes).items()
        }
        return {"rows": self.rows, "gauges": dict(self.gauges), "routes": routes}

    def publish(self) -> None:
        """Write the numbers where the other processes find them, if they changed."""
        if self._folder is None:
            return
        snapshot = self.snapshot()
        if snapshot == self._written:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{os.getpid()}.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(snapshot))
        part.replace(path)
        self._written = snapshot

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        from service.exposition import expose  # with the first scrape: it brings servers that nothing here runs

        return expose([self.snapshot(), *self._others()], BOUNDS)

    def _others(self) -> Iterator[dict[str, Any]]:
        if self._folder is None or not self._folder.is_dir():
            return
        for path in sorted(self._folder.iterdir()):
            process = int(path.stem) if path.stem.isdecimal() else 0
            if process == os.getpid():
                continue
            if not _is_alive(process):
                path.unlink(missing_ok=True)
                continue
            if path.suffix != ".json":
                continue  # being written
            try:
                yield json.loads(path.read_text())
            except FileNotFoundError:
                continue


def _is_alive(process: int) -> bool:
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
