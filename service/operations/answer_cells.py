"""An answer to a row as the cells of a table, the same for CSV and for Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from service.operations.json_text import encode_json
from service.operations.predict import Form
from service.operations.reason_texts import plain_text, reason_text
from service.operations.rows import Options
from service.operations.served import ServedModel

#: By column, what a row's note says; see :meth:`service.operations.rows.Encoded.notes`.
Notes = Mapping[str, Sequence[str]]
#: Columns of an interval, named as its members; how it was made is told in JSON alone.
INTERVAL = ("low", "high", "level")


class AnswerCells:
    """What stands in each column, apart from the row's number.

    Args:
        model: which answers.
        form: which list the answers are of.
        options: whether each has its reason, and its interval.
    """

    def __init__(self, model: ServedModel, form: Form, options: Options) -> None:
        self._answer = "label" if model.identity.task == "classification" else "value"
        self._identity = [model.identity.name, model.identity.version]
        self._decision = [] if model.decision is None else [model.decision.brief]
        self._explained = explained = options.explain or form == "explanations"
        self._interval = INTERVAL if options.interval else ()
        #: Columns of labels, of which a decision of the caller's adds the model's own.
        self.labels = [self._answer, *(["model_label"] if self._decision else [])]
        #: Columns of numbers.
        self.numbers = [*self._interval, *(f"probability_{plain_text(label)}" for label in model.identity.classes)]
        decided = ["decision", "model_label"] if self._decision else []
        told = ["warnings", "error", *(["explanation"] if explained else [])]
        self.names = [self._answer, *self.numbers, "model", "version", *decided, *told]

    def of(self, members: bytes, notes: Notes) -> list[Any]:
        """The cells of an answer, None where there is nothing.

        Args:
            members: of the answer, as JSON without braces.
            notes: of its row.
        """
        answer = msgspec.json.decode(b"{" + members + b"}")
        if "error" in answer:
            nothing = [None] * (1 + len(self.numbers))
            undecided = [*self._decision, *(None for _ in self._decision)]
            faults = "; ".join(_fault_text(fault) for fault in answer["error"]["errors"])
            return [*nothing, *self._identity, *undecided, None, faults, *([None] if self._explained else [])]
        reason = [reason_text(answer.get("explanation", answer))] if self._explained else []
        said = [_warning_text(warning) for warning in answer.get("warnings", ())]
        said += [f"{name.replace('_', ' ')}: {', '.join(columns)}" for name, columns in notes.items()]
        decided = [*self._decision, *(answer.get("model_label", answer["label"]) for _ in self._decision)]
        bounds = answer.get("interval") or {}
        numbers = [*(bounds.get(name) for name in self._interval), *answer.get("probabilities", ())]
        return [answer[self._answer], *numbers, *self._identity, *decided, "; ".join(said) or None, None, *reason]


def _fault_text(fault: dict[str, Any]) -> str:
    """A fault with its line, and with its column where the message does not name it already."""
    message = str(fault["message"])
    line = f"line {fault['line']}" if "line" in fault else ""
    column = str(fault.get("column", ""))
    return ": ".join([*(place for place in (line, column) if place not in message), message])


def _warning_text(warning: dict[str, Any]) -> str:
    treated = f" (treated as {warning['treated_as']})" if "treated_as" in warning else ""
    if warning["kind"] == "unseen":
        return f"unseen: {warning['column']} = {encode_json(warning['value']).decode()}{treated}"
    return f"missing: {', '.join(warning['columns'])}{treated}"
