"""A reason as one line, as CSV and Arrow have it: each kind in its own words."""

from __future__ import annotations

from collections import Counter
from typing import Any

from service.operations.json_text import encode_json


def reason_text(reason: dict[str, Any]) -> str:
    """What an explanation says, in short.

    Args:
        reason: its JSON.

    Raises:
        KeyError: of a kind that has no words here.
    """
    return _TEXTS[reason["kind"]](reason)


def plain_text(value: Any) -> str:
    """A value as text: texts as they are, all else as in JSON."""
    return value if isinstance(value, str) else encode_json(value).decode()


def _path(reason: dict[str, Any]) -> str:
    """A tree's branches joined by "or" with their weights, tests by "and"."""
    branches = []
    for branch in reason["branches"]:
        tests = " and ".join(step["condition"]["text"] for step in branch["steps"]) or "always"
        branches.append(tests if branch["weight"] == 1 else f"{tests} (weight {branch['weight']:.6g})")
    return " or ".join(branches)


def _rule(reason: dict[str, Any]) -> str:
    tests = " and ".join(one["condition"]["text"] for one in reason["conditions"])
    return f"rule {reason['rank']}: {tests or 'no rule covers the row'}"


def _neighbours(reason: dict[str, Any]) -> str:
    told = ", ".join(f"{one['row']} (vote {one['vote']:.6g})" for one in reason["neighbours"])
    omitted = reason.get("omitted_neighbours")
    return f"rows {told}" + (f" and {omitted['neighbours']} more" if omitted else "")


def _contributions(reason: dict[str, Any]) -> str:
    return "; ".join(map(_sum, reason["predictors"])) or "always"


def _attributions(reason: dict[str, Any]) -> str:
    return "; ".join(map(_sum, reason["scores"]))


def _reconstruction(reason: dict[str, Any]) -> str:
    code = ", ".join(f"{number:.6g}" for number in reason["code"])
    ordered = sorted(reason["reconstructed"], key=lambda one: -float(one["error"]))
    errors = (
        f"{one['error']:.6g} ({one['column']} = {plain_text(one['observed'])}, back {plain_text(one['reconstructed'])})"
        for one in ordered
    )
    return f"code ({code}); errors {' + '.join(errors)}"


def _sum(predictor: dict[str, Any]) -> str:
    """A linear predictor, or a network's score."""
    added = "".join(
        f" {one['contribution']:+.6g} ({one['column']} = {plain_text(one['observed'])})"
        for one in predictor["contributions"]
    )
    label = f"{plain_text(predictor['label'])}: " if "label" in predictor else ""
    first, last = ("baseline", "score") if "score" in predictor else ("intercept", "sum")
    return f"{label}{predictor[first]:.6g}{added} = {predictor[last]:.6g}"


def _additive(reason: dict[str, Any]) -> str:
    added = "".join(f" {one['margin']:+.6g} ({_observed(one)})" for one in reason["columns"])
    return f"{plain_text(reason['answer'])} by a margin of {reason['margin']:.6g} ={added}"


def _observed(column: dict[str, Any]) -> str:
    return "no test" if column["column"] is None else f"{column['column']} = {plain_text(column['observed'])}"


def _votes(reason: dict[str, Any]) -> str:
    """How many members say what; of numbers, from where to where they go."""
    votes = reason["votes"]
    if "value" in votes[0]:
        values = [one["value"] for one in votes]
        return f"{len(votes)} members say {min(values):.6g} to {max(values):.6g}"
    said = Counter(plain_text(one["label"]) for one in votes)
    weights = {label: sum(one["weight"] for one in votes if plain_text(one["label"]) == label) for label in said}
    return ", ".join(
        f"{said[label]} members (weight {weights[label]:.6g}) say {label}" for label, _ in said.most_common()
    )


_TEXTS = {
    "path": _path,
    "rule": _rule,
    "neighbours": _neighbours,
    "contributions": _contributions,
    "attributions": _attributions,
    "reconstruction": _reconstruction,
    "additive": _additive,
    "votes": _votes,
}
