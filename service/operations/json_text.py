"""The encoder of answers: strict JSON, floats in the shortest form that reads back to the same double."""

from __future__ import annotations

import msgspec

#: NaN would come out as null, so callers see to it that there is none.
encode_json = msgspec.json.Encoder().encode
