"""Fixtures for all tests: both databases, a data folder, a clean environment."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from learners.compilation import compile_native, load_native, marks
from service.store.session import Store
from tests.postgres import Postgres, running_postgres

DATABASES = ("sqlite", "postgresql")

#: The suite tries the same examples in every run, so that red means a change; `make soak` looks for new ones.
settings.register_profile("suite", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("suite")

#: One folder for the machine code of all processes of all runs, the container's build included. That build's
#: user is another one, so anyone may write. Set here, before anything imports numba.
KERNELS = Path(os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[1] / ".kernels")))
KERNELS.mkdir(exist_ok=True)
KERNELS.chmod(0o777)


def pytest_sessionstart(session: pytest.Session) -> None:
    """The processes of pytest-xdist, which all load all tests, begin at different ones.

    In a fresh clone each then compiles its share of them, with pytest's own assertions, and finds the rest compiled.
    """
    own = getattr(session.config, "workerinput", None)
    if own is None:
        return
    folders = [Path(argument.partition("::")[0]).absolute() for argument in session.config.args]
    files = sorted({path for folder in folders for path in folder.rglob("test_*.py")})
    first = len(files) * int(own["workerid"].removeprefix("gw")) // int(own["workercount"])
    for path in files[first:] + files[:first]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting it again tells what is wrong
            importlib.import_module(".".join(path.relative_to(session.config.rootpath).with_suffix("").parts))


#: Tests that run no kernels of learners, or hardly any. The last is long, and should not be left to the end.
WITHOUT_KERNELS = (
    "tests/service/formats",
    "tests/service/store",
    "tests/service/web",
    "tests/service/jobs",
    "tests/service/reports",
    "tests/service/operations/test_codec",
    "tests/service/test_",
    "tests/test_openapi",
)
#: The longest of the others, mostly waits for processes. At the end of a run, nothing would be left to do beside them.
LONG = ("tests/e2e/test_road", "tests/service/operations/work/test_whole_jobs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a fresh machine each kernel is compiled once, not by several processes at the same time.

    The container's build, which compiles all of them and takes minutes, goes first. pytest-xdist gives each of its
    processes one piece of the list to begin with: each piece begins with tests that need no kernels, then long ones.
    """
    build, without, long, others = [], [], [], []
    for item in items:
        if "tests/packaging/" in item.nodeid:
            build.append(item)
        elif item.nodeid.startswith(WITHOUT_KERNELS):
            without.append(item)
        elif item.nodeid.startswith(LONG):
            long.append(item)
        else:
            others.append(item)
    pieces = int(getattr(config, "workerinput", {}).get("workercount", 1))
    items[:] = build
    for number in range(pieces):
        for some in (without, long, others):
            items += some[len(some) * number // pieces : len(some) * (number + 1) // pieces]


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see no RULEWOOD_* settings but those that they set."""
    for name in list(os.environ):
        if name.startswith("RULEWOOD_") and name not in ("RULEWOOD_TEST_POSTGRES", "RULEWOOD_SHARED"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgres(testrun: str) -> Iterator[Postgres]:
    """The PostgreSQL server of this run."""
    with running_postgres(testrun) as server:
        yield server


@pytest.fixture(scope="session")
def testrun() -> str:
    """A name of this test run, the same in all processes of pytest-xdist."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid():x}")[:12]


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("template") / "store.sqlite3"
    store = Store(f"sqlite:///{path}")
    store.upgrade()
    store.dispose()
    return path


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """An empty data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@contextlib.contextmanager
def migrated_database(request: pytest.FixtureRequest, kind: str, folder: Path) -> Iterator[str]:
    """The URL of a migrated database without rows; a SQLite file lies in the folder."""
    if kind == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), folder / "store.sqlite3")
        yield f"sqlite:///{folder}/store.sqlite3"
        return
    server: Postgres = request.getfixturevalue("postgres")
    address = server.make_database()
    yield address
    server.drop_database(address)


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, data_dir: Path) -> Iterator[str]:
    """The URL of a database of the test's own: SQLite, then PostgreSQL."""
    with migrated_database(request, request.param, data_dir) as address:
        yield address


@pytest.fixture(params=DATABASES)
def empty_database_url(request: pytest.FixtureRequest, data_dir: Path) -> Iterator[str]:
    """The URL of a database without any table: SQLite, then PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{data_dir}/store.sqlite3"
        return
    server: Postgres = request.getfixturevalue("postgres")
    address = server.make_database(migrated=False)
    yield address
    server.drop_database(address)


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """A migrated store without rows, on each database."""
    opened = Store(database_url)
    yield opened
    opened.dispose()


@pytest.fixture(scope="session")
def native_folder() -> Path:
    """Where the functions lie that processes without numba load; compiled once, and loaded here too."""
    folder = marks()
    assert folder is not None
    compile_native(folder)
    assert load_native(folder)
    return folder
