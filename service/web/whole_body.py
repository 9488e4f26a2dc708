"""Bodies that are received as a whole, where they lie in the end: nothing is copied from piece to piece.

A connection's transport reads into the bytes of the body itself while this is its protocol; what else happens to the
connection is told to its own protocol.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable, Mapping

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)
_address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyBytes_AsString", ctypes.pythonapi))
_view = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
#: Bodies of at most so many bytes are given to the app in one message, not copied and announced piece by piece.
MAX_WHOLE = 4 << 20
#: ``PyBUF_WRITE``.
_WRITABLE = 0x200


class WholeBody(asyncio.BufferedProtocol):
    """A body that comes.

    Args:
        size: its bytes, more than none.
        protocol: the connection's own.
        on_bytes: told how many have come.
    """

    def __init__(self, size: int, protocol: asyncio.Protocol, on_bytes: Callable[[int], None]) -> None:
        self._body: bytes = _new(None, size)
        self._free: memoryview = _view(_address_of(self._body), size, _WRITABLE)
        self._protocol = protocol
        self._on_bytes = on_bytes

    @property
    def is_whole(self) -> bool:
        return not self._free

    @property
    def body(self) -> bytes:
        """All of it, and none before all has come: what was in that memory is nobody's to see."""
        return self._body if self.is_whole else b""

    def take(self, piece: bytes) -> None:
        """Add a piece that has come otherwise."""
        self._free[: len(piece)] = piece
        self._free = self._free[len(piece) :]

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes belong."""
        return self._free

    def buffer_updated(self, nbytes: int) -> None:
        """So many have come."""
        self._free = self._free[nbytes:]
        self._on_bytes(nbytes)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()


def whole_body(
    fields: Mapping[bytes, bytes], protocol: asyncio.Protocol, on_bytes: Callable[[int], None]
) -> WholeBody | None:
    """The body that a request's header fields announce; None without one, and if it is large or comes in chunks."""
    size = int(fields.get(b"content-length", b"0"))
    return WholeBody(size, protocol, on_bytes) if 0 < size <= MAX_WHOLE else None
