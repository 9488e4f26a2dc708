"""Half of a text is read by another thread, where reading it needs no interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Read = TypeVar("Read")

#: Texts from this size on are read in two halves.
HALVED_BYTES = 500_000
#: How much of a text the other thread reads: less, for it must wake up first.
_ELSEWHERE = 0.46


def cut_of(begin: int, end: int) -> int:
    """Near which place a text is cut, whose first part the other thread reads."""
    return begin + int((end - begin) * _ELSEWHERE)


def beside(read: Callable[[], Read]) -> Callable[[], Read]:
    """Let the other thread do something, if it is free; what is returned gives the result, and does it if not."""
    begun = _other().submit(read)
    return lambda: read() if begun.cancel() else begun.result()


@cache
def _other() -> ThreadPoolExecutor:
    """One thread: where several requests are read at once, the processors have work without it."""
    return ThreadPoolExecutor(1, thread_name_prefix="half-text")
