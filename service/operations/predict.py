"""Answering rows: a request's rows in, the answer's JSON out; the same for every door and every format.

A bad row gets its own error and fails no other. Only when every row of a JSON request is bad is the
whole request refused (422), with the rows' faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Literal, get_args

from service import strict_json
from service.errors import Fault, Invalid, TooLarge
from service.operations.json_text import encode_json
from service.operations.rows import (
    Encoded,
    MissingPolicy,
    Options,
    UnseenPolicy,
    encode_matrix,
    encode_records,
    missing_columns,
)
from service.operations.served import ServedModel

#: How a fault is written; quiet mode leaves data out of it.
Describe = Callable[[Fault], dict[str, Any]]
#: Which list an answer holds.
Form = Literal["predictions", "explanations"]

#: Longest list of column names in an answer; beyond it only their number is told.
MAX_NAMES = 100
_ROW_KEYS = ("rows", "columns", "data")
_CHOICES = {"unseen": get_args(UnseenPolicy), "missing": get_args(MissingPolicy)}
#: Rows, from the first, the beginning of whose answers is kept.
_MAX_KEPT_NUMBERS = 10_000
_FLAGS = ("explain", "interval", "strict")
#: What reasons tell anyway, and what each is there.
_TOLD_BY_REASONS = {"explain": "where all answers are explained", "interval": "where reasons tell it"}
_OBJECTS = ("decision",)


@dataclass(frozen=True)
class Bounds:
    """Limits of one request."""

    rows: int = 100_000
    depth: int = 32
    tests: int = 500_000


def read_body(
    body: bytes, model: ServedModel, options: Options, bounds: Bounds, form: Form = "predictions"
) -> tuple[Encoded, Options]:
    """Decode and encode the rows of a JSON request.

    Args:
        body: ``{"rows": [...]}`` or ``{"columns": [...], "data": [...]}``, with options beside.
        model: what the rows are for.
        options: what holds where the body says nothing.
        bounds: limits.
        form: which list the answer holds.

    Raises:
        BadRequest, Invalid, TooLarge: not JSON, not of this form, or too much of it.
    """
    request, bad_numbers = strict_json.decode_sparing(body, bounds.depth, ("rows", "data"))
    if not isinstance(request, dict):
        raise Invalid("The body must be an object with 'rows', or with 'columns' and 'data'")
    if form == "explanations":
        _refuse_what_reasons_tell(request)
    options = read_options(request, options)
    if "rows" in request:
        if "columns" in request or "data" in request:
            raise Invalid("Give 'rows', or 'columns' and 'data', not both", [Fault("too many forms", parameter="rows")])
        rows = _list(request, "rows")
        check_count(len(rows), bounds)
        return with_faults(encode_records(rows, model.inputs, options), bad_numbers), options
    names, data = _names(request), _list(request, "data")
    check_count(len(data), bounds)
    return with_faults(encode_matrix(names, data, model.inputs, options), bad_numbers), options


def _refuse_what_reasons_tell(request: dict[str, Any]) -> None:
    said = [(name, f"{name} has no effect here, {why}") for name, why in _TOLD_BY_REASONS.items() if name in request]
    if said:
        faults = [Fault(f"{message}; leave it out", parameter=name) for name, message in said]
        raise Invalid(f"The request is not valid: {faults[0].message}", faults)


def with_faults(encoded: Encoded, bad_numbers: Mapping[int, list[Fault]]) -> Encoded:
    """Rows of which some hold a number that could not be read, which says more than what came of its absence."""
    return replace(encoded, faults={**encoded.faults, **bad_numbers}) if bad_numbers else encoded


def read_options(request: dict[str, Any], options: Options) -> Options:
    """The options named in a request over those given.

    Raises:
        Invalid: an unknown member or a value that is not allowed.
    """
    given: dict[str, Any] = {}
    faults = []
    for name, value in request.items():
        if name in _ROW_KEYS:
            continue
        if _is_allowed(name, value):
            given[name] = value
        else:
            faults.append(_option_fault(name, value))
    if faults:
        raise Invalid(f"The request is not valid: {faults[0].message}", faults)
    return replace(options, **given) if given else options


def _is_allowed(name: str, value: Any) -> bool:
    if name in _CHOICES:
        return isinstance(value, str) and value in _CHOICES[name]
    return name in _OBJECTS or (name in _FLAGS and isinstance(value, bool))


def _option_fault(name: str, value: Any) -> Fault:
    if name in _CHOICES:
        allowed = list(_CHOICES[name])
        return Fault(f"{name} must be one of {', '.join(allowed)}", parameter=name, allowed=allowed, value=value)
    if name in _FLAGS:
        return Fault(f"{name} must be true or false", parameter=name, allowed=[True, False], value=value)
    known = [*_ROW_KEYS, *_FLAGS, *_CHOICES, *_OBJECTS]
    return Fault(f"there is no member {strict_json.quoted(name)}", parameter=name, allowed=known)


def _list(request: dict[str, Any], name: str) -> list[Any]:
    value = request.get(name)
    if not isinstance(value, list):
        said = "is absent" if name not in request else "is no array"
        raise Invalid(f"'{name}' {said}", [Fault(f"'{name}' must be an array of rows", parameter=name)])
    return value


def _names(request: dict[str, Any]) -> list[Any]:
    if "columns" not in request and "data" not in request:
        raise Invalid(
            "The body has neither 'rows' nor 'columns' and 'data'",
            [Fault("no rows", parameter="rows", allowed=["rows", "columns and data"])],
        )
    return _list(request, "columns")


def check_count(n_rows: int, bounds: Bounds) -> None:
    """Raise :class:`TooLarge` for more rows than one request may have."""
    if n_rows > bounds.rows:
        raise TooLarge(
            f"The request has {n_rows} rows; at most {bounds.rows} are answered at once",
            [Fault("too many rows", parameter="rows", allowed=bounds.rows)],
        )


def answer_rows(
    model: ServedModel,
    encoded: Encoded,
    options: Options,
    describe: Describe,
    form: Form = "predictions",
    *,
    noted: bool = False,
) -> Iterator[bytes]:
    """The members of each row's answer as JSON without braces, in order; an error for a bad row.

    With ``noted`` each row has its own note of absent columns, and so no warning of them.
    """
    bad = encoded.faults
    values = encoded.answered
    answers = iter(model.answers(values, encoded.columns))
    explained = options.explain or form == "explanations"
    reasons = model.explanations(values, encoded.columns) if explained else iter(())
    intervals = model.intervals(values, encoded.columns) if options.interval else iter(())
    missing = missing_columns(encoded, model.inputs.columns, absent_noted=noted)
    for row in range(encoded.n_rows):
        if row in bad:
            yield _error_members(bad[row], describe)
            continue
        members = next(answers)
        if options.interval:
            bounds = next(intervals)
            members += b',"interval":' + encode_json(None if bounds is None else bounds.to_json())
        if row in missing or row in encoded.unseen:
            members += _warning_members(encoded.unseen.get(row, []), missing.get(row, []), options)
        if explained:
            record = next(reasons).to_json()
            if row in encoded.unseen and options.unseen == "other":
                tell_unseen(record, dict(encoded.unseen[row]))
            reason = encode_json(record)
            members += b"," + reason[1:-1] if form == "explanations" else b',"explanation":' + reason
        yield members


def tell_unseen(reason: Any, sent: dict[str, Any]) -> None:
    """Put in a reason the values that the model does not know, which it cannot tell by itself.

    Args:
        reason: JSON values, changed in place.
        sent: by column, the unknown value.
    """
    waiting = [reason]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            column = item.get("column", item.get("condition", item).get("column"))
            for member in ("observed", "before"):
                if member in item and item[member] is None and column in sent:
                    item[member] = sent[column]
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def _error_members(faults: Sequence[Fault], describe: Describe) -> bytes:
    error = {"title": Invalid.title, "errors": [describe(fault) for fault in faults[:20]], "errors_total": len(faults)}
    return b'"error":' + encode_json(error)


def _warning_members(unseen: Sequence[tuple[str, Any]], missing: Sequence[str], options: Options) -> bytes:
    warnings: list[dict[str, Any]] = [
        {"kind": "unseen", "column": name, "value": value, "treated_as": options.unseen} for name, value in unseen
    ]
    if missing:
        treated = {} if options.missing == "as-model" else {"treated_as": options.missing}
        warnings.append({"kind": "missing", "columns": list(missing[:MAX_NAMES]), **treated})
    return b',"warnings":' + encode_json(warnings)


def answer_json(
    model: ServedModel, encoded: Encoded, options: Options, describe: Describe, form: Form = "predictions"
) -> bytes:
    """The whole answer of a JSON request.

    Raises:
        Invalid: every row is bad.
    """
    refuse_if_all_bad(encoded)
    if form == "predictions" and not options.tells_more and _nothing_to_say(encoded):
        return join_answer(model, model.answers(encoded.values, encoded.columns), _tail(encoded))
    members = answer_rows(model, encoded, options, describe, form)
    return join_answer(model, members, _tail(encoded), form)


def _nothing_to_say(encoded: Encoded) -> bool:
    """Whether every row is answered without error or warning."""
    return not encoded.faults and not encoded.unseen and not encoded.has_missing


def join_answer(model: ServedModel, members: Iterable[bytes], tail: bytes, form: Form = "predictions") -> bytes:
    """The answer from its rows' members and what follows them."""
    answers = list(members)
    if len(answers) == 1:  # as below, without the lists, which for one row take longer than the rest
        return b"".join((model.head, _ONE_ROW[form], answers[0], b"}]", tail))
    pieces = [b""] * (2 * len(answers) + 3)
    pieces[0] = b'%b,"%b":[' % (model.head, form.encode())
    pieces[1:-2:2] = _beginnings(len(answers))
    pieces[2:-1:2] = answers
    pieces[-2:] = (b"}]" if answers else b"]"), tail
    return b"".join(pieces)


_ONE_ROW: dict[Form, bytes] = {form: b',"%b":[{"row":0,' % form.encode() for form in get_args(Form)}


def _beginnings(n_rows: int) -> Sequence[bytes]:
    """What stands before each of so many rows' members."""
    return _first_beginnings()[:n_rows] if n_rows <= _MAX_KEPT_NUMBERS else _begin_rows(n_rows)


@cache
def _first_beginnings() -> list[bytes]:
    return _begin_rows(_MAX_KEPT_NUMBERS)


def _begin_rows(n_rows: int) -> list[bytes]:
    return [b'{"row":0,', *(b'},{"row":%d,' % row for row in range(1, n_rows))][:n_rows]


@lru_cache(maxsize=1024)
def plain_tail(n_rows: int) -> bytes:
    """What follows the rows where there is nothing to say."""
    return b',"summary":{"rows":%d,"failed":0}}' % n_rows


def _tail(encoded: Encoded) -> bytes:
    notes: dict[str, Any] = {}
    for name, columns in (("ignored_columns", encoded.ignored), ("absent_columns", encoded.absent)):
        if columns:
            notes[name] = columns[:MAX_NAMES]
        if len(columns) > MAX_NAMES:
            notes[f"{name}_total"] = len(columns)
    notes["summary"] = {"rows": encoded.n_rows, "failed": len(encoded.faults)}
    return b"," + encode_json(notes)[1:]


def refuse_if_all_bad(encoded: Encoded) -> None:
    """Raise :class:`Invalid` with the rows' faults if no row can be answered."""
    if not encoded.n_rows or len(encoded.faults) < encoded.n_rows:
        return
    faults = [fault for row in sorted(encoded.faults) for fault in encoded.faults[row]]
    first = faults[0]
    where = f"row {first.row}" + (f", column {strict_json.quoted(first.column)}" if first.column else "")
    raise Invalid(f"No row can be answered. {where}: {first.message}", faults)
