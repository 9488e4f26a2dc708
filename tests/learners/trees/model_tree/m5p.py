"""M5P's printed model trees, read into plain data."""

import re
from dataclasses import dataclass, field

LINE = re.compile(
    r"(?P<bars>(?:\|   )*)(?P<test>\S.*?) (?P<sign><=|> ) *(?P<value>[\d.]+) ?:"
    r"(?: LM(?P<model>\d+) \((?P<rows>\d+)/(?P<error>[\d.]+)%\))?\s*"
)
TERM = re.compile(r"\t?(?P<sign>[+-])? ?(?P<number>[\d.]+)(?: \* (?P<variable>.*?))? *")


@dataclass
class Printed:
    """A subtree: its test, as printed, with the two branches; or a leaf with its model's number and rows."""

    test: str = ""
    value: float = 0.0
    branches: list = field(default_factory=list)
    model: int = 0
    rows: int = 0

    def leaves(self):
        return [self] if not self.branches else [leaf for child in self.branches for leaf in child.leaves()]

    def inner(self):
        return [] if not self.branches else [self, *(node for child in self.branches for node in child.inner())]


def parse_m5p(text):
    """The tree and, by number, the terms of its models as (coefficient, variable or None)."""
    head, *models = re.split(r"\nLM num: \d+\nclass = \n", text)
    root = Printed()
    path = [root]
    for line in head.splitlines()[2:]:
        match = LINE.fullmatch(line)
        if match is None:
            assert not line.strip(), line
            continue
        depth = len(match["bars"]) // 4
        del path[depth + 1 :]
        node = Printed(model=int(match["model"] or 0), rows=int(match["rows"] or 0))
        path[depth].test, path[depth].value = match["test"], float(match["value"])
        path[depth].branches.append(node)
        path.append(node)
    functions = {number: [_term(line) for line in body.split("\n\n")[0].splitlines()] for number, body in
                 enumerate(models, start=1)}  # fmt: skip
    n_rules = int(text.rsplit(":", 1)[1])
    assert len(functions) == len(root.leaves()) == n_rules
    return root, functions


def _term(line):
    match = TERM.fullmatch(line)
    assert match is not None, line
    sign = -1 if match["sign"] == "-" else 1
    return sign * float(match["number"]), match["variable"]


def levels_of(variable):
    """``motor=E,C,B,A`` as column and levels; a number's name as column and nothing."""
    column, _, levels = variable.partition("=")
    return column, tuple(levels.split(",")) if levels else ()


def values_of(variable, table):
    """A printed variable of every row."""
    column, levels = levels_of(variable)
    series = table.column(column)
    if not levels:
        return series.cells
    return sum((series.cells == series.column.encode(level)) for level in levels).astype(float)
