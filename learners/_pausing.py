"""How who asks for long work may let others go on in the midst of it, or end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

Item = TypeVar("Item")

#: Called with how much is done, of how much; may raise to end all.
Pause: TypeAlias = Callable[[int, int], None]
#: Divides so many rows, which are answered one like the other however they are divided; may raise to end all.
Division: TypeAlias = Callable[[int], Iterable[slice]]

#: Items of some microseconds between two pauses.
_AT_ONCE = 256


def no_pause(done: int, count: int) -> None:
    """Go on."""


def undivided(rows: int) -> Iterable[slice]:
    """All rows at once."""
    return (slice(0, rows),)


def paced(items: Sequence[Item], pause: Pause) -> Iterator[Item]:
    """Many small items with pauses between some of them."""
    for place, item in enumerate(items):
        if place % _AT_ONCE == 0:
            pause(place, len(items))
        yield item
