"""The answers out of fold, written once all are there: ``answers-i`` is the i-th piece of the file to be downloaded.

The parts that judge keep their answers as arrays; so many of them as have some fifty thousand rows become one piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.evaluation import RowResults
from learners.evaluation.folds import Folds
from learners.types import IntArray
from service.operations.learning_data import LearningData
from service.operations.out_of_fold import TestedRows, write_answers
from service.operations.submission.version import PART_ROWS
from service.operations.work import evaluating
from service.operations.work.contender import Contender
from service.operations.work.part import Part, Request, Result

_ANSWERS = "answers-"


@dataclass(frozen=True)
class Piece:
    """One piece of the file.

    Attributes:
        name: of the part that writes it.
        of: whose answers.
        parts: that keep them.
    """

    name: str
    of: Contender
    parts: tuple[str, ...]


def is_piece(name: str) -> bool:
    """Whether a part writes a piece."""
    return _ANSWERS in name


def pieces(learned: Sequence[Contender], done: Mapping[str, Mapping[str, Any]]) -> list[Piece]:
    """The pieces in order.

    Args:
        learned: whose parts are all among ``done``, none of which failed.
    """
    found = []
    for one in learned:
        if "output" not in one.request:
            continue
        parts = one.parts
        rows = sum(done[name]["n_test"] for name in parts)
        count = min(len(parts), max(1, -(-rows // PART_ROWS)))
        ends = [len(parts) * number // count for number in range(count + 1)]
        for number in range(1, count + 1):
            name = f"{one.prefix}{_ANSWERS}{number}"
            found.append(Piece(name, one, tuple(parts[ends[number - 1] : ends[number]])))
    return found


def write(part: Part, learned: Sequence[Contender], done: Mapping[str, Result]) -> Result:
    """Write and store the piece that a part is named after."""
    planned = pieces(learned, done)
    place = [one.name for one in planned].index(part.name)
    piece = planned[place]
    data = piece.of.own(part).data
    tested = _tested(part, piece, data, done)
    output = part.request["output"]["format"]
    content = write_answers(tested, output, begins=place == 0, ends=place == len(planned) - 1)
    return {"blob_sha256": part.blobs.put_bytes(content), "size": len(content), "rows": len(tested.rows)}


def _tested(part: Part, piece: Piece, data: LearningData, done: Mapping[str, Result]) -> TestedRows:
    """Fold by fold, within each by row."""
    target, request = data.target.column, piece.of.request
    read = [evaluating.answers_of(part, [done[name]], target) for name in piece.parts]
    names = [name.removeprefix(piece.of.prefix) for name in piece.parts]
    folds = np.concatenate([_folds(name, one, data, request) for name, one in zip(names, read, strict=True)])
    rows = np.concatenate([one.rows for one in read])
    shares = [one.probabilities for one in read if one.probabilities is not None]
    return TestedRows(
        target,
        rows if data.rows is None else data.rows[rows],
        (folds - 1) // request["evaluation"].get("folds", 1) + 1
        if "repeats" in request["evaluation"]
        else folds * 0 + 1,
        folds,
        np.concatenate([one.actual for one in read]),
        np.concatenate([one.predicted for one in read]),
        np.concatenate(shares) if shares else None,
        None if data.weights is None else data.weights[rows],
        piece.of.name,
    )


def _folds(name: str, found: RowResults, data: LearningData, request: Request) -> IntArray:
    """The fold of each row, from 1; of leave-one-out the row or group that was left out."""
    splits = evaluating.splits_of(request["evaluation"], data, request["seed"])
    if request["evaluation"]["method"] == "leave-one-out" and isinstance(splits, Folds):
        return splits.assignment[found.rows].astype(np.int64) + 1
    return np.full(len(found.rows), evaluating.fold_of(name))


def told(request: Request, parts: Mapping[str, Result]) -> Result:
    """How much there is to download, as a part of the job's result."""
    if "output" not in request:
        return {}
    found = [result for name, result in parts.items() if is_piece(name)]
    sums = {name: sum(one[name] for one in found) for name in ("rows", "size")}
    return {"predictions": {"format": request["output"]["format"], **sums}}
