"""What the routes are given: the parts of the running service, and who is asking."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query
from starlette.requests import Request

from service.metrics import Metrics
from service.operations.ingesting import Ingester
from service.operations.keys import Keyring, Principal
from service.operations.serving import Serving
from service.settings import Settings
from service.store.blobs import Blobs
from service.store.session import Store
from service.web.gate import InFlight


@dataclass
class Services:
    """The parts of one API process, put together by :mod:`service.app`."""

    settings: Settings
    store: Store
    blobs: Blobs
    keyring: Keyring
    serving: Serving
    metrics: Metrics
    in_flight: InFlight
    ingester: Ingester


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def get_services(request: Request) -> Services:
    """The parts of the running service."""
    return _services(request)


def needs(*scopes: str) -> Callable[[Request], Coroutine[Any, Any, Principal]]:
    """A dependency that yields who asks, if the key has one of the scopes; none named: any valid key."""

    async def check(request: Request) -> Principal:
        return _services(request).keyring.authorise(request.scope["headers"], *scopes)

    return check


ServicesHere = Annotated[Services, Depends(get_services)]
Reader = Annotated[Principal, Depends(needs("predict", "train"))]
Predictor = Annotated[Principal, Depends(needs("predict"))]
Trainer = Annotated[Principal, Depends(needs("train"))]
Admin = Annotated[Principal, Depends(needs("admin"))]

Cursor = Annotated[
    str | None, Query(max_length=200, description="`next_cursor` of the page before; absent for the first page")
]
PageSize = Annotated[int, Query(ge=1, le=200, description="most items on the page")]
