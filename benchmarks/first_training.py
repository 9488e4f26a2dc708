"""The first training on a machine that never compiled a kernel, and predictions meanwhile.

Starts a service on an empty store with an empty kernel cache, uploads the credit data, trains a first
model, and then, while a second training compiles other kernels, asks for predictions. With ``--adult`` the
first training is of adult's 48,842 rows: too large to be grown before the compiler is done. With
``--learner`` it is another learner's.

    python benchmarks/first_training.py [--rounds 3] [--adult] [--learner neural-network-classifier]
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
from tests.shared import table_path

TREE = "decision-tree-classifier"


def adult() -> bytes:
    """Both parts of adult as one file."""
    train, test = (table_path(f"adult-{part}.csv").read_bytes() for part in ("train", "test"))
    return train + test.partition(b"\n")[2]


def train(client: Rulewood, dataset: str, target: str, learner: str, model: str) -> float:
    """Seconds from submitting a training to its version being registered."""
    start = time.perf_counter()
    job = client.train(dataset, target=target, learner=learner, model=model, evaluation={"method": "none"})
    finished = client.wait(job, timeout=900)
    assert finished["state"] == "succeeded", finished
    return time.perf_counter() - start


def predictions_until(done: threading.Event, address: str, row: dict, answers: list[float]) -> None:
    with Rulewood(address) as client:
        while not done.is_set():
            start = time.perf_counter()
            client.predict("first", [row])
            answers.append(time.perf_counter() - start)
            time.sleep(0.005)


def one_round(on_adult: bool, learner: str) -> tuple[float, float, float, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = f"{folder}/kernels"
        start = time.perf_counter()
        with started_service(Path(folder)) as address, Rulewood(address) as client:
            ready = time.perf_counter() - start
            credit = client.upload(TABLE, name="credit")["id"]
            dataset, target = (
                (client.upload(adult(), name="adult.csv")["id"], "income") if on_adult else (credit, "class")
            )
            first = train(client, dataset, target, learner, "first")
            row = {k: v for k, v in client.rows(dataset, limit=1)[0].items() if k != target}
            start = time.perf_counter()
            client.predict("first", [row])
            first_answer = time.perf_counter() - start
            answers: list[float] = []
            done = threading.Event()
            asking = threading.Thread(target=predictions_until, args=(done, address, row, answers))
            asking.start()
            # Other kernels: numeric target, so this training compiles while predictions are asked for.
            job = client.train(
                credit,
                target="credit_amount",
                learner="decision-tree-regressor",
                model="second",
                evaluation={"method": "none"},
            )
            client.wait(job, timeout=900)
            done.set()
            asking.join()
    return ready, first, first_answer, answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--adult", action="store_true")
    parser.add_argument("--learner", default=TREE)
    asked = parser.parse_args()
    rounds = [one_round(asked.adult, asked.learner) for _ in range(asked.rounds)]
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
