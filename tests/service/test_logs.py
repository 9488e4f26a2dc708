"""Logs go to what standard error is when they are written."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest

from service.logs import StandardErrorHandler


def test_a_line_is_written_after_an_earlier_standard_error_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed, later = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", closed)
    handler = StandardErrorHandler()
    monkeypatch.setattr(sys, "stderr", later)
    closed.close()
    handler.emit(logging.LogRecord("a", logging.INFO, "a.py", 1, json.dumps({"said": "it"}), None, None))
    assert json.loads(later.getvalue()) == {"said": "it"}
