"""Prometheus metrics over HTTP."""

from __future__ import annotations

from fastapi import Response

from service.deps import Reader, ServicesHere
from service.metrics import MEDIA_TYPE
from service.web.openapi import content, errors
from service.web.strict_routes import make_probe_router

router = make_probe_router(tags=["operations"])


@router.get(
    "/metrics",
    summary="Metrics",
    response_class=Response,
    responses=content("Prometheus text format", "text/plain", {"type": "string"}) | errors(),
    operation_id="getMetrics",
)
def get_metrics(services: ServicesHere, who: Reader) -> Response:
    """Requests, latencies, rows and models of all processes behind this port, for Prometheus."""
    serving = services.serving
    services.metrics.gauges = {
        "models_in_memory": serving.n_models,
        "model_bytes_in_memory": serving.n_bytes,
        "requests_in_flight": services.in_flight.count,
    }
    return Response(services.metrics.render(), media_type=MEDIA_TYPE)
