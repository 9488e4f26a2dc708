"""The whole road on real data, over HTTP, with nothing but the client; what ``rulewood demo`` runs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from service.client import Json, Rulewood
from service.temporary import remove_abandoned, temporary_folder

TABLE = Path(__file__).with_name("credit-g.csv")
MODEL = "credit"
#: Seconds that the service may take to come up; the first start on a machine compiles kernels.
_START_SECONDS = 120.0
_STOP_SECONDS = 30.0
_BRANCHES = 3
_RULES = 5
_PURPOSE = "rulewood-demo"
#: The command line, ended when its standard input ends: with whoever started it, however that one ends.
_PROGRAM = """
import os, signal, sys, threading

def end_with_input():
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=end_with_input, daemon=True).start()
from service.cli import main
main()
"""

#: Writes a piece of text for the reader.
Write = Callable[[str], object]


class DemoError(Exception):
    """The demonstration's service did not start."""


def run(write: Write) -> None:
    """Start a service on a temporary store, walk the road, and leave nothing behind.

    Raises:
        DemoError: the service did not come up. RulewoodError: a step was refused.
    """
    place = Path(tempfile.gettempdir())
    remove_abandoned(place, _PURPOSE)
    with temporary_folder(place, _PURPOSE) as folder:
        write("Starting a service of its own on a temporary store ...\n")
        with started_service(folder) as address, Rulewood(address) as client:
            walk(client, address, write)
    write("\nThe service was stopped and its store removed. Yours: rulewood serve\n")


@contextmanager
def started_service(folder: Path, database: str | None = None) -> Iterator[str]:
    """The address of a service on a free loopback port, until the context ends.

    Args:
        folder: where its data and its log lie.
        database: URL of its store; by default a new SQLite file in the folder.
    """
    log = folder / "service.log"
    command = [sys.executable, "-c", _PROGRAM, "serve", "--host", "127.0.0.1", "--port", "0"]
    url = database or f"sqlite:///{folder}/data/store.sqlite3"
    command += ["--data", str(folder / "data"), "--database", url, "--worker"]
    with log.open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        yield _address_of(process, log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _address_of(process: subprocess.Popen[str], log: Path) -> str:
    """Wait until the service is ready and return its address, which it prints first."""
    line = process.stdout.readline() if process.stdout else ""
    address = next((word for word in line.split() if word.startswith("http://")), None)
    until = time.monotonic() + _START_SECONDS
    if address is not None:
        with Rulewood(address, timeout=5.0) as client:
            while process.poll() is None and time.monotonic() < until:
                if client.is_ready():
                    return address
                time.sleep(0.05)
    raise DemoError(f"the service did not start: {log.read_text(errors='replace')[-2000:]}")


def walk(client: Rulewood, address: str, write: Write) -> None:
    """The road itself: upload, cross-validate, train, register, predict, explain, read."""
    dataset = _upload(client, write)
    _cross_validate(client, dataset, write)
    version = _train(client, dataset, write)
    _predict(client, dataset, write)
    _show_rules(client, write)
    write(f"\nThe model:    {address}/api/v1/models/{MODEL}:{version}\n")
    write(f"As a picture: {address}/api/v1/models/{MODEL}@champion/tree?format=svg\n")
    write(f"All of it:    {address}/docs\n")


def _upload(client: Rulewood, write: Write) -> Json:
    dataset = client.upload(TABLE, name="credit-g")
    kinds = [column["kind"] for column in dataset["columns"]]
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    write(f"\n1. Uploaded {TABLE.name}: {dataset['n_rows']} applicants for a loan, {dataset['n_columns']} columns")
    write(f" ({counted}), as dataset {dataset['id']}\n")
    return dataset


def _learning(dataset: Json) -> dict[str, Any]:
    return {
        "dataset": dataset["id"],
        "target": "class",
        "learner": "decision-tree-classifier",
        "parameters": {"pruning": "error-based", "min_leaf": 20},
        "seed": 1,
    }


def _cross_validate(client: Rulewood, dataset: Json, write: Write) -> None:
    write("\n2. 10-fold cross-validation of a decision tree in the background ")
    job = client.cross_validate(folds=10, **_learning(dataset))
    for event in client.events(job["id"]):
        if event["event"] == "part":
            write(".")
    result = client.wait(job)["result"]["evaluation"]
    write("\n")
    for name in ("accuracy", "balanced_accuracy", "log_loss"):
        metric = result["metrics"][name]
        interval = metric["corrected_interval"]
        write(f"   {name:18} {metric['mean']:.3f}  (95 % interval {interval['low']:.3f} to {interval['high']:.3f})\n")


def _train(client: Rulewood, dataset: Json, write: Write) -> int:
    job = client.train(model=MODEL, aliases=["champion"], **_learning(dataset))
    registered = client.wait(job)["result"]["model"]
    version = int(registered["version"])
    write(f"\n3. Trained on all rows and registered as {MODEL}:{version}, which {MODEL}@champion now means\n")
    return version


def _predict(client: Rulewood, dataset: Json, write: Write) -> None:
    rows = client.rows(dataset["id"], limit=2)
    for row in rows:
        row.pop("class")
    rows[1]["checking_status"] = None  # not known: every branch is followed by its weight
    answer = client.predict(f"{MODEL}@champion", rows, explain=True)
    write(f"\n4. Two applicants, answered by {answer['model']}:{answer['version']}, with the reason\n")
    for row, prediction in zip(rows, answer["predictions"], strict=True):
        shares = zip(answer["classes"], prediction["probabilities"], strict=True)
        write(f"   {row['purpose']}, {row['credit_amount']} over {row['duration']} months, ")
        write(f"checking account {row['checking_status'] or 'not known'}\n")
        write(f"   -> {prediction['label']}  ({', '.join(f'{label} {share:.3f}' for label, share in shares)})\n")
        for line in _reason(prediction["explanation"]):
            write(f"      {line}\n")


def _reason(explanation: Json) -> list[str]:
    """A path in words: the tests of its heaviest branches and the rows that they led to."""
    lines = []
    branches = explanation["branches"]
    for branch in branches[:_BRANCHES]:
        tests = " and ".join(step["condition"]["text"] for step in branch["steps"])
        share = "" if branch["weight"] == 1 else f"{branch['weight']:.1%} of the weight: "
        lines.append(f"{share}because {tests or 'of all rows'} [{branch['rows']} known applicants]")
    if len(branches) > _BRANCHES:
        lines.append(f"and {len(branches) - _BRANCHES} more branches")
    return lines


def _show_rules(client: Rulewood, write: Write) -> None:
    rules = sorted(client.rules(f"{MODEL}@champion")["rules"], key=lambda rule: -rule["rows"])
    write(f"\n5. The same model as {len(rules)} rules; those that hold for most applicants\n")
    for rule in rules[:_RULES]:
        tests = " and ".join(condition["text"] for condition in rule["conditions"])
        write(f"   if {tests or 'anything'}\n      then {rule['answer']}")
        write(f"  [right for {rule['confidence']:.0%} of {rule['rows']} applicants]\n")
