"""Counterfactuals and questions on a large tree: processor time for one row (one thread does all).

    python benchmarks/reasons.py [--rows 50] [--harder]

A tree of some 10,000 leaves is grown on noisy data of 20 numeric columns. Each case answers single
rows, one after the other, as a request with one row does; the table shows the median, the 90th percentile and the most
of a row, for how many the search ended before the nearest was sure, and beside them the time that brute force over all
leaves takes (every leaf's box from its rule, compared with the row in Python). With ``--harder`` trees of the other
kinds of tests, and one that was grown with gaps, are asked too; nothing is compiled while they answer, as in a service.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners._accel import uncompiled
from learners.reasons import Search, Wishes, counterfactuals, next_question
from learners.reasons.records import Ways
from learners.reasons.regions.boxes import Boxes
from learners.rules import rules_of, to_text
from learners.rules.render import to_json_text, to_markdown
from learners.rules.sql.statements import case_expression, select_statement
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier

COLUMNS = 20


def grown(n_rows: int) -> DecisionTreeClassifier:
    """A tree grown to the end on three classes with a third of the labels random."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, COLUMNS))
    classes = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(float) + (X[:, 3] > 1)
    noisy = random.random(n_rows) < 1 / 3
    classes[noisy] = random.integers(0, 3, noisy.sum())
    return DecisionTreeClassifier().fit(
        Table.from_array(X), Series(Column("y", Kind.NOMINAL, ("a", "b", "c")), classes)
    )


def harder() -> dict[str, DecisionTreeClassifier]:
    """Trees of other kinds: grown with gaps, of sets and ordinal columns, of counts, and of weighted sums."""
    random = np.random.default_rng(0)
    X = random.normal(size=(52_000, COLUMNS))
    classes = noisy_classes(random, (X[:, 0] * X[:, 1] + X[:, 2], X[:, 3]))
    y = Series(Column("y", Kind.NOMINAL, ("a", "b", "c")), classes)
    X[random.random(X.shape) < 0.05] = np.nan
    models = {"gaps": DecisionTreeClassifier().fit(Table.from_array(X), y)}
    nominal = [Column(f"n{place}", Kind.NOMINAL, tuple("abcd")) for place in range(8)]
    ordinal = [Column(f"o{place}", Kind.ORDINAL, tuple("pqrst")) for place in range(3)]
    numeric = [Column(f"x{place}") for place in range(8)]
    for name, n, columns, parameters in (
        ("sets", 30_000, nominal + ordinal + numeric, {"nominal": "subset"}),
        ("multiway", 52_000, nominal + ordinal + numeric, {"nominal": "multiway"}),
        ("M of N", 4_000, nominal + numeric, {"formula_tests": "m-of-n", "min_leaf": 3}),
        ("weighted sums", 6_000, [Column(f"x{place}") for place in range(10)], {"oblique_tests": True, "min_leaf": 3}),
    ):
        cells = drawn(random, columns, n)
        sums = cells @ random.normal(size=len(columns))
        classes = noisy_classes(random, (sums - np.median(sums), cells[:, -1] - cells[:, -2]))
        table = Table(tuple(columns), np.asfortranarray(cells))
        models[name] = DecisionTreeClassifier(**parameters).fit(table, Series(y.column, classes))
    return models


def noisy_classes(random, parts) -> np.ndarray:
    """Three classes by two numbers, a third of them random."""
    classes = (parts[0] > 0).astype(float) + (parts[1] > 1)
    noisy = random.random(len(classes)) < 1 / 3
    classes[noisy] = random.integers(0, 3, noisy.sum())
    return classes


def drawn(random, columns, n: int) -> np.ndarray:
    """Rows of such columns: standard normal numbers, and levels that are all as likely."""
    cells = [random.normal(size=n) if one.is_numeric else random.integers(0, len(one.levels), n) for one in columns]
    return np.column_stack(cells).astype(float)


def ask_harder(rows: int) -> None:
    """The table of the harder questions."""
    for name, model in harder().items():
        print(f"\n{name}: {model.n_leaves_} leaves, {model.get_depth()} levels\n\n{HEAD}")
        cells = drawn(np.random.default_rng(1), model.columns_, rows)
        five = cells.copy()
        five[:, :: len(model.columns_) // 5][:, :5] = np.nan
        for search in (Search(), Search(order="distance")):
            ask = partial(found_by, model, search)
            with uncompiled():
                show(f"by {search.order}", ask, cells, model)
                show("... five values missing", ask, five, model)


def found_by(model: DecisionTreeClassifier, search: Search, table: Table):
    """The counterfactuals towards the last class."""
    return counterfactuals(model, table, "c", search)


def timed(action, rows, columns) -> tuple[list[float], int]:
    """Milliseconds of processor time that each row takes, and of how many the answer is not exact, or missing."""
    found, inexact = [], 0
    for row in rows:
        table = Table(columns, np.asfortranarray(row[None]))
        start = time.process_time()
        answer = action(table)
        found.append((time.process_time() - start) * 1e3)
        ways = answer[0] if isinstance(answer, list) else []
        inexact += isinstance(ways, Ways) and (ways.unfinished is not None or any(not way.exact for way in ways))
    return found, inexact


HEAD = "| one row | median ms | 90 % ms | most ms | not exact |\n|---|---|---|---|---|"


def show(name: str, action, rows, model) -> None:
    """One line of a table, after a row that prepares the model."""
    action(Table(model.columns_, np.asfortranarray(rows[:1])))
    times, inexact = timed(action, rows, model.columns_)
    times.sort()
    median, tail = statistics.median(times), times[int(0.9 * (len(times) - 1))]
    print(f"| {name} | {median:.1f} | {tail:.1f} | {times[-1]:.1f} | {inexact} of {len(times)} |", flush=True)


def brute_force(model: DecisionTreeClassifier, table: Table, wanted: str) -> tuple[int, float]:
    """Changes and distance of the nearest leaf, rule by rule."""
    best = (COLUMNS + 1, 0.0)
    row = table.values[0]
    for rule in rules_of(model).rules:
        if rule.answer != wanted:
            continue
        changes, distance = 0, 0.0
        for condition in rule.conditions:
            cell = row[condition.feature]
            if not condition.low < cell <= condition.high:
                changes += 1
                distance += condition.low - cell if cell <= condition.low else cell - condition.high
        best = min(best, (changes, distance))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--harder", action="store_true")
    parser.add_argument("--training-rows", type=int, default=52_000)
    arguments = parser.parse_args()
    model = grown(arguments.training_rows)
    print(f"{model.n_leaves_} leaves, {model.get_depth()} levels, {COLUMNS} columns\n")
    start = time.process_time()
    Boxes(model.tree_, model.columns_)
    print(f"once for each model: {(time.process_time() - start) * 1e3:.1f} ms\n")
    rules_of(model)
    for name, write in (
        ("all rules", lambda: rules_of(model)),
        ("... as JSON", lambda: to_json_text(rules_of(model))),
        ("... as text", lambda: to_text(rules_of(model))),
        ("... as Markdown", lambda: to_markdown(rules_of(model))),
        ("... as SQL, one CASE", lambda: case_expression(rules_of(model))),
        ("... as SQL, a SELECT", lambda: select_statement(rules_of(model), "rows")),
        ("a page of 1,000", lambda: rules_of(model, part=range(5000, 6000)).to_json()),
    ):
        start, real = time.process_time(), time.perf_counter()
        write()
        print(f"{name}: {time.process_time() - start:.2f} s of the processor, {time.perf_counter() - real:.2f} s real")
    rows = np.random.default_rng(1).normal(size=(arguments.rows, COLUMNS))
    part = rows.copy()
    part[:, ::4] = np.nan
    ten = rows.copy()
    ten[:, ::2] = np.nan
    nothing = np.full_like(rows[:5], np.nan)
    wishes = Wishes.of(model.columns_, fixed=["x0"], directions={"x1": "up"}, costs={"x2": 3})
    by_distance = Search(order="distance")
    cases = [
        ("counterfactual", lambda table: counterfactuals(model, table, "c"), rows),
        ("... with wishes", lambda table: counterfactuals(model, table, "c", Search(wishes)), rows),
        ("... ten diverse", lambda table: counterfactuals(model, table, "c", Search(count=10, diverse=True)), rows),
        ("... five values missing", lambda table: counterfactuals(model, table, "c"), part),
        ("... by distance", lambda table: counterfactuals(model, table, "c", by_distance), rows),
        ("... five values missing, by distance", lambda table: counterfactuals(model, table, "c", by_distance), part),
        ("... ten values missing", lambda table: counterfactuals(model, table, "c"), ten),
        ("... ten values missing, by distance", lambda table: counterfactuals(model, table, "c", by_distance), ten),
        ("... by brute force", lambda table: brute_force(model, table, "c"), rows[:5]),
        ("question, five values missing", lambda table: next_question(model, table), part),
        ("question, nothing known", lambda table: next_question(model, table), nothing),
    ]
    print(HEAD)
    for name, action, table in cases:
        show(name, action, table, model)
    if arguments.harder:
        ask_harder(arguments.rows)


if __name__ == "__main__":
    main()
