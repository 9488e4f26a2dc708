"""The dialect of a CSV file: its delimiter, its header, and where the rows begin."""

from __future__ import annotations

import codecs
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from service.errors import Fault, Invalid
from service.formats.options import ReadOptions
from service.formats.readers.csv_text import UnclosedQuote, records
from service.formats.readers.text_bytes import TextFile

#: The header and the records that the delimiter is told from lie within this many bytes.
HEAD_BYTES = 1 << 20
_SAMPLE_RECORDS = 100
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Dialect:
    """What is known of a CSV file once its head has been read.

    Attributes:
        delimiter: the character between cells.
        quote: the character round cells, or None if it does not occur in the file.
        names: of the columns, as written.
        start: byte offset of the first row.
        row_bytes: length of the longest row looked at, in bytes.
    """

    delimiter: str
    quote: str | None
    names: list[str]
    start: int
    row_bytes: int


def read_dialect(file: TextFile, options: ReadOptions, delimiter: str | None) -> Dialect:
    """Look at the head of a file.

    Args:
        file: a checked text file.
        options: how to read it.
        delimiter: the delimiter if it is known, else it is found out.

    Raises:
        Invalid: there is no header, or it cannot be read.
    """
    with file.path.open("rb") as source:
        source.seek(file.start)
        head = source.read(HEAD_BYTES)
        whole = len(head) < HEAD_BYTES
    text = codecs.getincrementaldecoder("utf-8")("strict").decode(head, final=whole)
    quote = options.quote if file.has_quotes else None
    known = delimiter or sniff_delimiter(text, quote)
    sample = _sample(text, known, quote)
    if not sample:
        _refuse_head(text, known, quote)
    first, _, end = sample[0]
    longest = max(later[2] - earlier[2] for earlier, later in zip([([], 0, 0), *sample], sample, strict=False))
    if options.header:
        start = file.start + len(text[:end].encode())
        return Dialect(known, quote, [name or "" for name in first], start, longest)
    return Dialect(known, quote, [f"column_{number}" for number in range(1, len(first) + 1)], file.start, longest)


def _sample(text: str, delimiter: str, quote: str | None) -> list[tuple[list[str | None], int, int]]:
    sample: list[tuple[list[str | None], int, int]] = []
    with suppress(UnclosedQuote):  # the head may cut a quoted cell in two; what came before is good
        sample.extend(islice(records(text, delimiter, quote), _SAMPLE_RECORDS))
    return sample


def _refuse_head(text: str, delimiter: str, quote: str | None) -> None:
    try:
        next(records(text, delimiter, quote), None)
    except UnclosedQuote as error:
        raise Invalid(
            f"The header cannot be read: {error}", [Fault("a quote is opened and never closed", line=error.line)]
        ) from None
    raise Invalid(
        "The file is empty: it has only blank lines", [Fault("empty file: nothing but blank lines", parameter="file")]
    )


def sniff_delimiter(text: str, quote: str | None) -> str:
    """The delimiter for which most records have as many cells as the first; of equals the one with most cells."""
    best, best_score = _DELIMITERS[0], (0.0, 0)
    for candidate in _DELIMITERS:
        counts = [len(cells) for cells, _, _ in _sample(text, candidate, quote)]
        if not counts or counts[0] < 2:
            continue
        score = (sum(count == counts[0] for count in counts) / len(counts), counts[0])
        if score > best_score:
            best, best_score = candidate, score
    return best
