"""A thin typed client of the HTTP API, on httpx, synchronous.

>>> with Rulewood("http://127.0.0.1:8000") as rulewood:
...     dataset = rulewood.upload("credit.csv")
...     job = rulewood.train(dataset["id"], target="class", learner="decision-tree-classifier", model="credit")
...     rulewood.wait(job)
...     rulewood.predict("credit", [{"duration": 12, "purpose": "car"}])

Answers are the JSON objects of the API as they are; every error is a :class:`RulewoodError`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeAlias
from urllib.parse import quote

import httpx

Json: TypeAlias = dict[str, Any]
Row: TypeAlias = Mapping[str, Any]

_FINAL = ("succeeded", "failed", "cancelled")
_BASE = "/api/v1"


class RulewoodError(Exception):
    """The service refused, or a job did not succeed.

    Attributes:
        status: the HTTP status, or 0 for a job that ended otherwise than well.
        problem: the RFC 9457 problem document, or the job's error.
    """

    def __init__(self, status: int, problem: Json) -> None:
        self.status = status
        self.problem = problem
        title = problem.get("title", "the service refused")
        told = f"{title} ({status})" if status else str(title)
        faults = problem.get("errors") or []
        lines = [f"\n  - {_place(fault)}{fault.get('message', '')}" for fault in faults]
        more = int(problem.get("errors_total", 0)) - len(faults)
        lines += [f"\n  and {more} more"] if more > 0 else []
        detail = f": {problem['detail']}" if problem.get("detail") else ""
        super().__init__(f"{told}{detail}{''.join(lines)}")


def _place(fault: Json) -> str:
    """Where a fault is, as far as its own message does not say it."""
    message = str(fault.get("message", ""))
    said = {"column": repr(fault.get("column")) in message, "parameter": str(fault.get("parameter")) in message}
    names = [name for name in ("row", "line", "column", "parameter") if name in fault and not said.get(name)]
    places = [f"{name} {fault[name]}" for name in names]
    return f"{', '.join(places)}: " if places else ""


class Rulewood:
    """One service.

    Args:
        base_url: where it is, e.g. ``http://127.0.0.1:8000``.
        key: an API key; None where the service asks for none.
        timeout: seconds to wait for one answer.
        transport: another way to reach the service, for tests.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(
            base_url=base_url, headers=headers, timeout=timeout, transport=transport, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # Datasets

    def upload(
        self,
        file: str | Path | IO[bytes] | bytes,
        *,
        name: str | None = None,
        format: str | None = None,  # noqa: A002 - the API's word
        options: Json | None = None,
    ) -> Json:
        """Upload a table, streamed from the file, and return the dataset."""
        query = {"name": name, "format": format, "options": None if options is None else json.dumps(options)}
        if isinstance(file, str | Path):
            path = Path(file)
            query["name"] = name or path.name
            with path.open("rb") as opened:
                return self._upload(_blocks(opened), query)
        return self._upload(file if isinstance(file, bytes) else _blocks(file), query)

    def _upload(self, content: bytes | Iterator[bytes], query: dict[str, str | None]) -> Json:
        headers = {"Content-Type": "application/octet-stream"}
        return self._json("POST", "/datasets", params=_given(query), content=content, headers=headers)

    def datasets(self, *, name: str | None = None) -> Iterator[Json]:
        """All datasets, the newest first."""
        return self._pages("/datasets", {"name": name})

    def dataset(self, dataset_id: str) -> Json:
        """One dataset: its columns with the evidence for their kinds."""
        return self._json("GET", f"/datasets/{_path(dataset_id)}")

    def rows(self, dataset_id: str, *, offset: int = 0, limit: int = 20) -> list[Json]:
        """Some rows of a dataset."""
        answer = self._json("GET", f"/datasets/{_path(dataset_id)}/rows", params={"offset": offset, "limit": limit})
        rows: list[Json] = answer["rows"]
        return rows

    def profile(self, dataset_id: str, *, target: str | None = None) -> Json:
        """What each column of a dataset holds."""
        return self._json("GET", f"/datasets/{_path(dataset_id)}/profile", params=_given({"target": target}))

    def revise(self, dataset_id: str, **options: Any) -> Json:
        """A new dataset from the same file, read with other options (``kinds``, ``orders``, ...)."""
        return self._json("POST", f"/datasets/{_path(dataset_id)}/revisions", json=options)

    def delete_dataset(self, dataset_id: str, *, force: str | None = None) -> None:
        """Delete a dataset; ``force`` repeats its name to delete what needs it too."""
        self._send("DELETE", f"/datasets/{_path(dataset_id)}", params=_given({"force": force}))

    # Learners and jobs

    def learners(self) -> list[Json]:
        """The catalogue."""
        items: list[Json] = self._json("GET", "/learners")["items"]
        return items

    def learner(self, name: str) -> Json:
        """One learner with the JSON Schema of its parameters."""
        return self._json("GET", f"/learners/{_path(name)}")

    def train(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learner: str,
        model: str | None = None,
        aliases: Sequence[str] = (),
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a training; the model is registered as the next version of ``model``.

        ``more`` are further fields of the request: ``parameters``, ``seed``, ``features``, ``evaluation``, ...
        """
        request = {"kind": "train", "dataset": dataset, "target": target, "learner": learner, **more}
        if model is not None:
            request["model"] = {"name": model, "aliases": list(aliases)}
        return self.submit(request, idempotency_key=idempotency_key)

    def cross_validate(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learner: str,
        folds: int = 10,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a k-fold cross-validation."""
        request = {
            "kind": "cross-validate",
            "dataset": dataset,
            "target": target,
            "learner": learner,
            "evaluation": {"method": "k-fold", "folds": folds},
            **more,
        }
        return self.submit(request, idempotency_key=idempotency_key)

    def select(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learner: str,
        selection: Json,
        model: str | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a search; the winner is fitted and registered as the next version of ``model``.

        Args:
            dataset, target, learner: what is learned, and by what.
            selection: ``{"grid": {"max_depth": [2, 4]}, "nested": 5}`` looks at every combination and judges the
                search in outer folds; ``{"method": "size", "size": "max_leaves"}`` raises one parameter until the
                training error converges and judges the winner on rows that were locked away.
            model: name of the model; without it nothing is registered.
            idempotency_key: see :meth:`submit`.
            more: further fields of the request: ``evaluation`` of each candidate, ``parameters``, ``seed``, ...
        """
        request = {"kind": "select", "dataset": dataset, "target": target, "learner": learner, **more}
        request["selection"] = selection
        if model is not None:
            request["model"] = {"name": model}
        return self.submit(request, idempotency_key=idempotency_key)

    def learning_curve(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learner: str,
        shares: Sequence[float] | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a learning curve: the evaluation by share of the training rows."""
        request = {"kind": "learning-curve", "dataset": dataset, "target": target, "learner": learner, **more}
        if shares is not None:
            request["shares"] = list(shares)
        return self.submit(request, idempotency_key=idempotency_key)

    def evaluate(
        self,
        ref: str,
        dataset: str,
        *,
        against: str | None = None,
        utility: Json | None = None,
        weights: str | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Submit the evaluation of a version on a dataset, against another version if one is named."""
        request: Json = {"kind": "evaluate", "dataset": dataset, "version": ref}
        request |= _given({"against": against, "weights": weights})
        if utility is not None:
            request["evaluation"] = {"utility": utility}
        return self.submit(request, idempotency_key=idempotency_key)

    def predict_dataset(self, ref: str, dataset: str, *, idempotency_key: str | None = None, **output: Any) -> Json:
        """Submit the prediction of a whole dataset; ``output`` are ``format``, ``explain``, ``missing``, ..."""
        request = {"kind": "predict", "dataset": dataset, "version": ref, "output": output}
        return self.submit(request, idempotency_key=idempotency_key)

    def download(self, job: Json | str, file: str | Path) -> int:
        """Write the answers of a prediction that has succeeded to a file; returns their size in bytes."""
        job_id = job if isinstance(job, str) else str(job["id"])
        size = 0
        with self._http.stream("GET", f"{_BASE}/jobs/{_path(job_id)}/download") as response:
            if response.status_code != 200:
                response.read()
                raise _error_of(response)
            with Path(file).open("wb") as out:
                for block in response.iter_bytes():
                    size += out.write(block)
        return size

    def submit(self, request: Json, *, idempotency_key: str | None = None) -> Json:
        """Submit any job; with a key a repeated submission finds the first."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self._json("POST", "/jobs", json=request, headers=headers)

    def jobs(self, *, state: str | None = None, kind: str | None = None) -> Iterator[Json]:
        """All jobs, the newest first."""
        return self._pages("/jobs", {"state": state, "kind": kind})

    def job(self, job_id: str) -> Json:
        """One job as it stands."""
        return self._json("GET", f"/jobs/{_path(job_id)}")

    def wait(self, job: Json | str, *, timeout: float = 3600.0, check: bool = True) -> Json:
        """Wait until a job has ended and return it.

        Raises:
            RulewoodError: it failed or was cancelled (unless ``check`` is false).
            TimeoutError: it had not ended in time.
        """
        job_id = job if isinstance(job, str) else str(job["id"])
        until = time.monotonic() + timeout
        pause = 0.05
        while True:
            found = self.job(job_id)
            if found["state"] in _FINAL:
                if check and found["state"] != "succeeded":
                    raise RulewoodError(0, _job_problem(found))
                return found
            if time.monotonic() > until:
                raise TimeoutError(f"job {job_id} is still {found['state']} after {timeout:g} s")
            time.sleep(pause)
            pause = min(pause * 1.5, 1.0)

    def events(self, job_id: str, *, after: int = 0) -> Iterator[Json]:
        """What happens in a job as it happens, until it ends: ``{"id", "event", "data"}``."""
        headers = {"Last-Event-ID": str(after)} if after else {}
        with self._http.stream("GET", f"{_BASE}/jobs/{_path(job_id)}/events", headers=headers) as response:
            if response.status_code != 200:
                response.read()
                raise _error_of(response)
            yield from _parse_events(response.iter_lines())

    def cancel(self, job_id: str) -> Json:
        """Ask a job to stop."""
        return self._json("POST", f"/jobs/{_path(job_id)}/cancel")

    def retry(self, job_id: str) -> Json:
        """Submit an ended job once more."""
        return self._json("POST", f"/jobs/{_path(job_id)}/retry")

    def delete_job(self, job_id: str) -> None:
        """Delete an ended job."""
        self._send("DELETE", f"/jobs/{_path(job_id)}")

    # Models

    def models(self) -> Iterator[Json]:
        """All models, the newest first."""
        return self._pages("/models", {})

    def model(self, ref: str) -> Json:
        """A model (``name``) or one of its versions (``name:3``, ``name@champion``)."""
        return self._json("GET", f"/models/{_path(ref)}")

    def versions(self, name: str) -> Iterator[Json]:
        """The versions of a model, the newest first."""
        return self._pages(f"/models/{_path(name)}/versions", {})

    def set_alias(self, name: str, alias: str, version: int) -> Json:
        """Let ``name@alias`` mean a version."""
        return self._json("PUT", f"/models/{_path(name)}/aliases/{_path(alias)}", json={"version": version})

    def delete_alias(self, name: str, alias: str) -> None:
        """Forget an alias."""
        self._send("DELETE", f"/models/{_path(name)}/aliases/{_path(alias)}")

    def annotate(self, name: str, **changes: Any) -> Json:
        """Change ``notes`` or ``tags`` of a model."""
        return self._json("PATCH", f"/models/{_path(name)}", json=changes)

    def schema(self, ref: str) -> Json:
        """What a model wants: typed inputs with what is allowed, and an example row."""
        return self._json("GET", f"/models/{_path(ref)}/schema")

    def archive(self, ref: str) -> Json:
        """Archive a version: it answers by number only and is no longer the latest."""
        return self._json("POST", f"/models/{_path(ref)}/archive")

    def delete_model(self, ref: str, *, force: str | None = None) -> None:
        """Delete a version, or a whole model: with ``force``, its name, although aliases name versions of it."""
        self._send("DELETE", f"/models/{_path(ref)}", params=_given({"force": force}))

    def predict(
        self,
        ref: str,
        rows: Sequence[Row],
        *,
        explain: bool | None = None,
        decision: Json | None = None,
        missing: str | None = None,
        unseen: str | None = None,
        strict: bool | None = None,
    ) -> Json:
        """Answers for rows given by column name; absent options are as the API has them.

        Args:
            ref: the model.
            rows: objects by column name; None and NaN are missing, numbers may be numpy's.
            explain: add the reason to each answer.
            decision: by what labels are decided: an object with ``utility``, ``costs`` or ``threshold``.
            missing: ``as-model``, ``fractional``, ``most-likely`` or ``reject``.
            unseen: ``reject``, ``missing`` or ``other``.
            strict: extra and absent columns are errors.
        """
        options = {"explain": explain, "decision": decision, "missing": missing, "unseen": unseen, "strict": strict}
        return self._json("POST", f"/models/{_path(ref)}/predictions", json={"rows": list(rows)} | _given(options))

    def explain(
        self,
        ref: str,
        rows: Sequence[Row],
        *,
        decision: Json | None = None,
        missing: str | None = None,
        unseen: str | None = None,
        strict: bool | None = None,
    ) -> Json:
        """The exact reason of each row's answer; the options are those of :meth:`predict`."""
        options = {"decision": decision, "missing": missing, "unseen": unseen, "strict": strict}
        return self._json("POST", f"/models/{_path(ref)}/explanations", json={"rows": list(rows)} | _given(options))

    def steps(
        self, ref: str, row: Row, state: Json | None = None, *, unseen: str | None = None, strict: bool | None = None
    ) -> Json:
        """The answer after each of the next steps of a row's sequences, and the state to hand on with those after them.

        Args:
            ref: the model.
            row: by column name, of sequences and texts the next steps.
            state: the answer's ``state`` to the steps before; None at the beginning.
            unseen, strict: as of :meth:`predict`.
        """
        body = _given({"row": row, "state": state, "unseen": unseen, "strict": strict})
        return self._json("POST", f"/models/{_path(ref)}/steps", json=body)

    def counterfactuals(self, ref: str, rows: Sequence[Row], wanted: Any, **options: Any) -> Json:
        """The nearest changes of each row that lead to a wanted answer.

        ``options``: ``fixed``, ``directions``, ``costs``, ``allowed``, ``count``, ``diverse``, ``order`` and others.
        """
        body = {"rows": list(rows), "wanted": wanted, **options}
        return self._json("POST", f"/models/{_path(ref)}/counterfactuals", json=body)

    def question(self, ref: str, rows: Sequence[Row], **options: Any) -> Json:
        """What to ask next about partly filled rows; ``options``: ``costs``, ``utility`` and others."""
        return self._json("POST", f"/models/{_path(ref)}/question", json={"rows": list(rows), **options})

    def importances(self, ref: str, *, dataset: str | None = None, **wanted: Any) -> Json:
        """How much each column matters: to a tree, or with a dataset to any model on its rows, by permutation.

        ``wanted``: ``metric``, ``repeats``, ``seed``, ``n_rows``.
        """
        query = _given({"kind": None if dataset is None else "permutation", "dataset": dataset} | wanted)
        return self._json("GET", f"/models/{_path(ref)}/importances", params=query)

    def coefficients(self, ref: str, *, level: float | None = None) -> Json:
        """A linear model's coefficients with their intervals at a level, its fit, and what was tried to choose it."""
        return self._json("GET", f"/models/{_path(ref)}/coefficients", params=_given({"level": level}))

    def rules(self, ref: str, *, dataset: str | None = None) -> Json:
        """A model as rules; with a dataset, the support and confidence of each on its rows too."""
        query = _given({"format": "json", "dataset": dataset, "limit": 10_000})
        rules: list[Json] = []
        while True:
            page = self._json("GET", f"/models/{_path(ref)}/rules", params=query)
            rules += page["rules"]
            if page["next_cursor"] is None:
                return page | {"rules": rules}
            query["cursor"] = page["next_cursor"]

    def rule_rows(self, ref: str, rule: str, *, dataset: str | None = None, offset: int = 0, limit: int = 20) -> Json:
        """Some of the rows that a rule answers, by default of those that the version learned from."""
        query = _given({"dataset": dataset, "offset": offset, "limit": limit})
        return self._json("GET", f"/models/{_path(ref)}/rules/{_path(rule)}/rows", params=query)

    def rules_text(self, ref: str, format: str = "text") -> str:  # noqa: A002 - the API's word
        """A model as rules in ``text``, ``markdown`` or ``sql``."""
        return self._send("GET", f"/models/{_path(ref)}/rules", params={"format": format}).text

    def tree(self, ref: str, *, node: int = 0, levels: int | None = None) -> Json:
        """The nodes of a tree, at and beneath a node; of a very large one some levels at a time."""
        query = _given({"format": "json", "node": node, "levels": levels})
        return self._json("GET", f"/models/{_path(ref)}/tree", params=query)

    def tree_svg(self, ref: str, row: Row | None = None, **view: Any) -> str:
        """A tree as a picture (SVG), with the way of a row lit if one is given; ``view`` as in the API (``node``)."""
        path = f"/models/{_path(ref)}/tree"
        if row is None:
            return self._send("GET", path, params={"format": "svg"} | view).text
        return self._send("POST", path, params=view, json={"row": row}).text

    def compare(self, before: str, after: str, **wanted: Any) -> Json:
        """What differs between two versions; ``wanted`` as in the API (``dataset``, ``listed``, ...)."""
        return self._json("GET", f"/models/{_path(before)}/comparison", params={"with": after} | wanted)

    # Operations

    def is_ready(self) -> bool:
        """Whether the service can be reached and says that it is ready."""
        try:
            return self._http.get("/health/ready").status_code == 200
        except httpx.TransportError:
            return False

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        if "json" in request:
            request["content"] = _body(request.pop("json"))
            request["headers"] = {"Content-Type": "application/json"} | request.get("headers", {})
        response = self._http.request(method, _BASE + path, **request)
        if response.status_code >= 400:
            raise _error_of(response)
        return response

    def _json(self, method: str, path: str, **request: Any) -> Json:
        answer: Json = self._send(method, path, **request).json()
        return answer

    def _pages(self, path: str, query: dict[str, Any]) -> Iterator[Json]:
        cursor: str | None = None
        while True:
            page = self._json("GET", path, params=_given({**query, "cursor": cursor}))
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return


def _job_problem(job: Json) -> Json:
    """The error of a job that ended otherwise than well, as a problem."""
    return {"title": f"job {job['id']} {job['state']}", "detail": job["message"]} | (job["error"] or {})


def _body(value: Json) -> bytes:
    """A request's JSON; numbers of numpy and the like are numbers, NaN in a row is a missing value."""
    rows = value.get("rows")
    if rows is not None:
        value = value | {"rows": [_without_nan(row) for row in rows]}
    return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _without_nan(row: Any) -> Any:
    """A row in which every NaN is None."""
    if not isinstance(row, Mapping):
        return row
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}


def _plain(value: Any) -> Any:
    """The Python value of a scalar of numpy or the like, which knows how to give it; a mapping as a dict."""
    if isinstance(value, Mapping):
        return dict(value)
    if callable(getattr(value, "item", None)) and getattr(value, "ndim", None) == 0:
        found = value.item()
        return None if isinstance(found, float) and math.isnan(found) else found
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} {value!r} cannot be sent as JSON: texts, numbers, booleans and None can")


def _error_of(response: httpx.Response) -> RulewoodError:
    try:
        problem = response.json()
    except ValueError:
        problem = {"title": response.reason_phrase, "detail": response.text[:500]}
    return RulewoodError(response.status_code, problem)


def _parse_events(lines: Iterator[str]) -> Iterator[Json]:
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield {
                "id": int(fields.get("id", "0")),
                "event": fields.get("event", "message"),
                "data": json.loads(fields["data"]),
            }
            fields = {}


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(1024 * 1024):
        yield block


def _given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}


def _path(text: str) -> str:
    return quote(text, safe="@:")
