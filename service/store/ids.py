"""Ids of resources: a prefix that tells the kind and 26 random characters (130 bits)."""

from __future__ import annotations

import secrets

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letter looks like a digit


def new_id(prefix: str) -> str:
    """A fresh id, like ``job_4k0m...``. Prefixes: ds, job, mdl, ver, key."""
    return f"{prefix}_" + "".join(secrets.choice(_ALPHABET) for _ in range(26))
