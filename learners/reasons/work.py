"""The work that the rows of a request may take together.

It is counted, never timed, so that equal requests have equal answers. Each search has bounds of its own for a row, in
what it looks at: nodes, regions, sets of columns, programmes. What they take is counted here in the time of a node, so
that one number bounds a request, however its rows are searched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from learners.reasons.records import SearchEnded

#: What the rows of a request may take together, in nodes: some tens of seconds.
MAX_WORK = 300_000_000
#: Rows are searched again where that may take so many times as much as before.
_MORE = 1.5

Found = TypeVar("Found")


class Work:
    """The work of a request.

    Half of it is for the rows in equal parts. What is left then, the other half and what easy rows leave of theirs, is
    for those that have met their part, in equal parts too: they are searched again. So neither how far a row is
    searched nor its answer depends on where it stands among the others.

    Args:
        searches: how many there will be.
        allowed: in nodes; by default :data:`MAX_WORK`.
        pause: called before each search with how many are done, of how many; may raise to end all.
    """

    def __init__(
        self, searches: int, allowed: float | None = None, pause: Callable[[int, int], None] | None = None
    ) -> None:
        self._pause = pause
        self._part = float(MAX_WORK if allowed is None else allowed) / 2 / max(searches, 1)
        self._left = self._part

    def share(self, rows: int, search: Callable[[int], Found], is_whole: Callable[[Found], bool]) -> list[Found]:
        """Search some rows, those that have met their part again, as far as the others leave something.

        Args:
            rows: how many.
            search: finds something for one of them, by its place.
            is_whole: whether that would be no better if more was looked at.
        """
        found: list[Found] = []
        again: list[int] = []
        left = 2 * self._part * rows
        for row in range(rows):
            if self._pause is not None:
                self._pause(row, rows)
            self._left = self._part
            found.append(search(row))
            left -= self._part - self._left
            if self.is_spent and not is_whole(found[row]):
                again.append(row)
        if again and left / len(again) >= _MORE * self._part:
            for done, row in enumerate(again):
                if self._pause is not None:
                    self._pause(done, len(again))
                self._left = left / len(again)
                found[row] = search(row)
        return found

    def spend(self, nodes: float) -> None:
        """Count some work."""
        self._left -= nodes

    @property
    def is_spent(self) -> bool:
        """Whether the search has to end."""
        return self._left < 0

    def ended(self) -> SearchEnded:
        """What is said then."""
        return SearchEnded("all rows together may take", "ask for fewer rows at once, ")


#: Most nodes of a tree that are looked at for one row, for changed rows that stay divided: some tenths of a second.
MAX_NODES = 5_000_000


class Allowance:
    """What one row's search for changed rows that stay divided may take: its own bound, and the request's work."""

    def __init__(self, work: Work) -> None:
        self._left, self._work = MAX_NODES, work

    def spend(self, nodes: int) -> None:
        """Count some nodes."""
        self._left -= nodes
        self._work.spend(nodes)

    @property
    def is_spent(self) -> bool:
        return self._left < 0 or self._work.is_spent

    def ended(self) -> SearchEnded:
        """What is said then."""
        if self._left >= 0:
            return self._work.ended()
        return SearchEnded(f"{MAX_NODES} nodes, for changed rows that leave some values missing,")
