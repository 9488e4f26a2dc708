"""What Prometheus reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.metrics import Metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.render().decode())
        for sample in family.samples
    }


def test_requests_are_counted_by_route_and_status_and_timed() -> None:
    metrics = Metrics()
    for status, seconds in ((200, 0.0004), (200, 0.003), (422, 0.003), (200, 60.0)):
        metrics.observe("/a", status, seconds)
    found = samples(metrics)
    assert found["rulewood_requests_total", (("route", "/a"), ("status", "200"))] == 3
    assert found["rulewood_requests_total", (("route", "/a"), ("status", "422"))] == 1
    buckets = {
        bound: found["rulewood_request_seconds_bucket", (("le", bound), ("route", "/a"))]
        for bound in ("0.0005", "0.005", "10.0", "+Inf")
    }
    assert buckets == {"0.0005": 1, "0.005": 3, "10.0": 3, "+Inf": 4}
    assert found["rulewood_request_seconds_count", (("route", "/a"),)] == 4
    assert found["rulewood_request_seconds_sum", (("route", "/a"),)] == pytest.approx(60.0064)


def test_a_time_on_a_bound_counts_as_within_it() -> None:
    metrics = Metrics()
    metrics.observe("/a", 200, 0.001)
    assert samples(metrics)["rulewood_request_seconds_bucket", (("le", "0.001"), ("route", "/a"))] == 1


def test_rows_gauges_and_version_are_told() -> None:
    metrics = Metrics()
    metrics.add_rows(5)
    metrics.gauges = {"models_in_memory": 2}
    found = samples(metrics)
    assert found["rulewood_predicted_rows_total", ()] == 5
    assert found["rulewood_models_in_memory", ()] == 2
    assert [value for (name, _), value in found.items() if name == "rulewood_build_info"] == [1]


def test_processes_that_share_a_port_are_added_up_and_dead_ones_forgotten(tmp_path: Path) -> None:
    other = Metrics(tmp_path)
    other.observe("/a", 200, 0.1)
    other.add_rows(3)
    other.publish()
    written = tmp_path / f"{os.getpid()}.json"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as living:
        written.rename(tmp_path / f"{living.pid}.json")
        mine = Metrics(tmp_path)
        mine.observe("/a", 200, 0.1)
        mine.add_rows(4)
        found = samples(mine)
        assert found["rulewood_predicted_rows_total", ()] == 7
        assert found["rulewood_requests_total", (("route", "/a"), ("status", "200"))] == 2
    assert samples(mine)["rulewood_predicted_rows_total", ()] == 4
    assert not list(tmp_path.glob("*.json"))


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    metrics.add_rows(1)
    metrics.publish()
    path = tmp_path / f"{os.getpid()}.json"
    assert json.loads(path.read_text())["rows"] == 1
    path.unlink()
    metrics.publish()
    assert not path.exists()


def test_a_process_alone_writes_nothing() -> None:
    Metrics().publish()
