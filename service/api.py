"""The FastAPI app: every route and the document that describes them. Making it takes as long as all else of a start."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI

from service.routes import (
    coefficients,
    comparisons,
    datasets,
    docs,
    jobs,
    keys,
    learners,
    metrics,
    models,
    operations,
    predictions,
    reasons,
    rules,
    steps,
    trees,
)
from service.services import Services
from service.web.openapi import install_document
from service.web.strict_routes import install_error_handlers

_ROUTERS = (
    datasets,
    learners,
    jobs,
    models,
    coefficients,
    comparisons,
    predictions,
    reasons,
    steps,
    rules,
    trees,
    keys,
    operations,
    metrics,
    docs,
)


def make_api(services: Services) -> FastAPI:
    """The app over these parts."""
    app = FastAPI(title="Rulewood", version=version("rulewood"), docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.settings = services.settings
    app.state.services = services
    install_error_handlers(app)
    install_document(app)
    for module in _ROUTERS:
        app.include_router(module.router)
    return app
