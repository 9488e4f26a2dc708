"""Keys are shown once, kept as a hash, and end when they are revoked."""

from __future__ import annotations

import re

import pytest

from service.errors import Conflict, Invalid, NotFound
from service.store import changes, keys
from service.store.session import Store
from service.store.tables import Key


def test_the_life_of_a_key(store: Store) -> None:
    with store.begin() as session:
        key, secret = keys.create(session, "default", "laptop", ["train", "predict", "train"])
        assert re.fullmatch(r"rk_[A-Za-z0-9_-]{43}", secret)
        assert key.scopes == ["predict", "train"]
    with store.read() as session:
        assert [(row.id, row.sha256) for row in keys.list_valid(session)] == [(key.id, keys.digest(secret))]
        stored = session.get(Key, key.id)
        assert secret not in repr(vars(stored))
        assert changes.counters(session) == {"keys": 1}
    with store.begin() as session:
        assert keys.revoke(session, "default", key.id).revoked_at > key.created_at - 60
        assert keys.revoke(session, "default", key.id).revoked_at is not None
    with store.read() as session:
        assert keys.list_valid(session) == []
        assert [row.id for row in keys.list_all(session, "default")] == [key.id]
        assert changes.counters(session) == {"keys": 2}


def test_the_last_that_may_administer_is_spared(store: Store) -> None:
    with store.begin() as session:
        first, _ = keys.create(session, "default", "first", ["admin"])
        lesser, _ = keys.create(session, "default", "lesser", ["train"])
        keys.create(session, "theirs", "elsewhere", ["admin"])
        with pytest.raises(Conflict, match="make another first"):
            keys.revoke(session, "default", first.id, spare_last=True)
        assert keys.revoke(session, "default", lesser.id, spare_last=True).revoked_at
        second, _ = keys.create(session, "default", "second", ["admin"])
        assert keys.revoke(session, "default", first.id, spare_last=True).revoked_at
        assert keys.revoke(session, "default", first.id, spare_last=True).revoked_at  # ended before: nothing changes
        assert keys.revoke(session, "default", second.id).revoked_at


def test_scopes_are_checked(store: Store) -> None:
    for scopes in ([], ["root"], ["train", ""]):
        with pytest.raises(Invalid) as caught, store.begin() as session:
            keys.create(session, "default", "laptop", scopes)
        assert caught.value.faults[0].allowed == ["predict", "train", "admin"]


def test_a_workspace_cannot_revoke_anothers_key(store: Store) -> None:
    with store.begin() as session:
        key, _ = keys.create(session, "theirs", "laptop", ["admin"])
    with pytest.raises(NotFound), store.begin() as session:
        keys.revoke(session, "default", key.id)
    with store.read() as session:
        assert keys.list_all(session, "default") == []
        assert [row.id for row in keys.list_valid(session)] == [key.id]
