"""Checking what a job is asked to do, before it is accepted: one module for each thing that a request speaks of."""

from service.operations.submission.request import check_submission

__all__ = ["check_submission"]
