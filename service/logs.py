"""Logs as JSON, one object a line, on standard error."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

#: The logger of everything here; a request's line carries its fields in ``fields``.
logger = logging.getLogger("rulewood")


class JsonFormatter(logging.Formatter):
    """One strict-JSON object a record: time, level, logger, message, fields, and the trace of an error."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class StandardErrorHandler(logging.Handler):
    """Writes to what standard error is when a line is written; a stream kept from before may be closed by then."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


def configure(level: str = "info") -> None:
    """Send every log line of the process through :class:`JsonFormatter` to standard error."""
    handler = StandardErrorHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("rulewood", "uvicorn", "uvicorn.error"):
        named = logging.getLogger(name)
        named.handlers[:] = []
        named.propagate = True
        named.setLevel(level.upper())
    # The engine's library adds a handler that writes plain text, unless its logger has one already.
    engine = logging.getLogger("dbos")
    engine.handlers[:] = [logging.NullHandler()]
    engine.propagate = True
