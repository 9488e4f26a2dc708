"""What a job says of a version that is there already: which it is, and what it is to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from learners import catalog
from learners.columns import Column
from learners.errors import ParameterError, quoted
from learners.neural.autoencoder.estimator import RECONSTRUCTION_ERROR
from service import registry
from service.errors import Invalid, NotFound, ServiceError
from service.operations.decision import read_decision
from service.operations.policies import check_intervals
from service.operations.same_target import what_differs
from service.operations.submission.asked import SHOWN_NAMES, Asked
from service.store.tables import ModelVersion

#: Rows that one part of a prediction answers.
PART_ROWS = 50_000
_DEFAULTS = {"format": "csv", "explain": False, "interval": False, "unseen": "other", "missing": "as-model"}


def version(session: Session, workspace: str, asked: Asked, name: str = "version") -> dict[str, Any]:
    """The version that a reference means now, which later moves of aliases do not change.

    Returns:
        ``name``, ``version`` and ``id``; empty where there is none, which is a fault.
    """
    reference = asked.request.get(name)
    try:
        parsed = registry.parse_ref(str(reference))
        found = registry.resolve(session, workspace, parsed)
    except NotFound as error:
        if reference is not None:
            asked.refuse(f"{name}: {error.detail}", name)
        return {}
    if name == "version":
        _check_columns(asked, found)
        _check_target(asked, found)
    elif asked.request.get("kind") == "evaluate":
        _check_columns(asked, found, name)
    return {"name": parsed.name, "version": found.version, "id": found.id}


def _check_columns(asked: Asked, found: ModelVersion, name: str = "version") -> None:
    """Refuse a dataset without the columns that the version needs."""
    wanted = {record["name"]: record for record in found.schema["inputs"]}
    absent = [name for name in wanted if name not in asked.columns]
    evaluates = asked.request.get("kind") == "evaluate"
    if absent and (evaluates or len(absent) == len(wanted)):
        asked.refuse(
            f"the dataset lacks columns that {'the version' if name == 'version' else name} learned from: "
            f"{', '.join(map(quoted, absent[:SHOWN_NAMES]))}",
            "dataset" if name == "version" else name,
            column=absent[0],
        )


def _check_target(asked: Asked, found: ModelVersion) -> None:
    """Refuse to judge answers by a dataset without their truth."""
    target = found.schema["target"]
    if asked.request.get("kind") != "evaluate" or Column.from_json(target) == RECONSTRUCTION_ERROR:
        return
    if target["name"] not in asked.columns:
        asked.refuse(f"the dataset lacks the target {quoted(target['name'])}", "dataset", column=target["name"])
    elif (asked.columns[target["name"]]["kind"] == "numeric") != (target["kind"] == "numeric"):
        kind = asked.columns[target["name"]]["kind"]
        asked.refuse(
            f"the target {quoted(target['name'])} is {target['kind']} in the version and {kind} in the dataset",
            "dataset",
            column=target["name"],
        )


def against(session: Session, workspace: str, asked: Asked) -> dict[str, Any] | None:
    """A second version, to be compared on the same rows."""
    if asked.request.get("against") is None:
        return None
    other = version(session, workspace, asked, "against")
    own = version(session, workspace, Asked(asked.dataset, asked.request))
    if other and other == own:
        asked.refuse("against is the same version as version; name another to compare it with", "against")
    elif other and own:
        records = [session.get_one(ModelVersion, one["id"]) for one in (own, other)]
        why = what_differs(*((record.task, Column.from_json(record.schema["target"])) for record in records))
        if why is not None:
            asked.refuse(why, "against")
    return other


def judged_by(session: Session, asked: Asked, of: Mapping[str, Any]) -> dict[str, Any]:
    """The utilities by which a version's decisions are judged, if any are given; nothing else of an evaluation."""
    given = dict(asked.request.get("evaluation") or {})
    for name in given:
        if name != "utility":
            asked.refuse(f"{name} has no effect where a version is judged as it is", f"evaluation.{name}")
    if given.get("utility") is None or not of:
        return {}
    from learners.decisions import utility_matrix

    target = Column.from_json(session.get_one(ModelVersion, of["id"]).schema["target"])
    if target.is_numeric:
        asked.refuse("utilities judge decisions among classes; the version answers numbers", "evaluation.utility")
        return {}
    try:
        utility_matrix(given["utility"], target, "evaluation.utility")
    except ParameterError as error:
        asked.refuse(str(error), "evaluation.utility")
    return {"utility": given["utility"]}


def output(session: Session, asked: Asked, of: Mapping[str, Any]) -> dict[str, Any]:
    """In which form answers are written, and by which policies rows are answered."""
    given = {name: value for name, value in (asked.request.get("output") or {}).items() if value is not None}
    normal = _DEFAULTS | given
    if not of:
        return normal
    record = session.get_one(ModelVersion, of["id"])
    if normal["interval"]:
        try:
            check_intervals(catalog.get(record.learner))
        except Invalid as error:
            for fault in error.faults:
                asked.refuse(fault.message, "output.interval", allowed=fault.allowed)
    if "decision" in given:
        try:
            read_decision(given["decision"], Column.from_json(record.schema["target"]))
        except Invalid as error:
            for fault in error.faults:
                asked.refuse(fault.message, f"output.{fault.parameter or 'decision'}", allowed=fault.allowed)
        except ServiceError as error:
            asked.refuse(error.detail, "output.decision")
    return normal


def kept_answers(asked: Asked) -> dict[str, Any]:
    """In which form the answers out of fold are kept, as ``output``; empty where they are not asked for."""
    given = asked.request.get("output")
    if given is None:
        return {}
    for name, value in given.items():
        if name != "format" and value is not None:
            asked.refuse(
                f"{name} has no effect on the answers out of fold, which are those of the folds; it is of predict",
                f"output.{name}",
            )
    return {"output": {"format": given.get("format") or _DEFAULTS["format"]}}


def n_parts(asked: Asked) -> int:
    """Into how many parts the rows of a prediction go."""
    return max(1, -(-int(asked.dataset.n_rows) // PART_ROWS))
