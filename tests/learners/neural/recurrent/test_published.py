"""Networks of sequences on published problems: sunspots one step ahead, and the symbols that Reber's grammar allows."""

from __future__ import annotations

import csv

import numpy as np

from learners.neural import RecurrentNetworkClassifier, TimeDelayNetworkRegressor
from learners.preprocessing.windows import windows
from learners.table import Column, Kind, Series, Table
from tests.shared import table_path

#: Reber's grammar (Reber 1967): state -> (symbol, next state).
GRAMMAR: dict[int, dict[str, int]] = {
    0: {"B": 1},
    1: {"T": 2, "P": 3},
    2: {"S": 2, "X": 4},
    3: {"T": 3, "V": 5},
    4: {"X": 3, "S": 6},
    5: {"P": 4, "V": 6},
    6: {"E": 7},
}


def test_sunspots_of_the_next_year_are_foreseen_better_than_by_a_line_or_the_last_year() -> None:
    """Yearly means, learned 1749 to 1920, tested 1921 to 1955 (Weigend, Huberman and Rumelhart 1990)."""
    with table_path("sunspots-monthly.csv").open(encoding="utf-8", newline="") as file:
        monthly = np.array([float(row["sunspots"]) for row in csv.DictReader(file)])
    series = monthly.reshape(-1, 12).mean(axis=1)
    cut = windows(series, 12)
    past, following, year = cut.past[:, :, 0], series[cut.rows], 1749 + cut.rows
    learned, tested = year <= 1920, (year > 1920) & (year <= 1955)
    table = Table.from_columns({"past": past.tolist()})
    model = TimeDelayNetworkRegressor(
        window=12, hidden_units=(3,), activation="relu", shortcuts=True, decay=0.03, epochs=400
    ).fit(table.take(np.flatnonzero(learned)), following[learned])

    def error(answers: np.ndarray) -> float:
        return float(np.sqrt(np.mean((answers - following)[tested] ** 2)))

    matrix = np.column_stack([past, np.ones(len(past))])
    linear = matrix @ np.linalg.lstsq(matrix[learned], following[learned], rcond=None)[0]
    assert error(model.predict(table)) < 0.95 * error(linear)
    assert error(linear) < 0.6 * error(past[:, -1])


def test_the_likeliest_next_symbol_is_one_that_the_grammar_allows() -> None:
    rng = np.random.default_rng(0)
    drawn = list(dict.fromkeys(_string(rng) for _ in range(2_000)))
    target = Column("next", Kind.NOMINAL, tuple("BEPSTVX"))
    table = Table.from_columns({"text": [text[:-1] for text in drawn[:120]]}, [Column("text", Kind.TEXT)])
    model = RecurrentNetworkClassifier(
        hidden_units=(10,), taught="next-step", optimizer="adam", rate=0.02, batch=20, epochs=60
    ).fit(table, Series.from_values("next", ["E"] * 120, target))
    legal = []
    for text in drawn[120:180]:
        shares, _ = model.feed(Table.from_columns({"text": [text[:-1]]}, [Column("text", Kind.TEXT)]))
        state = 0
        for symbol, row in zip(text[:-1], shares, strict=True):
            state = GRAMMAR[state][symbol]
            legal.append(model.classes_[row.argmax()] in GRAMMAR[state])
    assert np.mean(legal) > 0.98


def _string(rng: np.random.Generator) -> str:
    state, text = 0, ""
    while state in GRAMMAR:
        symbol = list(GRAMMAR[state])[rng.integers(len(GRAMMAR[state]))]
        text, state = text + symbol, GRAMMAR[state][symbol]
    return text
