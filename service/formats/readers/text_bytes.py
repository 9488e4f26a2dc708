"""The bytes of a text file before anything is parsed: checked as UTF-8, or brought to it."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from service.errors import Fault, Invalid, UnsupportedMediaType

_CHUNK = 1 << 20
_BOM = codecs.BOM_UTF8


@dataclass(frozen=True)
class TextFile:
    """A file known to be UTF-8 without NUL.

    Attributes:
        path: where it is.
        start: number of bytes of its byte order mark, 0 or 3.
        has_quotes: whether the quote character occurs in it.
    """

    path: Path
    start: int
    has_quotes: bool


def checked_text(path: Path, codec: str, quote: str | None, folder: Path) -> TextFile:
    """Check a text file, reading it once in small pieces.

    Args:
        path: the file.
        codec: Python's name of its encoding.
        quote: a character to look for.
        folder: where the UTF-8 form of a file in another encoding is put; the caller removes it.

    Raises:
        UnsupportedMediaType: bytes that the encoding does not allow; names the offset and the line.
        Invalid: the file is empty or holds a NUL character.
    """
    if path.stat().st_size == 0:
        raise Invalid("The file is empty", [Fault("empty file: 0 bytes", parameter="file")])
    plain = codec in ("utf-8", "ascii")
    target = path if plain else folder / "utf8.txt"
    mark = quote.encode() if quote is not None else None
    has_quotes = _check_bytes(path, codec, mark) if plain else _transcode(path, codec, target, mark)
    with target.open("rb") as file:
        start = len(_BOM) if file.read(len(_BOM)) == _BOM else 0
    return TextFile(target, start, has_quotes)


def _check_bytes(path: Path, codec: str, mark: bytes | None) -> bool:
    """Decode without keeping the text; blocks that are ASCII, the usual case, are only looked over."""
    decoder = codecs.getincrementaldecoder(codec)("strict")
    has_quotes, offset = False, 0
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            pending = decoder.getstate()[0]
            if pending or not block.isascii():
                _decode(decoder, block, path, codec, offset)
            _refuse_nul(block, path, offset)
            has_quotes = has_quotes or (mark is not None and mark in block)
            offset += len(block)
    _decode(decoder, b"", path, codec, offset, final=True)
    return has_quotes


def _transcode(path: Path, codec: str, target: Path, mark: bytes | None) -> bool:
    decoder = codecs.getincrementaldecoder(codec)("strict")
    has_quotes, offset = False, 0
    with path.open("rb") as source, target.open("wb") as sink:
        while block := source.read(_CHUNK):
            text = _decode(decoder, block, path, codec, offset)
            offset += len(block)
            data = text.encode()
            _refuse_nul(data, target, sink.tell())
            has_quotes = has_quotes or (mark is not None and mark in data)
            sink.write(data)
        sink.write(_decode(decoder, b"", path, codec, offset, final=True).encode())
    return has_quotes


def _decode(
    decoder: codecs.IncrementalDecoder, block: bytes, path: Path, codec: str, offset: int, *, final: bool = False
) -> str:
    pending = decoder.getstate()[0]
    before = offset - len(pending) if isinstance(pending, bytes) else offset
    try:
        return decoder.decode(block, final)
    except UnicodeDecodeError as error:
        at = before + error.start
        bad = error.object[error.start : error.start + 1]
        line = _line_at(path, at)
        raise UnsupportedMediaType(
            f"The file is not {codec.upper()}: byte 0x{bad.hex()} at offset {at} (line {line}); "
            "name its encoding in the option 'encoding'",
            [Fault(f"not {codec.upper()} at byte offset {at}", line=line, parameter="options.encoding")],
        ) from None
    except UnicodeError as error:  # e.g. UTF-16 or UTF-32 whose first bytes are no byte-order mark
        raise UnsupportedMediaType(
            f"The file is not {codec.upper()} at byte offset {before}: {error}; "
            "name its encoding in the option 'encoding'",
            [Fault(f"not {codec.upper()} at byte offset {before}", line=1, parameter="options.encoding")],
        ) from None


def _refuse_nul(block: bytes, path: Path, offset: int) -> None:
    found = block.find(b"\0")
    if found < 0:
        return
    at = offset + found
    # What was written of a transcoded file ends at ``offset``; the rest of the count comes from the block.
    line = _line_at(path, offset) + _newlines(block[:found])
    raise Invalid(
        f"The file holds a NUL character at byte offset {at} (line {line})",
        [Fault(f"NUL character at byte offset {at}; no text may hold one", line=line)],
    )


def _line_at(path: Path, offset: int) -> int:
    """The 1-based line of a byte offset."""
    line = 1
    with path.open("rb") as file:
        while offset > 0 and (block := file.read(min(_CHUNK, offset))):
            line += _newlines(block)
            offset -= len(block)
    return line


def _newlines(block: bytes) -> int:
    return block.count(b"\n") or block.count(b"\r")
