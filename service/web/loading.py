"""An app that is loaded while the process answers already what does not need it.

Importing FastAPI and making some forty routes takes a third of a start, and neither predictions nor health
checks wait for it: those are answered in front of it. So it is loaded in a thread as soon as the process
listens, and a request that needs it waits for the rest of that.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from types import SimpleNamespace
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from service import strict_json
from service.problems import Rendered
from service.web.observing import send_rendered

#: Made anew by each start of the app; entered when the process starts, left when it stops.
Life = Callable[[], AbstractAsyncContextManager[None]]
#: Seconds that the server gets, once started, to listen before the loading takes the interpreter's lock.
_PAUSE = 0.02


class LoadedBeside:
    """ASGI app: see the module.

    Args:
        make: makes the app; called once, in a thread.
        life: what the process does at its start and end (ASGI lifespan).
        meanwhile: by path, what answers ``GET`` while the app is being made.
    """

    def __init__(
        self, make: Callable[[], ASGIApp], life: Life, meanwhile: Mapping[str, Callable[[], Awaitable[Any]]]
    ) -> None:
        self._make = make
        self._life = life
        self._meanwhile = meanwhile
        self._made: Future[ASGIApp] = Future()
        self._starting = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif not self._made.done() and scope["type"] == "http" and self._answers(scope):
            await self._answer(scope, send)
        else:
            await (await self._app())(scope, receive, send)

    def load(self) -> None:
        """Begin to make the app, unless that was begun; the end is not waited for."""
        if self._starting.acquire(blocking=False):
            threading.Thread(target=self._run, name="app-loading", daemon=True).start()

    async def _app(self) -> ASGIApp:
        if not self._made.done():
            self.load()
        return await asyncio.wrap_future(self._made)

    def _run(self) -> None:
        try:
            self._made.set_result(self._make())
        except BaseException as error:  # whoever asks is told, the health checks too
            self._made.set_exception(error)

    def _answers(self, scope: Scope) -> bool:
        return scope["method"] == "GET" and scope["path"] in self._meanwhile

    async def _answer(self, scope: Scope, send: Send) -> None:
        scope["route"] = SimpleNamespace(path=scope["path"])
        body = strict_json.encode(await self._meanwhile[scope["path"]]())
        await send_rendered(send, Rendered(200, {"content-type": "application/json"}, body))

    async def _live(self, receive: Receive, send: Send) -> None:
        """The ASGI lifespan protocol."""
        await receive()
        started = False
        try:
            async with self._life():
                started = True
                await send({"type": "lifespan.startup.complete"})
                asyncio.get_running_loop().call_later(_PAUSE, self.load)
                await receive()
        except Exception as error:
            stage = "shutdown" if started else "startup"
            await send({"type": f"lifespan.{stage}.failed", "message": f"{type(error).__name__}: {error}"})
            raise
        await send({"type": "lifespan.shutdown.complete"})
