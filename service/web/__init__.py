"""HTTP itself: what every request passes, strict routes, uploads, the OpenAPI document."""
