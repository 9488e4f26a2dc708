"""The command line: help, settings from options and variables, keys, upgrades, refusals."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from service import cli
from service.settings import Settings

run = CliRunner()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options become variables of the process; give them back afterwards."""
    monkeypatch.setattr(os, "environ", dict(os.environ))


@pytest.mark.parametrize(
    "command",
    [[], ["serve"], ["worker"], ["demo"], ["health"], ["compile"], ["db"], ["db", "upgrade"], ["keys"]]
    + [["keys", verb] for verb in ("create", "list", "revoke")],
)
def test_every_command_explains_itself(command: list[str]) -> None:
    shown = run.invoke(cli.app, [*command, "--help"])
    assert shown.exit_code == 0
    assert "Usage" in shown.output


def test_every_option_of_serve_is_a_variable_and_a_setting() -> None:
    shown = run.invoke(cli.app, ["serve", "--help"]).output
    for name in ("host", "port", "data", "database", "workers", "worker", "processes", "error_detail"):
        assert f"RULEWOOD_{name.upper()}" in shown
        assert name in Settings.model_fields


def test_an_option_wins_over_its_variable() -> None:
    os.environ["RULEWOOD_PORT"] = "1000"
    assert cli._settings().port == 1000
    assert cli._settings(port=2000).port == 2000
    assert os.environ["RULEWOOD_PORT"] == "2000"  # API processes read it there


def test_a_setting_that_is_not_allowed_is_named(tmp_path: Path) -> None:
    for options in (["--database", "mysql://x"], ["--error-detail", "chatty"]):
        done = run.invoke(cli.app, ["serve", "--data", str(tmp_path), *options])
        assert done.exit_code == 2
        assert options[0].strip("-").replace("-", "_") in done.output
        assert "Traceback" not in done.output


def test_a_port_that_is_taken_is_named_with_the_way_out(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path), "--no-worker"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run.invoke(cli.app, ["serve", "--port", str(port), *data])
    assert done.exit_code == 1
    assert f"rulewood: port {port} on 127.0.0.1 is in use; choose another with --port" in done.output


def test_an_address_of_another_machine_is_named(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path), "--no-worker"]
    assert run.invoke(cli.app, ["keys", "create", "--name", "me", "--scope", "admin", *data[:2]]).exit_code == 0
    done = run.invoke(cli.app, ["serve", "--host", "192.0.2.1", "--port", "0", *data])
    assert done.exit_code == 1
    assert "192.0.2.1 is no address of this machine" in done.output
    assert "--host" in done.output


def test_a_scope_that_does_not_exist_is_answered_with_those_that_do(tmp_path: Path) -> None:
    done = run.invoke(cli.app, ["keys", "create", "--name", "me", "--scope", "god", "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output == "rulewood: A key has one or more of the scopes predict, train, admin.\n"


def test_the_command_line_is_a_module_too() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "service.cli", "serve", "--help"], capture_output=True, text=True, check=True
    )
    assert "Serve the API" in shown.stdout


def test_keys_are_made_listed_and_revoked(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path)]
    made = run.invoke(cli.app, ["keys", "create", "--name", "me", "--scope", "admin", "--scope", "predict", *data])
    assert made.exit_code == 0, made.output
    key, rest = made.output.split("\n", 1)
    assert key.startswith("rk_")
    key_id = rest.split()[0]
    listed = run.invoke(cli.app, ["keys", "list", *data]).output
    assert key_id in listed
    assert "valid" in listed
    assert key not in listed
    assert run.invoke(cli.app, ["keys", "revoke", key_id, *data]).exit_code == 0
    assert "revoked" in run.invoke(cli.app, ["keys", "list", *data]).output
    unknown = run.invoke(cli.app, ["keys", "revoke", "key_none", *data])
    assert unknown.exit_code == 1
    assert "key_none" in unknown.output
    wrong = run.invoke(cli.app, ["keys", "create", "--name", "me", "--scope", "root", *data])
    assert wrong.exit_code == 1
    assert "scopes" in wrong.output


def test_the_upgrade_works_on_both_databases(empty_database_url: str, tmp_path: Path) -> None:
    for _ in range(2):
        done = run.invoke(cli.app, ["db", "upgrade", "--data", str(tmp_path), "--database", empty_database_url])
        assert done.exit_code == 0, done.output


def test_a_database_out_of_reach_is_told(tmp_path: Path) -> None:
    done = run.invoke(
        cli.app, ["db", "upgrade", "--data", str(tmp_path), "--database", "postgresql://nobody@127.0.0.1:1/none"]
    )
    assert done.exit_code == 1
    assert "Traceback" not in done.output


def test_health_of_nothing_is_bad() -> None:
    assert run.invoke(cli.app, ["health", "--port", "1"]).exit_code == 1
