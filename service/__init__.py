"""Rulewood's service: HTTP, jobs and storage around the learners."""
