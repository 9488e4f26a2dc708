"""The bar in each node of a tree picture: class shares side by side, or where a mean lies among all leaves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from learners.trees.nodes import Nodes
from learners.types import FloatArray

#: Colours that people with any colour vision tell apart (Okabe and Ito), dark enough on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#5b5b5b")
_OTHER = "#b4bac2"
_EMPTY = "#dde3e9"
HEIGHT = 6


def class_colours(root_values: FloatArray) -> dict[int, str]:
    """Colours of the classes, the commonest at the root first; those beyond the palette share one."""
    order = np.argsort(-root_values, kind="stable").tolist()
    return {label: PALETTE[rank] if rank < len(PALETTE) else _OTHER for rank, label in enumerate(order)}


def share_bar(shares: list[float], colours: dict[int, str], x: float, y: float, wide: float) -> list[str]:
    """Class shares side by side, in the order of ``colours``."""
    ends = np.cumsum([0.0, *(shares[label] for label in colours)]) * wide
    return [
        f'<rect x="{x + begin:.2f}" y="{y:.1f}" width="{end - begin:.2f}" height="{HEIGHT - 1}" fill="{colour}"/>'
        for (begin, end), colour in zip(pairwise(ends.tolist()), colours.values(), strict=True)
        if end - begin >= 0.05
    ]


class MeanBar:
    """Where a node's mean lies in the range of all leaves."""

    def __init__(self, nodes: Nodes) -> None:
        least, greatest = nodes.answer_range
        # Halves, since the range of very large numbers is infinite.
        self._low = least / 2
        self._half = (greatest / 2 - self._low) or 1.0

    def pieces(self, mean: float, x: float, y: float, wide: float) -> list[str]:
        share = min(1.0, max(0.0, (mean / 2 - self._low) / self._half))
        return [
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{HEIGHT - 1}" fill="{_EMPTY}"/>',
            f'<rect x="{x + share * (wide - 4):.1f}" y="{y - 1:.1f}" width="4" height="{HEIGHT + 1}" '
            f'fill="{PALETTE[0]}"/>',
        ]
