"""Predictions over many connections for a long time, training beside: neither memory nor waiting may grow.

    python benchmarks/soak.py [--minutes 30] [--connections 64]

`rulewood serve` with its worker answers one row a request, asked for by wrk, in turns: some seconds while nothing is
trained, and some tens while one cross-validation follows the other. Prints the memory of the API process at the
beginning and the end (its anonymous memory, after a first turn of each, in which everything is used for the first
time), and the medians of both turns' 99th percentiles of latency. The exit status is 1 if an answer was no 200, memory
grew by more than 10 MB, or the 99th percentile beside training is more than 3 times that without.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from fuzz import anonymous_megabytes  # noqa: E402 - the folders are put on the path first

from service.client import Rulewood  # noqa: E402
from service.demo.road import TABLE, started_service  # noqa: E402

#: Seconds of a turn without training, and of one beside it.
QUIET, BUSY = 10, 50
GROWTH_MEGABYTES, TIMES_IDLE = 10.0, 3.0
LEARNING = {"target": "class", "learner": "decision-tree-classifier"}
WRK = """
wrk.method = "POST"
wrk.body = [==[{body}]==]
wrk.headers["Content-Type"] = "application/json"
done = function(summary, latency, requests)
  io.write(string.format("RESULT %d %f %d %d\\n", summary.requests, latency:percentile(99) / 1000,
    summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write))
end
"""


class Training:
    """Jobs one after another while it is wanted."""

    def __init__(self, client: Rulewood, dataset: str) -> None:
        self._client, self._dataset = client, dataset
        self._is_wanted = threading.Event()
        self.jobs = 0

    def __enter__(self) -> None:
        self._is_wanted.set()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_wanted.clear()
        self._thread.join()

    def _run(self) -> None:
        while self._is_wanted.is_set():
            job = self._client.cross_validate(
                self._dataset, folds=10, **LEARNING, parameters={"pruning": "error-based"}
            )
            self._client.wait(job)
            self.jobs += 1


def ask(script: Path, address: str, connections: int, seconds: int) -> tuple[int, float]:
    """How many requests were answered, and the 99th percentile of their latencies in ms."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script), address]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = next(line.split() for line in said.splitlines() if line.startswith("RESULT"))
    if found[3:] != ["0", "0"]:
        sys.exit(said)
    return int(found[1]), float(found[2])


def soak(folder: Path, minutes: float, connections: int) -> bool:
    """Whether all bars were met."""
    with started_service(folder) as service, Rulewood(service, timeout=600.0) as client:
        dataset = client.upload(TABLE, name="credit")["id"]
        client.wait(client.train(dataset, model="credit", **LEARNING))
        script, address = folder / "ask.lua", f"{service}/api/v1/models/credit/predictions"
        script.write_text(WRK.replace("{body}", json.dumps({"rows": [client.schema("credit")["example"]]})))
        port, training = int(service.rsplit(":", 1)[1]), Training(client, dataset)
        memory, quiet, busy, answered = [], [], [], 0
        until = time.monotonic() + 60 * minutes
        while not memory or time.monotonic() < until:
            few, slow = ask(script, address, connections, QUIET)
            quiet.append(slow)
            with training:
                many, slow = ask(script, address, connections, BUSY)
            busy.append(slow)
            answered += few + many
            memory.append(anonymous_megabytes(port))
            print(
                f"{memory[-1]:.1f} MB, p99 {quiet[-1]:.1f} and {busy[-1]:.1f} ms, load {os.getloadavg()[0]:.1f}",
                file=sys.stderr,
            )
    ratio = statistics.median(busy) / statistics.median(quiet)
    print(
        f"{answered} answers to {connections} connections, {training.jobs} jobs beside, in {len(memory)} turns: memory "
        f"{memory[0]:.1f} MB {memory[-1] - memory[0]:+.1f} (at most {max(memory):.1f}); p99 without training "
        f"{statistics.median(quiet):.1f} ms ({min(quiet):.1f} to {max(quiet):.1f}), beside it "
        f"{statistics.median(busy):.1f} ms ({min(busy):.1f} to {max(busy):.1f}), x{ratio:.2f}"
    )
    return memory[-1] - memory[0] <= GROWTH_MEGABYTES and ratio <= TIMES_IDLE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--connections", type=int, default=64)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(not soak(Path(folder), asked.minutes, asked.connections))


if __name__ == "__main__":
    main()
