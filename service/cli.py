"""The command ``rulewood``. Every option is also a variable ``RULEWOOD_*``; the option wins."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from pydantic import ValidationError

from service.settings import Settings
from service.web.wording import said_of

if TYPE_CHECKING:
    from service.store.session import Store

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Models you can read, behind an HTTP API.",
)
database_commands = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The tables of the store.")
key_commands = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="API keys: who may do what.")
app.add_typer(database_commands, name="db")
app.add_typer(key_commands, name="keys")

DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar="RULEWOOD_DATA", help="Folder of the store and cache. [default: ./rulewood-data]"),
]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="RULEWOOD_DATABASE",
        show_envvar=True,
        help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME. [default: store.sqlite3 in the data folder]",
    ),
]
ProcessesOption = Annotated[
    int | None,
    typer.Option("--processes", envvar="RULEWOOD_PROCESSES", min=1, help="Training processes. [default: cores - 1]"),
]
WorkspaceOption = Annotated[str, typer.Option("--workspace", help="Workspace of the key.")]


@app.command()
def serve(
    host: Annotated[
        str | None,
        typer.Option(
            "--host", envvar="RULEWOOD_HOST", help="Address; any but loopback needs a key. [default: 127.0.0.1]"
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", envvar="RULEWOOD_PORT", min=0, max=65535, help="0 takes a free one. [default: 8000]"),
    ] = None,
    data: DataOption = None,
    database: DatabaseOption = None,
    workers: Annotated[
        int | None, typer.Option("--workers", envvar="RULEWOOD_WORKERS", min=1, help="API processes. [default: 1]")
    ] = None,
    worker: Annotated[
        bool | None,
        typer.Option("--worker/--no-worker", envvar="RULEWOOD_WORKER", help="Run a training worker beside the API."),
    ] = None,
    processes: ProcessesOption = None,
    error_detail: Annotated[
        str | None,
        typer.Option(
            "--error-detail",
            envvar="RULEWOOD_ERROR_DETAIL",
            help="full, or minimal: no values of the data in errors. [default: full]",
        ),
    ] = None,
) -> None:
    """Serve the API, with a training worker beside it."""
    # Starting makes many objects and no garbage: the collector would walk over all of them again and again.
    gc.disable()
    from service import logs
    from service.errors import ServiceError
    from service.serve import NoKeyError, NoPortError, prepare, run

    settings = _settings(
        host=host,
        port=port,
        data=data,
        database=database,
        workers=workers,
        worker=worker,
        processes=processes,
        error_detail=error_detail,
    )
    logs.configure()
    try:
        prepare(settings)
        run(settings)
    except (NoKeyError, NoPortError, ServiceError, OSError) as error:
        _fail(str(error))


@app.command()
def worker(data: DataOption = None, database: DatabaseOption = None, processes: ProcessesOption = None) -> None:
    """Work on jobs; any number of workers may share a PostgreSQL store."""
    from service import logs
    from service.errors import ServiceError
    from service.worker import AlreadyRunningError, run_worker

    logs.configure()
    try:
        run_worker(_settings(data=data, database=database, processes=processes))
    except (AlreadyRunningError, ServiceError) as error:
        _fail(str(error))


@app.command()
def demo() -> None:
    """Start a service, then upload, train, cross-validate, predict and explain over HTTP on real data."""
    from service.client import RulewoodError
    from service.demo.road import DemoError, run

    try:
        run(sys.stdout.write)
    except (RulewoodError, DemoError) as error:
        _fail(str(error))


@app.command()
def health(
    port: Annotated[int | None, typer.Option("--port", envvar="RULEWOOD_PORT", help="[default: 8000]")] = None,
) -> None:
    """Ask the service on this machine whether it is ready; exit code 0 if it is."""
    from service.client import Rulewood

    settings = _settings(port=port)
    host = settings.host if settings.host not in ("0.0.0.0", "::") else "127.0.0.1"  # noqa: S104 - compared, not bound
    with Rulewood(f"http://{f'[{host}]' if ':' in host else host}:{settings.port}", timeout=5.0) as client:
        if not client.is_ready():
            _fail("the service is not ready")
    _say("ready")


@app.command("compile")
def compile_kernels() -> None:
    """Compile the learners' kernels into numba's cache, so that no first training waits for the compiler."""
    from service.operations.work import compile_for_good

    compile_for_good()
    _say("compiled")


@database_commands.command("upgrade")
def upgrade(data: DataOption = None, database: DatabaseOption = None) -> None:
    """Make the tables, or bring them up to date; `serve` and `worker` do so too."""
    with _opened_store(data, database):
        _say("the store is up to date")


@key_commands.command("create")
def create_key(
    name: Annotated[str, typer.Option("--name", help="For people: what the key is for.")],
    scope: Annotated[list[str], typer.Option("--scope", help="predict, train or admin (holds the others); repeat it.")],
    workspace: WorkspaceOption = "default",
    data: DataOption = None,
    database: DatabaseOption = None,
) -> None:
    """Make a key. It is printed once; the store keeps only its hash."""
    from service.operations import keys

    with _opened_store(data, database) as store:
        row, key = keys.create(store, workspace, name, scope)
    _say(f"{key}\n{row.id} with {', '.join(row.scopes)} in workspace {row.workspace}; it is not shown again")


@key_commands.command("list")
def list_keys(workspace: WorkspaceOption = "default", data: DataOption = None, database: DatabaseOption = None) -> None:
    """List the keys of a workspace, without their secrets."""
    from service.operations import keys

    with _opened_store(data, database) as store:
        for row in keys.list_all(store, workspace):
            state = "revoked" if row.revoked_at else "valid"
            _say(f"{row.id}  {state:7}  {','.join(row.scopes):20}  {row.name}")


@key_commands.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(help="Its id, key_...")],
    workspace: WorkspaceOption = "default",
    data: DataOption = None,
    database: DatabaseOption = None,
) -> None:
    """End a key; running services refuse it within a second."""
    from service.operations import keys

    with _opened_store(data, database) as store:
        keys.revoke(store, workspace, key_id)
    _say(f"{key_id} is revoked")


@contextmanager
def _opened_store(data: Path | None, database: str | None) -> Iterator[Store]:
    """A store that is up to date; an error of the service ends the command with its text."""
    from service.errors import ServiceError
    from service.store.session import Store

    settings = _settings(data=data, database=database)
    settings.data.mkdir(parents=True, exist_ok=True)
    try:
        store = Store(settings.store_url)
        store.upgrade()
        yield store
        store.dispose()
    except ServiceError as error:
        _fail(str(error))


def _settings(**options: Any) -> Settings:
    """Settings from the environment, into which the options given go first: child processes read it too."""
    for name, value in options.items():
        if value is not None:
            os.environ[f"RULEWOOD_{name.upper()}"] = str(value)
    try:
        return Settings()
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, item['loc']))}: {said_of(item)}" for item in error.errors()]
        _fail("\n".join(lines), 2)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _fail(text: str, code: int = 1) -> NoReturn:
    sys.stderr.write(f"rulewood: {text}\n")
    raise typer.Exit(code)


def main() -> None:
    """The entry point of the distribution."""
    app()


if __name__ == "__main__":
    main()
