"""The catalogue and the models of a service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from service.client.connection import Connection
from service.client.content import Json, given, in_path


class Models(Connection):
    """Learners, and what became of them: models, their versions and aliases."""

    def learners(self) -> list[Json]:
        """The catalogue."""
        items: list[Json] = self._json("GET", "/learners")["items"]
        return items

    def learner(self, name: str) -> Json:
        """One learner with the JSON Schema of its parameters."""
        return self._json("GET", f"/learners/{in_path(name)}")

    def models(self) -> Iterator[Json]:
        """All models, the newest first."""
        return self._pages("/models", {})

    def model(self, ref: str) -> Json:
        """A model (``name``) or one of its versions (``name:3``, ``name@champion``)."""
        return self._json("GET", f"/models/{in_path(ref)}")

    def versions(self, name: str) -> Iterator[Json]:
        """The versions of a model, the newest first."""
        return self._pages(f"/models/{in_path(name)}/versions", {})

    def set_alias(self, name: str, alias: str, version: int) -> Json:
        """Let ``name@alias`` mean a version."""
        return self._json("PUT", f"/models/{in_path(name)}/aliases/{in_path(alias)}", json={"version": version})

    def delete_alias(self, name: str, alias: str) -> None:
        """Forget an alias."""
        self._send("DELETE", f"/models/{in_path(name)}/aliases/{in_path(alias)}")

    def annotate(self, name: str, **changes: Any) -> Json:
        """Change ``notes`` or ``tags`` of a model."""
        return self._json("PATCH", f"/models/{in_path(name)}", json=changes)

    def schema(self, ref: str) -> Json:
        """What a model wants: typed inputs with what is allowed, and an example row."""
        return self._json("GET", f"/models/{in_path(ref)}/schema")

    def archive(self, ref: str) -> Json:
        """Archive a version: it answers by number only and is no longer the latest."""
        return self._json("POST", f"/models/{in_path(ref)}/archive")

    def delete_model(self, ref: str, *, force: str | None = None) -> None:
        """Delete a version, or a whole model: with ``force``, its name, although aliases name versions of it."""
        self._send("DELETE", f"/models/{in_path(ref)}", params=given({"force": force}))
