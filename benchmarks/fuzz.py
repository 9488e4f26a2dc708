"""Malformed requests by the ten thousand, and schemathesis at length: nothing may answer with a 5xx.

    python benchmarks/fuzz.py [--bodies 10000] [--seconds 600] [--seed 1]

Starts ``rulewood serve`` on a temporary store with one trained model, so that every route has
something to find. Prints the number of answers by status and exits with 1 if any was a 5xx, if the
service logged an unhandled exception, or if schemathesis found a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx

from service.client import Rulewood
from service.demo.road import TABLE, started_service

Mutation = Callable[[random.Random, bytes], bytes]
FUZZING = Path(__file__).resolve().parents[1] / "tests" / "fuzzing"
JSON = {"Content-Type": "application/json"}


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
    names = list(row)
    jobs, models = "/api/v1/jobs", "/api/v1/models/credit"
    model = {"name": "credit", "aliases": ["x"], "tags": ["t"], "notes": "n"}
    train = {"kind": "train", **learning, "seed": 1, "parameters": {"max_depth": 3, "min_leaf": 2.5}, "model": model}
    revision = {"kinds": {"age": "nominal"}, "missing_tokens": ["", "none"]}
    bodies = [
        ("POST", jobs, train),
        ("POST", jobs, {"kind": "cross-validate", **learning, "evaluation": {"method": "k-fold", "folds": 3}}),
        ("POST", f"/api/v1/datasets/{dataset}/revisions", revision),
        ("PUT", f"{models}/aliases/champion", {"version": 1}),
        ("PATCH", models, {"notes": "n", "tags": ["a"]}),
        ("POST", f"{models}/predictions", {"rows": [row, row], "explain": True}),
        ("POST", f"{models}/predictions", {"columns": names, "data": [[row[name] for name in names]]}),
        ("POST", f"{models}/explanations", {"rows": [row], "unseen": "missing"}),
    ]
    return [(method, path, json.dumps(body).encode()) for method, path, body in bodies]


def malformed(address: str, requests: list[tuple[str, str, bytes]], count: int, seed: int) -> Counter[int]:
    """Send ``count`` broken bodies; returns the answers by status."""
    rng = random.Random(seed)
    table = b'x,c,class\n1,red,a\n2,blue,b\n,"q""uoted",a\n' * 5
    seen: Counter[int] = Counter()
    with httpx.Client(base_url=address, timeout=120, trust_env=False) as client:
        for number in range(count):
            if number % 20 == 0:
                body = rng.choice([flip, cut, splice])(rng, table)
                kind = rng.choice(["text/csv", "application/json", "application/octet-stream", "multipart/form-data"])
                answer = client.post("/api/v1/datasets", content=body, headers={"Content-Type": kind})
            else:
                method, path, sound = rng.choice(requests)
                body = rng.choice(MUTATIONS)(rng, sound)
                answer = client.request(method, path, content=body, headers=JSON)
            seen[answer.status_code] += 1
            if answer.status_code >= 500:
                print(answer.status_code, answer.request.method, answer.request.url, body[:500], answer.text[:500])
            elif answer.status_code >= 400:
                json.loads(answer.text, parse_constant=lambda word: sys.exit(f"{word} in an answer"))
    return seen


def schemathesis(address: str, key: str, seconds: int, seed: int, folder: Path) -> int:
    """All phases and checks of schemathesis; returns its exit code."""
    command = [
        str(Path(sys.executable).parent / "schemathesis"),
        f"--config-file={FUZZING / 'schemathesis.toml'}",
        "run",
        f"{address}/openapi.json",
        f"--seed={seed}",
        f"--max-time={seconds}",
        "--no-color",
        "--continue-on-failure",
        f"--header=Authorization:Bearer {key}",
    ]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": str(FUZZING / "hooks.py")}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, started_service(Path(name)) as address:
        folder = Path(name)
        with Rulewood(address) as client:
            dataset = client.upload(TABLE, name="credit")["id"]
            learning = {"target": "class", "learner": "decision-tree-classifier", "model": "credit"}
            client.wait(client.train(dataset, **learning))
            row = client.schema("credit")["example"]
        seen = malformed(address, sound_requests(dataset, row), asked.bodies, asked.seed)
        print("malformed bodies by status:", dict(sorted(seen.items())))
        made = httpx.post(f"{address}/api/v1/keys", json={"name": "fuzz", "scopes": ["admin"]}, trust_env=False)
        key = made.json()["key"]  # the first key closes the door, so the run must have it from the start
        code = schemathesis(address, key, asked.seconds, asked.seed, folder) if asked.seconds else 0
        unhandled = (folder / "service.log").read_text().count('"message": "unhandled"')
        print(f"schemathesis exit code: {code}; unhandled exceptions logged: {unhandled}")
    sys.exit(code != 0 or unhandled > 0 or any(status >= 500 for status in seen))


if __name__ == "__main__":
    main()
