"""Health checks for those who run the service."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from service.deps import Admin, ServicesHere
from service.http import make_router
from service.metrics import MEDIA_TYPE
from service.openapi import content, errors
from service.operations import health
from service.schemas.health import Live, Ready

router = make_router(tags=["operations"])


@router.get(
    "/health/live", summary="Is the process alive?", response_model=Live, responses=errors(), operation_id="isLive"
)
async def live() -> dict[str, Any]:
    """Answers whenever the process does; asks nothing else."""
    return health.live()


@router.get("/health/ready", summary="Can it serve?", response_model=Ready, responses=errors(), operation_id="isReady")
def ready(services: ServicesHere) -> dict[str, Any]:
    """200 if the store can be reached and has the tables of this version, else 503."""
    return health.ready(services.store)


@router.get(
    "/metrics",
    summary="Get the measures",
    response_class=Response,
    responses=content("Prometheus text format", "text/plain", {"type": "string"}) | errors(),
    operation_id="getMetrics",
)
def get_metrics(services: ServicesHere, who: Admin) -> Response:
    """Requests by route and status, their times, rows answered, models in memory."""
    services.metrics.gauges = {
        "models_in_memory": services.serving.n_models,
        "model_bytes_in_memory": services.serving.n_bytes,
        "requests_in_flight": services.in_flight.count,
    }
    return Response(services.metrics.render(), media_type=MEDIA_TYPE)
