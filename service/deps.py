"""What the routes are given: the parts of the running service, and who is asking."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Security
from fastapi.security import SecurityScopes
from starlette.requests import Request

from service.operations.keys import Principal
from service.services import Services


async def get_services(request: Request) -> Services:
    """The parts of the running service."""
    services: Services = request.app.state.services
    return services


async def who_asks(request: Request, needed: SecurityScopes) -> Principal:
    """Who asks, if the key has one of the scopes; none named: any valid key."""
    principal: Principal = request.state.principal
    principal.require(*needed.scopes)
    return principal


ServicesHere = Annotated[Services, Depends(get_services)]
Reader = Annotated[Principal, Security(who_asks, scopes=["predict", "train"])]
Predictor = Annotated[Principal, Security(who_asks, scopes=["predict"])]
Trainer = Annotated[Principal, Security(who_asks, scopes=["train"])]
Admin = Annotated[Principal, Security(who_asks, scopes=["admin"])]

Cursor = Annotated[
    str | None, Query(max_length=200, description="`next_cursor` of the page before; absent for the first page")
]
PageSize = Annotated[int, Query(ge=1, le=200, description="most items on the page")]
