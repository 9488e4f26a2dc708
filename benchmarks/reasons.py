"""Counterfactuals and questions on a large tree: processor time for one row (one thread does all).

    python benchmarks/reasons.py [--rows 50]

A tree of some 10,000 leaves is grown on noisy data of 20 numeric columns. Each case answers single
rows, one after the other, as a request with one row does; the table shows the median and the 95th
percentile of a row, and for counterfactuals beside it the time that brute force over all leaves takes
(every leaf's box from its rule, compared with the row in Python).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.reasons import Search, Wishes, counterfactuals, next_question
from learners.reasons.boxes import Boxes
from learners.rules import rules_of, to_text
from learners.rules.render import to_json_text, to_markdown
from learners.rules.sql import case_expression, select_statement
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


def timed(action, rows) -> list[float]:
    """Milliseconds of processor time that each row takes."""
    found = []
    for row in rows:
        table = Table.from_array(row[None])
        start = time.process_time()
        action(table)
        found.append((time.process_time() - start) * 1e3)
    return found


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
        ("... by brute force", lambda table: brute_force(model, table, "c"), rows[:5]),
        ("question, five values missing", lambda table: next_question(model, table), part),
        ("question, nothing known", lambda table: next_question(model, table), nothing),
    ]
    print("| one row | median ms | 95 % ms |\n|---|---|---|")
    for name, action, table in cases:
        action(Table.from_array(table[:1]))
        times = sorted(timed(action, table))
        print(f"| {name} | {statistics.median(times):.1f} | {times[int(0.95 * (len(times) - 1))]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
