import sqlite3
from contextlib import closing

import psycopg
import pytest

from tests.learners.rules.databases import Database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request):
    if request.param == "sqlite":
        with closing(sqlite3.connect(":memory:")) as connection:
            yield Database(connection, "?")
        return
    server = request.getfixturevalue("postgres")
    address = server.make_database(migrated=False)
    with psycopg.connect(address) as connection:
        yield Database(connection, "%s")
    server.drop_database(address)
