"""uvicorn's HTTP, strict about what comes, with a problem document for what is refused, and quick answers.

What is refused here never becomes a request: no middleware sees it, and the connection ends with it. What came whole
before it on the connection is answered first.

Small predictions are answered here (:mod:`service.web.at_once`); all else becomes a request of the app.

Nothing holds a connection for ever: one that is idle is closed, a head must come within a minute, a body at a least
rate, and an answer must be taken.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from service.errors import BadRequest, RequestTimeout, ServiceError
from service.settings import Limits
from service.web.at_once import AtOnceProtocol
from service.web.offered import LIMITS
from service.web.request_head import check_head, check_size, too_large
from service.web.whole_body import WholeBody, whole_body
from service.web.written import written_refusal

#: Seconds for the head of a request, and for each :data:`LEAST_RATE` times so many bytes of its body; and so many
#: once the process ends.
STALLED_SECONDS, _STALLED_AT_END_SECONDS = 60.0, 5.0
#: Bytes of a body per second, as in Apache's mod_reqtimeout: half of what the slowest lines of telephones carry.
LEAST_RATE = 500
#: Seconds for which what a refused client still sends is read and dropped, so that the answer reaches it: data that
#: is not read resets the connection (RFC 9112, section 9.6).
_LINGER_SECONDS = 2.0
#: Seconds between questions to a client that sends no more whether it still reads.
_ASK_SECONDS = 1.0
#: What asks: a client that reads passes over it (RFC 9110, section 15.2); one that is gone resets the connection.
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_DEFAULT_LIMITS = Limits()


class ProblemProtocol(AtOnceProtocol):
    """What listens on a connection."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._limits: Limits = self.app_state.get(LIMITS, _DEFAULT_LIMITS)
        self._max_head, self._max_fields = self._limits.head_bytes, self._limits.head_fields
        #: A body that the app gets as a whole; None where it gets the pieces as they come.
        self._whole: WholeBody | None = None
        #: Whether a request has begun and not ended; whether its head is there.
        self._is_open = self._has_head = False
        #: Whether nothing more is taken; whether the request asks for another protocol.
        self._is_broken = self._asks_upgrade = False
        #: Why the parser was told to stop.
        self._refusal: ServiceError | None = None
        #: Bytes of the packet that is read, and of those since the one with which the request, or the last piece of
        #: its body, came: of a head, of trailers, of what is said beside chunks.
        self._packet = self._loose = 0
        self._stalled_seconds = STALLED_SECONDS
        self._stalled: asyncio.TimerHandle | None = None
        #: Bytes that came since that was set.
        self._came = 0
        #: The next question to a client that sends no more.
        self._asking: asyncio.TimerHandle | None = None
        #: Bytes that waited to be sent when it was last looked whether the connection is idle, and for how long.
        self._unsent, self._unmoved_seconds = 0, 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look whether the connection is idle: one on which nothing ever comes is too."""
        super().connection_made(transport)
        self._look_again()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        if self._is_broken:
            return
        self._packet = len(data)
        while data:
            try:
                self.parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as asked:
                data = self._begin_again(data[asked.args[0] :])
            except httptools.HttpParserError:  # it does not say what is wrong
                self._end(self._refusal or BadRequest("What came is not a well-formed HTTP/1.1 request"))
                return
        if self._is_open and self.parser is not None:
            self._await_more()
            if self._whole is not None:  # the rest of it is not even copied through the parser
                self.transport.set_protocol(self._whole)

    def _take_more(self, n_bytes: int) -> None:
        """Go on with a body that comes as a whole."""
        self._came += n_bytes
        if self._whole is not None and self._whole.is_whole:
            self._renew_parser()  # the one that waits for that body's end
            self.on_message_complete()

    def _renew_parser(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def _begin_again(self, rest: bytes) -> bytes:
        """A request that asks for another protocol, without that wish: its body follows as if it had not been asked.

        The parser would take the body for the other protocol, which nothing here speaks (RFC 9110, section 7.8).
        """
        if not self._asks_upgrade:  # CONNECT, which has no body
            return rest
        self._asks_upgrade = False
        method, version = self.parser.get_method(), self.parser.get_http_version()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version.encode())]
        lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        self._renew_parser()
        return b"\r\n".join([*lines, b"", rest])

    def _await_more(self) -> None:
        """See to it that a request that has begun is neither too large nor too slow."""
        self._came += self._packet
        if self._held is None:
            self._loose += self._packet
        if self._loose > self._max_head:
            self._end(too_large(b"" if self._has_head else self.url, self._limits))
        elif not self._has_head and len(self.headers) > self._max_fields:
            self._refuse_large()
        elif self._stalled is None:
            self._set_stalled()

    def _refuse_large(self) -> None:
        try:
            check_size(self.url, self.headers, self._limits)
        except ServiceError as error:
            self._end(error)

    def _set_stalled(self) -> None:
        self._came = 0
        self._stalled = self.loop.call_later(self._stalled_seconds, self._give_up)

    def _unset_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _give_up(self) -> None:
        """Refuse a request that has begun and does not go on."""
        self._stalled = None
        if self.transport.is_closing():
            return
        least = LEAST_RATE * self._stalled_seconds
        pending = self._pending()
        if self.flow.read_paused or (pending and (pending[-1].waiting_for_100_continue or not pending[-1].more_body)):
            self._set_stalled()  # nothing comes because nothing is taken, or an answer before is still to come
            self._came = int(least)  # and perhaps for the most of the next turn too
        elif self._has_head and self._came >= least:
            self._set_stalled()
        else:
            rate = f", or {LEAST_RATE} bytes of its body in each of them" if self._has_head else ""
            detail = f"The rest of the request did not come within {self._stalled_seconds:g} seconds{rate}"
            self._end(RequestTimeout(detail))

    def _pending(self) -> list[RequestResponseCycle]:
        """The requests of the app that are not answered, oldest first; all of the last may not have come yet."""
        cycles = [self._running, *(cycle for cycle, _ in reversed(self.pipeline))]
        return [cycle for cycle in cycles if cycle is not None and not cycle.response_complete]

    def _end(self, error: ServiceError | None = None) -> None:
        """Take nothing more: what came whole is answered, what came half is given up, with the error if it can be told.

        An answer that has begun, or is there already, leaves no room for one.
        """
        self._is_broken = True
        if self.transport.is_closing():
            return
        self._answer_whole()
        self._unset_stalled()
        pending = self._pending()
        half = pending.pop() if pending and pending[-1].more_body else None
        is_answered = half.response_started if half else self._is_open and self._has_head and self._held is None
        self._held = None
        self._leave_whole()
        if half is not None:
            _disconnect(half)
            if self.pipeline and self.pipeline[0][0] is half:
                self.pipeline.popleft()
        if pending:
            self.cycle = pending[-1]
            self.cycle.keep_alive = False  # its head will say so, if that is still to come
        elif error is None or is_answered:
            self.transport.close()
        else:
            self._refuse(error)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more; it may still read the answers to what came whole, or be gone."""
        self._end()
        if self.transport.is_closing():
            return False
        self._ask_again()
        return True

    def _ask_again(self) -> None:
        self._asking = self.loop.call_later(_ASK_SECONDS, self._ask_whether_it_reads)

    def _ask_whether_it_reads(self) -> None:
        """Write what fails if the client is gone, so that nobody makes an answer for it."""
        pending = self._pending()
        if self.transport.is_closing() or not pending:
            return
        may_ask = pending[0].scope["http_version"] == "1.1" and not pending[0].response_started
        if may_ask and not self.flow.write_paused:
            self.transport.write(_CONTINUE)
        self._ask_again()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all requests of the connection, and forget what was waited for."""
        self._forget_whole()
        for cycle in self._pending():
            _disconnect(cycle)
        self.pipeline.clear()
        self._unset_stalled()
        if self._asking is not None:
            self._asking.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to read a request, once that before it is answered or given to the app."""
        self._answer_whole()
        self._is_open, self._has_head = True, False
        self._loose = -self._packet  # what of it is of this request is not known
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header field. Fields behind a body in chunks are none: nothing here waits for them."""
        if not self._has_head:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Begin to answer a request, unless all of it may be answered at once when it is there."""
        if self._stalled is not None:
            self._unset_stalled()
        parser, headers = self.parser, self.headers
        version = parser.get_http_version()
        try:
            # It came in several packets if the sum is not 0.
            if self._packet > self._max_head or len(headers) > self._max_fields or self._loose + self._packet:
                check_size(self.url, headers, self._limits)
            fields = check_head(version, headers)
        except ServiceError as error:
            self._refusal = error
            raise
        self.expect_100_continue = b"expect" in fields and version == "1.1"
        if parser.should_upgrade() and parser.get_method() != b"CONNECT":
            self._asks_upgrade = True
        elif self._may_wait_for_body(version, fields):
            self._held = bytearray()
        else:
            self._begin_task()
            self._whole = whole_body(fields, self, self._take_more)
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self._held is not None:
            self._held += body
            return
        self._loose = -self._packet
        if self._whole is None:
            super().on_body(body)
        else:
            self._whole.take(body)

    def on_message_complete(self) -> None:
        """Answer in this turn of the loop, or tell the app that all is there."""
        if self._asks_upgrade:
            return
        self._is_open = False
        if self._stalled is not None:
            self._unset_stalled()
        if self._held is not None:
            self._answer_soon()
            return
        whole = self._leave_whole()
        if whole is not None:
            self.cycle.body = whole.body  # type: ignore[assignment]  # as good as a bytearray
        super().on_message_complete()

    def _leave_whole(self) -> WholeBody | None:
        """Let what comes from now on come here."""
        whole, self._whole = self._whole, None
        if whole is not None and self.transport.get_protocol() is whole:
            self.transport.set_protocol(self)
        return whole

    def _look_again(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it was idle since the last look; break it off if the client takes no answer."""
        transport = self.transport
        unsent = transport.get_write_buffer_size()
        is_unmoved = 0 < unsent == self._unsent
        self._unmoved_seconds = self._unmoved_seconds + self.timeout_keep_alive if is_unmoved else 0.0
        self._unsent = unsent
        if self._unmoved_seconds >= self._stalled_seconds:
            transport.abort()
            return
        is_busy = self._is_open or self._is_whole or self._is_broken or bool(self._pending())
        if not (is_busy or self._is_used):
            transport.close()
        self._is_used = is_busy
        if unsent or not transport.is_closing():
            self._look_again()

    def shutdown(self) -> None:
        """Begin to end: a request that has begun to come is still answered, if it goes on soon."""
        self._answer_whole()
        self._release()
        self._stalled_seconds = _STALLED_AT_END_SECONDS
        if self._stalled is not None:
            self._unset_stalled()
            self._set_stalled()
        super().shutdown()

    def _refuse(self, error: ServiceError) -> None:
        """Answer what became no request of the app, and end the connection."""
        self.cycle = self._running = None  # type: ignore[assignment]  # uvicorn too begins with None
        self._is_open = False
        self.transport.write(written_refusal(self.server_state.default_headers, error))
        self.transport.write_eof()
        self.flow.resume_reading()
        self._stalled = self.loop.call_later(_LINGER_SECONDS, self.transport.close)


def _disconnect(cycle: RequestResponseCycle) -> None:
    """Let a request of the app end without an answer."""
    cycle.disconnected = True
    cycle.message_event.set()
