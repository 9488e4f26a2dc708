"""J48's printed trees, read into plain data."""

import re
from dataclasses import dataclass, field

LINE = re.compile(
    r"(?P<bars>(?:\|   )*)(?P<column>\S+) (?P<sign>=|<=|>) (?P<value>[^:]+?)"
    r"(?:: (?P<label>.+) \((?P<weight>[\d.]+)(?:/(?P<errors>[\d.]+))?\))?"
)


@dataclass
class Printed:
    """A subtree: the tests of its branches in order, or a leaf with label, weight and errors."""

    branches: list = field(default_factory=list)  # (column, sign, value, Printed)
    label: str = ""
    weight: float = 0.0
    errors: float = 0.0


def parse_j48(text):
    """The tree in J48's output; also checks the numbers of leaves and nodes that stand below it."""
    body = [line for line in text.splitlines()[3:] if line.strip()]
    root = Printed()
    path = [root]
    for line in body[:-2]:
        match = LINE.fullmatch(line)
        depth = len(match["bars"]) // 4
        del path[depth + 1 :]
        node = Printed()
        if match["label"] is not None:
            node = Printed([], match["label"], float(match["weight"]), float(match["errors"] or 0))
        path[depth].branches.append((match["column"], match["sign"], match["value"], node))
        path.append(node)
    leaves, size = (int(line.split(":")[1]) for line in body[-2:])
    assert (leaves, size) == counts(root)
    return root


def counts(node):
    if not node.branches:
        return 1, 1
    parts = [counts(child) for *_, child in node.branches]
    return sum(leaves for leaves, _ in parts), 1 + sum(size for _, size in parts)


def show(node, depth=0):
    """The tree in J48's layout, for readable differences."""
    lines = []
    for column, sign, value, child in node.branches:
        leaf = "" if child.branches else f": {child.label} ({child.weight:.2f}/{child.errors:.2f})"
        lines.append("|   " * depth + f"{column} {sign} {value}{leaf}")
        lines += show(child, depth + 1)
    return lines
