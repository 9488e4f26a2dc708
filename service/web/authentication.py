"""Who asks comes before what is asked: a caller without a valid key learns nothing but that.

Pure ASGI, beneath :mod:`service.web.observing` and above everything that looks at a request's path,
query, headers or body. What a key may do is asked by the routes (:mod:`service.deps`).
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from service.operations.keys import Keyring

_METRICS = "/metrics"


class Authentication:
    """ASGI middleware that leaves the :class:`Principal` in the request's state, as ``principal``.

    Args:
        app: what lies beneath.
        keyring: the keys that are valid now.
    """

    def __init__(self, app: ASGIApp, keyring: Keyring) -> None:
        self.app = app
        self.keyring = keyring

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and needs_key(scope["path"]):
            scope.setdefault("state", {})["principal"] = self.keyring.authorise(scope["headers"])
        await self.app(scope, receive, send)


def needs_key(path: str) -> bool:
    """Whether a path is only for callers with a key: not the health checks, nor the documentation."""
    return path.startswith("/api/") or path == _METRICS
