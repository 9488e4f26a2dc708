"""The way to one service: requests, their errors, and pages of lists."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import httpx

from service.client.content import Json, body, given
from service.client.errors import error_of

#: Where the API begins.
BASE = "/api/v1"


class Connection:
    """One service; what it offers is in the classes derived from this.

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

    def is_ready(self) -> bool:
        """Whether the service can be reached and says that it is ready."""
        try:
            return self._http.get("/health/ready").status_code == 200
        except httpx.TransportError:
            return False

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        if "json" in request:
            request["content"] = body(request.pop("json"))
            request["headers"] = {"Content-Type": "application/json"} | request.get("headers", {})
        response = self._http.request(method, BASE + path, **request)
        if response.status_code >= 400:
            raise error_of(response)
        return response

    def _json(self, method: str, path: str, **request: Any) -> Json:
        answer: Json = self._send(method, path, **request).json()
        return answer

    def _pages(self, path: str, query: dict[str, Any]) -> Iterator[Json]:
        cursor: str | None = None
        while True:
            page = self._json("GET", path, params=given({**query, "cursor": cursor}))
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return
