"""How far a part is, told by its process through a small mapped file.

Layout, little-endian: u64 sequence (odd while a write is under way), i64 process id, f64 share done,
u16 length of the message, the message in UTF-8. The writer never waits; a reader that meets a write
under way looks again.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

_HEAD = struct.Struct("<QqdH")
_MESSAGE_BYTES = 400
SIZE = _HEAD.size + _MESSAGE_BYTES


class Reading(NamedTuple):
    """What the slot held: process id (0 before it is up), share in [0, 1], message."""

    pid: int
    share: float
    message: str


class Slot:
    """One mapped file, made by the worker and written by one child."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        if create:
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)

    def write(self, pid: int, share: float, message: str) -> None:
        """Replace what the slot holds; the message is cut to what fits."""
        text = message.encode()[:_MESSAGE_BYTES]
        sequence = _HEAD.unpack_from(self._map)[0] | 1
        _HEAD.pack_into(self._map, 0, sequence, pid, min(max(share, 0.0), 1.0), len(text))
        self._map[_HEAD.size : _HEAD.size + len(text)] = text
        _HEAD.pack_into(self._map, 0, sequence + 1, pid, min(max(share, 0.0), 1.0), len(text))

    def read(self) -> Reading:
        """The latest whole entry; after a few looks at a busy writer, whatever is there."""
        for _ in range(10):
            before, pid, share, length = _HEAD.unpack_from(self._map)
            text = bytes(self._map[_HEAD.size : _HEAD.size + min(length, _MESSAGE_BYTES)])
            if not before & 1 and _HEAD.unpack_from(self._map)[0] == before:
                break
        return Reading(pid, share, text.decode(errors="ignore"))

    def close(self) -> None:
        """Unmap and remove the file."""
        self._map.close()
        self.path.unlink(missing_ok=True)
