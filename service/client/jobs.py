"""Jobs of a service that were submitted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from service.client.connection import BASE, Connection
from service.client.content import Json, in_path
from service.client.errors import RulewoodError, error_of, job_problem

_FINAL = ("succeeded", "failed", "cancelled")
#: Statuses of a service that may answer a moment later: too many requests, no store just now.
_BUSY = (429, 503)
#: Seconds that one look at a job may take, however little time is left.
_SHORTEST_LOOK = 1.0


class Jobs(Connection):
    """Following jobs, ending them, and what they leave to download."""

    def jobs(self, *, state: str | None = None, kind: str | None = None) -> Iterator[Json]:
        """All jobs, the newest first."""
        return self._pages("/jobs", {"state": state, "kind": kind})

    def job(self, job_id: str) -> Json:
        """One job as it stands."""
        return self._json("GET", f"/jobs/{in_path(job_id)}")

    def wait(self, job: Json | str, *, timeout: float = 3600.0, check: bool = True) -> Json:
        """Wait until a job has ended and return it, over answers that come late and connections that are lost.

        Raises:
            RulewoodError: it failed or was cancelled (unless ``check`` is false), or the service refuses to tell.
            TimeoutError: it had not ended in time, or the service did not say so; its cause is the last loss then.
        """
        job_id = job if isinstance(job, str) else str(job["id"])
        until = time.monotonic() + timeout
        pause = 0.05
        while True:
            found = self._look(job_id, until)
            if isinstance(found, dict) and found["state"] in _FINAL:
                if check and found["state"] != "succeeded":
                    raise RulewoodError(0, job_problem(found))
                return found
            if time.monotonic() > until:
                if isinstance(found, Exception):
                    raise TimeoutError(f"job {job_id}: no answer after {timeout:g} s ({found!r})") from found
                raise TimeoutError(f"job {job_id} is still {found['state']} after {timeout:g} s")
            time.sleep(pause)
            pause = min(pause * 1.25, 1.0)  # a quarter more than the job takes, at most

    def _look(self, job_id: str, until: float) -> Json | Exception:
        """The job as it stands, or why that was not told this time; not much longer than until some time."""
        usual = self._http.timeout.read
        left = max(until - time.monotonic(), _SHORTEST_LOOK)
        try:
            return self._json("GET", f"/jobs/{in_path(job_id)}", timeout=left if usual is None else min(usual, left))
        except (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError) as error:
            return error
        except RulewoodError as error:
            if error.status not in _BUSY:
                raise
            return error

    def events(self, job_id: str, *, after: int = 0) -> Iterator[Json]:
        """What happens in a job as it happens, until it ends: ``{"id", "event", "data"}``."""
        headers = {"Last-Event-ID": str(after)} if after else {}
        with self._http.stream("GET", f"{BASE}/jobs/{in_path(job_id)}/events", headers=headers) as response:
            if response.status_code != 200:
                response.read()
                raise error_of(response)
            yield from _parse_events(response.iter_lines())

    def cancel(self, job_id: str) -> Json:
        """Ask a job to stop; asking again does no harm."""
        return self._json("POST", f"/jobs/{in_path(job_id)}/cancel")

    def retry(self, job_id: str) -> Json:
        """Submit an ended job once more."""
        return self._json("POST", f"/jobs/{in_path(job_id)}/retry")

    def delete_job(self, job_id: str) -> None:
        """Delete an ended job."""
        self._send("DELETE", f"/jobs/{in_path(job_id)}")

    def download(self, job: Json | str, file: str | Path) -> int:
        """Write the answers of a prediction that has succeeded to a file; returns their size in bytes."""
        job_id = job if isinstance(job, str) else str(job["id"])
        size = 0
        with self._http.stream("GET", f"{BASE}/jobs/{in_path(job_id)}/download") as response:
            if response.status_code != 200:
                response.read()
                raise error_of(response)
            with Path(file).open("wb") as out:
                for block in response.iter_bytes():
                    size += out.write(block)
        return size


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
