"""A thin typed client of the HTTP API, on httpx, synchronous.

>>> with Rulewood("http://127.0.0.1:8000") as rulewood:
...     dataset = rulewood.upload("credit.csv")
...     job = rulewood.train(dataset["id"], target="class", learner="decision-tree-classifier", model="credit")
...     rulewood.wait(job)
...     rulewood.predict("credit", [{"duration": 12, "purpose": "car"}])

Answers are the JSON objects of the API as they are; every error is a :class:`RulewoodError`.
"""

from __future__ import annotations

from service.client.content import Json
from service.client.datasets import Datasets
from service.client.descriptions import Descriptions
from service.client.errors import RulewoodError
from service.client.jobs import Jobs
from service.client.models import Models
from service.client.predictions import Predictions
from service.client.submissions import Submissions

__all__ = ["Json", "Rulewood", "RulewoodError"]


class Rulewood(Datasets, Submissions, Jobs, Models, Predictions, Descriptions):
    """One service.

    Args:
        base_url: where it is, e.g. ``http://127.0.0.1:8000``.
        key: an API key; None where the service asks for none.
        timeout: seconds to wait for one answer.
        transport: another way to reach the service, for tests.
    """
