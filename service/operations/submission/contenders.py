"""What a job ``compare`` says of its learners: each as a cross-validation of it alone would, and what it is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from learners.errors import quoted
from service.operations.submission.asked import Asked
from service.operations.submission.selection import MAX_FITS, n_splits
from service.operations.submission.version import kept_answers

#: Of so many learners all pairs are compared where none is the reference.
MOST_IN_ALL_PAIRS = 5
#: Fields of a learner, which faults name within ``learners``.
_OWN = ("learner", "parameters")


def comparison(asked: Asked, learning: Callable[[Asked], dict[str, Any]]) -> dict[str, Any]:
    """The learners and all else of a comparison, with every default filled in.

    Args:
        learning: checks the request of one learner, and fills in its defaults.
    """
    given: Sequence[Mapping[str, Any]] = asked.request.get("learners") or []
    rest = {name: value for name, value in asked.request.items() if name not in ("learners", "reference", "output")}
    found, checked = [], []
    for one in given:
        alone = Asked(asked.dataset, rest | {name: one.get(name) for name in _OWN}, learns=True)
        if rest.get("target") is None and alone.is_supervised and alone.learner is not None:
            alone.refuse("a job compare needs target", "target")
        found.append(learning(alone))
        checked.append(alone)
    _take_over(asked, checked)
    names = _names(asked, given)
    reference = asked.request.get("reference")
    if reference is not None and reference not in names:
        told = ", ".join(quoted(name) for name in names)
        asked.refuse(f"reference is one of {told}; it is {quoted(reference)}", "reference", allowed=names)
    if not found:
        return {"learners": []}
    if not asked.faults:
        _check_fits(asked, found)
    learners = [
        {"name": name, **{field: one[field] for field in _OWN}, **_parts(one["evaluation"])}
        for name, one in zip(names, found, strict=True)
    ]
    common = {name: value for name, value in found[0].items() if name not in _OWN}
    common["evaluation"] = {name: value for name, value in common["evaluation"].items() if name != "parts"}
    return {**common, "learners": learners, "reference": reference, **kept_answers(asked)}


def _parts(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Into how many parts a leave-one-out goes, which depends on the learner."""
    return {name: evaluation[name] for name in ("parts",) if name in evaluation}


def _take_over(asked: Asked, checked: Sequence[Asked]) -> None:
    """Note the learners' faults: those of what all share once, and what some cannot do with it as theirs."""
    for place, alone in enumerate(checked):
        for fault in alone.faults:
            parameter = str(fault.parameter)
            if parameter.partition(".")[0] in _OWN:
                asked.faults.append(replace(fault, parameter=f"learners.{place}.{parameter}"[:200]))
            elif not all(fault in other.faults for other in checked):
                asked.faults.append(replace(fault, parameter=f"learners.{place}.learner"))
            elif fault not in asked.faults:
                asked.faults.append(fault)


def _names(asked: Asked, given: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each is called: as given, or as the catalogue calls it, with its place where several are called so."""
    called = Counter(one.get("name") or str(one.get("learner")) for one in given)
    names = []
    for place, one in enumerate(given):
        name = one.get("name")
        if name is None:
            own = str(one.get("learner"))
            name = own if called[own] == 1 else f"{own}-{place + 1}"
        if name in names:
            asked.refuse(f"two learners are called {quoted(name)}", f"learners.{place}.name")
        names.append(name)
    return names


def _check_fits(asked: Asked, found: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a comparison that would fit its learners too often."""
    count = sum(_fits(asked, one["evaluation"]) for one in found)
    if count > MAX_FITS:
        asked.refuse(
            f"the comparison asks for {count} fits; at most {MAX_FITS} are made by one job",
            "learners",
            allowed=f"learners x splits <= {MAX_FITS}",
        )


def _fits(asked: Asked, evaluation: Mapping[str, Any]) -> int:
    """How often one learner is fitted; of leave-one-out each row or group, but for a learner that does it at once."""
    if evaluation["method"] != "leave-one-out":
        return n_splits(evaluation)
    groups = evaluation.get("groups")
    if groups is not None:
        return int(asked.profile(groups).get("distinct") or 0)
    return 1 if evaluation["parts"] == 1 else asked.usable_rows()
