"""The first training on a machine that never compiled a kernel, and predictions meanwhile.

Starts a service on an empty store with an empty kernel cache, uploads the credit data, trains a first
model, and then, while a second training runs with a second empty cache, asks for predictions.

    python benchmarks/first_training.py [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numba

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from service.client import Rulewood
from service.demo.road import TABLE, started_service


def train(client: Rulewood, dataset: str, learner: str, model: str) -> float:
    """Seconds from submitting a training to its version being registered."""
    start = time.perf_counter()
    job = client.train(dataset, target="class", learner=learner, model=model, evaluation={"method": "none"})
    finished = client.wait(job, timeout=300)
    assert finished["state"] == "succeeded", finished
    return time.perf_counter() - start


def predictions_until(done: threading.Event, address: str, row: dict, answers: list[float]) -> None:
    with Rulewood(address) as client:
        while not done.is_set():
            start = time.perf_counter()
            client.predict("first", [row])
            answers.append(time.perf_counter() - start)
            time.sleep(0.005)


def one_round() -> tuple[float, float, float, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = f"{folder}/kernels"
        start = time.perf_counter()
        with started_service(Path(folder)) as address, Rulewood(address) as client:
            ready = time.perf_counter() - start
            dataset = client.upload(TABLE, name="credit")["id"]
            first = train(client, dataset, "decision-tree-classifier", "first")
            row = {k: v for k, v in client.rows(dataset, limit=1)[0].items() if k != "class"}
            start = time.perf_counter()
            client.predict("first", [row])
            first_answer = time.perf_counter() - start
            answers: list[float] = []
            done = threading.Event()
            asking = threading.Thread(target=predictions_until, args=(done, address, row, answers))
            asking.start()
            # Other kernels: numeric target, so this training compiles while predictions are asked for.
            job = client.train(
                dataset,
                target="credit_amount",
                learner="decision-tree-regressor",
                model="second",
                evaluation={"method": "none"},
            )
            client.wait(job, timeout=300)
            done.set()
            asking.join()
    return ready, first, first_answer, answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = [one_round() for _ in range(parser.parse_args().rounds)]
    print(
        f"{platform.platform()}, Python {platform.python_version()}, numba {numba.__version__}, {os.cpu_count()} cores"
    )
    print(f"{len(rounds)} rounds, each with an empty kernel cache; medians (min to max)\n")
    print("| what | seconds |\n|---|---|")
    for name, index in (("service ready", 0), ("first training, compilation included", 1), ("first prediction", 2)):
        times = [one[index] for one in rounds]
        print(f"| {name} | {statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f}) |")
    answers = sorted(answer for one in rounds for answer in one[3])
    print(f"| prediction while a training compiles, median of {len(answers)} | {statistics.median(answers):.4f} |")
    print(f"| the same, 99th percentile | {answers[int(len(answers) * 0.99)]:.4f} |")


if __name__ == "__main__":
    main()
