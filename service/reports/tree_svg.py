"""A picture of a tree that a person likes to read: labels and counts, tests on the branches, class bars.

Plain SVG with no script, no style sheet and no foreign font. Every text of a caller is escaped and cut;
its full form is in a tooltip. What is folded is a link to its own picture, where the caller says how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from learners.linear_function import LinearFunction
from learners.table import Column
from learners.trees.nodes import Nodes
from learners.trees.paths import path_to
from learners.types import FloatArray
from service.reports.svg_text import INK, LINE, SOFT, fitted, svg_text, width, wrapped, xml_text
from service.reports.tree_bars import HEIGHT, PALETTE, MeanBar, class_colours, share_bar
from service.reports.tree_layout import Extent, Placed, place
from service.reports.tree_pages import BIG, BOLD, MARGIN, SMALL, Box, NarrowPage, Page, WidePage
from service.reports.tree_texts import Lit, Wording, count_of_rows

_PAPER, _CARD, _LINK, _GLOW = "#ffffff", "#f6f8fa", "#0b57d0", "#fff4e5"
_FONT = "font-family=\"system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif\""
#: Else a phone lays the picture out on a page of 980 pixels and shows it at two fifths of its size. Without the prefix
#: the picture would end here where it is a part of a page of HTML.
_SCALE = (
    '<metadata><h:meta xmlns:h="http://www.w3.org/1999/xhtml" name="viewport" content="width=device-width"/></metadata>'
)
_MAX_LEGEND = 8
_LEGEND_LINE = 18
_HEADING_LINE, _HEADING_LINES = 16, 6
_FOOT, _FOOT_LINE = 10.5, 14


@dataclass(frozen=True)
class Picture:
    """What is drawn.

    Attributes:
        title: stands above the tree.
        nodes, target: the tree; columns: what it tests (:attr:`~learners.trees.estimator.FittedTree.tested_columns_`).
        extent: how much of it is shown.
        narrow: as an indented list 360 pixels wide.
        lit: the way of a row, which stands out.
        link: address of the picture of what is beneath a node; ``None`` makes no links.
        utility: by which a node decides for a class (see :mod:`learners.decisions`); ``None``: the likeliest.
        function: of a model tree, what a leaf answers.
    """

    title: str
    nodes: Nodes
    columns: Sequence[Column]
    target: Column
    extent: Extent = field(default_factory=Extent)
    narrow: bool = False
    lit: Lit = field(default_factory=Lit)
    link: Callable[[int], str] | None = None
    utility: FloatArray | None = None
    function: Callable[[int], LinearFunction] | None = None


def tree_svg(picture: Picture) -> str:
    """The picture as an SVG document."""
    return _Drawing(picture).document()


class _Drawing:
    """Collects the pieces of one picture."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.nodes = picture.nodes
        self.wording = Wording(
            picture.nodes, picture.columns, picture.target, picture.lit, picture.utility, picture.function
        )
        self.placed = place(self.nodes, picture.extent, narrow=picture.narrow)
        long_tests = ((placed.node, self.wording.long_test(placed)) for placed in self.placed)
        #: By node the tests that are written out beneath the picture, in the order of their numbers.
        self.long_tests = {node: test for node, test in long_tests if test is not None}
        self.numbers = {node: number for number, node in enumerate(self.long_tests, start=1)}
        self.by_node = {placed.node: placed for placed in self.placed}
        self.colours = class_colours(self.nodes.value[0]) if self.wording.labels else {}
        self.means = None if self.wording.labels else MeanBar(self.nodes)
        self.room = 336.0 if picture.narrow else 512.0
        self.margin = 12.0 if picture.narrow else float(MARGIN)
        heading, top = self._heading()
        self.heading = heading
        page = NarrowPage if picture.narrow else WidePage
        self.page: Page = page(self.placed, self.wording, top)

    def document(self) -> str:
        wide, bottom = self.page.size
        notes = self._footnotes(bottom)
        high = bottom + 12 + _FOOT_LINE * len(notes)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
                f'viewBox="0 0 {wide:.0f} {high:.0f}" role="img" {_FONT}>',
                f"<title>{xml_text(self.picture.title)}</title>",
                *([_SCALE] if self.picture.narrow else []),
                f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
                *self.heading,
                *(piece for placed in self._dim_first() for piece in self._branches(placed)),
                *(piece for placed in self.placed for piece in self._node(placed)),
                *notes,
                "</svg>\n",
            ]
        )

    def _dim_first(self) -> list[Placed]:
        """Lit branches lie above the others."""
        return sorted(self.placed, key=lambda placed: placed.node in self.picture.lit.shares)

    def _heading(self) -> tuple[list[str], float]:
        """Title, size, the way down to the top of the picture and the legend; and where they end."""
        title = fitted(self.picture.title, 18, self.room)
        pieces = [svg_text(self.margin, 38, title, 18, INK, self.picture.title, bold=True)]
        about, y = self._lines(self._about(), 60.0, SOFT)
        pieces += about
        if self.picture.extent.root:
            way, y = self._way_down(y + _LEGEND_LINE + 4)
            pieces += way
        legend, y = self._legend(y)
        return pieces + legend, y + (28.0 if self.picture.narrow else 24.0)

    def _about(self) -> str:
        shown = sum(1 for placed in self.placed if not placed.children)
        root = self.by_node[self.picture.extent.root]
        n_leaves = sum(placed.folded or 1 for placed in self.placed if not placed.children)
        size = f"{n_leaves} leaves" if n_leaves != 1 else "1 leaf"
        if any(placed.folded for placed in self.placed):
            size += f", {shown} branches shown"
        rows = count_of_rows(float(self.nodes.weight[root.node]), "training row")
        return f"{self.picture.target.name} · {size} · {rows}"

    def _lines(self, text: str, y: float, colour: str) -> tuple[list[str], float]:
        """A text in a few lines from ``y`` on, and where the last of them stands."""
        lines = wrapped(text, 12, self.room, _HEADING_LINES)
        pieces = [
            svg_text(self.margin, y + _HEADING_LINE * place, line, 12, colour, text) for place, line in enumerate(lines)
        ]
        return pieces, y + _HEADING_LINE * (len(lines) - 1)

    def _way_down(self, y: float) -> tuple[list[str], float]:
        """What holds for every row of a picture that begins below the root; its parent is a link."""
        root = self.picture.extent.root
        tests = [self.wording.condition(child).text() for _, child in path_to(self.nodes, root)]
        text = "↑ where " + " and ".join(tests)
        shown, y = self._lines(text, y, _LINK if self.picture.link else SOFT)
        return self._linked(shown, int(self.nodes.parent[root])), y

    def _legend(self, y: float) -> tuple[list[str], float]:
        pieces: list[str] = []
        x, y = self.margin, y + 26 if self.colours else y
        for shown, (label, colour) in enumerate(self.colours.items()):
            more = f"{len(self.colours) - shown} more" if shown == _MAX_LEGEND else ""
            text = more or fitted(self.wording.labels[label], SMALL, 150)
            if x > self.margin and x + 15 + width(text, SMALL) > self.margin + self.room:
                x, y = self.margin, y + _LEGEND_LINE
            if more:
                pieces.append(svg_text(x, y, more, SMALL, SOFT))
                break
            pieces.append(f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" rx="2" fill="{colour}"/>')
            pieces.append(svg_text(x + 15, y, text, SMALL, INK, self.wording.labels[label]))
            x += 15 + width(text, SMALL) + 18
        return pieces, y

    def _branches(self, placed: Placed) -> list[str]:
        weight, lit = float(self.nodes.weight[placed.node]), self.picture.lit.shares
        return [
            piece
            for child in sorted(placed.children, key=lambda child: child in lit)
            for piece in self.page.branch(
                placed,
                self.by_node[child],
                float(self.nodes.weight[child]) / weight if weight else 0.0,
                lit=child in lit,
            )
        ]

    def _node(self, placed: Placed) -> list[str]:
        box = self.page.box(placed)
        big, small = self.wording.lines(placed)
        if placed.node in self.long_tests:
            big = f"({self.numbers[placed.node]}) {big}"
        lit = self.picture.lit.shares
        faded = ' opacity="0.55"' if lit and placed.node not in lit else ""
        pieces = [
            f"<g{faded}><title>{xml_text(self.wording.tooltip(placed))}</title>",
            self._frame(placed, box),
            svg_text(box.x + 10, box.y + 17, fitted(big, BIG, (box.wide - 20) / BOLD), BIG, INK, bold=True),
            svg_text(box.x + 10, box.y + 32, fitted(small, SMALL, box.wide - 20), SMALL, SOFT),
            *self._bar(placed.node, box.x + 10, box.y + box.high - HEIGHT - 4, box.wide - 20),
            "</g>",
        ]
        if placed.folded and self.picture.link is not None:
            x = box.x + box.wide + (-22 if self.picture.narrow else 6)
            pieces.append(svg_text(x, box.middle + (-3 if self.picture.narrow else 4), "▸", 14, _LINK))
            return self._linked(pieces, placed.node)
        return pieces

    def _frame(self, placed: Placed, box: Box) -> str:
        is_leaf = not placed.children
        is_lit = placed.node in self.picture.lit.shares
        edge = self._colour(placed.node) if is_leaf else LINE
        dashed = ' stroke-dasharray="4 3"' if placed.folded else ""
        fill = _GLOW if is_lit else _PAPER if is_leaf else _CARD
        return (
            f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.wide:.1f}" height="{box.high}" rx="6" fill="{fill}" '
            f'stroke="{edge}" stroke-width="{2.4 if is_lit else 1.6 if is_leaf else 1}"{dashed}/>'
        )

    def _linked(self, pieces: list[str], node: int) -> list[str]:
        if self.picture.link is None:
            return pieces
        return [f'<a href="{xml_text(self.picture.link(node))}">', *pieces, "</a>"]

    def _colour(self, node: int) -> str:
        return self.colours[self.wording.decided(node)] if self.colours else PALETTE[0]

    def _bar(self, node: int, x: float, y: float, wide: float) -> list[str]:
        if self.means is not None:
            return self.means.pieces(float(self.nodes.value[node, 0]), x, y, wide)
        return share_bar(self.wording.shares(node), self.colours, x, y, wide)

    def _footnotes(self, bottom: float) -> list[str]:
        lines = [
            "Branches are as thick as their share of the training rows.",
            "Numbers have 6 digits here, all in tooltips.",
        ]
        if not self.picture.narrow:
            lines = [" ".join(lines)]
        if self.nodes.divides_missing:
            lines.append("A missing value follows every branch with the share in grey.")
        return [
            svg_text(self.margin, bottom + _FOOT_LINE * (1 + place), line, _FOOT, SOFT)
            for place, line in enumerate(self._written_out() + lines)
        ]

    def _written_out(self) -> list[str]:
        """The tests that do not fit into their nodes, line by line."""
        room = self.page.size[0] - 2 * self.margin
        lines = [
            line
            for node, test in self.long_tests.items()
            for line in wrapped(f"({self.numbers[node]}) {test}", _FOOT, room)
        ]
        return [*lines, ""] if lines else []
