"""Datasets over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from service.deps import Cursor, PageSize, ServicesHere, Trainer
from service.errors import Fault, Invalid
from service.operations import datasets as operations
from service.schemas.base import Page, timestamp
from service.schemas.datasets import Dataset, DatasetProfile, DatasetRows, Revision
from service.services import Services
from service.web.openapi import content, created, errors
from service.web.strict_routes import make_router
from service.web.uploads import Upload, receive

router = make_router(prefix="/api/v1/datasets", tags=["datasets"])

DatasetId = Annotated[str, Path(max_length=64, examples=["ds_0a1b2c3d4e5f6g7h8i9j0k1l2m"])]
FormatName = Literal["csv", "tsv", "json", "ndjson", "parquet", "arrow", "arff"]
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "description": "the file itself, or a form with the file in it; it may be streamed without a length",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "duration,purpose,class\n12,car,good\n48,other,bad\n",
            },
            "application/x-ndjson": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            "application/octet-stream": _BINARY,
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "additionalProperties": False,
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "name": {"type": "string"},
                        "format": {"type": "string"},
                        "options": {"type": "string", "description": "reading options as a JSON object"},
                    },
                }
            },
        },
    }
}


@router.post(
    "",
    summary="Upload a dataset",
    status_code=201,
    response_model=Dataset,
    responses=created() | errors(413, 415, 422, 507),
    operation_id="uploadDataset",
    openapi_extra=_UPLOAD_BODY,
)
async def upload_dataset(
    request: Request,
    response: Response,
    services: ServicesHere,
    who: Trainer,
    name: Annotated[str | None, Query(max_length=1000, description="default: the file's name")] = None,
    format: Annotated[  # noqa: A002 - the API's word
        FormatName | None, Query(description="default: told by the file's name, media type or content")
    ] = None,
    options: Annotated[
        str | None,
        Query(
            max_length=8000,
            description="reading options as a JSON object; longer ones go in a form",
            examples=['{"delimiter": ";"}'],
        ),
    ] = None,
) -> dict[str, Any]:
    """Store a table: CSV, TSV, JSON records, NDJSON, Parquet, Arrow IPC or ARFF.

    The kind of each column is inferred, with the evidence shown, and can be overridden in `options.kinds`.
    Once this has answered 201 the dataset is kept.
    """
    async with receive(request, services.settings.scratch) as upload:
        received = _received(services, upload, name, format, options)
        dataset = await run_in_threadpool(operations.create, shelf(services), who.workspace, received)
    return _made(response, dataset)


def _received(
    services: Services, upload: Upload, name: str | None, format_name: str | None, options: str | None
) -> operations.Received:
    fields = upload.fields
    for parameter, value in (("name", name), ("format", format_name), ("options", options)):
        if value is not None and parameter in fields:
            message = f"{parameter} is given in the query and in the form; give it in one of them"
            raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter=parameter)])
    parsed = operations.parse_options(
        options or fields.get("options"), format_name or fields.get("format"), services.settings.limits.json_depth
    )
    parsed = operations.with_charset(parsed, upload.content_type)
    called = name or fields.get("name") or upload.filename or "dataset"
    return operations.Received(upload.path, upload.filename or name, upload.content_type, called, parsed)


def shelf(services: Services) -> operations.Shelf:
    """What the operations on datasets need."""
    return operations.Shelf(services.settings, services.store, services.blobs, services.ingester)


@router.get(
    "", summary="List datasets", response_model=Page[Dataset], responses=errors(422), operation_id="listDatasets"
)
def list_datasets(
    services: ServicesHere,
    who: Trainer,
    name: Annotated[str | None, Query(max_length=1000, description="only those of exactly this name")] = None,
    cursor: Cursor = None,
    limit: PageSize = 50,
) -> dict[str, Any]:
    """The datasets of the workspace, the newest first."""
    found, next_cursor = operations.page(services.store, who.workspace, name=name, cursor=cursor, limit=limit)
    return {"items": [to_wire(dataset) for dataset in found], "next_cursor": next_cursor}


@router.get(
    "/{dataset_id}",
    summary="Get a dataset",
    response_model=Dataset,
    responses=errors(404),
    operation_id="getDataset",
)
def get_dataset(services: ServicesHere, who: Trainer, dataset_id: DatasetId) -> dict[str, Any]:
    """One dataset: its columns as they were understood, and why."""
    return to_wire(operations.get(services.store, who.workspace, dataset_id))


@router.get(
    "/{dataset_id}/rows",
    summary="Get rows of a dataset",
    response_model=DatasetRows,
    responses=errors(404, 422),
    operation_id="getDatasetRows",
)
def get_rows(
    services: ServicesHere,
    who: Trainer,
    dataset_id: DatasetId,
    offset: Annotated[int, Query(ge=0, le=2**53, description="0-based position of the first row")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="most rows")] = 20,
) -> dict[str, Any]:
    """Rows in the order of the file, as typed values; a missing value is null."""
    return operations.rows(shelf(services), who.workspace, dataset_id, offset=offset, limit=limit)


@router.get(
    "/{dataset_id}/profile",
    summary="Get the profile of a dataset",
    response_model=DatasetProfile,
    responses=errors(404, 422),
    operation_id="getDatasetProfile",
)
def get_profile(
    services: ServicesHere,
    who: Trainer,
    dataset_id: DatasetId,
    target: Annotated[str | None, Query(max_length=1000, description="column to relate the others to")] = None,
) -> dict[str, Any]:
    """Of each column: missing and distinct values, range, quantiles, histogram, top levels, relation to the target."""
    return operations.profile(shelf(services), who.workspace, dataset_id, target=target)


@router.get(
    "/{dataset_id}/download",
    summary="Download a dataset",
    response_class=Response,
    responses=content("the upload as it came", "application/octet-stream", _BINARY["schema"]) | errors(404),
    operation_id="downloadDataset",
)
def download(services: ServicesHere, who: Trainer, dataset_id: DatasetId) -> Response:
    """The file as it was uploaded, byte for byte.

    Cells that a spreadsheet would take for formulas are left as they are: do not open foreign files in one.
    """
    name, size, blocks = operations.download(shelf(services), who.workspace, dataset_id)
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"Content-Length": str(size), "Content-Disposition": disposition}
    return StreamingResponse(blocks, media_type="application/octet-stream", headers=headers)


@router.post(
    "/{dataset_id}/revisions",
    summary="Read a dataset anew",
    status_code=201,
    response_model=Dataset,
    responses=created() | errors(404, 413, 415, 422, 507),
    operation_id="reviseDataset",
)
def revise(
    response: Response, services: ServicesHere, who: Trainer, dataset_id: DatasetId, body: Revision
) -> dict[str, Any]:
    """A new dataset from the same file with other kinds, orders or reading options; the old one stays."""
    changes = body.model_dump(exclude_unset=True, exclude_none=True)
    return _made(response, operations.revise(shelf(services), who.workspace, dataset_id, changes))


@router.delete(
    "/{dataset_id}",
    summary="Delete a dataset",
    status_code=204,
    response_class=Response,
    responses=errors(404, 409),
    operation_id="deleteDataset",
)
def delete(
    services: ServicesHere,
    who: Trainer,
    dataset_id: DatasetId,
    force: Annotated[
        str | None, Query(max_length=1000, description="the dataset's name, to delete the jobs and models that need it")
    ] = None,
) -> Response:
    """Delete a dataset. Refused while a job or model version needs it, unless `force` repeats its name."""
    operations.delete(services.store, who.workspace, dataset_id, force=force)
    return Response(status_code=204)


def _made(response: Response, dataset: Any) -> dict[str, Any]:
    response.headers["Location"] = f"/api/v1/datasets/{dataset.id}"
    return to_wire(dataset)


def to_wire(dataset: Any) -> dict[str, Any]:
    """A stored dataset as its wire type."""
    address = f"/api/v1/datasets/{dataset.id}"
    return {
        "id": dataset.id,
        "name": dataset.name,
        "parent_id": dataset.parent_id,
        "format": dataset.format,
        "options": dataset.options,
        "n_rows": dataset.n_rows,
        "n_columns": dataset.n_columns,
        "columns": dataset.columns,
        "warnings": dataset.warnings,
        "sha256": dataset.raw_sha256,
        "created_at": timestamp(dataset.created_at),
        "links": {"self": address, "rows": f"{address}/rows", "profile": f"{address}/profile"},
    }
