"""Rulewood's learner library: fit, predict and explain; no HTTP, no database, no files."""
