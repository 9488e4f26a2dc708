"""Who is let in: keys in memory, scopes, and the open door of a laptop."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sqlalchemy.orm import Session

from service.errors import Forbidden, Unauthenticated
from service.operations import keys
from service.operations.keys import Keyring, KnownKey, is_loopback
from service.store.session import Store

TOKEN = b"rk_secret"


def ring(*scopes: str, loopback: bool = True) -> Keyring:
    made = Keyring(loopback=loopback)
    known = KnownKey("key_1", "desk", hashlib.sha256(TOKEN).hexdigest(), frozenset(scopes))
    made.replace([known], any_made=True)
    return made


def bearer(token: bytes = TOKEN) -> list[tuple[bytes, bytes]]:
    return [(b"authorization", b"Bearer " + token)]


@pytest.mark.parametrize(
    ("held", "asked", "allowed"),
    [
        (("predict",), ("predict",), True),
        (("predict",), ("train",), False),
        (("predict",), ("predict", "train"), True),
        (("train",), ("predict",), False),
        (("admin",), ("predict",), True),
        (("admin",), ("train",), True),
        (("train", "predict"), ("admin",), False),
        (("predict",), (), True),
    ],
)
def test_scopes(held: tuple[str, ...], asked: tuple[str, ...], allowed: bool) -> None:
    if allowed:
        who = ring(*held).authorise(bearer(), *asked)
        assert (who.workspace, who.key_id) == ("desk", "key_1")
    else:
        with pytest.raises(Forbidden):
            ring(*held).authorise(bearer(), *asked)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        bearer(b"rk_other"),
        bearer(b""),
        bearer(b"\xff\xfe"),
        [(b"authorization", b"Basic cmtfc2VjcmV0")],
        [(b"authorization", b"Bearer")],
        [(b"x-api-key", b"")],
        [(b"x-api-key", TOKEN + b"x")],
        [(b"cookie", TOKEN)],
    ],
)
def test_whoever_shows_no_valid_key_stays_out(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(Unauthenticated):
        ring("admin").authorise(headers, "predict")


def test_both_headers_are_read() -> None:
    assert ring("admin").authorise([(b"x-api-key", TOKEN)], "train").key_id == "key_1"
    assert ring("admin").authorise([(b"authorization", b"bearer  " + TOKEN)], "train").key_id == "key_1"


def test_the_door_is_open_on_loopback_until_the_first_key() -> None:
    made = Keyring(loopback=True)
    with pytest.raises(Unauthenticated):
        made.authorise([])  # the store was not read yet
    made.replace([], any_made=False)
    assert made.authorise([], "admin").workspace == "default"
    made.replace([], any_made=True)
    with pytest.raises(Unauthenticated):
        made.authorise([])


def test_elsewhere_it_is_never_open() -> None:
    made = Keyring(loopback=False)
    made.replace([], any_made=False)
    with pytest.raises(Unauthenticated):
        made.authorise([])


@pytest.mark.parametrize(
    ("header", "value", "allowed"),
    [
        (b"host", b"localhost:8000", True),
        (b"host", b"127.0.0.1:8000", True),
        (b"host", b"[::1]:8000", True),
        (b"host", b"laptop", True),
        (b"host", b"evil.example:8000", False),
        (b"host", b"127.0.0.1.evil.example", False),
        (b"host", b"[", False),
        (b"origin", b"http://127.0.0.1:8000", True),
        (b"origin", b"https://evil.example", False),
        (b"origin", b"https://[", False),
        (b"sec-fetch-site", b"same-origin", True),
        (b"sec-fetch-site", b"cross-site", False),
    ],
)
def test_without_keys_foreign_pages_stay_out(header: bytes, value: bytes, allowed: bool) -> None:
    made = Keyring(loopback=True)
    made.replace([], any_made=False)
    if allowed:
        made.authorise([(header, value)])
    else:
        with pytest.raises(Forbidden):
            made.authorise([(header, value)])


@pytest.mark.parametrize(
    ("host", "is_so"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("127.evil.example", False),
        ("", False),
    ],
)
def test_what_is_loopback(host: str, is_so: bool) -> None:
    assert is_loopback(host) is is_so


def test_a_keyring_follows_the_store(store: Store) -> None:
    made = Keyring(loopback=True)
    made.load(store)
    assert made.is_open
    row, token = keys.create(store, "one", "me", ["train"])
    made.load(store)
    assert not made.is_open
    who = made.authorise(bearer(token.encode()), "train")
    assert (who.workspace, who.key_id) == ("one", row.id)
    keys.revoke(store, "one", row.id)
    made.load(store)
    assert not made.has_keys
    assert not made.is_open
    with pytest.raises(Unauthenticated):
        made.authorise(bearer(token.encode()))


def test_what_a_slow_thread_read_before_the_first_key_does_not_open_the_door_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Keyring(loopback=True)
    read, go_on = threading.Event(), threading.Event()
    any_made = keys.queries.any_made

    def slowly(session: Session) -> bool:
        found = any_made(session)
        if not read.is_set():
            read.set()
            go_on.wait(30)
        return found

    monkeypatch.setattr(keys.queries, "any_made", slowly)
    with ThreadPoolExecutor(2) as pool:
        watching = pool.submit(made.load, store)
        assert read.wait(30)
        keys.create(store, "one", "me", ["admin"])
        told = pool.submit(made.load, store)
        wait([told], timeout=0.5)  # where nothing keeps it waiting it is done by then
        go_on.set()
        watching.result(30)
        told.result(30)
    assert made.has_keys
    assert not made.is_open


def test_the_admin_key_of_the_environment_is_made_once(store: Store) -> None:
    secret = "rk_" + "s" * 40
    assert keys.ensure_admin(store, secret)
    assert not keys.ensure_admin(store, secret)
    made = Keyring(loopback=False)
    made.load(store)
    assert made.authorise(bearer(secret.encode()), "admin").workspace == "default"
