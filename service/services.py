"""The parts of one API process, which every door and route is given."""

from __future__ import annotations

from dataclasses import dataclass

from service.metrics import Metrics
from service.operations.health import Readiness
from service.operations.ingesting import Ingester
from service.operations.keys import Keyring
from service.operations.serving import Serving
from service.settings import Settings
from service.store.blobs import Blobs
from service.store.session import Store
from service.web.gate import InFlight
from service.web.long_answers import LongAnswers


@dataclass
class Services:
    """Put together by :mod:`service.app`."""

    settings: Settings
    store: Store
    blobs: Blobs
    keyring: Keyring
    serving: Serving
    metrics: Metrics
    in_flight: InFlight
    long_answers: LongAnswers
    ingester: Ingester
    readiness: Readiness
