"""Models, versions and aliases over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Response

from service.deps import Admin, Cursor, PageSize, Reader, ServicesHere, Trainer
from service.operations import models as operations
from service.schemas.base import Page, timestamp, timestamp_or_none
from service.schemas.models import Alias, AliasTarget, InputSchema, Model, ModelChanges, ModelVersion
from service.web.openapi import errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/models", tags=["models"])

Name = Annotated[str, Path(max_length=128, description="the model's name", examples=["credit"])]
Reference = Annotated[
    str, Path(max_length=260, description="`name`, `name:3` or `name@alias`", examples=["credit@champion"])
]
Deleted = Annotated[str, Path(max_length=260, description="`name` or `name:3`", examples=["credit:3"])]
AliasName = Annotated[
    str,
    Path(max_length=128, description="a name, but not a number and not `latest`", examples=["champion"]),
]


@router.get("", summary="List models", response_model=Page[Model], responses=errors(422), operation_id="listModels")
def list_models(services: ServicesHere, who: Reader, cursor: Cursor = None, limit: PageSize = 50) -> dict[str, Any]:
    """The models of the workspace, the newest first."""
    found, next_cursor = operations.page(services.store, who.workspace, cursor=cursor, limit=limit)
    return {"items": [_model(detail) for detail in found], "next_cursor": next_cursor}


@router.get(
    "/{ref}",
    summary="Get a model or version",
    response_model=Model | ModelVersion,
    responses=errors(404),
    operation_id="getModel",
)
def get_model(services: ServicesHere, who: Reader, ref: Reference) -> dict[str, Any]:
    """A bare name gives the model with its aliases; `name:3` or `name@alias` gives that version with its lineage."""
    found = operations.get(services.store, who.workspace, ref)
    return _model(found) if isinstance(found, operations.ModelDetail) else _version(found)


@router.patch(
    "/{ref}",
    summary="Change notes and tags",
    response_model=Model,
    responses=errors(404, 413, 415, 422),
    operation_id="changeModel",
)
def change_model(services: ServicesHere, who: Trainer, ref: Name, body: ModelChanges) -> dict[str, Any]:
    """Set the notes or tags of a model, given by its bare name; what is absent stays. Versions never change."""
    return _model(operations.change(services.store, who.workspace, ref, notes=body.notes, tags=body.tags))


@router.get(
    "/{name}/versions",
    summary="List versions",
    response_model=Page[ModelVersion],
    responses=errors(404, 422),
    operation_id="listVersions",
)
def list_versions(
    services: ServicesHere, who: Reader, name: Name, cursor: Cursor = None, limit: PageSize = 50
) -> dict[str, Any]:
    """The versions of a model, the newest first, archived ones too."""
    found, next_cursor = operations.versions(services.store, who.workspace, name, cursor=cursor, limit=limit)
    return {"items": [_version(detail) for detail in found], "next_cursor": next_cursor}


@router.put(
    "/{name}/aliases/{alias}",
    summary="Move an alias",
    response_model=Alias,
    responses=errors(404, 409, 413, 415, 422),
    operation_id="setAlias",
)
def set_alias(services: ServicesHere, who: Trainer, name: Name, alias: AliasName, body: AliasTarget) -> dict[str, Any]:
    """Let `name@alias` mean a version, in one step; every process answers by it within a second.

    A number or `latest` is no alias: `name:3` and the bare name mean these already.
    """
    version = operations.set_alias(services.store, who.workspace, name, alias, body.version)
    services.serving.catch_up()
    return {"model": name, "alias": alias, "version": version}


@router.delete(
    "/{name}/aliases/{alias}",
    summary="Delete an alias",
    status_code=204,
    response_class=Response,
    responses=errors(404),
    operation_id="deleteAlias",
)
def delete_alias(services: ServicesHere, who: Trainer, name: Name, alias: AliasName) -> Response:
    """Forget an alias; the version it meant stays."""
    operations.delete_alias(services.store, who.workspace, name, alias)
    services.serving.catch_up()
    return Response(status_code=204)


@router.get(
    "/{ref}/schema",
    summary="Get the input schema",
    response_model=InputSchema,
    responses=errors(404),
    operation_id="getSchema",
)
def get_schema(services: ServicesHere, who: Reader, ref: Reference) -> dict[str, Any]:
    """What a model wants: its inputs with what is allowed, an example row, and JSON Schema of a row."""
    return operations.input_schema(services.store, who.workspace, ref)


@router.post(
    "/{ref}/archive",
    summary="Archive a version",
    response_model=ModelVersion,
    responses=errors(404, 409, 422),
    operation_id="archiveVersion",
)
def archive(services: ServicesHere, who: Trainer, ref: Reference) -> dict[str, Any]:
    """Take a version (`name:3`) out of the choice of the latest; by its number it still answers."""
    archived = operations.archive(services.store, who.workspace, ref)
    services.serving.catch_up()
    return _version(archived)


@router.delete(
    "/{ref}",
    summary="Delete a version or model",
    status_code=204,
    response_class=Response,
    responses=errors(404, 409, 422),
    operation_id="deleteModel",
)
def delete(
    services: ServicesHere,
    who: Admin,
    ref: Deleted,
    force: Annotated[
        str | None, Query(max_length=1000, description="the model's name, to delete it although aliases name versions")
    ] = None,
) -> Response:
    """Delete one version (`name:3`) or a model with all its versions (`name`).

    Refused while an alias names what would go, unless `force` repeats the name of the whole model. The numbers of
    single versions are never given again; a model made anew under the name of one that is gone starts at 1.
    """
    operations.delete(services.store, who.workspace, ref, force=force)
    services.serving.catch_up()
    return Response(status_code=204)


def _model(detail: operations.ModelDetail) -> dict[str, Any]:
    model = detail.model
    address = f"/api/v1/models/{model.name}"
    return {
        "object": "model",
        "name": model.name,
        "notes": model.notes,
        "tags": model.tags,
        "aliases": detail.aliases,
        "latest": detail.latest,
        "created_at": timestamp(model.created_at),
        "links": {"self": address, "versions": f"{address}/versions", "predictions": f"{address}/predictions"},
    }


def _version(detail: operations.VersionDetail) -> dict[str, Any]:
    version = detail.version
    address = f"/api/v1/models/{detail.name}:{version.version}"
    parts = ["schema", "predictions", "explanations", *operations.readable_parts(version)]
    return {
        "object": "model-version",
        "model": detail.name,
        "version": version.version,
        "aliases": detail.aliases,
        "learner": version.learner,
        "task": version.task,
        "parameters": version.parameters,
        "lineage": version.lineage,
        "metrics": version.metrics,
        "model_sha256": version.blob_sha256,
        "notes": version.notes,
        "archived_at": timestamp_or_none(version.archived_at),
        "created_at": timestamp(version.created_at),
        "links": {
            "self": address,
            **{part: f"{address}/{part}" for part in parts},
        },
    }
