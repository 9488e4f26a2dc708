"""Health checks for those who run the service."""

from __future__ import annotations

from typing import Any

from service.deps import ServicesHere
from service.operations import health
from service.schemas.health import Live, Ready
from service.web.openapi import errors
from service.web.strict_routes import make_probe_router

router = make_probe_router(tags=["operations"])


@router.get(
    "/health/live", summary="Is the process alive?", response_model=Live, responses=errors(), operation_id="isLive"
)
async def live() -> dict[str, Any]:
    """Answers whenever the process does; asks nothing else."""
    return await health.live()


@router.get("/health/ready", summary="Can it serve?", response_model=Ready, responses=errors(), operation_id="isReady")
async def ready(services: ServicesHere) -> dict[str, Any]:
    """200 if the store answers within 3 s and has the tables of this version, else 503."""
    return await services.readiness.check()
