"""Settings come from RULEWOOD_* variables, refuse nonsense, and are all told in docs/settings.md.

The page is written by ``python -m tests.service.test_settings > docs/settings.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from learners.reasons.nearest.programmes import MAX_PROGRAMMES, MAX_SETS
from learners.reasons.searches.combined_search import MAX_CUTS
from learners.reasons.searches.rule_search import MAX_REGIONS
from learners.reasons.work import MAX_NODES
from learners.reasons.work import MAX_WORK as MAX_NODES_OF_ALL
from service.operations.explanation.importances import MAX_ANSWERS, MAX_SLOW_ANSWERS
from service.operations.explanation.reasoning import MAX_COMBINED_WORK, MAX_LABELS, MAX_ROWS, MAX_WORK
from service.operations.submission.selection import MAX_FITS
from service.registry import NAME_LENGTH
from service.schemas.reasons import MAX_COUNT
from service.settings import Limits, Settings
from service.web.protocol import LEAST_RATE, STALLED_SECONDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


def rows() -> Iterator[str]:
    """A row of the table for every setting and limit."""
    for name, field in Settings.model_fields.items():
        if name != "limits":
            yield _row(f"RULEWOOD_{name.upper()}", field)
    for name, field in Limits.model_fields.items():
        yield _row(f"RULEWOOD_LIMITS_{name.upper()}", field)


def _row(variable: str, field: FieldInfo) -> str:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    default = extra.get("shown_default")
    if default is None:
        assert field.default is not PydanticUndefined, variable
        default = "none" if field.default is None else f"`{str(field.default).lower()}`"
    return f"| `{variable}` | {field.description} | {default} |"


def page() -> str:
    head = "# Settings\n\nEvery setting is an environment variable. A value that is not allowed stops the start.\n\n"
    table = "\n".join(["| name | meaning | default |", "|---|---|---|", *rows()])
    return head + table + "\n\n" + "\n".join(fixed()) + "\n"


def fixed() -> Iterator[str]:
    """The limits that are no settings: they bound the time of one request or job."""
    yield "## Limits that are no settings"
    yield ""
    yield "Past one comes a 413 or 422; past one for a row, or the work of all rows, an answer of the row says so."
    yield ""
    yield "| of one request for counterfactuals or questions | at most |"
    yield "|---|---|"
    yield f"| rows | {MAX_ROWS:,} |"
    yield f"| rows times nodes of the tree, or conditions of the rules | {MAX_WORK:,} (but always one row) |"
    yield f"| the same of a tree with tests of several values | {MAX_COMBINED_WORK:,} (but always one row) |"
    yield f"| levels that the answers may name | {MAX_LABELS:,} (but always one row) |"
    yield f"| counterfactuals for one row | {MAX_COUNT} |"
    yield f"| for each row: regions that overlapping rules leave to be looked at | {MAX_REGIONS:,} |"
    yield f"| for each row: regions cut where at least so many of some conditions shall hold | {MAX_CUTS:,} |"
    sums = f"{MAX_SETS:,} and {MAX_PROGRAMMES:,}"
    yield f"| for each row: sets of columns, and linear programmes, for weighted sums | {sums} |"
    yield f"| for each row: nodes looked at for changed rows that leave some values missing | {MAX_NODES:,} |"
    yield f"| for all rows: such nodes, or what takes as long; half for each row alike | {MAX_NODES_OF_ALL:,} |"
    yield ""
    yield "| elsewhere | at most |"
    yield "|---|---|"
    yield f"| characters of the name of a model or alias | {NAME_LENGTH} |"
    yield f"| fits of a job `select` or `compare` | {MAX_FITS:,} |"
    answers = f"{MAX_ANSWERS:,} of a tree, {MAX_SLOW_ANSWERS:,} of other models"
    yield f"| rows times columns times repeats of importances by permutation | {answers} |"
    yield ""
    yield "| of a connection, which ends past it | |"
    yield "|---|---|"
    seconds = f"{STALLED_SECONDS:g} seconds"
    yield f"| in which a request's head must come, and nothing of an answer may be taken | {seconds} |"
    yield f"| bytes a second of a body, at least, over such a time | {LEAST_RATE} |"


def test_the_page_tells_every_setting() -> None:
    assert PAGE.read_text() == page()


def test_variables_set_settings_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEWOOD_DATA", "/srv/rw")
    monkeypatch.setenv("RULEWOOD_ERROR_DETAIL", "minimal")
    monkeypatch.setenv("RULEWOOD_WORKER", "false")
    monkeypatch.setenv("RULEWOOD_LIMITS_BODY_BYTES", "2048")
    monkeypatch.setenv("RULEWOOD_LIMITS_JOB_SECONDS", "1.5")
    settings = Settings()
    assert settings.data == Path("/srv/rw")
    assert settings.store_url == "sqlite:////srv/rw/store.sqlite3"
    assert settings.cache == Path("/srv/rw/cache")
    assert (settings.error_detail, settings.worker) == ("minimal", False)
    assert (settings.limits.body_bytes, settings.limits.job_seconds) == (2048, 1.5)
    assert settings.limits.rows == Limits().rows


def test_settings_pass_to_other_processes_as_json() -> None:
    settings = Settings(database="postgresql://u:p@h/d", limits=Limits(rows=7))
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


def test_secrets_are_not_shown() -> None:
    settings = Settings(database="postgresql://u:hunter2@h/d", admin_key="rk_" + "hunter2" * 5)
    assert "hunter2" not in repr(settings)
    assert Settings.model_validate_json(settings.model_dump_json()).admin_key is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RULEWOOD_PORT", "70000"),
        ("RULEWOOD_WORKERS", "0"),
        ("RULEWOOD_DATABASE", "mysql://h/d"),
        ("RULEWOOD_DATABASE", "sqlite://"),
        ("RULEWOOD_ERROR_DETAIL", "none"),
        ("RULEWOOD_LIMITS_ROWS", "0"),
        ("RULEWOOD_LIMITS_NONESUCH", "1"),
    ],
)
def test_nonsense_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError):
        Settings()


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1


if __name__ == "__main__":
    sys.stdout.write(page())
