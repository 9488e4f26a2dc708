import sqlite3
from contextlib import closing

import psycopg
import pytest

from tests.learners.rules.databases import Database


@pytest.fixture(scope="module")
def empty_postgres(postgres):
    """A connection to a database without tables, for the tests of a module."""
    address = postgres.make_database(migrated=False)
    with psycopg.connect(address) as connection:
        yield connection
    postgres.drop_database(address)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request):
    """A database without tables."""
    if request.param == "sqlite":
        with closing(sqlite3.connect(":memory:")) as connection:
            yield Database(connection, "?")
        return
    connection = request.getfixturevalue("empty_postgres")
    yield Database(connection, "%s")
    connection.rollback()  # its tables are those of one transaction
