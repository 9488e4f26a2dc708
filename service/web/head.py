"""HEAD: what a GET would answer, without its body."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """ASGI middleware that lets the routes of GET answer HEAD; OpenAPI need not list them twice.

    The answer ends with its headers, so that a stream without an end (the events of a job) ends too: what
    would send on sees that the client has what it wanted.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        asked = {**scope, "method": "GET"}

        async def send_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})

        await self.app(asked, receive, send_headers)
        if "route" in asked:  # by which the request is counted
            scope["route"] = asked["route"]
