"""Checking a job's request against its dataset and the catalogue before the job is accepted.

Only what the dataset's record tells is used, so a submission costs a query and no reading of data.
What only the data can tell (a weight's value, a class that vanishes with its rows) fails the job with
the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from learners.errors import quoted
from service.errors import Fault, Invalid
from service.operations.submission.asked import Asked
from service.operations.submission.columns import features, target, weights
from service.operations.submission.evaluation import evaluation
from service.operations.submission.model import model
from service.operations.submission.parameters import parameters
from service.store.tables import Dataset

KINDS = ("train", "cross-validate")
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
    asked = Asked(dataset, request)
    kind = _kind(asked)
    normal = {
        "kind": kind,
        "dataset": dataset.id,
        "target": target(asked),
        "learner": request.get("learner"),
        "parameters": parameters(asked),
        "features": features(asked),
        "weights": weights(asked),
        "seed": _seed(asked),
        "evaluation": evaluation(asked, needed=kind == "cross-validate"),
        "model": model(asked),
    }
    if asked.faults:
        raise Invalid("The job cannot be run as it is asked for: " + asked.faults[0].message, asked.faults)
    return normal


def _dataset(session: Session, workspace: str, dataset_id: Any) -> Dataset:
    found = session.get(Dataset, dataset_id) if isinstance(dataset_id, str) else None
    if found is None or found.workspace != workspace:
        message = f"there is no dataset {quoted(dataset_id)}"
        raise Invalid(message, [Fault(message, parameter="dataset")])
    return found


def _kind(asked: Asked) -> Any:
    kind = asked.request.get("kind")
    if kind not in KINDS:
        asked.refuse(f"kind is {' or '.join(KINDS)}, not {quoted(kind)}", "kind", allowed=list(KINDS))
    return kind


def _seed(asked: Asked) -> Any:
    seed = asked.request.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        allowed = f"a whole number >= 0 and <= {LARGEST_SEED}"
        asked.refuse(f"seed must be {allowed}", "seed", allowed=allowed)
    return seed
