"""Cascade correlation: networks that grow hidden unit by hidden unit."""
