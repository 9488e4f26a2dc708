"""What a request says of columns: target, features, weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from learners.errors import quoted
from learners.table import EXACT_INTEGER, OPEN_KINDS, Kind
from learners.validation import LARGEST_TARGET, LEAST_WEIGHT
from service.operations.submission.asked import Asked

#: A mean times the number of rows may miss their sum by so much.
_ROUNDING = 1 + 1e-9


def target(asked: Asked) -> Any:
    """The column to learn, whose kind must be one that the learner learns."""
    name: Any = asked.request.get("target")
    if name is None:
        return None
    if not asked.is_supervised:
        asked.refuse(
            f"{asked.request.get('learner')} learns without a target; leave it out, and name in excluded what it is "
            "not to learn from",
            "target",
        )
        return name
    if not asked.is_column(name, "target") or asked.learner is None:
        return name
    if asked.columns[name]["kind"] in OPEN_KINDS:
        asked.refuse(
            f"the target {quoted(name)} is {asked.columns[name]['kind']}, which nothing learns to answer; make a "
            "revision of the dataset in which the column is of another kind",
            "target",
            column=name,
        )
        return name
    if asked.usable_rows() < 1:  # which of the kinds it has then means nothing
        asked.refuse(f"the target {quoted(name)} is missing in every row", "target", column=name)
        return name
    numeric = asked.columns[name]["kind"] == Kind.NUMERIC
    wants_classes = asked.learner.capabilities.task == "classification"
    if numeric and wants_classes:
        asked.refuse(
            f"the target {quoted(name)} is numeric, but {asked.learner.name} learns classes; make a revision of "
            "the dataset in which the column is nominal, or take a learner of numbers",
            "target",
            column=name,
        )
    if not numeric and not wants_classes:
        asked.refuse(
            f"the target {quoted(name)} is {asked.columns[name]['kind']}, but {asked.learner.name} learns numbers",
            "target",
            column=name,
        )
    if numeric and not wants_classes:
        _refuse_huge(asked, name)
    return name


def _refuse_huge(asked: Asked, name: str) -> None:
    """Refuse a target of which the learner would refuse a row."""
    profile = asked.profile(name)
    ends = [(profile[end], profile.get(f"{end}_row")) for end in ("min", "max") if profile.get(end) is not None]
    largest, row = max(ends, key=lambda end: abs(end[0]), default=(0.0, None))
    if abs(largest) > LARGEST_TARGET:
        asked.refuse(
            f"the target {quoted(name)} is {largest:g} in {_place(row)}; its squares must be finite, so at most "
            f"{LARGEST_TARGET:g} in magnitude is allowed",
            "target",
            column=name,
            row=row,
            allowed=f"at most {LARGEST_TARGET:g} in magnitude",
        )


def _place(row: int | None) -> str:
    """A row in words; an older profile does not tell which."""
    return "a row" if row is None else f"row {row}"


def features(asked: Asked) -> list[str]:
    """The columns to learn from: those named, or all but the target, the weights, what parts the rows and those
    excluded."""
    request = asked.request
    if request.get("features") is not None and request.get("excluded") is not None:
        asked.refuse("give either features or excluded, not both", "features")
    reserved = {request.get("target"), request.get("weights")}
    if request.get("features") is not None:
        chosen = _apart_from(reserved, asked, request["features"], "features", "cannot be learned from too")
    else:
        excluded = _apart_from(reserved, asked, request.get("excluded") or [], "excluded", "is not learned from anyway")
        parting = {(request.get("evaluation") or {}).get(name) for name in ("groups", "time")}
        left_out = reserved | parting | set(excluded)
        chosen = [name for name in asked.columns if name not in left_out]
    if not chosen:
        asked.refuse("no column is left to learn from", "features")
    _refuse_open(asked, chosen)
    return chosen


def _refuse_open(asked: Asked, chosen: Sequence[str]) -> None:
    """Columns of texts or sequences, if the learner does not learn from them."""
    if asked.learner is None:
        return
    able = asked.learner.capabilities
    takes = {Kind.TEXT: able.texts, Kind.SEQUENCE: able.sequences}
    for name in chosen:
        kind = asked.columns.get(name, {}).get("kind")
        if kind in OPEN_KINDS and not takes[Kind(kind)]:
            asked.refuse(
                f"the column {quoted(name)} is {kind}, which {asked.learner.name} does not learn from; name it in "
                "excluded",
                "features",
                column=name,
            )


def _apart_from(reserved: set[Any], asked: Asked, names: Sequence[str], parameter: str, why: str) -> list[str]:
    """The columns of ``features`` or ``excluded``, of which none may be the target or the weights."""
    for name in names:
        if asked.is_column(name, parameter) and name in reserved:
            asked.refuse(f"the column {quoted(name)} is the target or the weights; it {why}", parameter, column=name)
    _refuse_repeated(asked, names, parameter)
    return list(names)


def _refuse_repeated(asked: Asked, names: Sequence[str], parameter: str) -> None:
    for name in sorted(name for name, count in Counter(names).items() if count > 1):
        asked.refuse(f"the column {quoted(name)} is named twice", parameter, column=name)


def weights(asked: Asked) -> Any:
    """The column of the rows' weights, if there is one."""
    name: Any = asked.request.get("weights")
    if name is None or not asked.is_column(name, "weights"):
        return name
    if name == asked.request.get("target"):
        asked.refuse("the weights cannot be the target", "weights", column=name)
    if asked.columns[name]["kind"] != Kind.NUMERIC:
        asked.refuse(
            f"the weights {quoted(name)} are {asked.columns[name]['kind']}; they must be numeric",
            "weights",
            column=name,
        )
    elif asked.columns[name].get("missing"):
        needed = "every row needs one, a finite number >= 0"
        asked.refuse_missing(f"the weights {quoted(name)} are", needed, "weights", name)
    elif fault := _fault_of_weights(asked.profile(name), asked.dataset.n_rows):
        message, row = fault
        asked.refuse(f"the weights {quoted(name)} {message}", "weights", column=name, row=row)
    else:
        _refuse_one_weighted(asked, name)
    return name


def _fault_of_weights(profile: Mapping[str, Any], n_rows: int) -> tuple[str, int | None] | None:
    """What the learner would refuse, and its row, as far as the profile of all weights tells; see ``check_weights``."""
    least, largest, mean = (profile.get(name) for name in ("min", "max", "mean"))
    row, negatives = profile.get("min_row"), profile.get("negatives", 1)
    if least is None or largest is None:
        return None
    if least < 0:
        counted = f"negative in {negatives} rows, the least, " if negatives > 1 else ""
        return f"are {counted}{least:g}{',' if counted else ''} in {_place(row)}; weights are finite numbers >= 0", row
    if largest == 0:
        return "are all zero, so there are no rows to learn from", None
    if 0 < least < LEAST_WEIGHT:
        return f"are {least:g} in {_place(row)}; weights are 0 or at least {LEAST_WEIGHT:g}", row
    if mean is None or mean * n_rows > EXACT_INTEGER * _ROUNDING:
        return f"sum to more than 2^53 = {EXACT_INTEGER}, the most that is allowed", None
    return None


def _refuse_one_weighted(asked: Asked, name: str) -> None:
    """Refuse to learn from some rows and to judge on others where a single row counts."""
    profile, given = asked.profile(name), asked.request.get("evaluation") or {"method": "none"}
    is_judged = asked.request.get("kind") != "train" or given.get("method") != "none"
    if asked.learner is None or not is_judged or asked.dataset.n_rows - profile.get("zeros", 0) != 1:
        return
    row = profile["max_row"]
    asked.refuse(
        f"the weights {quoted(name)} are 0 in every row but row {row}, so there is nothing to learn from where that "
        "row is judged; an evaluation needs at least 2 rows with a weight above 0",
        "weights",
        column=name,
        row=row,
    )
