"""Collecting what is wrong with a file: the first few faults, and how many there were."""

from __future__ import annotations

from learners.errors import quoted
from service.errors import MAX_FAULTS, Fault, Invalid

#: A name in a message or a fault is cut to this many characters.
NAME_SHOWN = 80


def shown(name: str) -> str:
    """A column's name in quotes, cut to a sane length."""
    return quoted(name, NAME_SHOWN)


def cut(text: str) -> str:
    """A caller's text, cut to a sane length."""
    return text if len(text) <= NAME_SHOWN else text[:NAME_SHOWN] + "..."


class Faults:
    """The first :data:`~service.errors.MAX_FAULTS` faults and the count of all."""

    def __init__(self) -> None:
        self.first: list[Fault] = []
        self.total = 0

    def add(self, fault: Fault) -> None:
        self.total += 1
        if len(self.first) < MAX_FAULTS:
            self.first.append(fault)

    def raise_if_any(self, summary: str) -> None:
        """Raise :class:`~service.errors.Invalid` with the faults found, if there are any."""
        if self.total:
            raise Invalid(f"{summary}: {self.first[0].message}", self.first, errors_total=self.total)
