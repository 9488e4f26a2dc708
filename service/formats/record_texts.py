"""Prediction rows that come as CSV or NDJSON text, up to the point where they are values by column."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass

from service.errors import BadRequest, Fault, Invalid, UnsupportedMediaType
from service.formats.readers.csv_dialect import sniff_delimiter
from service.formats.readers.csv_quotes import fault_of, first_doubt
from service.formats.readers.csv_text import UnclosedQuote, records, rows


@dataclass(frozen=True)
class CsvRows:
    """A CSV text: the header's names, the cells (None for an empty one), and the line of each row."""

    names: list[str]
    data: list[list[str | None]]
    lines: list[int]


def read_csv(body: bytes, delimiter: str | None = None, quote: str | None = '"') -> CsvRows:
    """Split a CSV text with a header into cells; an empty cell is None, an empty text in quotes is ``""``.

    Args:
        body: UTF-8, with or without byte order mark.
        delimiter: the character between cells, or None to tell it from the first rows.
        quote: the character round cells, or None for none.

    Raises:
        UnsupportedMediaType: not UTF-8; names the byte.
        BadRequest: a quote is never closed, or could be read in several ways.
        Invalid: a NUL character, or not even a header.
    """
    text = _text(body)
    known = delimiter or sniff_delimiter(text[:100_000], quote)
    if quote is not None and quote in text:
        _refuse_doubtful(text, known, quote)
    found, lines = rows(text, known, quote)
    if not found:
        raise Invalid("The CSV text is empty: it has no header", [Fault("no header", line=1)])
    return CsvRows([name or "" for name in found[0]], found[1:], lines[1:])


def _refuse_doubtful(text: str, delimiter: str, quote: str) -> None:
    """Refuse quotes that could be read in several ways, or in none, as the upload of a file does."""
    doubt = first_doubt(io.BytesIO(text.encode()), delimiter, quote)
    if doubt is not None:
        names: list[str] = []
        with suppress(UnclosedQuote):  # of the header
            names = [name or "" for name in next(records(text, delimiter, quote))[0]]
        fault = fault_of(doubt, io.StringIO(text, newline=""), delimiter, quote, names)
        raise BadRequest(f"The CSV text cannot be read: {fault.message}", [fault])


def _text(body: bytes) -> str:
    if b"\0" in body:
        at = body.index(b"\0")
        raise Invalid(
            f"The text holds a NUL character at byte offset {at}",
            [Fault(f"NUL character at byte offset {at}", line=1 + body.count(b"\n", 0, at))],
        )
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start + (3 if body.startswith(b"\xef\xbb\xbf") else 0)
        raise UnsupportedMediaType(
            f"The text is not UTF-8: byte 0x{body[at]:02x} at offset {at}",
            [Fault(f"not UTF-8 at byte offset {at}", line=1 + body.count(b"\n", 0, at))],
        ) from None
