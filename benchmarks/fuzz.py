"""Malformed requests by the ten thousand, and schemathesis at length: nothing may answer with a 5xx.

    python benchmarks/fuzz.py [--store sqlite|postgresql] [--bodies 10000] [--seconds 600] [--seed 1]

Starts ``rulewood serve`` on a temporary store with one trained model, so that every route has
something to find. Prints the number of answers by status, the slowest of them, and how much memory the
API process took on (its anonymous memory, which mapped files do not count to), and exits with 1 if any
answer was a 5xx or took a minute, if the memory grew by more than 50 MB, if the service logged an
unhandled exception, or if schemathesis found a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from service.client import Rulewood  # noqa: E402 - the repository's root is put on the path first
from service.demo.road import TABLE, started_service  # noqa: E402

Mutation = Callable[[random.Random, bytes], bytes]
FUZZING = ROOT / "tests" / "fuzzing"
#: An answer that takes longer is a hang, and ends the run with an exception.
HANG_SECONDS = 60.0
GROWTH_MEGABYTES = 50.0
#: Bodies that are sent before memory is measured for the first time.
WARM_BODIES = 500


def flip(rng: random.Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def cut(rng: random.Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body))]


def splice(rng: random.Random, body: bytes) -> bytes:
    piece = rng.choice(PIECES)
    where = rng.randrange(len(body) + 1)
    return body[:where] + piece + body[where:]


def swap_value(rng: random.Random, body: bytes) -> bytes:
    value = json.loads(body)
    holder, key = rng.choice(list(places(value)))
    holder[key] = "\0placeholder"
    return json.dumps(value).encode().replace(b'"\\u0000placeholder"', rng.choice(VALUES))


def nest(rng: random.Random, body: bytes) -> bytes:
    depth = rng.choice([10, 40, 1000, 20_000])
    left, right = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    return body[:-1] + b',"deep":' + left * depth + b"1" + right * depth + b"}"


def repeat_key(rng: random.Random, body: bytes) -> bytes:
    key = rng.choice(list(json.loads(body)))
    return body[:-1] + b"," + json.dumps(key).encode() + b":1}"


PIECES = [
    b"NaN",
    b"Infinity",
    b"-",
    b"\x00",
    b"\\u0000",
    b"\xff\xfe",
    b"\\ud800",
    b'"',
    b"{",
    b"]",
    b"1e999",
    b"9" * 5000,
]
VALUES = [
    b"null", b"true", b"-1", b"0", b"1.5", b"1e308", b"1e400", b"NaN", b"-Infinity", b'""', b'"\xc3\xa9"', b'"\\u0000"',
    b'"NaN"', b"[]", b"{}", b"[[[]]]", b"9007199254740993", b"9" * 400, b"9" * 5000, b'"' + b"x" * 100_000 + b'"',
    b'{"a":{"b":{"c":[]}}}', b'"2026-13-45"', b'"\\ud83d\\ude00"', b'[null]', b'["a","a"]', b'"../../etc/passwd"',
]  # fmt: skip
MUTATIONS: list[Mutation] = [flip, cut, splice, swap_value, swap_value, swap_value, nest, repeat_key]


def places(value: object) -> list[tuple[dict | list, str | int]]:
    found: list[tuple[dict | list, str | int]] = []
    stack = [value]
    while stack:
        item = stack.pop()
        pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, child in pairs:
            found.append((item, key))
            stack.append(child)
    return found


def sound_requests(dataset: str, row: dict[str, object]) -> list[tuple[str, str, bytes]]:
    """A sound JSON body for each route that takes one."""
    learning = {"dataset": dataset, "target": "class", "learner": "decision-tree-classifier"}
    compared = [
        {"learner": learning["learner"], "parameters": {"max_depth": depth}, "name": f"t{depth}"} for depth in (1, 2)
    ]
    names = list(row)
    jobs, models = "/api/v1/jobs", "/api/v1/models/credit"
    model = {"name": "credit", "aliases": ["x"], "tags": ["t"], "notes": "n"}
    train = {"kind": "train", **learning, "seed": 1, "parameters": {"max_depth": 3, "min_leaf": 2.5}, "model": model}
    revision = {"kinds": {"age": "nominal"}, "missing_tokens": ["", "none"]}
    bodies = [
        ("POST", jobs, train),
        ("POST", jobs, {"kind": "cross-validate", **learning, "evaluation": {"method": "k-fold", "folds": 3}}),
        ("POST", jobs, {"kind": "compare", "dataset": dataset, "target": "class", "learners": compared}),
        ("POST", f"/api/v1/datasets/{dataset}/revisions", revision),
        ("PUT", f"{models}/aliases/champion", {"version": 1}),
        ("PATCH", models, {"notes": "n", "tags": ["a"]}),
        ("POST", f"{models}/predictions", {"rows": [row, row], "explain": True}),
        ("POST", f"{models}/predictions", {"columns": names, "data": [[row[name] for name in names]]}),
        ("POST", f"{models}/explanations", {"rows": [row], "unseen": "missing"}),
    ]
    return [(method, path, json.dumps(body).encode()) for method, path, body in bodies]


@dataclass
class Answers:
    """What was answered to malformed bodies."""

    statuses: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0

    def add(self, answer: httpx.Response, body: bytes) -> None:
        """Count one; it must be JSON without NaN if it is a refusal."""
        self.statuses[answer.status_code] += 1
        self.slowest = max(self.slowest, answer.elapsed.total_seconds())
        if answer.status_code >= 500:
            print(answer.status_code, answer.request.method, answer.request.url, body[:500], answer.text[:500])
        elif answer.status_code >= 400:
            json.loads(answer.text, parse_constant=lambda word: sys.exit(f"{word} in an answer"))


def malformed(address: str, requests: list[tuple[str, str, bytes]], count: int, rng: random.Random) -> Answers:
    """Send ``count`` broken bodies."""
    table = b'x,c,class\n1,red,a\n2,blue,b\n,"q""uoted",a\n' * 5
    answers = Answers()
    with httpx.Client(base_url=address, timeout=HANG_SECONDS, trust_env=False) as client:
        for number in range(count):
            if number % 20 == 0:
                method, path, body = "POST", "/api/v1/datasets", rng.choice([flip, cut, splice])(rng, table)
                kind = rng.choice(["text/csv", "application/json", "application/octet-stream", "multipart/form-data"])
            else:
                method, path, sound = rng.choice(requests)
                body, kind = rng.choice(MUTATIONS)(rng, sound), "application/json"
            try:
                answers.add(client.request(method, path, content=body, headers={"Content-Type": kind}), body)
            except httpx.TimeoutException:
                print(f"body {number} hangs, after {answers}: {method} {path} {kind} {body[:2000]!r}", flush=True)
                raise
            if (number + 1) % 10_000 == 0:
                print(f"{number + 1} bodies", file=sys.stderr, flush=True)
    return answers


def anonymous_megabytes(port: int) -> float:
    """Memory of the process that listens on a port, less what files back."""
    for found in psutil.net_connections("tcp"):
        if found.status == psutil.CONN_LISTEN and found.laddr.port == port and found.pid is not None:
            memory = psutil.Process(found.pid).memory_info()
            return float(memory.rss - memory.shared) / 1e6
    raise LookupError(f"nothing listens on port {port}")


@contextmanager
def database(store: str) -> Iterator[str | None]:
    """The URL of a new database: None for SQLite, else of a PostgreSQL server that is started for it."""
    if store == "sqlite":
        yield None
        return
    from tests.postgres import running_postgres

    with running_postgres(f"fuzz{secrets.token_hex(3)}") as server:
        address = server.make_database()
        yield address
        server.drop_database(address)


def schemathesis(
    address: str, key: dict[str, str], known: dict[str, str], asked: argparse.Namespace, folder: Path
) -> int:
    """All phases and checks of schemathesis; returns its exit code."""
    command = [
        str(Path(sys.executable).parent / "schemathesis"),
        f"--config-file={FUZZING / 'schemathesis.toml'}",
        "run",
        f"{address}/openapi.json",
        f"--seed={asked.seed}",
        f"--max-time={asked.seconds}",
        "--no-color",
        "--continue-on-failure",
        f"--header=Authorization:Bearer {key['key']}",
    ]
    hooks = {"SCHEMATHESIS_HOOKS": str(FUZZING / "hooks.py"), "RULEWOOD_FUZZ_KNOWN": json.dumps(known)}
    hooks["RULEWOOD_FUZZ_KEY"] = key["id"]
    environment = os.environ | hooks
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def prepared(address: str) -> tuple[list[tuple[str, str, bytes]], dict[str, str]]:
    """Train a model; returns the sound requests about it, and the path parameters of what there is."""
    with Rulewood(address, timeout=HANG_SECONDS) as client:
        dataset = client.upload(TABLE, name="credit")["id"]
        learning = {"target": "class", "learner": "decision-tree-classifier", "model": "credit"}
        job = client.wait(client.train(dataset, **learning))
        known = {"ref": "credit", "name": "credit", "dataset_id": dataset, "job_id": job["id"]}
        return sound_requests(dataset, client.schema("credit")["example"]), known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--bodies", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(database(asked.store))
        address = stack.enter_context(started_service(folder, url))
        port = int(address.rsplit(":", 1)[1])
        (requests, known), rng = prepared(address), random.Random(asked.seed)
        malformed(address, requests, WARM_BODIES, rng)  # what a first use of everything takes is no growth
        before, begun = anonymous_megabytes(port), time.monotonic()
        answers = malformed(address, requests, asked.bodies, rng)
        seconds, grown = time.monotonic() - begun, anonymous_megabytes(port) - before
        print(
            f"{asked.store}: {asked.bodies} malformed bodies by status: {dict(sorted(answers.statuses.items()))}; "
            f"slowest {answers.slowest:.1f} s, {asked.bodies / seconds:.0f}/s; memory {before:.0f} MB {grown:+.0f} MB"
        )
        made = httpx.post(f"{address}/api/v1/keys", json={"name": "fuzz", "scopes": ["admin"]}, trust_env=False)
        key = made.json()  # the first key closes the door, so the run must have it from the start
        code = schemathesis(address, key, known, asked, folder) if asked.seconds else 0
        unhandled = (folder / "service.log").read_text().count('"message": "unhandled"')
        print(f"schemathesis exit code: {code}; unhandled exceptions logged: {unhandled}")
    failed = any(status >= 500 for status in answers.statuses)
    sys.exit(code != 0 or unhandled > 0 or failed or grown > GROWTH_MEGABYTES)


if __name__ == "__main__":
    main()
