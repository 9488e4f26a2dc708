"""What a fit by neighbours tells of itself: what it found, how rows are searched, and what is not as was asked."""

from __future__ import annotations

from typing import Any, Protocol

from learners.neighbors.coordinates import Coordinates
from learners.neighbors.index import RowIndex
from learners.types import FloatArray


class Searched(Protocol):
    """What is looked at of a fitted model by neighbours: parameters, and what it has found."""

    choose_k: Any
    k: Any
    recall: Any
    search: Any
    voters: Any
    weighting: Any
    coordinates_: Coordinates
    distance_function_: Any
    n_given_: int
    index_: RowIndex
    k_: float

    def asked_rows(self, weights: FloatArray) -> int:
        """How many rows a query asks for."""


def training_notes(model: Searched) -> dict[str, Any]:
    """What a fitted model tells of its fit.

    Returns:
        The ``k`` that was chosen, if one was. The weights of columns that were found (``column_weights`` by name, 0 of
        columns without spread), where ``weighting`` asks for that. Of a reduction how many rows it kept (``kept_rows``)
        and of how many (``n_rows``, those of weight > 0). Of hashing its ``recall``, how many ``tables`` it has, how
        many of their ``buckets`` a row looks into, and with how many rows it is compared in the mean (``compared``),
        told by a sample of training rows. ``warnings`` where there are fewer rows than are to vote, or all are
        looked at though a tree or hashing was asked for.
    """
    notes: dict[str, Any] = {} if model.choose_k == "given" else {"k": int(model.k_)}
    if model.weighting in ("information-gain", "cross-validation") and model.distance_function_ is None:
        names = [column.name for column in model.coordinates_.columns]
        notes["column_weights"] = dict(zip(names, model.coordinates_.weights.tolist(), strict=True))
    if getattr(model, "reduction", "none") != "none":
        notes |= {"kept_rows": model.index_.n_rows, "n_rows": model.n_given_}
    tables = model.index_.tables
    if tables is not None:
        notes |= {
            "recall": tables.recall,
            "tables": tables.n_tables,
            "buckets": tables.n_buckets,
            "compared": tables.compared,
        }
    warnings = [told_of_rows(model)] if _are_few(model) else []
    reason = _why_all_are_looked_at(model)
    if reason:
        warnings.append(f"all rows are looked at in place of search = {model.search}: {reason}")
    return notes | ({"warnings": warnings} if warnings else {})


def told_of_rows(model: Searched) -> str:
    """What a finished fit says of its rows."""
    n_rows = model.index_.n_rows
    return f"{n_rows} rows, fewer than k = {model.k_:g}, so all vote" if _are_few(model) else f"{n_rows} rows"


def _are_few(model: Searched) -> bool:
    """Whether there are fewer rows than are to vote."""
    return bool(model.voters == "nearest" and model.index_.weights.sum() < model.k_)


def _why_all_are_looked_at(model: Searched) -> str:
    """Why there is neither a tree nor tables where one was asked for; empty if there is, or none was."""
    index = model.index_
    if model.search not in ("kd-tree", "hashing") or index.tree is not None or index.tables is not None:
        return ""
    reasons = (
        (model.distance_function_ is not None, "rows are measured by a function"),
        (
            not index.has_places,
            "training rows have levels, texts, sequences or missing values, or missing = left-out",
        ),
        (not len(index.active), "no column tells rows apart"),
        (model.voters == "all", "all rows vote"),
        (
            index.asks_for_many(model.asked_rows(index.weights)),
            f"{index.n_rows} rows are too few for k = {int(model.k)}",
        ),
    )
    unlike = f"to find a share of {float(model.recall):g} of the nearest rows half of all would be compared"
    return next((reason for holds, reason in reasons if holds), unlike)
