"""The two pages on which a tree is drawn: wide, depths side by side, and narrow, an indented list for a phone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from learners.conditions import AnyCondition
from service.reports.svg_text import INK, LINE, SOFT, svg_text, width, wrapped
from service.reports.tree_layout import Placed
from service.reports.tree_texts import Wording, line_text, test_text

BIG, SMALL, TINY = 13.0, 11.0, 9.5
#: How much wider bold text is.
BOLD = 1.14
MARGIN = 24
_TEXT_LINE = 13
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
    _BOX, _GAP = (118.0, 210.0), (112.0, 190.0)
    _TEST_LINES = 2

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
        lines = wrapped(test_text(condition), SMALL, there.x - bend - 22, self._TEST_LINES)
        return [
            f'<path d="M{start:.1f},{here.middle:.1f} C{bend:.1f},{here.middle:.1f} {start:.1f},{there.middle:.1f} '
            f'{bend:.1f},{there.middle:.1f} H{there.x:.1f}" {_stroke(share, lit=lit)}/>',
            *_test_lines(bend + 6, there.middle - 7, lines, condition),
            svg_text(bend + 6, there.middle + 15, self._wording.missing(child.node), TINY, SOFT),
        ]


class NarrowPage:
    """Every node has lines of its own, first those of its test; depth is an indent that shrinks where trees are deep.

    A phone shows no tooltips, so tests are written out in several lines where one is too short.
    """

    _WIDTH, _HIGH, _GAP, _TEST_LINES = 360.0, 46, 14, 6
    _MARGIN, _INDENT, _ALL_INDENTS = 12.0, 18.0, 130.0

    def __init__(self, placed: Sequence[Placed], wording: Wording, top: float) -> None:
        self._wording, self._top = wording, top
        deepest = max(1, *(one.depth for one in placed))
        self._indent = min(self._INDENT, self._ALL_INDENTS / deepest)
        self._tests: dict[int, list[str]] = {}
        self._y: dict[int, float] = {}
        y = top - self._GAP
        for one in sorted(placed, key=lambda one: one.line):
            if one.depth:
                self._tests[one.node] = self._test_lines(one)
            y += self._GAP + _TEXT_LINE * len(self._tests.get(one.node, ()))
            self._y[one.node] = y
            y += self._HIGH
        self.size = (self._WIDTH, y + self._GAP)

    def box(self, placed: Placed) -> Box:
        x = self._left(placed)
        return Box(x, self._y[placed.node], self._WIDTH - self._MARGIN - x, self._HIGH)

    def _left(self, placed: Placed) -> float:
        return self._MARGIN + placed.depth * self._indent

    def _test_lines(self, placed: Placed) -> list[str]:
        room = self._WIDTH - self._MARGIN - self._left(placed) - width(self._wording.missing(placed.node), TINY) - 16
        return wrapped(line_text(self._wording.condition(placed.node)), SMALL, room, self._TEST_LINES)

    def branch(self, placed: Placed, child: Placed, share: float, *, lit: bool) -> list[str]:
        here, there = self.box(placed), self.box(child)
        x = here.x + self._indent / 2
        condition = self._wording.condition(child.node)
        missing = self._wording.missing(child.node)
        end = there.x + there.wide
        way = f"M{x:.1f},{here.y + here.high:.1f} V{there.middle:.1f} H{there.x:.1f}"
        return [
            f'<path d="{way}" {_stroke(share / 2, lit=lit)}/>',
            *_test_lines(there.x + 2, there.y - 6, self._tests[child.node], condition),
            svg_text(end - width(missing, TINY), there.y - 6, missing, TINY, SOFT),
        ]


def _test_lines(x: float, y: float, lines: Sequence[str], condition: AnyCondition) -> list[str]:
    """A test in lines of which the last stands at ``y``; its exact form is the tooltip of each."""
    first = y - _TEXT_LINE * (len(lines) - 1)
    return [
        svg_text(x, first + _TEXT_LINE * place, line, SMALL, INK, condition.text()) for place, line in enumerate(lines)
    ]


def _stroke(share: float, *, lit: bool) -> str:
    """Branches are as thick as their share of the training rows."""
    thick = 1.2 + 5.0 * min(1.0, share)
    colour, opacity = (_LIT, "1") if lit else (LINE, "0.75")
    return f'fill="none" stroke="{colour}" stroke-width="{thick:.1f}" opacity="{opacity}"'
