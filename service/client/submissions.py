"""Submitting the jobs of a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from service.client.connection import Connection
from service.client.content import Json, given


class Submissions(Connection):
    """Work to be done in the background, a method a kind."""

    def train(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learner: str,
        model: str | None = None,
        aliases: Sequence[str] = (),
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a training; the model is registered as the next version of ``model``.

        ``more`` are further fields of the request: ``parameters``, ``seed``, ``features``, ``evaluation``, ...
        """
        request = {"kind": "train", "dataset": dataset, "target": target, "learner": learner, **more}
        if model is not None:
            request["model"] = {"name": model, "aliases": list(aliases)}
        return self.submit(request, idempotency_key=idempotency_key)

    def cross_validate(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learner: str,
        folds: int = 10,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a k-fold cross-validation; ``output={"format": "csv"}`` keeps its answers for ``download``."""
        request = {
            "kind": "cross-validate",
            "dataset": dataset,
            "target": target,
            "learner": learner,
            "evaluation": {"method": "k-fold", "folds": folds},
            **more,
        }
        return self.submit(request, idempotency_key=idempotency_key)

    def select(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learner: str,
        selection: Json,
        model: str | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a search; the winner is fitted and registered as the next version of ``model``.

        Args:
            dataset, target, learner: what is learned, and by what.
            selection: ``{"grid": {"max_depth": [2, 4]}, "nested": 5}`` looks at every combination and judges the
                search in outer folds; ``{"method": "size", "size": "max_leaves"}`` raises one parameter until the
                training error converges and judges the winner on rows that were locked away.
            model: name of the model; without it nothing is registered.
            idempotency_key: see :meth:`submit`.
            more: further fields of the request: ``evaluation`` of each candidate, ``parameters``, ``seed``, ...
        """
        request = {"kind": "select", "dataset": dataset, "target": target, "learner": learner, **more}
        request["selection"] = selection
        if model is not None:
            request["model"] = {"name": model}
        return self.submit(request, idempotency_key=idempotency_key)

    def learning_curve(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learner: str,
        shares: Sequence[float] | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a learning curve: the evaluation by share of the training rows."""
        request = {"kind": "learning-curve", "dataset": dataset, "target": target, "learner": learner, **more}
        if shares is not None:
            request["shares"] = list(shares)
        return self.submit(request, idempotency_key=idempotency_key)

    def bias_variance(
        self,
        dataset: str,
        *,
        target: str,
        learner: str,
        rounds: int | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a decomposition of the error into bias and variance, by ``rounds`` bootstrap samples of each split."""
        request = {"kind": "bias-variance", "dataset": dataset, "target": target, "learner": learner, **more}
        return self.submit(request | given({"rounds": rounds}), idempotency_key=idempotency_key)

    def description_length(
        self, dataset: str, *, target: str, learner: str, idempotency_key: str | None = None, **more: Any
    ) -> Json:
        """Submit the count of the bits in which the classes can be told with the learner's help (MDL)."""
        request = {"kind": "description-length", "dataset": dataset, "target": target, "learner": learner, **more}
        return self.submit(request, idempotency_key=idempotency_key)

    def compare_learners(
        self,
        dataset: str,
        *,
        target: str | None = None,
        learners: Sequence[Json],
        reference: str | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Json:
        """Submit a comparison of two to ten learners on the same folds.

        Args:
            dataset, target: what is learned.
            learners: each ``{"learner": "decision-tree-classifier", "parameters": {"max_depth": 3}, "name": "tree"}``;
                parameters and name may be left out.
            reference: the name of the one against which all others are compared.
            idempotency_key: see :meth:`submit`.
            more: further fields of the request: ``evaluation``, ``features``, ``seed``; with
                ``output={"format": "csv"}`` the answers out of fold are kept for ``download``.
        """
        request = {"kind": "compare", "dataset": dataset, "target": target, "learners": list(learners), **more}
        return self.submit(request | given({"reference": reference}), idempotency_key=idempotency_key)

    def evaluate(
        self,
        ref: str,
        dataset: str,
        *,
        against: str | None = None,
        utility: Json | None = None,
        weights: str | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Submit the evaluation of a version on a dataset, against another version if one is named."""
        request: Json = {"kind": "evaluate", "dataset": dataset, "version": ref}
        request |= given({"against": against, "weights": weights})
        if utility is not None:
            request["evaluation"] = {"utility": utility}
        return self.submit(request, idempotency_key=idempotency_key)

    def predict_dataset(self, ref: str, dataset: str, *, idempotency_key: str | None = None, **output: Any) -> Json:
        """Submit the prediction of a whole dataset; ``output`` are ``format``, ``explain``, ``interval``, ..."""
        request = {"kind": "predict", "dataset": dataset, "version": ref, "output": output}
        return self.submit(request, idempotency_key=idempotency_key)

    def submit(self, request: Json, *, idempotency_key: str | None = None) -> Json:
        """Submit any job; with a key a repeated submission finds the first."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self._json("POST", "/jobs", json=request, headers=headers)
