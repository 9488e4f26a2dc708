"""Recurrent and time-delay networks: temporal exclusive or, Reber's grammar, embedded Reber strings, sunspots.

python benchmarks/recurrent.py [temporal] [Reber] [embedded] [sunspots]
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.neural import RecurrentNetworkClassifier, TimeDelayNetworkClassifier, TimeDelayNetworkRegressor
from learners.preprocessing.windows import windows
from learners.table import Column, Kind, Series, Table
from tests.shared import generated_path, table_path

SEEDS = range(10)
DECAYS = (0.003, 0.01, 0.03, 0.1)
#: Reber's grammar (Reber 1967) as in Cleeremans, Servan-Schreiber and McClelland 1989: state -> (symbol, next state).
GRAMMAR = {
    0: (("B", 1),),
    1: (("T", 2), ("P", 3)),
    2: (("S", 2), ("X", 4)),
    3: (("T", 3), ("V", 5)),
    4: (("X", 3), ("S", 6)),
    5: (("P", 4), ("V", 6)),
    6: (("E", None),),
}


def column(path: Path, name: str) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def exclusive_or() -> None:
    """Elman's stream: each third bit follows from the two before it, the others from nothing."""
    bits = [int(bit) for bit in column(generated_path("elman-xor-3000bits.csv"), "bit")]
    target = Column("next", Kind.NOMINAL, ("0", "1"), "number")
    length = 99  # rows of the first 2,000 bits
    starts = range(0, 2_000 - length, length)
    table = Table.from_columns({"bits": [bits[start : start + length] for start in starts]})
    following = Series.from_values("next", [bits[start + length] for start in starts], target)
    tested = bits[2_001:]
    for truncation in (None, 1):
        found = []
        for seed in SEEDS:
            model = RecurrentNetworkClassifier(
                hidden_units=(8,),
                taught="next-step",
                optimizer="adam",
                rate=0.02,
                batch=5,
                epochs=300,
                truncation=truncation,
                seed=seed,
            ).fit(table, following)
            shares, _ = model.feed(Table.from_columns({"bits": [tested]}))
            wrong = (shares[:-1, 1] - np.array(tested[1:])) ** 2
            found.append([wrong[np.arange(1, len(tested)) % 3 == place].mean() for place in range(3)])
        told = ", ".join(f"{mean:.3f}" for mean in np.mean(found, axis=0))
        print(f"  unfolding {truncation or 'in full'}: squared error of bit 1, 2 and 3 of each three: {told}")


def reber_string(rng: np.random.Generator) -> str:
    state: int | None = 0
    text = ""
    while state is not None:
        symbol, state = GRAMMAR[state][rng.integers(len(GRAMMAR[state]))]
        text += symbol
    return text


def legal(text: str) -> Iterator[set[str]]:
    """After each symbol but the last, those that may follow."""
    state = 0
    for symbol in text[:-1]:
        state = dict(GRAMMAR[state])[symbol] or 0
        yield {one for one, _ in GRAMMAR[state]}


def reber() -> None:
    """Reber's grammar: 300 strings to learn from, 500 others to foresee the next symbol in."""
    rng = np.random.default_rng(0)
    drawn = list(dict.fromkeys(reber_string(rng) for _ in range(20_000)))
    learned, tested = drawn[:300], drawn[300:800]
    target = Column("next", Kind.NOMINAL, tuple("BEPSTVX"))
    table = Table.from_columns({"text": [text[:-1] for text in learned]}, [Column("text", Kind.TEXT)])
    following = Series.from_values("next", ["E"] * len(learned), target)
    for learner, options in ((RecurrentNetworkClassifier, {}), (TimeDelayNetworkClassifier, {"window": 2})):
        found = []
        for seed in SEEDS:
            model = learner(
                hidden_units=(10,),
                taught="next-step",
                optimizer="adam",
                rate=0.02,
                batch=20,
                epochs=60,
                seed=seed,
                **options,
            ).fit(table, following)
            found.append(judged(model, tested))
        top, apart = np.mean(found, axis=0)
        print(
            f"  {learner.name} {options or ''}: likeliest symbol legal {top:.2%}, "
            f"all legal before all others {apart:.2%}"
        )


def judged(model: Any, texts: list[str]) -> tuple[float, float]:
    """Shares of steps whose likeliest next symbol is legal, and where every legal one is likelier than any other."""
    top, apart = [], []
    labels = np.array(model.classes_)
    for text in texts:
        shares, _ = model.feed(Table.from_columns({"text": [text[:-1]]}, [Column("text", Kind.TEXT)]))
        for row, allowed in zip(shares, legal(text), strict=True):
            is_legal = np.isin(labels, list(allowed))
            top.append(is_legal[row.argmax()])
            apart.append(row[is_legal].min() > row[~is_legal].max())
    return float(np.mean(top)), float(np.mean(apart))


def embedded_reber() -> None:
    """Strings whose second symbol must come back as the last but one: 400 to learn from, 200 held out."""
    path = generated_path("embedded-reber-600.csv")
    texts, labels = column(path, "string"), np.array(column(path, "label"))
    table = Table.from_columns({"text": texts}, [Column("text", Kind.TEXT)])
    learned, tested = np.arange(400), np.arange(400, 600)
    kinds = (
        ("recurrent, unfolded in full", RecurrentNetworkClassifier, {}),
        ("recurrent, unfolded in pieces of 1 (Elman)", RecurrentNetworkClassifier, {"truncation": 1}),
        ("time-delay, window 5", TimeDelayNetworkClassifier, {"window": 5}),
    )
    for name, learner, options in kinds:
        found, spent = [], time.process_time()
        for seed in SEEDS:
            model = learner(
                hidden_units=(12,), optimizer="adam", rate=0.005, batch=10, epochs=300, seed=seed, **options
            ).fit(table.take(learned), labels[learned])
            found.append(model.score(table.take(tested), labels[tested]))
        spent = (time.process_time() - spent) / len(SEEDS)
        print(f"  {name}: accuracy {np.mean(found):.3f} ({min(found):.3f} to {max(found):.3f}), {spent:.1f} s a fit")


def sunspots() -> None:
    """One step ahead: learned from 1749 to 1920, tested from 1921 on (Weigend, Huberman and Rumelhart 1990).

    Windows are a cycle of some eleven years. Later maxima are higher than any before, so units are rectified and there
    are shortcuts, by which answers go on rising; the decay is chosen by 1881 to 1920, foreseen from the years before.
    """
    path = table_path("sunspots-monthly.csv")
    monthly = np.array([float(value) for value in column(path, "sunspots")])
    years = np.array([int(month[:4]) for month in column(path, "month")])
    decay = foresee("months", monthly, years, 132)
    for given in (None, decay):
        foresee("yearly means", monthly.reshape(-1, 12).mean(axis=1), np.unique(years), 12, given)


def foresee(name: str, series: np.ndarray, years: np.ndarray, length: int, given: float | None = None) -> float:
    """Print the errors on the later years; returns the decay: the given one, or the one that was chosen."""
    cut = windows(series, length)
    past, following, when = cut.past[:, :, 0], series[cut.rows], years[cut.rows]
    table = Table.from_columns({"past": cut.past.tolist()})
    options = {"window": length, "hidden_units": (3,), "activation": "relu", "shortcuts": True, "epochs": 400}

    def answers(until: int, decay: float, seeds: Sequence[int]) -> list[np.ndarray]:
        models = [TimeDelayNetworkRegressor(decay=decay, seed=seed, **options) for seed in seeds]
        rows = np.flatnonzero(when <= until)
        return [model.fit(table.take(rows), following[rows]).predict(table) for model in models]

    def error(answer: np.ndarray, first: int, last: int) -> float:
        return root_mean_square((answer - following)[(when >= first) & (when <= last)])

    def chosen_by(decay: float) -> float:
        return float(np.mean([error(answer, 1881, 1920) for answer in answers(1880, decay, range(2))]))

    decay = min(DECAYS, key=chosen_by) if given is None else given
    found = answers(1920, decay, SEEDS)
    learned = when <= 1920
    matrix = np.column_stack([past, np.ones(len(past))])
    linear = matrix @ np.linalg.lstsq(matrix[learned], following[learned], rcond=None)[0]
    for last in (1955, 1983):
        errors = [error(answer, 1921, last) for answer in found]
        print(
            f"  {name}, window {length}, decay {decay}, 1921 to {last}: "
            f"persistence {error(past[:, -1], 1921, last):.2f}, "
            f"linear autoregression {error(linear, 1921, last):.2f}, "
            f"time-delay network {np.mean(errors):.2f} ({min(errors):.2f} to {max(errors):.2f})"
        )
    return decay


def root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


STUDIES = {
    "temporal exclusive or (3,000 bits)": exclusive_or,
    "Reber's grammar": reber,
    "embedded Reber strings": embedded_reber,
    "sunspots, one step ahead, root mean squared error": sunspots,
}

if __name__ == "__main__":
    for title, study in STUDIES.items():
        if title.startswith(tuple(sys.argv[1:] or [""])):
            print(f"{title}, {len(SEEDS)} seeds")
            study()
