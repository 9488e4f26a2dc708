"""The two pages on which a tree is drawn: wide, depths side by side, and narrow, an indented list for a phone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from service.reports.svg_text import INK, LINE, SOFT, fitted, svg_text, width
from service.reports.tree_layout import Placed
from service.reports.tree_texts import Wording, line_text, test_text

BIG, SMALL, TINY = 13.0, 11.0, 9.5
#: How much wider bold text is.
BOLD = 1.14
MARGIN = 24
_LIT = "#b35900"


@dataclass(frozen=True)
class Box:
    """Where a node stands, in pixels."""

    x: float
    y: float
    wide: float
    high: float

    @property
    def middle(self) -> float:
        return self.y + self.high / 2


class Page(Protocol):
    """Where nodes stand and how they are joined."""

    size: tuple[float, float]

    def box(self, placed: Placed) -> Box: ...

    def branch(self, placed: Placed, child: Placed, share: float, *, lit: bool) -> list[str]:
        """The line from a node to its child with the test and where a missing value goes; ``share`` of rows."""


class WidePage:
    """Every depth is a column, as wide as its texts ask."""

    _HIGH, _LINE, _LEAST_WIDTH = 46, 60, 560.0
    _BOX, _GAP = (118.0, 230.0), (112.0, 250.0)

    def __init__(self, placed: Sequence[Placed], wording: Wording, top: float) -> None:
        self._wording, self._top = wording, top
        depths = 1 + max(one.depth for one in placed)
        wide, gap = [self._BOX[0]] * depths, [self._GAP[0]] * depths
        for one in placed:
            big, small = wording.lines(one)
            wanted = max(width(big, BIG) * BOLD, width(small, SMALL)) + 24
            wide[one.depth] = min(self._BOX[1], max(wide[one.depth], wanted))
            if one.depth:
                needed = width(test_text(wording.condition(one.node)), SMALL) + 56
                gap[one.depth] = min(self._GAP[1], max(gap[one.depth], needed))
        left = [float(MARGIN)]
        for depth in range(1, depths):
            left.append(left[-1] + wide[depth - 1] + gap[depth])
        self._left, self._wide = left, wide
        lines = 1 + max(one.line for one in placed)
        self.size = (max(left[-1] + wide[-1], self._LEAST_WIDTH) + MARGIN, top + lines * self._LINE)

    def box(self, placed: Placed) -> Box:
        y = self._top + placed.line * self._LINE
        return Box(self._left[placed.depth], y, self._wide[placed.depth], self._HIGH)

    def branch(self, placed: Placed, child: Placed, share: float, *, lit: bool) -> list[str]:
        here, there = self.box(placed), self.box(child)
        start = here.x + here.wide
        bend = start + 24
        condition = self._wording.condition(child.node)
        text = fitted(test_text(condition), SMALL, there.x - bend - 22)
        return [
            f'<path d="M{start:.1f},{here.middle:.1f} C{bend:.1f},{here.middle:.1f} {start:.1f},{there.middle:.1f} '
            f'{bend:.1f},{there.middle:.1f} H{there.x:.1f}" {_stroke(share, lit=lit)}/>',
            svg_text(bend + 6, there.middle - 7, text, SMALL, INK, condition.text()),
            svg_text(bend + 6, there.middle + 15, self._wording.missing(child.node), TINY, SOFT),
        ]


class NarrowPage:
    """Every node is a line, its test written in it; depth is an indent that shrinks where trees are deep."""

    _WIDTH, _HIGH, _LINE, _TEST = 360.0, 46, 74, 18
    _MARGIN, _INDENT, _ALL_INDENTS = 12.0, 18.0, 130.0

    def __init__(self, placed: Sequence[Placed], wording: Wording, top: float) -> None:
        self._wording, self._top = wording, top
        deepest = max(1, *(one.depth for one in placed))
        self._indent = min(self._INDENT, self._ALL_INDENTS / deepest)
        self.size = (self._WIDTH, top + (1 + max(one.line for one in placed)) * self._LINE)

    def box(self, placed: Placed) -> Box:
        x = self._MARGIN + placed.depth * self._indent
        y = self._top + placed.line * self._LINE
        return Box(x, y, self._WIDTH - self._MARGIN - x, self._HIGH)

    def branch(self, placed: Placed, child: Placed, share: float, *, lit: bool) -> list[str]:
        here, there = self.box(placed), self.box(child)
        x = here.x + self._indent / 2
        condition = self._wording.condition(child.node)
        missing = self._wording.missing(child.node)
        end = there.x + there.wide
        text = line_text(condition)
        room = there.wide - width(missing, TINY) - 16
        way = f"M{x:.1f},{here.y + here.high:.1f} V{there.middle:.1f} H{there.x:.1f}"
        return [
            f'<path d="{way}" {_stroke(share / 2, lit=lit)}/>',
            svg_text(there.x + 2, there.y - 6, fitted(text, SMALL, room), SMALL, INK, condition.text()),
            svg_text(end - width(missing, TINY), there.y - 6, missing, TINY, SOFT),
        ]


def _stroke(share: float, *, lit: bool) -> str:
    """Branches are as thick as their share of the training rows."""
    thick = 1.2 + 5.0 * min(1.0, share)
    colour, opacity = (_LIT, "1") if lit else (LINE, "0.75")
    return f'fill="none" stroke="{colour}" stroke-width="{thick:.1f}" opacity="{opacity}"'
