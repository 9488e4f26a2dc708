"""An answer to a row as the cells of a table, the same for CSV and for Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from service.operations.json_text import encode_json
from service.operations.predict import Form
from service.operations.served import ServedModel

#: By column, what a row's note says; see :meth:`service.operations.rows.Encoded.notes`.
Notes = Mapping[str, Sequence[str]]


class AnswerCells:
    """What stands in each column, apart from the row's number.

    Args:
        model: which answers.
        form: which list the answers are of.
        explained: whether each has its reason.
    """

    def __init__(self, model: ServedModel, form: Form, *, explained: bool) -> None:
        self._answer = "label" if model.identity.task == "classification" else "value"
        self._identity = [model.identity.name, model.identity.version]
        self._decision = [] if model.decision is None else [model.decision.brief]
        self._n_classes = len(model.identity.classes)
        self._explained = explained
        #: Columns of labels, of which a decision of the caller's adds the model's own.
        self.labels = [self._answer, *(["model_label"] if self._decision else [])]
        #: Columns of numbers.
        self.shares = [f"probability_{plain_text(label)}" for label in model.identity.classes]
        decided = ["decision", "model_label"] if self._decision else []
        told = ["warnings", "error", *(["explanation"] if explained else [])]
        self.names = [self._answer, *self.shares, "model", "version", *decided, *told]

    def of(self, members: bytes, notes: Notes) -> list[Any]:
        """The cells of an answer, None where there is nothing.

        Args:
            members: of the answer, as JSON without braces.
            notes: of its row.
        """
        answer = msgspec.json.decode(b"{" + members + b"}")
        reason = [reason_text(answer.get("explanation", answer))] if self._explained else []
        if "error" in answer:
            nothing = [None] * (1 + self._n_classes)
            undecided = [*self._decision, *(None for _ in self._decision)]
            faults = "; ".join(_fault_text(fault) for fault in answer["error"]["errors"])
            return [*nothing, *self._identity, *undecided, None, faults, *(None for _ in reason)]
        said = [_warning_text(warning) for warning in answer.get("warnings", ())]
        said += [f"{name.replace('_', ' ')}: {', '.join(columns)}" for name, columns in notes.items()]
        decided = [*self._decision, *(answer.get("model_label", answer["label"]) for _ in self._decision)]
        shares = answer.get("probabilities", ())
        return [answer[self._answer], *shares, *self._identity, *decided, "; ".join(said) or None, None, *reason]


def plain_text(value: Any) -> str:
    """A value as text: texts as they are, all else as in JSON."""
    return value if isinstance(value, str) else encode_json(value).decode()


def _fault_text(fault: dict[str, Any]) -> str:
    return f"{fault['column']}: {fault['message']}" if "column" in fault else str(fault["message"])


def _warning_text(warning: dict[str, Any]) -> str:
    treated = f" (treated as {warning['treated_as']})" if "treated_as" in warning else ""
    if warning["kind"] == "unseen":
        return f"unseen: {warning['column']} = {encode_json(warning['value']).decode()}{treated}"
    return f"missing: {', '.join(warning['columns'])}{treated}"


def reason_text(reason: dict[str, Any]) -> str:
    """A tree's branches joined by "or" with their weights, tests by "and"; the rule; the rows that voted; the sums."""
    if reason.get("kind") == "rule":
        tests = " and ".join(one["condition"]["text"] for one in reason["conditions"])
        return f"rule {reason['rank']}: {tests or 'no rule covers the row'}"
    if reason.get("kind") == "neighbours":
        told = ", ".join(f"{one['row']} (vote {one['vote']:.6g})" for one in reason["neighbours"])
        omitted = reason.get("omitted_neighbours")
        return f"rows {told}" + (f" and {omitted['neighbours']} more" if omitted else "")
    if reason.get("kind") == "contributions":
        return "; ".join(_predictor_text(one) for one in reason["predictors"]) or "always"
    branches = []
    for branch in reason.get("branches", ()):
        tests = " and ".join(step["condition"]["text"] for step in branch["steps"]) or "always"
        branches.append(tests if branch["weight"] == 1 else f"{tests} (weight {branch['weight']:.6g})")
    return " or ".join(branches)


def _predictor_text(predictor: dict[str, Any]) -> str:
    added = "".join(
        f" {one['contribution']:+.6g} ({one['column']} = {plain_text(one['observed'])})"
        for one in predictor["contributions"]
    )
    label = f"{plain_text(predictor['label'])}: " if "label" in predictor else ""
    return f"{label}{predictor['intercept']:.6g}{added} = {predictor['sum']:.6g}"
