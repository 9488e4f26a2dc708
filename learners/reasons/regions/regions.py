"""Sets of cells by column: what a rule's conditions leave of each, and how what fails a rule is cut into such sets.

A rule covers a box; what it does not cover is no box, but falls into a few that do not overlap: where its first
condition fails, where the first holds and the second fails, and so on. With bounds ``low < x <= high`` a condition
on numbers fails on two intervals of the same form, or where the value is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from learners.rules.ordered import OrderedRules
from learners.table import UNSEEN, Column
from learners.types import BoolArray


@dataclass(frozen=True)
class Numbers:
    """Cells of a numeric column: ``low < cell <= high``, and the missing one or not."""

    low: float = -math.inf
    high: float = math.inf
    missing: bool = True

    def holds(self, cell: float) -> bool:
        """Whether a cell is one of them."""
        return self.missing if math.isnan(cell) else self.low < cell <= self.high

    def narrowed(self, test: Numbers) -> Numbers | None:
        """Those that satisfy a test too; None if there are none."""
        low, high = max(self.low, test.low), min(self.high, test.high)
        missing = self.missing and test.missing
        return Numbers(low, high, missing) if low < high or missing else None

    def without(self, test: Numbers) -> list[Numbers]:
        """Those that do not satisfy a test, in pieces."""
        below, above = (
            Numbers(self.low, min(self.high, test.low), False),
            Numbers(max(self.low, test.high), self.high, False),
        )
        pieces = [piece for piece in (below, above) if piece.low < piece.high]
        return [*pieces, Numbers(math.inf, -math.inf)] if self.missing and not test.missing else pieces


@dataclass(frozen=True, eq=False)
class Levels:
    """Cells of a column with L levels.

    Attributes:
        flags: (L + 2,), which codes; at last whether an unseen level, and whether the missing value.
    """

    flags: BoolArray

    def holds(self, cell: float) -> bool:
        """Whether a cell is one of them."""
        place = -1 if math.isnan(cell) else -2 if cell == UNSEEN else int(cell)
        return bool(self.flags[place])

    def narrowed(self, test: Levels) -> Levels | None:
        """Those that satisfy a test too; None if there are none."""
        flags = self.flags & test.flags
        return Levels(flags) if flags.any() else None

    def without(self, test: Levels) -> list[Levels]:
        """Those that do not satisfy a test, in one piece."""
        flags = self.flags & ~test.flags
        return [Levels(flags)] if flags.any() else []


Cells: TypeAlias = Numbers | Levels
#: By column the cells that are left of it; all of a column that is not named.
Region: TypeAlias = dict[int, Cells]


class RuleRegions:
    """The regions of an ordered rule set.

    Args:
        rules: the rule set.
        columns: the model's.
    """

    def __init__(self, rules: OrderedRules, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self._tests = [
            [self._test(rules, place) for place in range(int(rules.start[rule]), int(rules.start[rule + 1]))]
            for rule in range(rules.n_rules + 1)
        ]

    def tests(self, rule: int) -> list[tuple[int, Cells]]:
        """A rule's conditions as columns and the cells that satisfy them; none of the default."""
        return self._tests[rule]

    def covered(self, rule: int, region: Region | None = None) -> Region | None:
        """What a rule covers of a region, by default of everything; None if nothing."""
        found = dict(region or {})
        for feature, test in self._tests[rule]:
            left = self._narrowed(found, feature, test)
            if left is None:
                return None
            found[feature] = left
        return found

    def outside(self, rule: int, region: Region) -> Iterator[Region]:
        """What a rule does not cover of a region, in pieces that do not overlap."""
        inside = dict(region)
        for feature, test in self._tests[rule]:
            whole = inside.get(feature) or self._whole(feature)
            for piece in whole.without(test):  # type: ignore[arg-type]
                yield inside | {feature: piece}
            left = self._narrowed(inside, feature, test)
            if left is None:
                return
            inside[feature] = left

    def _narrowed(self, region: Region, feature: int, test: Cells) -> Cells | None:
        whole = region.get(feature) or self._whole(feature)
        return whole.narrowed(test)  # type: ignore[arg-type]

    def _whole(self, feature: int) -> Cells:
        column = self._columns[feature]
        return Numbers() if column.is_numeric else Levels(np.ones(len(column.levels) + 2, np.bool_))

    def _test(self, rules: OrderedRules, place: int) -> tuple[int, Cells]:
        """A condition; it mirrors :meth:`learners.rules.ordered.OrderedRules.holds`."""
        feature = int(rules.feature[place])
        column = self._columns[feature]
        low, high = float(rules.low[place]), float(rules.high[place])
        if column.is_numeric:
            return feature, Numbers(low, high, missing=False)
        codes = np.arange(len(column.levels))
        count, start = int(rules.code_count[place]), int(rules.code_start[place])
        negated = bool(rules.negated[place])
        held = (codes > low) & (codes <= high) if count < 0 else np.isin(codes, rules.codes[start : start + count])
        flags = held ^ negated if count >= 0 else held
        return feature, Levels(np.append(flags, [negated and count >= 0, False]))
