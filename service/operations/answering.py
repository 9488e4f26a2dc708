"""One prediction request from body to body: what the route and the fast door both call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from service import strict_json
from service.errors import Fault, NotAcceptable, UnsupportedMediaType
from service.formats.json_numbers import count_letter
from service.operations.codec import LARGE, to_matrix
from service.operations.media_types import media_type_of, require_utf8
from service.operations.policies import under_policies
from service.operations.predict import (
    Bounds,
    Describe,
    Form,
    answer_json,
    check_count,
    join_answer,
    plain_tail,
    read_body,
)
from service.operations.reason_sizes import check_reasons
from service.operations.row_formats import PLAIN_BATCH, RowFormat, SentRows, in_batches, read_rows, write_rows
from service.operations.rows import Encoded, Options
from service.operations.served import ServedModel

Format = Literal["json", "csv", "tsv", "ndjson", "arrow"]

MEDIA_TYPES: dict[Format, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
}
_FORMATS: dict[str, Format] = {media_type: name for name, media_type in MEDIA_TYPES.items()} | {
    "application/jsonl": "ndjson",
    "application/ndjson": "ndjson",
}
_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?|\.[0-9]{1,3}")
#: Bodies from this size on are not even read while others wait.
IN_THREAD = 150_000


@dataclass(frozen=True)
class Reply:
    """An answer: all of it, or its pieces as they are made."""

    media_type: str
    body: bytes | Iterator[bytes]


@dataclass(frozen=True)
class Call:
    """What is asked, apart from the rows.

    Attributes:
        sent, wanted: formats of the body and of the answer.
        options: what holds where a JSON body says nothing.
        form: which list the answer holds.
    """

    sent: Format = "json"
    wanted: Format = "json"
    options: Options = field(default_factory=Options)
    form: Form = "predictions"


def format_of(content_type: str | None) -> Format:
    """The format that a ``Content-Type`` names.

    Raises:
        UnsupportedMediaType: another, or none, or text in another charset than UTF-8.
    """
    media_type = media_type_of(content_type or "")
    found = _FORMATS.get(media_type)
    if found is None:
        raise UnsupportedMediaType(
            f"Rows are sent as {', '.join(MEDIA_TYPES.values())}, not as {strict_json.quoted(media_type or 'nothing')}",
            [Fault("Content-Type not supported", parameter="Content-Type", allowed=list(MEDIA_TYPES.values()))],
        )
    if found != "arrow":
        require_utf8(content_type or "")
    return found


def format_wanted(accept: str | None, sent: Format) -> Format:
    """The format that an ``Accept`` header (RFC 9110, section 12.5.1) prefers; that of the body where any will do.

    Each format has the weight of the most specific range that covers it, and none without weight is given. Of
    equal weights that of a range that names the format itself comes first, then the order in the header.

    Raises:
        NotAcceptable: it names others only.
    """
    ranges: dict[str, tuple[float, int]] = {}
    for place, part in enumerate((accept or "").split(",")):
        media_type = media_type_of(part)
        if media_type or part.strip():
            ranges.setdefault(media_type, (_weight(part), place))
    ranges = ranges or {"*/*": (1.0, 0)}
    by_liking: list[Format] = [sent, *(name for name in MEDIA_TYPES if name != sent)]
    found = [(name, _preference(media_type, ranges)) for name in by_liking for media_type in _names(name)]
    acceptable = [one for one in found if one[1][0] > 0]
    if not acceptable:
        raise NotAcceptable(
            f"Answers are given as {', '.join(MEDIA_TYPES.values())}",
            [Fault("Accept names none of them", parameter="Accept", allowed=list(MEDIA_TYPES.values()))],
        )
    return max(acceptable, key=lambda one: one[1])[0]


def _names(name: Format) -> list[str]:
    return [media_type for media_type, known in _FORMATS.items() if known == name]


def _preference(media_type: str, ranges: dict[str, tuple[float, int]]) -> tuple[float, bool, int]:
    """What orders media types: weight, whether named itself, and how early in the header."""
    for wanted in (media_type, f"{media_type.partition('/')[0]}/*", "*/*"):
        if wanted in ranges:
            weight, place = ranges[wanted]
            return weight, wanted == media_type, -place
    return 0.0, False, 0


def _weight(media_range: str) -> float:
    """The ``q`` of a range, 1 where it has none that can be read."""
    for parameter in media_range.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            found = _WEIGHT.fullmatch(value.strip())
            return float(found[0]) if found else 1.0
    return 1.0


def answer(
    model: ServedModel, body: bytes, call: Call, bounds: Bounds, describe: Describe, count: Callable[[int], None]
) -> Reply:
    """Answer one request.

    Args:
        model: which answers.
        body: what was sent.
        call: what is asked.
        bounds: limits.
        describe: how faults of rows are written.
        count: told how many rows are being answered.

    Raises:
        BadRequest, Invalid, TooLarge: see :mod:`service.operations.predict`. TooLarge too where the explanations
            go through more tests than ``bounds`` allows.
    """
    options = call.options
    read: Encoded | SentRows
    if call.sent == "json":
        read, options = _read_json(model, body, call, bounds)
    else:
        read = _read_others(model, body, call.sent, options, bounds)
    model = under_policies(model, options)
    media_type = MEDIA_TYPES[call.wanted]
    explained = options.explain or call.form == "explanations"
    if call.wanted == "json":
        encoded = read if isinstance(read, Encoded) else read.encode(model, options)
        if explained:
            check_reasons(model, (encoded,), bounds.tests)
        count(encoded.n_rows)
        return Reply(media_type, answer_json(model, encoded, options, describe, call.form))
    if isinstance(read, Encoded):
        batches = iter((read,)) if call.sent == "json" else in_batches(read)
    else:
        batches = read.batches(model, options)
    if explained:  # looked at as a whole, for what is being sent cannot be refused any more
        kept = list(batches)
        check_reasons(model, kept, bounds.tests)
        batches = iter(kept)
    lines = write_rows(model, _counted(batches, count), options, describe, call.wanted, call.form)
    return Reply(media_type, b"".join(lines) if _is_short(read, call) else lines)


def _is_short(read: Encoded | SentRows, call: Call) -> bool:
    """Whether an answer to plain rows is written before it is sent."""
    quick = not call.options.tells_more and call.form == "predictions"
    return isinstance(read, Encoded) and call.sent in ("csv", "arrow") and read.n_rows <= PLAIN_BATCH and quick


def _read_others(
    model: ServedModel, body: bytes, sent: RowFormat, options: Options, bounds: Bounds
) -> Encoded | SentRows:
    if sent in ("csv", "arrow") and options.missing != "reject":
        encoded = model.codec.read_csv(body) if sent == "csv" else model.codec.read_arrow(body, bounds.rows)
        if encoded is not None:
            check_count(encoded.n_rows, bounds)
            return encoded
    return read_rows(body, sent, bounds, model.inputs.encoder)


def _counted(batches: Iterator[Encoded], count: Callable[[int], None]) -> Iterator[Encoded]:
    for encoded in batches:
        count(encoded.n_rows)
        yield encoded


def _read_json(model: ServedModel, body: bytes, call: Call, bounds: Bounds) -> tuple[Encoded, Options]:
    if len(body) >= LARGE and call.options.missing != "reject":
        encoded = model.codec.read_large(body, call.options, bounds.depth)
        if encoded is not None:
            check_count(encoded.n_rows, bounds)
            return encoded, call.options
    return read_body(body, model, call.options, bounds, call.form)


def answer_fast(model: ServedModel, body: bytes, bounds: Bounds, describe: Describe) -> tuple[bytes, int] | None:
    """The answer of a simple JSON request without query, and its rows.

    None where it is not simple, or where its answer would keep others waiting, which the route's thread does not.
    """
    read = model.codec.read_small(body)
    if read is None:
        return None
    rows, explain, complete = read
    if not 0 < len(rows) <= bounds.rows or not model.answers_quickly(len(rows), complete=complete):
        return None
    if complete:
        members = model.answer_plain(rows, explain=explain)
        if members is not None:
            return join_answer(model, members, plain_tail(len(rows))), len(rows)
    if explain and not model.explains_quickly(len(rows)):
        return None  # long reasons are not written while other requests wait
    encoded = Encoded(to_matrix(rows, len(model.inputs.columns)))
    return answer_json(model, encoded, Options(explain=explain), describe), len(rows)


def answer_large(model: ServedModel, body: bytes, bounds: Bounds, describe: Describe) -> tuple[bytes, int] | None:
    """The same for a body of any size, to be called in a thread."""
    if len(body) < LARGE:
        return answer_fast(model, body, bounds, describe)
    if _may_be_too_many(len(body), len(model.inputs.columns), bounds) and (
        max(count_letter(body, b"{") - 1, count_letter(body, b"[") - 2) > bounds.rows
    ):
        return None  # likely too many rows, which the route tells: they are not read twice
    encoded = model.codec.read_large(body, Options(), bounds.depth)
    if encoded is None or encoded.n_rows > bounds.rows:
        return None
    return answer_json(model, encoded, Options(), describe), encoded.n_rows


def _may_be_too_many(n_bytes: int, n_columns: int, bounds: Bounds) -> bool:
    """Whether so many bytes have room for more rows than allowed, of a character and a comma a cell: most have not."""
    return n_bytes > bounds.rows * (2 * n_columns + 1)


def answer_csv(model: ServedModel, body: bytes, bounds: Bounds, describe: Describe) -> tuple[bytes, int] | None:
    """The same for CSV of numbers, answered in CSV; of any size, but for one so large to be called in a thread."""
    encoded = model.codec.read_csv(body)
    if encoded is None or encoded.n_rows > min(bounds.rows, PLAIN_BATCH):
        return None
    if len(body) < IN_THREAD and not model.answers_quickly(encoded.n_rows, complete=encoded.is_plain):
        return None
    return _answer_rows(model, encoded, describe, "csv")


def answer_arrow(model: ServedModel, body: bytes, bounds: Bounds, describe: Describe) -> tuple[bytes, int] | None:
    """The same for an Arrow stream of numbers, to be called in a thread: the first one loads a large library."""
    encoded = model.codec.read_arrow(body, min(bounds.rows, PLAIN_BATCH))
    return None if encoded is None else _answer_rows(model, encoded, describe, "arrow")


def _answer_rows(model: ServedModel, encoded: Encoded, describe: Describe, row_format: RowFormat) -> tuple[bytes, int]:
    return b"".join(write_rows(model, iter((encoded,)), Options(), describe, row_format)), encoded.n_rows
