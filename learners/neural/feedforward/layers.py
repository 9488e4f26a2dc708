"""A network of layers as the base of all networks stores it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from learners.neural import forward
from learners.neural.layout import Layout
from learners.types import Array


class Layers(forward.Network):
    """A feed-forward network, see there, with its layout beside its weights."""

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return self.layout.to_json(), self.to_arrays()

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        return cls.from_arrays(Layout.from_json(dict(header)), dict(arrays))
