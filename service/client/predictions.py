"""What the models of a service say of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from service.client.connection import Connection
from service.client.content import Json, Row, given, in_path


class Predictions(Connection):
    """Answers, their reasons, and what would change them."""

    def predict(
        self,
        ref: str,
        rows: Sequence[Row],
        *,
        explain: bool | None = None,
        interval: bool | None = None,
        decision: Json | None = None,
        missing: str | None = None,
        unseen: str | None = None,
        strict: bool | None = None,
    ) -> Json:
        """Answers for rows given by column name; absent options are as the API has them.

        Args:
            ref: the model.
            rows: objects by column name; None and NaN are missing, numbers may be numpy's.
            explain: add the reason to each answer.
            interval: add to each number where a further one like it should lie, of learners that tell it.
            decision: by what labels are decided: an object with ``utility``, ``costs`` or ``threshold``.
            missing: ``as-model``, ``fractional``, ``most-likely`` or ``reject``.
            unseen: ``reject``, ``missing`` or ``other``.
            strict: extra and absent columns are errors.
        """
        policies = {"decision": decision, "missing": missing, "unseen": unseen, "strict": strict}
        options = {"explain": explain, "interval": interval} | policies
        return self._json("POST", f"/models/{in_path(ref)}/predictions", json={"rows": list(rows)} | given(options))

    def explain(
        self,
        ref: str,
        rows: Sequence[Row],
        *,
        decision: Json | None = None,
        missing: str | None = None,
        unseen: str | None = None,
        strict: bool | None = None,
    ) -> Json:
        """The exact reason of each row's answer; the options are those of :meth:`predict`."""
        options = {"decision": decision, "missing": missing, "unseen": unseen, "strict": strict}
        return self._json("POST", f"/models/{in_path(ref)}/explanations", json={"rows": list(rows)} | given(options))

    def steps(
        self, ref: str, row: Row, state: Json | None = None, *, unseen: str | None = None, strict: bool | None = None
    ) -> Json:
        """The answer after each of the next steps of a row's sequences, and the state to hand on with those after them.

        Args:
            ref: the model.
            row: by column name, of sequences and texts the next steps.
            state: the answer's ``state`` to the steps before; None at the beginning.
            unseen, strict: as of :meth:`predict`.
        """
        body = given({"row": row, "state": state, "unseen": unseen, "strict": strict})
        return self._json("POST", f"/models/{in_path(ref)}/steps", json=body)

    def counterfactuals(self, ref: str, rows: Sequence[Row], wanted: Any, **options: Any) -> Json:
        """The nearest changes of each row that lead to a wanted answer.

        ``options``: ``fixed``, ``directions``, ``costs``, ``allowed``, ``count``, ``diverse``, ``order`` and others.
        """
        body = {"rows": list(rows), "wanted": wanted, **options}
        return self._json("POST", f"/models/{in_path(ref)}/counterfactuals", json=body)

    def question(self, ref: str, rows: Sequence[Row], **options: Any) -> Json:
        """What to ask next about partly filled rows; ``options``: ``costs``, ``utility`` and others."""
        return self._json("POST", f"/models/{in_path(ref)}/question", json={"rows": list(rows), **options})
