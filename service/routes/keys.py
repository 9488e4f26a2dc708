"""API keys over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Response

from service.deps import Admin, ServicesHere
from service.errors import Fault, Invalid
from service.operations import keys as operations
from service.schemas.base import timestamp, timestamp_or_none
from service.schemas.keys import Key, KeyList, KeyRequest, NewKey
from service.web.openapi import created, errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/keys", tags=["keys"])


@router.post(
    "",
    summary="Make a key",
    status_code=201,
    response_model=NewKey,
    responses=created() | errors(413, 415, 422),
    operation_id="createKey",
)
def create_key(response: Response, services: ServicesHere, who: Admin, body: KeyRequest) -> dict[str, Any]:
    """Make a key for this workspace. It is shown this once; the service keeps only its hash.

    The first key of a service that was open until then has the scope `admin`.
    """
    if services.keyring.is_open and "admin" not in body.scopes:
        message = (
            "the first key must have the scope 'admin': requests without a key are refused as soon as there is one"
        )
        raise Invalid(message, [Fault(message, parameter="scopes", value=list(body.scopes), allowed="with 'admin'")])
    row, key = operations.create(services.store, who.workspace, body.name, body.scopes)
    services.keyring.load(services.store)
    response.headers["Location"] = f"/api/v1/keys/{row.id}"
    return _to_wire(row) | {"key": key}


@router.get("", summary="List the keys", response_model=KeyList, responses=errors(), operation_id="listKeys")
def list_keys(services: ServicesHere, who: Admin) -> dict[str, Any]:
    """The keys of the workspace, without their secrets; revoked ones too."""
    return {"items": [_to_wire(row) for row in operations.list_all(services.store, who.workspace)]}


@router.delete(
    "/{key_id}", summary="Revoke a key", response_model=Key, responses=errors(404, 409), operation_id="revokeKey"
)
def revoke_key(
    services: ServicesHere,
    who: Admin,
    key_id: Annotated[str, Path(max_length=64, examples=["key_0a1b2c3d4e5f6g7h8i9j0k1l2m"])],
) -> dict[str, Any]:
    """End a key: within a second no process accepts it any more.

    The last key with the scope `admin` is refused (409): make another first, or end it by `rulewood keys revoke`.
    """
    row = operations.revoke(services.store, who.workspace, key_id, spare_last=True)
    services.keyring.load(services.store)
    return _to_wire(row)


def _to_wire(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "scopes": row.scopes,
        "created_at": timestamp(row.created_at),
        "revoked_at": timestamp_or_none(row.revoked_at),
    }
