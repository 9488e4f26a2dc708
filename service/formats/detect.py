"""Which format a file has: as said, else by its name, its content type, or its first bytes."""

from __future__ import annotations

import re
from pathlib import Path

from service.errors import Fault, UnsupportedMediaType
from service.formats.options import FORMATS

_BY_EXTENSION = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".arff": "arff",
}
_BY_CONTENT_TYPE = {
    "text/csv": "csv",
    "application/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/vnd.apache.arrow.file": "arrow",
    "application/vnd.apache.arrow.stream": "arrow",
    "text/x-arff": "arff",
    "application/x-arff": "arff",
}
_MAGIC = ((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"\xff\xff\xff\xff", "arrow"))
_FOREIGN = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip (or a spreadsheet)"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet"),
    (b"%PDF", "PDF"),
)
_ARFF = re.compile(rb"(\s|%[^\n]*\n)*@relation\b", re.IGNORECASE)


def detect_format(path: Path, declared: str | None, filename: str | None, content_type: str | None) -> str:
    """One of :data:`~service.formats.options.FORMATS`.

    Args:
        path: the file.
        declared: the format if the caller said it; believed.
        filename: the name under which it came, or None.
        content_type: the type under which it came, or None.

    Raises:
        UnsupportedMediaType: it is of a kind known not to be read here.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    for magic, name in _FOREIGN:
        if head.startswith(magic):
            raise UnsupportedMediaType(
                f"The file is {name}; send it as one of {', '.join(FORMATS)}, not compressed",
                [Fault("unsupported format", parameter="format", allowed=list(FORMATS))],
            )
    if declared is not None:
        return declared
    by_name = _BY_EXTENSION.get(Path(filename).suffix.lower()) if filename else None
    by_type = _BY_CONTENT_TYPE.get(content_type.partition(";")[0].strip().lower()) if content_type else None
    return by_name or by_type or _by_head(head)


def _by_head(head: bytes) -> str:
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _ARFF.match(text):
        return "arff"
    if text.startswith(b"[") or re.match(rb'\{\s*"rows"\s*:\s*\[', text):
        return "json"
    if text.startswith(b"{"):
        return "ndjson"
    return "tsv" if b"\t" in text.partition(b"\n")[0] else "csv"
