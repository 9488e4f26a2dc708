"""API keys: made once, shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterable

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from service.errors import Conflict, Fault, Invalid, NotFound
from service.store import changes
from service.store.engines import database_now, insert_once
from service.store.ids import new_id
from service.store.tables import Key

PREFIX = "rk_"
SCOPES = ("predict", "train", "admin")


def digest(secret: str) -> str:
    """What is kept of a key. Its 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def create(session: Session, workspace: str, name: str, scopes: Iterable[str]) -> tuple[Key, str]:
    """Make a key.

    Returns:
        Its row and its secret, which cannot be had again.

    Raises:
        Invalid: no scope, or one that does not exist.
    """
    wanted = set(scopes)
    if not wanted or not wanted <= set(SCOPES):
        fault = Fault("name at least one scope of those allowed", parameter="scopes", allowed=list(SCOPES))
        raise Invalid(f"A key has one or more of the scopes {', '.join(SCOPES)}.", [fault])
    secret = PREFIX + secrets.token_urlsafe(32)
    key = Key(
        id=new_id("key"),
        workspace=workspace,
        name=name,
        sha256=digest(secret),
        scopes=[scope for scope in SCOPES if scope in wanted],
        created_at=time.time(),
    )
    session.add(key)
    session.flush()
    changes.bump(session, changes.KEYS)
    return key, secret


def ensure(session: Session, workspace: str, name: str, secret: str) -> bool:
    """Make sure of a key with every scope whose secret was chosen elsewhere; one that was revoked stays so.

    Returns:
        Whether it was made now.
    """
    values = {
        "id": new_id("key"),
        "workspace": workspace,
        "name": name,
        "sha256": digest(secret),
        "scopes": list(SCOPES),
        "created_at": time.time(),
    }
    is_new = insert_once(session, Key, values)
    if is_new:
        changes.bump(session, changes.KEYS)
    return is_new


def revoke(session: Session, workspace: str, key_id: str, *, spare_last: bool = False) -> Key:
    """End a key; ending it twice changes nothing.

    Args:
        session, workspace, key_id: which one.
        spare_last: refuse where nobody could make or end keys of the workspace any more.

    Raises:
        NotFound: the workspace has no such key. Conflict: it is the last with the scope ``admin``.
    """
    valid_or_it = select(Key).where(Key.workspace == workspace, Key.revoked_at.is_(None) | (Key.id == key_id))
    held = {key.id: key for key in session.scalars(valid_or_it.order_by(Key.id).with_for_update())}
    key = held.pop(key_id, None)
    if key is None:
        raise NotFound(f"There is no key {key_id[:64]!r}.")
    if key.revoked_at is None:
        if spare_last and "admin" in key.scopes and not any("admin" in other.scopes for other in held.values()):
            raise Conflict(
                f"Key {key_id} is the last with the scope admin: make another first. "
                "On the machine itself `rulewood keys revoke` ends it all the same."
            )
        session.execute(update(Key).where(Key.id == key.id).values(revoked_at=database_now()))
        session.refresh(key)
        changes.bump(session, changes.KEYS)
    return key


def list_all(session: Session, workspace: str) -> list[Key]:
    """All keys of a workspace, revoked ones too, newest first."""
    return list(
        session.scalars(select(Key).where(Key.workspace == workspace).order_by(Key.created_at.desc(), Key.id.desc()))
    )


def list_valid(session: Session) -> list[Key]:
    """The valid keys of all workspaces: what a serving process keeps in memory."""
    return list(session.scalars(select(Key).where(Key.revoked_at.is_(None)).order_by(Key.id)))


def any_made(session: Session) -> bool:
    """Whether a key was ever made, in any workspace; revoked ones count."""
    return session.scalar(select(Key.id).limit(1)) is not None
