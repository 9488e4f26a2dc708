"""The demonstration: the whole road on real data over HTTP."""
