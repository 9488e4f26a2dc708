"""Where the shared data lie: real tables, traps and golden trees that the tests check against."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("RULEWOOD_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def table_path(name: str) -> Path:
    return SHARED / "data" / "tables" / name


def trap_path(name: str) -> Path:
    return SHARED / "data" / "traps" / name


def generated_path(name: str) -> Path:
    return SHARED / "data" / "generated" / name


def golden(name: str) -> str:
    return (SHARED / "data" / "golden" / name).read_text()
