"""Wire types, one file per resource."""
