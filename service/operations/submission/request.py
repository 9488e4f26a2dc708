"""Checking a job's request against its dataset and the catalogue before the job is accepted.

Only what the dataset's record tells is used, so a submission costs a query and no reading of data.
What only the data can tell (a class that vanishes with its rows) fails the job with the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from learners.errors import quoted
from service.errors import Fault, Invalid
from service.operations.submission.asked import Asked
from service.operations.submission.columns import features, target, weights
from service.operations.submission.contenders import comparison
from service.operations.submission.evaluation import METHODS, SPLITTING, evaluation
from service.operations.submission.fields import KINDS, LEARNING_KINDS, check_fields
from service.operations.submission.model import model
from service.operations.submission.parameters import check_columns, parameters
from service.operations.submission.repeated import blocks, rounds
from service.operations.submission.selection import selection, shares
from service.operations.submission.version import against, judged_by, kept_answers, n_parts, output, version
from service.store.tables import Dataset

#: Largest seed: what every part of the system, JavaScript clients included, keeps exactly.
LARGEST_SEED = 2**53 - 1


def check_submission(session: Session, workspace: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The request with every default filled in.

    Args:
        session: a reading transaction.
        workspace: where the dataset must lie.
        request: the JSON body of a submission.

    Raises:
        Invalid: with a fault for everything that is wrong, each naming its parameter or column.
    """
    dataset = _dataset(session, workspace, request.get("dataset"))
    kind = request.get("kind")
    asked = Asked(dataset, request, learns=kind not in ("evaluate", "predict"))
    normal: dict[str, Any] = {"kind": _kind(asked), "dataset": dataset.id}
    check_fields(asked)
    if kind in LEARNING_KINDS:
        normal |= _learning(asked, str(kind))
    elif kind == "compare":
        normal |= comparison(asked, lambda one: _learning(one, "compare"))
    elif kind in KINDS:
        normal |= _of_version(session, workspace, asked)
    if asked.faults:
        raise Invalid("The job cannot be run as it is asked for: " + asked.faults[0].message, asked.faults)
    return normal


def _learning(asked: Asked, kind: str) -> dict[str, Any]:
    """What the kinds have that fit a learner."""
    methods = SPLITTING if kind in ("select", "learning-curve", "bias-variance") else METHODS
    judged = evaluation(asked, needed=kind not in ("train", "description-length"), methods=methods)
    normal = {
        "target": target(asked),
        "learner": asked.request.get("learner"),
        "parameters": parameters(asked),
        "features": features(asked),
        "weights": weights(asked),
        "seed": _seed(asked),
        "evaluation": judged,
        "model": model(asked),
    }
    check_columns(asked, normal["features"])
    if kind == "select" and judged["method"] in methods:
        normal["selection"] = selection(asked, judged)
    if kind == "learning-curve" and judged["method"] in methods:
        normal["shares"] = shares(asked, judged)
    if kind == "bias-variance" and judged["method"] in methods:
        normal["rounds"] = rounds(asked, judged)
    if kind == "description-length":
        normal["blocks"] = blocks(asked)
    if kind == "cross-validate":
        normal |= kept_answers(asked)
    return normal


def _of_version(session: Session, workspace: str, asked: Asked) -> dict[str, Any]:
    """What the kinds have that use a version."""
    found = version(session, workspace, asked)
    normal: dict[str, Any] = {"version": found, "seed": _seed(asked)}
    if asked.request.get("kind") == "predict":
        return normal | {"output": output(session, asked, found), "parts": n_parts(asked)}
    return normal | {
        "against": against(session, workspace, asked),
        "weights": weights(asked),
        "evaluation": judged_by(session, asked, found),
    }


def _dataset(session: Session, workspace: str, dataset_id: Any) -> Dataset:
    found = session.get(Dataset, dataset_id) if isinstance(dataset_id, str) else None
    if found is None or found.workspace != workspace:
        message = f"there is no dataset {quoted(dataset_id)}"
        raise Invalid(message, [Fault(message, parameter="dataset")])
    return found


def _kind(asked: Asked) -> Any:
    kind = asked.request.get("kind")
    if kind not in KINDS:
        asked.refuse(f"kind is one of {', '.join(KINDS)}, not {quoted(kind)}", "kind", allowed=list(KINDS))
    return kind


def _seed(asked: Asked) -> Any:
    seed = asked.request.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        allowed = f"a whole number >= 0 and <= {LARGEST_SEED}"
        asked.refuse(f"seed must be {allowed}", "seed", allowed=allowed)
    return seed
