"""A model's rules over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from fastapi import Depends, Path, Query, Request, Response

from service.deps import Cursor, Reader, ServicesHere, Trainer
from service.operations.explanation.rule_support import refuse_dataset, refuse_simplified, rows_of, rules_on
from service.operations.explanation.rules import Paging, Sql, SqlForm, rules_json, rules_text
from service.operations.explanation.surrogates import refuse_as_text, surrogate_rules
from service.operations.json_text import encode_json
from service.operations.stored_rows import Shelf
from service.routes.models import Reference
from service.schemas.rule_support import RowsOfRule, RulesOnDataset, SurrogateRules
from service.schemas.rules import Rules
from service.web.openapi import errors
from service.web.strict_routes import make_router
from service.web.validation import refuse_without_effect

router = make_router(prefix="/api/v1/models", tags=["models"])


async def _paging(
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="of JSON: most rules on the page")] = 1000,
) -> Paging:
    return Paging(cursor, limit)


async def _sql(
    source: Annotated[
        str, Query(min_length=1, max_length=63, description="of a SELECT: the table that is read", examples=["rows"])
    ] = "rows",
    form: Annotated[
        SqlForm,
        Query(
            description="of SQL: a SELECT that answers every row as the model does, or one CASE expression, "
            "NULL for a row that several rules share, since a value that decides is missing or unseen"
        ),
    ] = "select",
) -> Sql:
    return Sql(source, form)


Paged = Annotated[Paging, Depends(_paging)]
AsSql = Annotated[Sql, Depends(_sql)]
RulesFormat = Literal["json", "text", "markdown", "sql"]


async def _format(
    request: Request,
    sql: AsSql,
    format: Annotated[RulesFormat, Query(description="how the rules are written")] = "json",  # noqa: A002 - on the wire
) -> RulesFormat:
    if format != "json":
        refuse_without_effect(request.query_params, ("cursor", "limit"), f"format={format}")
    if format != "sql":
        refuse_without_effect(request.query_params, ("source", "form"), f"format={format}")
    elif sql.form == "case":
        refuse_without_effect(request.query_params, ("source",), "form=case")
    return format


class _Asked(NamedTuple):
    """How the rules are written, which stored rows play a part, and of how many rules a surrogate is wanted."""

    format: RulesFormat
    sql: Sql
    dataset: str | None
    surrogate: int | None


async def _asked(
    request: Request,
    sql: AsSql,
    format: Annotated[RulesFormat, Depends(_format)],  # noqa: A002 - the parameter's name on the wire
    dataset: Annotated[
        str | None,
        Query(
            max_length=64,
            description="of JSON: add each rule's support and confidence on the rows of this dataset, which are held "
            "out if the version did not learn from them. Beside `surrogate`: whose rows the model is asked",
        ),
    ] = None,
    surrogate: Annotated[
        int | None,
        Query(
            ge=1,
            le=256,
            description="of JSON: at most so many rules of a tree that is fitted to the version's answers to rows of "
            "`dataset`, or of that which it learned from, with how faithful they are; of any model",
        ),
    ] = None,
) -> _Asked:
    if surrogate is not None:
        if format != "json":
            refuse_as_text(format)
        refuse_without_effect(request.query_params, ("cursor", "limit"), f"surrogate={surrogate}")
    elif dataset is not None and format != "json":
        refuse_dataset(format)
    return _Asked(format, sql, dataset, surrogate)


Asked = Annotated[_Asked, Depends(_asked)]

_MEDIA_TYPES = {"text": "text/plain", "markdown": "text/markdown", "sql": "application/sql"}
_TEXT = {"schema": {"type": "string"}}


@router.get(
    "/{ref}/rules",
    summary="Get the rules",
    response_class=Response,
    responses=errors(404, 409, 413, 422)
    | {
        200: {
            "model": Rules | RulesOnDataset | SurrogateRules,
            "description": "One rule for each leaf, or the rules of a rule set",
            "content": dict.fromkeys(_MEDIA_TYPES.values(), _TEXT),
        }
    },
    operation_id="getRules",
)
async def get_rules(
    request: Request,
    services: ServicesHere,
    who: Reader,
    ref: Reference,
    page: Paged,
    asked: Asked,
    simplify: Annotated[
        bool,
        Query(
            description="merge neighbouring rules that say the same and leave out what decides nothing; every row is "
            "decided as before; of rule sets, and of trees that divide no row (`missing` `most-likely` or `as-value`), "
            "rules of one class whose probabilities differ are merged too, to their mean. Not together with `dataset`"
        ),
    ] = False,
) -> Response:
    """The tree as rules, one a leaf, with exact thresholds and with what becomes of missing values.

    Of an ordered rule set its own rules: the first that covers a row answers it, the last is the default.
    As JSON page by page, in the other formats all at once. Parameters without effect in a format are refused.
    """

    def found() -> Response:
        model = services.serving.get(who.workspace, ref)
        shelf = Shelf(services.store, services.blobs)
        if asked.surrogate is not None:
            rules = surrogate_rules(shelf, model, asked.dataset, asked.surrogate, simplify=simplify)
            return Response(encode_json(rules), media_type="application/json")
        if asked.dataset is not None:
            if simplify:
                refuse_simplified()
            return Response(encode_json(rules_on(shelf, model, asked.dataset, page)), media_type="application/json")
        if asked.format == "json":
            return Response(encode_json(rules_json(model, page, simplify=simplify)), media_type="application/json")
        return Response(
            rules_text(model, asked.format, asked.sql, simplify=simplify), media_type=_MEDIA_TYPES[asked.format]
        )

    return await services.long_answers.make(request.receive, found)


@router.get(
    "/{ref}/rules/{rule_id}/rows",
    summary="Get the rows of a rule",
    response_class=Response,
    responses=errors(404, 409, 413, 422) | {200: {"model": RowsOfRule, "description": "A page of the rule's rows"}},
    operation_id="getRowsOfRule",
)
async def get_rows_of_rule(
    request: Request,
    services: ServicesHere,
    who: Trainer,
    ref: Reference,
    rule_id: Annotated[str, Path(max_length=100, description="a rule's `id`", examples=["17-5f2a0c9d1e3b4a68"])],
    dataset: Annotated[
        str | None,
        Query(max_length=64, description="whose rows; absent: those of the dataset that the version learned from"),
    ] = None,
    offset: Annotated[int, Query(ge=0, le=2**53, description="rows to skip")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="most rows")] = 20,
) -> Response:
    """The rows that come to a rule, with their numbers and values.

    Of the dataset that the version learned from only the rows that it learned from: those with a target and a
    weight above 0. A row that is divided, since a value is missing, belongs to several rules by its shares.
    """

    def found() -> bytes:
        model = services.serving.get(who.workspace, ref)
        shelf = Shelf(services.store, services.blobs)
        return encode_json(rows_of(shelf, model, rule_id, dataset_id=dataset, offset=offset, limit=limit))

    return Response(await services.long_answers.make(request.receive, found), media_type="application/json")
