"""A picture of a tree that a person likes to read: labels and counts, tests on the branches, class bars.

Plain SVG with no script, no style sheet and no foreign font. Every text of a caller is escaped and cut;
its full form is in a tooltip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from learners.explanation import Condition, scalar_text
from learners.table import Column
from learners.trees.nodes import Nodes
from learners.trees.paths import condition_of
from learners.types import Scalar
from service.reports.svg_text import fitted, width, xml_text
from service.reports.tree_layout import Placed, place

#: Colours that people with any colour vision tell apart (Okabe and Ito), dark enough on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#5b5b5b")
_OTHER = "#b4bac2"
_INK, _SOFT, _LINE, _PAPER, _CARD = "#1b1f24", "#656d76", "#afb8c1", "#ffffff", "#f6f8fa"
_FONT = "font-family=\"system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif\""
_BOX_HEIGHT, _LINE_HEIGHT, _MARGIN, _BAR = 46, 60, 24, 6
_MIN_BOX, _MAX_BOX, _MIN_GAP, _MAX_GAP = 118.0, 230.0, 112.0, 250.0
_BIG, _SMALL = 13.0, 11.0
#: How much wider bold text is.
_BOLD = 1.14
_MAX_LEGEND = 8


@dataclass(frozen=True)
class Picture:
    """What is drawn.

    Attributes:
        title: stands above the tree.
        nodes, columns, target: the tree.
        max_depth, max_leaves: see :func:`service.reports.tree_layout.place`.
    """

    title: str
    nodes: Nodes
    columns: Sequence[Column]
    target: Column
    max_depth: int = 12
    max_leaves: int = 60


def tree_svg(picture: Picture) -> str:
    """The picture as an SVG document."""
    return _Drawing(picture).document()


class _Drawing:
    """Collects the pieces of one picture."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.nodes = picture.nodes
        self.labels = [scalar_text(label) for label in picture.target.labels]
        self.placed = place(self.nodes, max_depth=picture.max_depth, max_leaves=picture.max_leaves)
        self.by_node = {placed.node: placed for placed in self.placed}
        self.edges = {
            child: condition_of(self.nodes, picture.columns[self.nodes.feature[placed.node]], placed.node, branch)
            for placed in self.placed
            for branch, child in enumerate(placed.children)
        }
        self.ranked = self._ranked_classes()
        self.top = 104.0 if self.labels else 84.0
        self.left, self.box = self._columns()

    def _ranked_classes(self) -> dict[int, str]:
        """Colours of the classes, the commonest at the root first; those beyond the palette share one."""
        if not self.labels:
            return {}
        order = np.argsort(-self.nodes.value[0], kind="stable").tolist()
        return {label: PALETTE[rank] if rank < len(PALETTE) else _OTHER for rank, label in enumerate(order)}

    def _columns(self) -> tuple[list[float], list[float]]:
        """Where each depth begins and how wide its boxes are."""
        depths = 1 + max(placed.depth for placed in self.placed)
        box, gap = [_MIN_BOX] * depths, [_MIN_GAP] * depths
        for placed in self.placed:
            big, small = self._texts(placed)
            wanted = max(width(big, _BIG) * _BOLD, width(small, _SMALL)) + 24
            box[placed.depth] = min(_MAX_BOX, max(box[placed.depth], wanted))
            if placed.node in self.edges:
                needed = width(_test_text(self.edges[placed.node]), _SMALL) + 56
                gap[placed.depth] = min(_MAX_GAP, max(gap[placed.depth], needed))
        left = [float(_MARGIN)]
        for depth in range(1, depths):
            left.append(left[-1] + box[depth - 1] + gap[depth])
        return left, box

    def _texts(self, placed: Placed) -> tuple[str, str]:
        """The large and the small line of a node's box."""
        node = placed.node
        rows = _rows(float(self.nodes.weight[node]))
        if placed.children:
            return self.picture.columns[self.nodes.feature[node]].name + " ?", rows
        if not self.labels:
            mean, variance = self.nodes.value[node, :2].tolist()
            answer, spread = f"{mean:.6g}", f"± {max(variance, 0.0) ** 0.5:.3g} · {rows}"
        else:
            shares = self._shares(node)
            best = int(np.argmax(shares))
            answer = self.labels[best]
            spread = f"{_percent(shares[best])} of {rows}" if self.nodes.weight[node] else "no training rows"
        return answer, f"{placed.folded} more leaves · {rows}" if placed.folded else spread

    def _shares(self, node: int) -> Sequence[float]:
        values = self.nodes.value[node]
        total = float(values.sum())
        return [float(value) / total if total else 0.0 for value in values]

    def document(self) -> str:
        lines = 1 + max(placed.line for placed in self.placed)
        wide = max(self.left[-1] + self.box[-1], 560.0) + _MARGIN
        high = self.top + lines * _LINE_HEIGHT + 40
        title = xml_text(self.picture.title)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
                f'viewBox="0 0 {wide:.0f} {high:.0f}" role="img" {_FONT}>',
                f"<title>{title}</title>",
                f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
                *self._heading(),
                *(piece for placed in self.placed for piece in self._branches(placed)),
                *(piece for placed in self.placed for piece in self._node(placed)),
                *self._footnotes(high),
                "</svg>\n",
            ]
        )

    def _heading(self) -> list[str]:
        n_shown = sum(1 for placed in self.placed if not placed.children)
        n_leaves = self.nodes.n_leaves
        size = f"{n_leaves} leaves" if n_leaves != 1 else "1 leaf"
        if any(placed.folded for placed in self.placed):
            size += f", {n_shown} branches shown"
        about = f"{self.picture.target.name} · {size} · {_rows(float(self.nodes.weight[0]), 'training row')}"
        title = fitted(self.picture.title, 18, 512)
        return [
            _text(_MARGIN, 38, title, 18, _INK, self.picture.title, bold=True),
            _text(_MARGIN, 60, fitted(about, 12, 512), 12, _SOFT, about),
            *self._legend(),
        ]

    def _legend(self) -> list[str]:
        pieces = []
        x = float(_MARGIN)
        for shown, (label, colour) in enumerate(self.ranked.items()):
            if shown == _MAX_LEGEND:
                pieces.append(_text(x, 86, f"{len(self.ranked) - shown} more", _SMALL, _SOFT))
                break
            text = fitted(self.labels[label], _SMALL, 150)
            pieces.append(f'<rect x="{x:.1f}" y="77" width="10" height="10" rx="2" fill="{colour}"/>')
            pieces.append(_text(x + 15, 86, text, _SMALL, _INK, self.labels[label]))
            x += 15 + width(text, _SMALL) + 18
        return pieces

    def _middle(self, placed: Placed) -> float:
        return self.top + placed.line * _LINE_HEIGHT + _BOX_HEIGHT / 2

    def _branches(self, placed: Placed) -> list[str]:
        """The curves to the children with their tests."""
        pieces = []
        start = self.left[placed.depth] + self.box[placed.depth]
        y = self._middle(placed)
        for branch, child in enumerate(placed.children):
            target = self.by_node[child]
            end, below = self.left[target.depth], self._middle(target)
            bend = start + 24
            share = float(self.nodes.weight[child] / self.nodes.weight[placed.node])
            thick = 1.2 + 5.0 * min(1.0, share)
            pieces.append(
                f'<path d="M{start:.1f},{y:.1f} C{bend:.1f},{y:.1f} {start:.1f},{below:.1f} {bend:.1f},{below:.1f} '
                f'H{end:.1f}" fill="none" stroke="{_LINE}" stroke-width="{thick:.1f}" opacity="0.75"/>'
            )
            full = self.edges[child].text()
            text = fitted(_test_text(self.edges[child]), _SMALL, end - bend - 22)
            pieces.append(_text(bend + 6, below - 7, text, _SMALL, _INK, full))
            pieces.append(_text(bend + 6, below + 15, self._missing_text(placed.node, branch, child), 9.5, _SOFT))
        return pieces

    def _missing_text(self, node: int, branch: int, child: int) -> str:
        """Where a missing value goes."""
        follows = int(self.nodes.missing_branch[node])
        if follows >= 0:
            return "or missing" if follows == branch else ""
        return f"missing: {_percent(float(self.nodes.fraction[child]))}"

    def _node(self, placed: Placed) -> list[str]:
        x, middle, wide = self.left[placed.depth], self._middle(placed), self.box[placed.depth]
        y = middle - _BOX_HEIGHT / 2
        big, small = self._texts(placed)
        dashed = ' stroke-dasharray="4 3"' if placed.folded else ""
        is_leaf = not placed.children
        edge = self._colour(placed.node) if is_leaf else _LINE
        pieces = [
            f'<g><title>{xml_text(self._tooltip(placed))}</title><rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" '
            f'height="{_BOX_HEIGHT}" rx="6" fill="{_PAPER if is_leaf else _CARD}" stroke="{edge}" '
            f'stroke-width="{1.6 if is_leaf else 1}"{dashed}/>',
            _text(x + 10, y + 17, fitted(big, _BIG, (wide - 20) / _BOLD), _BIG, _INK, bold=True),
            _text(x + 10, y + 32, fitted(small, _SMALL, wide - 20), _SMALL, _SOFT),
            *self._bar(placed.node, x + 10, y + _BOX_HEIGHT - _BAR - 4, wide - 20),
            "</g>",
        ]
        if placed.folded:
            pieces.append(_text(x + wide + 6, middle + 4, "…", 16, _SOFT))
        return pieces

    def _tooltip(self, placed: Placed) -> str:
        big, small = self._texts(placed)
        text = f"node {placed.node}: {big}, {small}"
        if self.labels:
            shares = self._shares(placed.node)
            order = sorted(range(len(shares)), key=lambda one: -shares[one])[:20]
            text += "; " + ", ".join(f"{self.labels[one]} {_percent(shares[one])}" for one in order if shares[one])
        return text

    def _colour(self, node: int) -> str:
        return self.ranked[int(np.argmax(self.nodes.value[node]))] if self.labels else PALETTE[0]

    def _bar(self, node: int, x: float, y: float, wide: float) -> list[str]:
        """Class shares side by side; for a regression the mean's place in the range of all leaves."""
        if not self.labels:
            return self._mean_bar(node, x, y, wide)
        shares = self._shares(node)
        ends = np.cumsum([0.0, *(shares[label] for label in self.ranked)]) * wide
        return [
            f'<rect x="{x + begin:.2f}" y="{y:.1f}" width="{end - begin:.2f}" height="{_BAR - 1}" fill="{colour}"/>'
            for (begin, end), colour in zip(pairwise(ends.tolist()), self.ranked.values(), strict=True)
            if end - begin >= 0.05
        ]

    def _mean_bar(self, node: int, x: float, y: float, wide: float) -> list[str]:
        means = self.nodes.value[self.nodes.leaves(), 0]
        low, high = float(means.min()), float(means.max())
        half = (high / 2 - low / 2) or 1.0
        share = min(1.0, max(0.0, (float(self.nodes.value[node, 0]) / 2 - low / 2) / half))
        return [
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{_BAR - 1}" fill="#dde3e9"/>',
            f'<rect x="{x + share * (wide - 4):.1f}" y="{y - 1:.1f}" width="4" height="{_BAR + 1}" '
            f'fill="{PALETTE[0]}"/>',
        ]

    def _footnotes(self, high: float) -> list[str]:
        lines = [
            "Branches are as thick as their share of the training rows. Numbers have 6 digits here, all in tooltips."
        ]
        if (np.asarray(self.nodes.missing_branch)[np.asarray(self.nodes.n_children) > 0] < 0).any():
            lines.append("A missing value follows every branch with the share in grey.")
        return [_text(_MARGIN, high - 28 + 14 * place, line, 10.5, _SOFT) for place, line in enumerate(lines)]


def _text(x: float, y: float, text: str, size: float, colour: str, full: str = "", *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    tooltip = f"<title>{xml_text(full)}</title>" if full and full != text else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{weight}>{tooltip}{xml_text(text)}</text>'
    )


def _test_text(condition: Condition) -> str:
    """A test without its column, which stands in the box that asks; numbers to 6 digits."""
    if condition.operator in ("in", "not in"):
        shown = ", ".join(_short(value) for value in condition.values[:100])
        sign = ("=" if len(condition.values) == 1 else "") if condition.operator == "in" else "not"
        return f"{sign} {shown}".strip()
    if condition.operator == "interval":
        return f"{_short(condition.low)} < … ≤ {_short(condition.high)}"
    return f"{'≤' if condition.operator == '<=' else '>'} {_short(condition.threshold)}"


def _short(value: Scalar | None) -> str:
    return f"{value:.6g}" if isinstance(value, float) else scalar_text(value)


def _rows(weight: float, what: str = "row") -> str:
    return f"{_count(weight)} {what}{'' if weight == 1 else 's'}"


def _count(weight: float) -> str:
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.4g}" if weight < 1000 else f"{weight:,.1f}"


def _percent(share: float) -> str:
    """Whole per cents; never 100 or 0 for something that is not all or nothing."""
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share * 100:.0f}%"
