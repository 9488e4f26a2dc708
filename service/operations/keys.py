"""API keys: made, listed, revoked, and checked in memory.

The store has only the sha256 of a key, which is random and long, so a plain hash is enough.
:class:`Keyring` holds the hashes of one process and decides without the database; both the routes
and the fast prediction door ask it.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from service.errors import Forbidden, Unauthenticated
from service.store import keys as queries
from service.store.keys import SCOPES
from service.store.session import Store
from service.store.tables import Key

DEFAULT_WORKSPACE = "default"
_NO_HASH = "0" * 64
_EVERYTHING = frozenset(SCOPES)


def is_loopback(host: str) -> bool:
    """Whether an address that is bound can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Principal:
    """Who asks: the workspace and what the key allows. ``key_id`` is None without a key."""

    workspace: str
    scopes: frozenset[str]
    key_id: str | None = None

    def may(self, *scopes: str) -> bool:
        """Whether one of the scopes is held; ``admin`` holds all."""
        return "admin" in self.scopes or not self.scopes.isdisjoint(scopes)

    def require(self, *scopes: str) -> None:
        """Raise :class:`Forbidden` unless one of the scopes is held; none named: nothing is required."""
        if scopes and not self.may(*scopes):
            held = ", ".join(sorted(self.scopes))
            raise Forbidden(f"This needs a key with the scope {' or '.join(scopes)}; this key has {held}")


#: Who asks a service that has no keys.
_ANYBODY = Principal(DEFAULT_WORKSPACE, _EVERYTHING)


@dataclass(frozen=True)
class KnownKey:
    """A key as memory has it."""

    id: str
    workspace: str
    sha256: str
    scopes: frozenset[str]


def create(store: Store, workspace: str, name: str, scopes: Iterable[str]) -> tuple[Key, str]:
    """Make a key; returns its row and the key itself, which is shown this once.

    Raises:
        Invalid: no scope, or one that does not exist.
    """
    with store.begin() as session:
        return queries.create(session, workspace, name, scopes)


def ensure_admin(store: Store, secret: str) -> bool:
    """Make sure of a key with every scope in the default workspace; returns whether it was made now."""
    with store.begin() as session:
        return queries.ensure(session, DEFAULT_WORKSPACE, "from RULEWOOD_ADMIN_KEY", secret)


def list_all(store: Store, workspace: str) -> list[Key]:
    """All keys of a workspace, revoked ones too, newest first."""
    with store.read() as session:
        return queries.list_all(session, workspace)


def revoke(store: Store, workspace: str, key_id: str, *, spare_last: bool = False) -> Key:
    """End a key; ending it twice changes nothing. ``spare_last`` keeps the workspace's last ``admin``.

    Raises:
        NotFound: there is no such key. Conflict: it is the last with the scope ``admin``.
    """
    with store.begin() as session:
        return queries.revoke(session, workspace, key_id, spare_last=spare_last)


class Keyring:
    """The keys of the store as this process knows them.

    Args:
        loopback: whether the service is bound to loopback; only then, and only as long as no key was
            ever made, may requests come without one.
    """

    def __init__(self, *, loopback: bool) -> None:
        self._loopback = loopback
        self._keys: dict[str, KnownKey] = {}
        self._any_made = True  # until the store was read nothing is open
        self._loading = threading.Lock()

    def replace(self, keys: Iterable[KnownKey], *, any_made: bool) -> None:
        """Take over what the store has: the valid keys, and whether there ever was one."""
        self._keys = {key.sha256: key for key in keys}
        self._any_made = any_made

    def load(self, store: Store) -> None:
        """Take over what the store has now.

        Raises:
            Unavailable: the store cannot be reached; what was known stays.
        """
        with self._loading:  # else a slower thread could put back what it read before a key was made or ended
            with store.read() as session:
                rows = queries.list_valid(session)
                any_made = queries.any_made(session)
            known = [KnownKey(row.id, row.workspace, row.sha256, frozenset(row.scopes)) for row in rows]
            self.replace(known, any_made=any_made)

    @property
    def has_keys(self) -> bool:
        """Whether some key is valid."""
        return bool(self._keys)

    @property
    def is_open(self) -> bool:
        """Whether requests without a key are let in."""
        return self._loopback and not self._any_made

    def authorise(self, headers: list[tuple[bytes, bytes]], *scopes: str) -> Principal:
        """Who asks, if the key allows one of the scopes.

        Args:
            headers: raw request headers with lower-case names.
            scopes: any one of them is enough; none given means that any valid key is.

        Raises:
            Unauthenticated: no key, or one that is not valid.
            Forbidden: the key lacks the scopes, or a foreign web page asks a service without keys.
        """
        token = _token(headers)
        if token is None and self.is_open:
            _refuse_foreign_page(headers)
            return _ANYBODY
        principal = self._verify(token)
        principal.require(*scopes)
        return principal

    def _verify(self, token: bytes | None) -> Principal:
        if token is None:
            raise Unauthenticated("Send a key as 'Authorization: Bearer rk_...' or 'X-API-Key: rk_...'")
        digest = hashlib.sha256(token).hexdigest()
        known = self._keys.get(digest)
        if not hmac.compare_digest(digest, known.sha256 if known else _NO_HASH) or known is None:
            raise Unauthenticated("The key is not valid; it may have been revoked")
        return Principal(known.workspace, known.scopes, known.id)


def _token(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    for name, value in headers:
        if name == b"authorization":
            scheme, _, credentials = value.partition(b" ")
            return credentials.strip() if scheme.lower() == b"bearer" else value
        if name == b"x-api-key":
            return value.strip()
    return None


def _refuse_foreign_page(headers: list[tuple[bytes, bytes]]) -> None:
    """Keep web pages of other origins away from a service that asks for no key.

    A browser lets any page send some requests to a loopback address, and a page whose name is made to
    point there (DNS rebinding) all of them. Such a page's name has a dot; ours has not, or is an address.
    """
    for name, value in headers:
        if name in (b"host", b"origin"):
            if not _is_local(value, is_origin=name == b"origin"):
                raise Forbidden(
                    f"Without keys the service answers only local callers, not those with another {name.decode()}"
                )
        elif name == b"sec-fetch-site" and value == b"cross-site":
            raise Forbidden("Without keys the service does not answer pages of other origins")


@lru_cache(maxsize=1024)
def _is_local(value: bytes, *, is_origin: bool) -> bool:
    """Whether a ``Host`` or ``Origin`` is one that a local caller sends; remembered, since all send the same."""
    host = _host(value.decode("latin-1"), is_origin=is_origin)
    return host is not None and ("." not in host or is_loopback(host))


def _host(value: str, *, is_origin: bool) -> str | None:
    try:
        return urlsplit(value if is_origin else f"//{value}").hostname or ""
    except ValueError:
        return None
