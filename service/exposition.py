"""The numbers of :mod:`service.metrics` in the text form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

#: What the gauges mean; the values are set before each rendering.
_GAUGES = {
    "models_in_memory": "Model versions in memory",
    "model_bytes_in_memory": "Bytes of the model versions in memory",
    "requests_in_flight": "Requests being answered",
}


def expose(snapshots: Iterable[Mapping[str, Any]], bounds: Sequence[float]) -> bytes:
    """The sum over several processes.

    Args:
        snapshots: what :meth:`service.metrics.Metrics.snapshot` gave in each process.
        bounds: upper bounds of the latency histogram's buckets, in seconds; one more bucket has none.
    """
    registry = CollectorRegistry()
    registry.register(_Sum(snapshots, bounds))
    return generate_latest(registry)


class _Sum(Collector):
    """The numbers of several processes as one."""

    def __init__(self, snapshots: Iterable[Mapping[str, Any]], bounds: Sequence[float]) -> None:
        self.snapshots = list(snapshots)
        self.bounds = [*(str(bound) for bound in bounds), "+Inf"]

    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily("rulewood_build_info", "The version of the service, as a label", labels=["version"])
        info.add_metric([version("rulewood")], 1)
        yield info
        rows = sum(snapshot["rows"] for snapshot in self.snapshots)
        yield CounterMetricFamily("rulewood_predicted_rows", "Rows that were answered or explained", value=rows)
        yield from self._gauges()
        yield from self._requests()

    def _gauges(self) -> Iterator[Metric]:
        for name in sorted({name for snapshot in self.snapshots for name in snapshot["gauges"]}):
            total = sum(snapshot["gauges"].get(name, 0) for snapshot in self.snapshots)
            yield GaugeMetricFamily(f"rulewood_{name}", _GAUGES[name], value=total)

    def _requests(self) -> Iterator[Metric]:
        counts = CounterMetricFamily("rulewood_requests", "Requests by route and status", labels=["route", "status"])
        times = HistogramMetricFamily("rulewood_request_seconds", "Time from request to answer", labels=["route"])
        for name in sorted({name for snapshot in self.snapshots for name in snapshot["routes"]}):
            routes = [snapshot["routes"][name] for snapshot in self.snapshots if name in snapshot["routes"]]
            for status in sorted({status for route in routes for status in route["statuses"]}):
                counts.add_metric([name, status], sum(route["statuses"].get(status, 0) for route in routes))
            buckets = list(accumulate(sum(column) for column in zip(*(r["buckets"] for r in routes), strict=True)))
            seconds = sum(route["seconds"] for route in routes)
            times.add_metric([name], list(zip(self.bounds, buckets, strict=True)), sum_value=seconds)
        yield counts
        yield times
