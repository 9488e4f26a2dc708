"""HTTP routes, one file per resource: parse, call one operation, return."""
