"""The migrations build exactly the tables that the code uses, once, whoever runs them."""

from __future__ import annotations

from multiprocessing import get_context

import pytest
from sqlalchemy import text

from service.errors import Unavailable
from service.store.migrations import HEAD
from service.store.session import Store, migration_config
from service.store.tables import Base


def test_the_migrations_build_what_the_tables_declare(empty_database_url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    store = Store(empty_database_url)
    assert not store.is_current()
    store.upgrade()
    assert store.is_current()
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []
    store.dispose()


def test_head_is_the_newest_script() -> None:
    from alembic.script import ScriptDirectory

    assert ScriptDirectory.from_config(migration_config()).get_heads() == [HEAD]


def _upgrade(url: str) -> bool:
    store = Store(url, wait_seconds=30)
    store.upgrade()
    store.dispose()
    return True


def test_several_processes_may_upgrade_at_once(empty_database_url: str) -> None:
    with get_context("spawn").Pool(3) as pool:
        assert pool.map(_upgrade, [empty_database_url] * 3, chunksize=1) == [True] * 3
    store = Store(empty_database_url)
    assert store.is_current()
    store.dispose()


def test_a_failed_upgrade_leaves_nothing(empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic import op

    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("power cut")

    store = Store(empty_database_url)
    with monkeypatch.context() as patch:
        patch.setattr(op, "create_index", fail)
        with pytest.raises(RuntimeError, match="power cut"):
            store.upgrade()
    with store.engine.connect() as connection:
        assert not store.engine.dialect.has_table(connection, "blobs")
    store.upgrade()
    assert store.is_current()
    store.dispose()


def test_a_store_of_a_newer_version_is_refused(store: Store) -> None:
    with store.begin() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert not store.is_current()
    with pytest.raises(Unavailable, match="another version of Rulewood"):
        store.upgrade()
