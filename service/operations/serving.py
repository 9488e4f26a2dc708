"""The models that this process has in memory, and which reference means which of them.

A request that names a model already known costs two dictionary look-ups and no database. References
(``name``, ``name:3``, ``name@alias``) are resolved by the store once; after that
:class:`ChangeWatcher` looks a few times a second whether the registry changed and resolves them anew,
so that an alias move is seen by every process within a second; the process that is asked for the move, or
tells that a training has ended, follows it before it answers (:meth:`Serving.catch_up`). While the
database cannot be reached, what is known goes on answering.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from learners.catalog import load_model
from learners.persist import load_file
from service import registry
from service.errors import NotFound, ServiceError
from service.formats.written_numbers import NumberSyntax
from service.logs import logger
from service.operations.identity import Identity
from service.operations.served import ServedModel
from service.store import changes
from service.store.blobs import Blobs
from service.store.session import Store
from service.store.tables import ModelVersion

#: Hexadecimal digits by which models of the same name and number are told apart.
_FINGERPRINT = 16
#: References remembered; past it they are forgotten all at once and resolved anew.
_MAX_REFERENCES = 10_000


@dataclass(frozen=True)
class _Resolved:
    """What a reference meant when the registry's counter stood at ``counter``."""

    model: ServedModel
    counter: int


class Serving:
    """The models in memory.

    Args:
        store: where references are resolved.
        blobs: where model files come from; they are mapped, so processes of a host share one copy.
        max_bytes: bound on the size of all models in memory; the least recently used give way.
    """

    def __init__(self, store: Store, blobs: Blobs, *, max_bytes: int = 1 << 30) -> None:
        self._store = store
        self._blobs = blobs
        self._max_bytes = max_bytes
        self._references: dict[tuple[str, str], _Resolved] = {}
        self._models: dict[str, ServedModel] = {}
        self._loading = threading.Lock()
        self._following = threading.Lock()
        self._remembering = threading.Lock()  # of `_counter` and what enters `_references`
        self._uses = 0
        self._counter = 0

    @property
    def models(self) -> list[ServedModel]:
        """Those in memory."""
        return list(self._models.values())

    @property
    def n_models(self) -> int:
        return len(self._models)

    @property
    def n_bytes(self) -> int:
        """Size of all models in memory."""
        return sum(model.size for model in self.models)

    def known(self, workspace: str, reference: str) -> ServedModel | None:
        """The model of a reference, if it is in memory. Never waits."""
        resolved = self._references.get((workspace, reference))
        if resolved is None:
            return None
        self._uses += 1
        resolved.model.used = self._uses
        return resolved.model

    def get(self, workspace: str, reference: str) -> ServedModel:
        """The model of a reference, from memory or else from the store; may wait for the database.

        Raises:
            NotFound: there is no such model, version or alias.
            BadRequest, Unavailable: the reference is malformed, or the store cannot be reached.
        """
        return self.known(workspace, reference) or self._resolve(workspace, reference)

    def catch_up(self) -> None:
        """Follow the registry at once, so that whoever is told of a change is answered by it from then on.

        Resolves anew every reference that was resolved before the registry's counter stood where it stands
        now. Returns when all of them are, even if another thread was at it already.

        Raises:
            Unavailable: the store cannot be reached.
        """
        with self._following:  # the counter is read within, else a slower thread could follow an older one
            with self._store.read() as session:
                counter = changes.counters(session).get(changes.REGISTRY, 0)
            with self._remembering:
                self._counter = counter
            for key, resolved in list(self._references.items()):
                if resolved.counter != counter:
                    try:
                        self._resolve(*key)
                    except NotFound:
                        self._references.pop(key, None)

    def _resolve(self, workspace: str, reference: str) -> ServedModel:
        while True:
            resolved = self._look_up(workspace, reference)
            with self._remembering:
                if resolved.counter >= self._counter:  # else the registry changed meanwhile: this may be of before
                    if len(self._references) >= _MAX_REFERENCES:
                        self._references = {}
                    self._references[workspace, reference] = resolved
                    return resolved.model

    def _look_up(self, workspace: str, reference: str) -> _Resolved:
        parsed = registry.parse_ref(reference)
        with self._store.read() as session:
            counter = changes.counters(session).get(changes.REGISTRY, 0)
            version = registry.resolve(session, workspace, parsed)
        model = self._load(workspace, parsed.name, version)
        self._uses += 1
        model.used = self._uses
        return _Resolved(model, counter)

    def _load(self, workspace: str, name: str, version: ModelVersion) -> ServedModel:
        """The version's model; one at a time is loaded, and none twice."""
        with self._loading:
            model = self._models.get(version.id)
            if model is None:
                path = self._blobs.path(version.blob_sha256)
                learner = load_model(load_file(path))
                model = ServedModel(
                    learner,
                    Identity(workspace, name, version.version, version.task, version.blob_sha256[:_FINGERPRINT]),
                    version.schema.get("missing_tokens", ("",)),
                    NumberSyntax(**version.schema.get("numbers", {})),
                    size=path.stat().st_size + learner.unpacked_bytes,
                )
                self._make_room(model.size)
                self._models[version.id] = model
            return model

    def _make_room(self, size: int) -> None:
        by_use = sorted(self._models.items(), key=lambda item: item[1].used)
        excess = sum(model.size for _, model in by_use) + size - self._max_bytes
        for version_id, model in by_use:
            if excess <= 0:
                return
            del self._models[version_id]
            for key in [key for key, resolved in list(self._references.items()) if resolved.model is model]:
                self._references.pop(key, None)
            excess -= model.size


#: Reads what changed and follows it. It is called anew until it returns without an error.
OnChange = Callable[[], None]


class ChangeWatcher:
    """A thread that looks at the store's change counters and tells who cares.

    Args:
        store: whose counters.
        actions: what to call, by topic, when its counter moved (and once at the start).
        interval: seconds between looks.
        besides: what else to do after each look.
    """

    def __init__(
        self,
        store: Store,
        actions: Mapping[str, OnChange],
        *,
        interval: float = 0.3,
        besides: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._actions = actions
        self._interval = interval
        self._besides = besides
        self._seen: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="change-watcher", daemon=True)
        self._reachable = True

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> None:
        """One look at the counters.

        Raises:
            ServiceError: the store cannot be reached; what was seen before still counts.
        """
        with self._store.read() as session:
            counters = changes.counters(session)
        for topic, action in self._actions.items():
            counter = counters.get(topic, 0)
            if self._seen.get(topic) != counter:
                action()
                self._seen[topic] = counter

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self._besides()
                self.look()
                self._reachable = True
            except ServiceError as error:
                if self._reachable:
                    logger.warning("changes cannot be read, going on with what is known: %s", error)
                self._reachable = False
            except Exception:
                logger.exception("looking for changes failed")
