"""The work that the rows of a request may take together.

It is counted, never timed, so that equal requests have equal answers. Each search has bounds of its own for a row, in
what it looks at: nodes, regions, sets of columns, programmes. What they take is counted here in the time of a node, so
that one number bounds a request, however its rows are searched.
"""

from __future__ import annotations

from learners.reasons.records import SearchEnded

#: What the rows of a request may take together, in nodes: some tens of seconds.
MAX_WORK = 300_000_000


class Work:
    """The work of a request, shared by its rows.

    Half of it is kept for the rows to come, in equal parts, so that the first ones cannot take all; the other half is
    for whichever needs more, and what easy rows leave of theirs too.

    Args:
        rows: how many searches there will be.
        allowed: in nodes; by default :data:`MAX_WORK`.
    """

    def __init__(self, rows: int, allowed: float | None = None) -> None:
        self._rows, self._left = rows, float(MAX_WORK if allowed is None else allowed)
        self._part = self._left / 2 / max(rows, 1)
        self._kept = 0.0

    def begin(self) -> None:
        """Begin with the next row."""
        self._rows -= 1
        self._kept = self._part * max(self._rows, 0)

    def spend(self, nodes: float) -> None:
        """Count some work."""
        self._left -= nodes

    @property
    def is_spent(self) -> bool:
        """Whether the row has to end, so that those to come can be looked at."""
        return self._left < self._kept

    def ended(self) -> SearchEnded:
        """What is said then."""
        return SearchEnded("all rows together may take", "ask for fewer rows at once, ")
