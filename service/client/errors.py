"""What the client raises."""

from __future__ import annotations

import httpx

from service.client.content import Json


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


def job_problem(job: Json) -> Json:
    """The error of a job that ended otherwise than well, as a problem."""
    return {"title": f"job {job['id']} {job['state']}", "detail": job["message"]} | (job["error"] or {})


def error_of(response: httpx.Response) -> RulewoodError:
    """The error of an answer that is one."""
    try:
        problem = response.json()
    except ValueError:
        problem = {"title": response.reason_phrase, "detail": response.text[:500]}
    return RulewoodError(response.status_code, problem)
