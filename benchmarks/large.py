"""A large table through the whole service: uploaded, profiled, stored, and a tree grown on it from the store.

    python benchmarks/large.py [--rows 1000000] [--columns 20]

Prints seconds, and the peak memory of all processes of the service together above what they held idle
(the sum of their proportional set sizes, so that shared pages count once).
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from service.client import Rulewood
from service.demo.road import started_service


def write_table(path: Path, rows: int, columns: int) -> None:
    """Random numbers with three decimals; the class depends on four of the columns, with noise."""
    random = np.random.Generator(np.random.PCG64(0))
    with path.open("w") as file:
        file.write(",".join(f"x{place}" for place in range(columns)) + ",y\n")
        for first in range(0, rows, 100_000):
            block = random.normal(size=(min(100_000, rows - first), columns)).round(3)
            score = block[:, 0] + block[:, 1] * block[:, 2] - block[:, 3] + random.normal(size=len(block))
            for cells, label in zip(block.tolist(), np.where(score > 0, "yes", "no"), strict=True):
                file.write(",".join(map(repr, cells)) + f",{label}\n")


class Memory(threading.Thread):
    """Watches the memory of this process's descendants."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0

    def now(self) -> float:
        """Megabytes of all descendants together."""
        total = 0
        for process in psutil.Process(os.getpid()).children(recursive=True):
            try:
                total += process.memory_full_info().pss
            except psutil.Error:
                continue
        return total / 1e6

    def run(self) -> None:
        while True:
            self.peak = max(self.peak, self.now())
            time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, started_service(Path(folder)) as address:
        table = Path(folder) / "table.csv"
        write_table(table, given.rows, given.columns)
        with Rulewood(address, timeout=3600) as client:
            small = client.upload(b"x,y\n1,a\n2,b\n", name="small", format="csv")
            client.wait(client.train(small["id"], target="y", learner="decision-tree-classifier"), timeout=600)
            memory = Memory()
            idle = memory.now()
            memory.start()
            start = time.perf_counter()
            dataset = client.upload(table, name="large")
            uploaded, upload_peak = time.perf_counter() - start, memory.peak
            memory.peak = 0
            start = time.perf_counter()
            job = client.train(
                dataset["id"],
                target="y",
                learner="decision-tree-classifier",
                model="large",
                parameters={"min_leaf": 20},
                evaluation={"method": "none"},
            )
            done = client.wait(job, timeout=3600)
            trained, train_peak = time.perf_counter() - start, memory.peak
    print(f"{platform.platform()}, {os.cpu_count()} cores; {given.rows:,} x {given.columns}, {idle:.0f} MB idle")
    print(f"upload of {table.stem}: {uploaded:.1f} s, peak {upload_peak - idle:.0f} MB above idle")
    print(f"training ({done['state']}): {trained:.1f} s, peak {train_peak - idle:.0f} MB above idle")


if __name__ == "__main__":
    main()
