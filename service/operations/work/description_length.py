"""The job ``description-length``: ``block-i`` tells the classes of the i-th block by what the rows before it teach."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from learners.evaluation.description import block, whole_length
from learners.evaluation.failing import AllFailed
from service.operations.work.kernels import kernels
from service.operations.work.part import (
    Kind,
    Part,
    Request,
    Result,
    Results,
    cells_to_learn,
    learners_at_work,
    make_learner,
)
from service.operations.work.refusing import nothing_learned
from service.operations.work.training import target_of
from service.store.tables import Dataset, Job

_BLOCK = "block-"


def plan(request: Request, results: Results) -> list[str]:
    """Every block after the first, which is told without help."""
    return [f"{_BLOCK}{number}" for number in range(1, request["blocks"] + 1)]


def run(part: Part) -> Result:
    """One block."""
    data, request = part.data, part.request
    number = int(part.name.removeprefix(_BLOCK))
    with kernels(part.options.get("compiled"), learners_at_work(request), cells_to_learn(request, data.table)):
        found = block(
            lambda: make_learner(request),
            data.table,
            data.target,
            number,
            request["seed"],
            judging=data.judging({}),
            progress=part.progress,
        )
    return {**found, "dropped_rows": data.dropped}


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """The bits of all rows, and of each block.

    Raises:
        Invalid: no block could be learned for; each reason is named.
    """
    request = job.request
    blocks = [dict(parts[name]) for name in plan(request, lambda: parts)]
    dropped = [block.pop("dropped_rows") for block in blocks]
    n_rows = blocks[-1]["known"] + blocks[-1]["rows"]
    n_classes = len(target_of(session.get_one(Dataset, request["dataset"]), request).levels)
    try:
        found = whole_length(n_rows, n_classes, blocks)
    except AllFailed as error:
        raise nothing_learned(error) from None
    lengths = {"bits": found.bits, "uniform_bits": found.uniform_bits, "rows": n_rows, "blocks": blocks}
    return {"dropped_rows": dropped[0], "description": lengths}


KIND = Kind(plan, run, finish)
