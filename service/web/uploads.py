"""Receiving a file: the body or its multipart part goes to disk as it comes, never into memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from service.errors import BadRequest, Fault, Invalid, TooLarge
from service.strict_json import quoted
from service.temporary import temporary_folder

#: Bytes gathered before they are written, so that small chunks cost few changes of thread.
_WRITE_SIZE = 1024 * 1024
_FIELD_LIMIT = 1024 * 1024
_FIELDS = ("name", "format", "options")


@dataclass
class Upload:
    """A file received, and what was said about it.

    Attributes:
        path: where it lies; deleted when the request ends.
        filename: the caller's name of the file, or None.
        content_type: the ``Content-Type`` of the file itself, or None.
        fields: text fields that came beside it in a multipart body.
    """

    path: Path
    filename: str | None = None
    content_type: str | None = None
    fields: dict[str, str] = field(default_factory=dict)


@asynccontextmanager
async def receive(request: Request, scratch: Path) -> AsyncIterator[Upload]:
    """The request's file in a temporary folder beneath ``scratch``, for as long as the context lasts.

    Raises:
        BadRequest: a malformed multipart body. TooLarge: more bytes than allowed came.
        Invalid: none or more than one file in a form, or an unknown field.
    """
    with temporary_folder(scratch, "upload") as folder, (folder / "file").open("xb") as file:
        upload = Upload(folder / "file")
        media_type = request.headers.get("content-type", "")
        try:
            if media_type.lower().startswith("multipart/"):
                await _Multipart(upload, media_type).read(request, file)
            else:
                upload.content_type = media_type or None
                await _copy(request, file)
        except ClientDisconnect:
            raise BadRequest("The caller went away before the upload was complete") from None
        yield upload


async def _copy(request: Request, file: IO[bytes]) -> None:
    pending = bytearray()
    async for chunk in request.stream():
        pending += chunk
        if len(pending) >= _WRITE_SIZE:
            await run_in_threadpool(file.write, bytes(pending))
            pending.clear()
    await run_in_threadpool(file.write, bytes(pending))
    await run_in_threadpool(file.flush)


class _Multipart:
    """A push parser that keeps small text fields and lets the one file flow to disk."""

    def __init__(self, upload: Upload, media_type: str) -> None:
        self.upload = upload
        kind, options = parse_options_header(media_type)
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise BadRequest(
                "A multipart body must be multipart/form-data with a boundary",
                [Fault("malformed Content-Type", parameter="Content-Type", value=media_type)],
            )
        self.parser = MultipartParser(
            options[b"boundary"],
            {
                "on_part_begin": self.begin_part,
                "on_header_field": self.header_name,
                "on_header_value": self.header_value,
                "on_header_end": self.end_header,
                "on_headers_finished": self.begin_content,
                "on_part_data": self.content,
                "on_part_end": self.end_part,
                "on_end": self.end,
            },
        )
        self.pending = bytearray()
        self.has_file = self.complete = False
        self.begin_part()

    def begin_part(self) -> None:
        self.headers: dict[bytes, bytes] = {}
        self.name = bytearray()
        self.value = bytearray()
        self.text = bytearray()
        self.is_file = False
        self.field = ""

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self.name += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self.value += data[start:end]

    def end_header(self) -> None:
        self.headers[bytes(self.name).lower()] = bytes(self.value)
        self.name.clear()
        self.value.clear()

    def begin_content(self) -> None:
        _, options = parse_options_header(self.headers.get(b"content-disposition", b""))
        self.field = options.get(b"name", b"").decode("utf-8", "replace")
        self.is_file = self.field == "file"
        if self.is_file:
            self._begin_file(options.get(b"filename", b""))
        elif self.field not in _FIELDS:
            message = f"The form has a field {quoted(self.field)}; it may have file, {', '.join(_FIELDS)}"
            if b"filename" in options:
                message += ". The file itself goes in the field file"
            raise Invalid(message, [Fault("unknown field", parameter=self.field, allowed=["file", *_FIELDS])])
        elif self.field in self.upload.fields:
            message = f"the field {self.field} is given more than once; it may be given once"
            raise Invalid(f"The form is not valid: {message}", [Fault(message, parameter=self.field, allowed="once")])

    def _begin_file(self, filename: bytes) -> None:
        if self.has_file:
            raise Invalid(
                "The form holds more than one file; upload each as a dataset of its own",
                [Fault("more than one file in the form", parameter="file", allowed="one file")],
            )
        self.has_file = True
        self.upload.filename = filename.decode("utf-8", "replace") or None
        media_type = self.headers.get(b"content-type", b"").decode("latin-1")
        self.upload.content_type = media_type or None

    def content(self, data: bytes, start: int, end: int) -> None:
        if self.is_file:
            self.pending += data[start:end]
            return
        self.text += data[start:end]
        if len(self.text) > _FIELD_LIMIT:
            raise TooLarge(
                f"The field {quoted(self.field)} is longer than {_FIELD_LIMIT} bytes",
                [Fault("the field is too long", parameter=self.field, allowed=_FIELD_LIMIT)],
            )

    def end_part(self) -> None:
        if not self.is_file:
            try:
                self.upload.fields[self.field] = self.text.decode("utf-8")
            except UnicodeDecodeError:
                message = f"The field {quoted(self.field)} is not UTF-8"
                raise BadRequest(message, [Fault(message, parameter=self.field)]) from None

    def end(self) -> None:
        self.complete = True

    async def read(self, request: Request, file: IO[bytes]) -> None:
        """Take the whole body in; the file's content goes into ``file``."""
        try:
            async for chunk in request.stream():
                self.parser.write(chunk)
                if len(self.pending) >= _WRITE_SIZE:
                    await self._flush(file)
            self.parser.finalize()
        except FormParserError as error:
            raise BadRequest(f"The multipart body is malformed: {error}") from None
        await self._flush(file)
        if not self.complete:
            raise BadRequest("The multipart body ends before its last boundary")
        if not self.has_file:
            raise Invalid("The form holds no file", [Fault("no file in the form", parameter="file")])

    async def _flush(self, file: IO[bytes]) -> None:
        await run_in_threadpool(file.write, bytes(self.pending))
        self.pending.clear()
        await run_in_threadpool(file.flush)
