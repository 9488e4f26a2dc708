"""Datasets of a service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from service.client.connection import Connection
from service.client.content import Json, blocks, given, in_path


class Datasets(Connection):
    """Uploading tables, and looking at them."""

    def upload(
        self,
        file: str | Path | IO[bytes] | bytes,
        *,
        name: str | None = None,
        format: str | None = None,  # noqa: A002 - the API's word
        options: Json | None = None,
    ) -> Json:
        """Upload a table, streamed from the file, and return the dataset."""
        query = {"name": name, "format": format, "options": None if options is None else json.dumps(options)}
        if isinstance(file, str | Path):
            path = Path(file)
            query["name"] = name or path.name
            with path.open("rb") as opened:
                return self._upload(blocks(opened), query)
        return self._upload(file if isinstance(file, bytes) else blocks(file), query)

    def _upload(self, content: bytes | Iterator[bytes], query: dict[str, str | None]) -> Json:
        headers = {"Content-Type": "application/octet-stream"}
        return self._json("POST", "/datasets", params=given(query), content=content, headers=headers)

    def datasets(self, *, name: str | None = None) -> Iterator[Json]:
        """All datasets, the newest first."""
        return self._pages("/datasets", {"name": name})

    def dataset(self, dataset_id: str) -> Json:
        """One dataset: its columns with the evidence for their kinds."""
        return self._json("GET", f"/datasets/{in_path(dataset_id)}")

    def rows(self, dataset_id: str, *, offset: int = 0, limit: int = 20) -> list[Json]:
        """Some rows of a dataset."""
        answer = self._json("GET", f"/datasets/{in_path(dataset_id)}/rows", params={"offset": offset, "limit": limit})
        rows: list[Json] = answer["rows"]
        return rows

    def profile(self, dataset_id: str, *, target: str | None = None) -> Json:
        """What each column of a dataset holds."""
        return self._json("GET", f"/datasets/{in_path(dataset_id)}/profile", params=given({"target": target}))

    def revise(self, dataset_id: str, **options: Any) -> Json:
        """A new dataset from the same file, read with other options (``kinds``, ``orders``, ...)."""
        return self._json("POST", f"/datasets/{in_path(dataset_id)}/revisions", json=options)

    def delete_dataset(self, dataset_id: str, *, force: str | None = None) -> None:
        """Delete a dataset; ``force`` repeats its name to delete what needs it too."""
        self._send("DELETE", f"/datasets/{in_path(dataset_id)}", params=given({"force": force}))
