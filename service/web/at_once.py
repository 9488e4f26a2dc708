"""Connections whose small predictions are answered without a request of the app.

A task, an event and two messages of ASGI for each take longer than the prediction. So the app offers a function for it
in its lifespan's state (:data:`service.web.offered.AT_ONCE`). What that function leaves, and all else, becomes a
request of the app.
"""

from __future__ import annotations

from typing import Any

from service.web.joined_writes import JoinedWrites
from service.web.offered import AT_ONCE, AtOnce
from service.web.taken import TakenProtocol
from service.web.written import written_at_once

#: Bodies beyond it, and those that do not tell their length, go to the app while they come.
_MAX_HELD = 150_000


class AtOnceProtocol(TakenProtocol):
    """uvicorn's protocol, which holds a body that may be answered at once until all of it is there."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._at_once: AtOnce | None = self.app_state.get(AT_ONCE)
        self._admitted: Any = None
        #: What has come of a body that may be answered at once; None where there is no such request.
        self._held: bytearray | None = None
        #: Whether all of it is there, to be answered in this turn of the loop, or before more of the connection.
        self._is_whole = False
        #: Whether a request was answered since somebody last looked whether the connection is idle.
        self._is_used = False

    def _may_wait_for_body(self, version: str, fields: dict[bytes, bytes]) -> bool:
        parser, cycle, at_once = self.parser, self.cycle, self._at_once
        if not (
            at_once is not None
            and parser.get_method() == b"POST"
            and 0 < int(fields.get(b"content-length", b"0")) <= _MAX_HELD  # the parser has seen that it is a number
            and not self.expect_100_continue
            and (cycle is None or cycle.response_complete)  # else the answer before is still to come
            and version == "1.1"
            and parser.should_keep_alive()
            and not self.flow.write_paused
        ):
            return False
        self._admitted = at_once.admit(self.url, self.headers)
        return self._admitted is not None

    def _begin_task(self) -> None:
        """Make it a request of the app, whose task runs once this has returned."""
        super().on_headers_complete()
        cycle = self.cycle
        # Of an answer to HEAD the head is all that is written.
        if cycle is not None and cycle.scope["method"] != "HEAD" and not isinstance(cycle.transport, JoinedWrites):
            cycle.transport = JoinedWrites(cycle.transport)

    def _release(self) -> None:
        """Give what was held to the app."""
        held, self._held = self._held, None
        if held is not None:
            self._begin_task()
            if held:
                super().on_body(bytes(held))

    def _answer_soon(self) -> None:
        """Answer what is held, of which all is there: now, or with what has come on other connections."""
        self._is_whole = True
        if self._at_once is None or not self._at_once.together.takes(self):
            self._answer_whole()

    def _answer_whole(self) -> None:
        """Answer what is held now, if all of it is there."""
        answer = self.make_answer()
        if answer is not None:
            self.send_answer(answer)

    def make_answer(self) -> bytes | None:
        """The answer to what is held, if all of it is there; None too where it is given to the app."""
        held = self._held
        if not self._is_whole or held is None or self._at_once is None:
            return None
        self._is_whole = False
        answer = self._at_once.answer(self._admitted, self.headers, bytes(held))
        if answer is None:
            self._release()
            super().on_message_complete()
            return None
        self._held = None
        return written_at_once(self.server_state.default_headers, *answer)

    def send_answer(self, answer: bytes) -> None:
        """Send what was made."""
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.on_response_complete()

    def _forget_whole(self) -> None:
        """Nobody waits for the answer any more."""
        if self._is_whole:
            self._is_whole, self._held = False, None

    def on_response_complete(self) -> None:
        """As uvicorn's, but for the timer: one that looks now and then is cheaper than one for each request."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self._is_used = True
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
