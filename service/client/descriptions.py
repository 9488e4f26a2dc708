"""The models of a service as people read them."""

from __future__ import annotations

from typing import Any

from service.client.connection import Connection
from service.client.content import Json, Row, given, in_path


class Descriptions(Connection):
    """Importances, coefficients, rules, trees, and the comparison of versions."""

    def importances(self, ref: str, *, dataset: str | None = None, **wanted: Any) -> Json:
        """How much each column matters: to a tree, or with a dataset to any model on its rows, by permutation.

        ``wanted``: ``metric``, ``repeats``, ``seed``, ``n_rows``.
        """
        query = given({"kind": None if dataset is None else "permutation", "dataset": dataset} | wanted)
        return self._json("GET", f"/models/{in_path(ref)}/importances", params=query)

    def coefficients(self, ref: str, *, level: float | None = None) -> Json:
        """A linear model's coefficients with their intervals at a level, its fit, and what was tried to choose it."""
        return self._json("GET", f"/models/{in_path(ref)}/coefficients", params=given({"level": level}))

    def rules(self, ref: str, *, dataset: str | None = None) -> Json:
        """A model as rules; with a dataset, the support and confidence of each on its rows too."""
        query = given({"format": "json", "dataset": dataset, "limit": 10_000})
        rules: list[Json] = []
        while True:
            page = self._json("GET", f"/models/{in_path(ref)}/rules", params=query)
            rules += page["rules"]
            if page["next_cursor"] is None:
                return page | {"rules": rules}
            query["cursor"] = page["next_cursor"]

    def rule_rows(self, ref: str, rule: str, *, dataset: str | None = None, offset: int = 0, limit: int = 20) -> Json:
        """Some of the rows that a rule answers, by default of those that the version learned from."""
        query = given({"dataset": dataset, "offset": offset, "limit": limit})
        return self._json("GET", f"/models/{in_path(ref)}/rules/{in_path(rule)}/rows", params=query)

    def rules_text(self, ref: str, format: str = "text") -> str:  # noqa: A002 - the API's word
        """A model as rules in ``text``, ``markdown`` or ``sql``."""
        return self._send("GET", f"/models/{in_path(ref)}/rules", params={"format": format}).text

    def tree(self, ref: str, *, node: int = 0, levels: int | None = None) -> Json:
        """The nodes of a tree, at and beneath a node; of a very large one some levels at a time."""
        query = given({"format": "json", "node": node, "levels": levels})
        return self._json("GET", f"/models/{in_path(ref)}/tree", params=query)

    def tree_svg(self, ref: str, row: Row | None = None, **view: Any) -> str:
        """A tree as a picture (SVG), with the way of a row lit if one is given; ``view`` as in the API (``node``)."""
        path = f"/models/{in_path(ref)}/tree"
        if row is None:
            return self._send("GET", path, params={"format": "svg"} | view).text
        return self._send("POST", path, params=view, json={"row": row}).text

    def compare(self, before: str, after: str, **wanted: Any) -> Json:
        """What differs between two versions; ``wanted`` as in the API (``dataset``, ``listed``, ...)."""
        return self._json("GET", f"/models/{in_path(before)}/comparison", params={"with": after} | wanted)
