"""The interactive documentation: works with no network, as its files come from an installed package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from service.errors import NotFound

router = APIRouter(include_in_schema=False)

#: Only own files are run or fetched; Swagger UI sets styles on elements and draws icons from data addresses.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY}
_FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rulewood API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<noscript>The pages need JavaScript; the same as data is at <a href="openapi.json">openapi.json</a>.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = """window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
  });
});
"""


def assets() -> Path:
    """Folder of the Swagger UI files; the package that ships them is not imported."""
    spec = find_spec("fastapi_offline")
    if spec is None or spec.origin is None:
        raise NotFound("The package with the files of the documentation page is not installed")
    return Path(spec.origin).parent / "static"


@router.get("/")
async def root() -> Response:
    """Lead people to the documentation."""
    return RedirectResponse("docs")


@router.get("/docs")
async def page() -> Response:
    """The page."""
    return HTMLResponse(_PAGE, headers=_HEADERS)


@router.get("/docs/start.js")
async def start() -> Response:
    """What starts Swagger UI; a file of its own, so that no script stands in the page."""
    return Response(_START, media_type="text/javascript", headers=_HEADERS)


@router.get("/docs/{name}")
async def asset(name: str) -> Response:
    """A file of Swagger UI."""
    if name not in _FILES:
        raise NotFound("There is no such file of the documentation page")
    headers = {**_HEADERS, "Cache-Control": "max-age=86400"}
    return FileResponse(assets() / name, media_type=_FILES[name], headers=headers)
