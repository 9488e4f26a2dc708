"""Models: names, their versions, aliases and schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from service import registry
from service.errors import Fault, Invalid
from service.store import models as queries
from service.store.session import Store
from service.store.tables import Model, ModelVersion


@dataclass(frozen=True)
class ModelDetail:
    """A model with what its aliases and its bare name mean."""

    model: Model
    aliases: dict[str, int]
    latest: int | None


@dataclass(frozen=True)
class VersionDetail:
    """A version, the name it lies under and the aliases that mean it."""

    name: str
    version: ModelVersion
    aliases: list[str]


def page(store: Store, workspace: str, *, cursor: str | None, limit: int) -> tuple[list[ModelDetail], str | None]:
    """A page of models, newest first, and the cursor of the next."""
    with store.read() as session:
        found, next_cursor = queries.page(session, workspace, cursor=cursor, limit=limit)
        aliases = queries.aliases_of(session, found)
        latest = queries.latest_of(session, found)
    details = [
        ModelDetail(model, aliases.get(model.id, {}), latest[model.id].version if model.id in latest else None)
        for model in found
    ]
    return details, next_cursor


def get(store: Store, workspace: str, reference: str) -> ModelDetail | VersionDetail:
    """What a reference names: a bare name the model, one with version or alias that version.

    Raises:
        NotFound: there is no such thing.
    """
    ref = registry.parse_ref(reference)
    with store.read() as session:
        if ref.version is None and ref.alias is None:
            return _detail(session, queries.get(session, workspace, ref.name))
        return _version_detail(session, workspace, ref)


def get_version(store: Store, workspace: str, reference: str) -> VersionDetail:
    """The version that a reference means; a bare name is its latest.

    Raises:
        NotFound: there is no such thing.
    """
    with store.read() as session:
        return _version_detail(session, workspace, registry.parse_ref(reference))


def versions(
    store: Store, workspace: str, name: str, *, cursor: str | None, limit: int
) -> tuple[list[VersionDetail], str | None]:
    """A page of a model's versions, newest first, archived ones too."""
    with store.read() as session:
        model = queries.get(session, workspace, name)
        found, next_cursor = queries.versions(session, model, cursor=cursor, limit=limit)
        aliases = queries.aliases(session, model)
    return [VersionDetail(name, version, _names_of(aliases, version)) for version in found], next_cursor


def change(store: Store, workspace: str, name: str, *, notes: str | None, tags: list[str] | None) -> ModelDetail:
    """Set a model's notes or tags; None leaves them."""
    with store.begin() as session:
        model = queries.change(session, queries.get(session, workspace, name), notes=notes, tags=tags)
        return _detail(session, model)


def set_alias(store: Store, workspace: str, name: str, alias: str, version: int) -> int:
    """Let an alias mean a version, in one step.

    Raises:
        NotFound: no such model or version. Conflict: it is archived. Invalid: the alias is not allowed.
    """
    with store.begin() as session:
        return registry.move_alias(session, workspace, name, alias, version).version


def delete_alias(store: Store, workspace: str, name: str, alias: str) -> None:
    """Forget an alias.

    Raises:
        NotFound: there is no such model or alias.
    """
    with store.begin() as session:
        queries.delete_alias(session, queries.get(session, workspace, name), alias)


def archive(store: Store, workspace: str, reference: str) -> VersionDetail:
    """Take a version out of the choice of the latest.

    Raises:
        NotFound: there is no such version. Conflict: an alias means it. Invalid: no version was named.
    """
    ref = registry.parse_ref(reference)
    if ref.version is None:
        raise Invalid(
            "Name the version to archive by its number, like credit:3",
            [Fault("a version number is needed", parameter="ref", allowed="name:version", value=reference)],
        )
    with store.begin() as session:
        version = queries.archive(session, queries.get(session, workspace, ref.name), ref.version)
        return VersionDetail(ref.name, version, [])


def delete(store: Store, workspace: str, reference: str, *, force: str | None = None) -> None:
    """Delete a version (``name:3``) or a whole model (``name``), with ``force`` (its name) even if aliases mean some.

    Raises:
        NotFound: there is no such thing. Conflict: an alias means what would go. Invalid: an alias was given, ``force``
            is not the model's name, or it came with a version.
    """
    ref = registry.parse_ref(reference)
    if ref.alias is not None:
        raise Invalid(
            "Name what is to be deleted without an alias: a version like credit:3, or a whole model",
            [Fault("an alias moves", parameter="ref", allowed="name or name:version", value=reference)],
        )
    if ref.version is not None and force is not None:
        raise Invalid(
            "A single version is never forced away; move the aliases that name it",
            [Fault("only a whole model takes this", parameter="force", value=force[:64])],
        )
    with store.begin() as session:
        model = queries.get(session, workspace, ref.name)
        if ref.version is None:
            queries.delete(session, model, force=force)
        else:
            queries.delete_version(session, model, ref.version)


def readable_parts(version: ModelVersion) -> list[str]:
    """Under which addresses the whole of a version can be read, by its learner."""
    from learners import catalog
    from learners.linear.fitted import FittedLinear
    from learners.rules.fitted import FittedRules
    from learners.trees.estimator import FittedTree

    learner = catalog.get(version.learner)
    kinds = {"rules": (FittedRules, FittedTree), "tree": (FittedTree,), "coefficients": (FittedLinear,)}
    return [part for part, has_it in kinds.items() if issubclass(learner, has_it)]


def input_schema(store: Store, workspace: str, reference: str) -> dict[str, Any]:
    """What a version wants to be given."""
    from service.operations.row_schema import row_schema

    detail = get_version(store, workspace, reference)
    schema = detail.version.schema
    return {
        "model": detail.name,
        "version": detail.version.version,
        "inputs": schema["inputs"],
        "target": schema["target"],
        "missing_tokens": schema["missing_tokens"],
        "numbers": {"decimal": ".", "thousands": None} | schema.get("numbers", {}),
        "example": schema["example"],
        "json_schema": row_schema(schema["inputs"], schema["missing_tokens"]),
    }


def _detail(session: Session, model: Model) -> ModelDetail:
    latest = queries.latest(session, model)
    return ModelDetail(model, queries.aliases(session, model), latest.version if latest else None)


def _version_detail(session: Session, workspace: str, ref: registry.ModelRef) -> VersionDetail:
    version = registry.resolve(session, workspace, ref)
    aliases = queries.aliases(session, queries.get(session, workspace, ref.name))
    return VersionDetail(ref.name, version, _names_of(aliases, version))


def _names_of(aliases: dict[str, int], version: ModelVersion) -> list[str]:
    return [alias for alias, number in aliases.items() if number == version.version]
