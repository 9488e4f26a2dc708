"""Connections on which nothing more is made until what was made is taken."""

from __future__ import annotations

from typing import Any

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from service.web.backlog import Backlog
from service.web.offered import BACKLOG


class TakenProtocol(HttpToolsProtocol):
    """uvicorn's protocol, whose next request begins when the client has taken nearly all of the answer before."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._backlog: Backlog = self.app_state.get(BACKLOG) or Backlog()
        #: The request whose task was begun last; those of :attr:`pipeline` wait for it.
        self._running: RequestResponseCycle | None = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self.flow.write_paused:
            self.flow.pause_reading()
            self.pipeline.append((cycle, app))
            return
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """The client does not take what was written as fast as it was."""
        super().pause_writing()
        self._backlog.add(self.transport, self.loop)

    def resume_writing(self) -> None:
        """Nearly all of it is taken: go on with an answer that is sent in pieces, or with what was asked next."""
        super().resume_writing()
        self._backlog.discard(self.transport)
        if self.pipeline and (self._running is None or self._running.response_complete):
            self.flow.resume_reading()
            self._start_asgi_task(*self.pipeline.pop())

    def connection_lost(self, exc: Exception | None) -> None:
        """Hold nothing more."""
        self._backlog.discard(self.transport)
        super().connection_lost(exc)
