"""The jobs ``train`` and ``cross-validate``: the parts of an evaluation, and of a training ``fit``, from all rows."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from learners.neural.autoencoder.estimator import RECONSTRUCTION_ERROR
from learners.table import Column
from service.operations.work import answers, evaluating
from service.operations.work.contender import Contender
from service.operations.work.fitting import fit, register
from service.operations.work.kernels import kernels
from service.operations.work.part import (
    FIT,
    Kind,
    Part,
    Request,
    Result,
    Results,
    cells_to_learn,
    learners_at_work,
    make_learner,
)
from service.store.tables import Dataset, Job


def plan(request: Request, results: Results) -> list[str]:
    """The parts of the evaluation and the fit; then what puts leave-one-out together and writes the answers."""
    one = Contender(request)
    first = [*one.parts, *([FIT] if request["kind"] == "train" else [])]
    if not one.judge and "output" not in request:
        return first
    done = results()
    if not set(first) <= set(done):
        return first
    return [*first, *one.judge, *(piece.name for piece in answers.pieces([one], done))]


def run(part: Part) -> Result:
    """A fold's result, or of ``fit`` the hash of the stored model and what it says of itself; or written answers."""
    if answers.is_piece(part.name):
        return answers.write(part, [Contender(part.request)], part.found())
    data = part.data
    cells = cells_to_learn(part.request, data.table)
    with kernels(part.options.get("compiled"), learners_at_work(part.request), cells):
        if part.name == FIT:
            return fit(part, make_learner(part.request), data)
        return evaluating.evaluate(part)


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """The evaluation's summary and the new version."""
    request = job.request
    dataset = session.get_one(Dataset, request["dataset"])
    result: Result = {"dropped_rows": next(iter(parts.values()))["dropped_rows"]}
    evaluation = evaluating.summarise(request, target_of(dataset, request), parts)
    if evaluation is not None:
        result["evaluation"] = evaluation
    result |= answers.told(request, parts)
    if FIT in parts:
        result["training_notes"] = parts[FIT]["notes"]
    if request["model"] is not None:
        result["model"] = register(session, job, parts[FIT], evaluation)
    return result


def target_of(dataset: Dataset, request: Request) -> Column:
    """The target's column by the dataset's record; for a learner without one what it answers."""
    if request["target"] is None:
        return RECONSTRUCTION_ERROR
    return next(Column.from_json(column) for column in dataset.columns if column["name"] == request["target"])


KIND = Kind(plan, run, finish)
