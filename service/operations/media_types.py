"""What a ``Content-Type`` or a range of ``Accept`` says: the media type, and the charset of its text."""

from __future__ import annotations

import codecs

from service.errors import Fault, UnsupportedMediaType
from service.strict_json import quoted


def media_type_of(header: str) -> str:
    """The media type without its parameters, in small letters."""
    return header.partition(";")[0].strip().lower()


def charset_of(header: str) -> str | None:
    """The parameter ``charset``, without quotes; None where there is none."""
    for parameter in header.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"')
    return None


def codec_of(charset: str) -> str | None:
    """Python's name of a charset, None where it knows none of this name."""
    try:
        return codecs.lookup(charset).name
    except (LookupError, ValueError):
        return None


def require_utf8(header: str) -> None:
    """Refuse text in another charset than UTF-8, of which US-ASCII is a part.

    Raises:
        UnsupportedMediaType: names the charset.
    """
    charset = charset_of(header)
    if charset is not None and codec_of(charset) not in ("utf-8", "ascii"):
        message = f"the charset {quoted(charset)} of Content-Type is not read here; utf-8 is"
        raise UnsupportedMediaType(
            f"The body cannot be read: {message}",
            [Fault(message, parameter="Content-Type", allowed=["utf-8"], value=charset)],
        )
