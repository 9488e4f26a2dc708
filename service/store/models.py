"""Queries on models, their versions and aliases. Whatever changes a model locks its row first."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import delete as sql_delete
from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.errors import Conflict, Fault, Invalid, NotFound
from service.store import changes
from service.store.engines import insert_once, upsert
from service.store.ids import new_id
from service.store.paging import page_of
from service.store.tables import Alias, Model, ModelVersion


def find(session: Session, workspace: str, name: str) -> Model | None:
    """The model of this name, or None."""
    return session.scalar(select(Model).where(Model.workspace == workspace, Model.name == name))


def get(session: Session, workspace: str, name: str) -> Model:
    """The model of this name.

    Raises:
        NotFound: the workspace has none.
    """
    model = find(session, workspace, name)
    if model is None:
        bare = re.split("[:@]", name)[0]
        said = f"here a model is named without version and alias: {bare[:128]!r}" if bare != name else ""
        faults = [Fault(said, parameter="name", value=name)] if said else []
        raise NotFound(f"There is no model {name[:128]!r}{said and '; '}{said}.", faults)
    return model


def get_or_insert(session: Session, workspace: str, name: str) -> Model:
    """The model of this name, made if there is none."""
    values = {"id": new_id("mdl"), "workspace": workspace, "name": name, "tags": [], "created_at": time.time()}
    insert_once(session, Model, values)
    return get(session, workspace, name)


def lock(session: Session, model: Model) -> Model:
    """Keep others from changing the model until the transaction ends, and read it anew.

    Raises:
        NotFound: it was deleted meanwhile.
    """
    statement = select(Model).where(Model.id == model.id).with_for_update()
    fresh = session.scalar(statement.execution_options(populate_existing=True))
    if fresh is None:
        raise NotFound(f"There is no model {model.name!r}.")
    return fresh


def page(
    session: Session, workspace: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[Model], str | None]:
    """A page of models, newest first."""
    statement = select(Model).where(Model.workspace == workspace)
    return page_of(session, statement, Model.created_at, Model.id, cursor, limit)


def change(session: Session, model: Model, *, notes: str | None = None, tags: list[str] | None = None) -> Model:
    """Set a model's notes or tags; None leaves them."""
    model = lock(session, model)
    if notes is not None:
        model.notes = notes
    if tags is not None:
        model.tags = tags
    session.flush()
    changes.bump(session, changes.REGISTRY)
    return model


def insert_version(session: Session, model: Model, job_id: str, **values: Any) -> tuple[ModelVersion, bool]:
    """Add the next version, or find the one that the same job added before.

    The number comes from the model's counter inside a savepoint, so that numbers have no gaps however
    many writers there are, and none is ever given twice, not even after a deletion.

    Returns:
        The version, and whether it is new.
    """
    for is_last in (False, True):
        before = version_of_job(session, job_id)
        if before is not None:
            return before, False
        try:
            with session.begin_nested():
                version = _insert_next(session, model, job_id, values)
        except IntegrityError:
            if is_last:
                raise
            continue  # the job's version was added by somebody else between the look and the insertion
        changes.bump(session, changes.REGISTRY)
        return version, True
    raise AssertionError("unreachable")


def _insert_next(session: Session, model: Model, job_id: str, values: dict[str, Any]) -> ModelVersion:
    count_up = update(Model).where(Model.id == model.id).values(last_version=Model.last_version + 1)
    number = session.scalar(count_up.returning(Model.last_version).execution_options(synchronize_session=False))
    if number is None:
        raise NotFound(f"There is no model {model.name!r}.")
    version = ModelVersion(
        id=new_id("ver"), model_id=model.id, version=number, job_id=job_id, created_at=time.time(), **values
    )
    session.add(version)
    session.flush()
    return version


def version_of_job(session: Session, job_id: str) -> ModelVersion | None:
    """The version that a job registered, or None."""
    return session.scalar(select(ModelVersion).where(ModelVersion.job_id == job_id))


def version(session: Session, model: Model, number: int) -> ModelVersion:
    """One version by its number.

    Raises:
        NotFound: there is none.
    """
    statement = select(ModelVersion).where(ModelVersion.model_id == model.id, ModelVersion.version == number)
    found = session.scalar(statement)
    if found is None:
        raise NotFound(f"Model {model.name!r} has no version {number}.")
    return found


def latest(session: Session, model: Model) -> ModelVersion | None:
    """The highest version that is not archived, or None."""
    statement = select(ModelVersion).where(ModelVersion.model_id == model.id, ModelVersion.archived_at.is_(None))
    return session.scalar(statement.order_by(ModelVersion.version.desc()).limit(1))


def latest_of(session: Session, models: Iterable[Model]) -> dict[str, ModelVersion]:
    """The highest version that is not archived of each of several models, by the model's id."""
    highest = (
        select(ModelVersion.model_id, func.max(ModelVersion.version).label("version"))
        .where(ModelVersion.model_id.in_([model.id for model in models]), ModelVersion.archived_at.is_(None))
        .group_by(ModelVersion.model_id)
        .subquery()
    )
    statement = select(ModelVersion).join(
        highest, (ModelVersion.model_id == highest.c.model_id) & (ModelVersion.version == highest.c.version)
    )
    return {version.model_id: version for version in session.scalars(statement)}


def versions(
    session: Session, model: Model, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[ModelVersion], str | None]:
    """A page of a model's versions, newest first, archived ones too."""
    statement = select(ModelVersion).where(ModelVersion.model_id == model.id)
    return page_of(session, statement, ModelVersion.created_at, ModelVersion.id, cursor, limit)


def aliases(session: Session, model: Model) -> dict[str, int]:
    """The version that each alias of a model names."""
    statement = select(Alias.alias, Alias.version).where(Alias.model_id == model.id).order_by(Alias.alias)
    return dict(session.execute(statement).all())


def aliases_of(session: Session, models: Iterable[Model]) -> dict[str, dict[str, int]]:
    """The same for several models, by the model's id."""
    statement = select(Alias).where(Alias.model_id.in_([model.id for model in models])).order_by(Alias.alias)
    found: dict[str, dict[str, int]] = {}
    for row in session.scalars(statement):
        found.setdefault(row.model_id, {})[row.alias] = row.version
    return found


def set_alias(session: Session, model: Model, alias: str, number: int) -> ModelVersion:
    """Let an alias name a version, wherever it pointed before, in one step.

    Raises:
        NotFound: there is no such version. Conflict: the version is archived.
    """
    model = lock(session, model)
    target = version(session, model, number)
    if target.archived_at is not None:
        raise Conflict(f"Version {number} of {model.name!r} is archived; an alias cannot name it.")
    _point(session, model, alias, number, time.time())
    return target


def set_alias_as_of(session: Session, model: Model, alias: str, number: int, asked_at: float) -> bool:
    """Let an alias name a version unless a move that was asked for later has been made already.

    Args:
        session, model, alias, number: as for :func:`set_alias`; the version is there and not archived.
        asked_at: when this move was asked for, as UTC seconds.

    Returns:
        Whether it was moved.
    """
    model = lock(session, model)
    last = session.scalar(select(Alias.updated_at).where(Alias.model_id == model.id, Alias.alias == alias))
    if last is not None and last > asked_at:
        return False
    _point(session, model, alias, number, asked_at)
    return True


def _point(session: Session, model: Model, alias: str, number: int, asked_at: float) -> None:
    values = {"model_id": model.id, "alias": alias, "version": number, "updated_at": asked_at}
    upsert(session, Alias, values, {"version": number, "updated_at": asked_at})
    changes.bump(session, changes.REGISTRY)


def delete_alias(session: Session, model: Model, alias: str) -> None:
    """Remove an alias.

    Raises:
        NotFound: the model has no such alias.
    """
    model = lock(session, model)
    gone = session.scalar(
        sql_delete(Alias).where(Alias.model_id == model.id, Alias.alias == alias).returning(Alias.alias)
    )
    if gone is None:
        raise NotFound(f"Model {model.name!r} has no alias {alias[:128]!r}.")
    changes.bump(session, changes.REGISTRY)


def archive(session: Session, model: Model, number: int) -> ModelVersion:
    """Take a version out of the choice of the latest; it still answers under its number.

    Raises:
        NotFound: there is no such version. Conflict: an alias names it.
    """
    model = lock(session, model)
    target = version(session, model, number)
    _refuse_aliased(session, model, number)
    if target.archived_at is None:
        target.archived_at = time.time()
        session.flush()
        changes.bump(session, changes.REGISTRY)
    return target


def delete_version(session: Session, model: Model, number: int) -> None:
    """Delete a version; its number is never given again.

    Raises:
        NotFound: there is no such version. Conflict: an alias names it.
    """
    model = lock(session, model)
    target = version(session, model, number)
    _refuse_aliased(session, model, number)
    session.delete(target)
    session.flush()
    changes.bump(session, changes.REGISTRY)


def delete(session: Session, model: Model, *, force: str | None = None) -> None:
    """Delete a model with all its versions; with ``force`` (its name) even if aliases name some of them.

    Raises:
        Conflict: aliases name some. Invalid: ``force`` is not its name.
    """
    model = lock(session, model)
    if force is not None and force != model.name:
        fault = Fault("give the model's own name", parameter="force", allowed=model.name, value=force[:64])
        raise Invalid("A forced deletion must name the model.", [fault])
    named = aliases(session, model)
    if named and force is None:
        raise Conflict(
            f"Versions of {model.name!r} are named by {', '.join(named)}; move or delete these aliases first, or give "
            "the model's name as `force` to delete it all the same.",
            [Fault(f"alias {alias} names version {number}") for alias, number in named.items()],
        )
    session.execute(sql_delete(Alias).where(Alias.model_id == model.id))
    session.execute(sql_delete(ModelVersion).where(ModelVersion.model_id == model.id))
    session.delete(model)
    session.flush()
    changes.bump(session, changes.REGISTRY)


def _refuse_aliased(session: Session, model: Model, number: int) -> None:
    names = [alias for alias, target in aliases(session, model).items() if target == number]
    if names:
        raise Conflict(f"Version {number} of {model.name!r} is named by {', '.join(names)}; move the alias first.")
