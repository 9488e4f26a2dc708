"""Bytes to typed tables and back: readers, inference of kinds, the table file, profiles, prediction rows."""
