"""An answer's head waits for the beginning of its body, unless that may be long in coming."""

from __future__ import annotations

import pytest

from service.web.joined_writes import JoinedWrites
from tests.service.web.connections import Written

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


@pytest.mark.parametrize("begin", [b"{}", b"", b"HTTP/1.1 100 is how this body begins", b"x" * 100_000])
def test_a_head_goes_out_with_the_beginning_of_its_body(begin: bytes) -> None:
    sent = Written()
    answer = JoinedWrites(sent)
    for part in (b"HTTP/1.1 100 Continue\r\n\r\n", HEAD, begin, b"more", b"and more"):
        answer.write(part)
    assert sent.calls == [b"HTTP/1.1 100 Continue\r\n\r\n", HEAD + begin, b"more", b"and more"]


def test_a_head_without_a_body_is_sent_before_the_end() -> None:
    sent = Written()
    answer = JoinedWrites(sent)
    answer.write(HEAD)
    assert not answer.is_closing()
    answer.close()
    assert (sent.calls, sent.closed, answer.is_closing()) == ([HEAD], True, True)


def test_a_stream_shows_its_head_at_once() -> None:
    sent = Written()
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    JoinedWrites(sent).write(head)
    assert sent.calls == [head]
