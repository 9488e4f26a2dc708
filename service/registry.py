"""The registry: references to model versions, registration, aliases."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from service.errors import Fault, Invalid, NotFound
from service.store import datasets, models
from service.store.tables import ModelVersion

#: Longest name of a model or alias, in characters.
NAME_LENGTH = 128
NAME_PATTERN = rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_LENGTH - 1}}}"
_NAME = re.compile(NAME_PATTERN)
_REFERENCE = re.compile(rf"(?P<name>{NAME_PATTERN})(?::(?P<version>[1-9][0-9]{{0,8}})|@(?P<alias>{NAME_PATTERN}))?")
_ALLOWED = f"1 to {NAME_LENGTH} of A-Z a-z 0-9 . _ -, the first a letter or digit"
#: What a bare name means already, so no alias may mean something else.
_RESERVED_ALIAS = "latest"
_ALIAS_RULE = f"an alias is not a number and not {_RESERVED_ALIAS!r}: versions are numbers, the bare name is the latest"


@dataclass(frozen=True)
class ModelRef:
    """``name`` (the latest version that is not archived), ``name:3`` or ``name@champion``."""

    name: str
    version: int | None = None
    alias: str | None = None

    def __str__(self) -> str:
        if self.version is not None:
            return f"{self.name}:{self.version}"
        return self.name if self.alias is None else f"{self.name}@{self.alias}"


def parse_ref(text: str) -> ModelRef:
    """Read a reference.

    Raises:
        NotFound: it is not one, so it names nothing.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        message = f"a reference is `name`, `name:3` or `name@alias`; a name has {_ALLOWED}"
        raise NotFound("There is no such model.", [Fault(message, parameter="ref", value=text[:128])])
    number = match["version"]
    return ModelRef(match["name"], None if number is None else int(number), match["alias"])


def check_name(text: str, parameter: str) -> str:
    """A name of a model or alias as it was given.

    Raises:
        Invalid: it has other characters or is too long; ``parameter`` is named as the culprit.
    """
    if _NAME.fullmatch(text) is None:
        fault = Fault(f"a name has {_ALLOWED}", parameter=parameter, allowed=NAME_PATTERN, value=text[:128])
        raise Invalid("The name is not valid.", [fault])
    return text


def check_alias(text: str, parameter: str) -> str:
    """An alias as it was given.

    Raises:
        Invalid: it is no name, all digits, or ``latest`` (in any case); ``parameter`` is named as the culprit.
    """
    check_name(text, parameter)
    if text.isdecimal() or text.lower() == _RESERVED_ALIAS:
        fault = Fault(_ALIAS_RULE, parameter=parameter, allowed=f"{_ALLOWED}; {_ALIAS_RULE}", value=text)
        raise Invalid(f"The alias is not valid: {_ALIAS_RULE}.", [fault])
    return text


def resolve(session: Session, workspace: str, ref: ModelRef | str) -> ModelVersion:
    """The version that a reference names now.

    Raises:
        NotFound: there is no such model, version or alias, or all versions are archived.
    """
    ref = parse_ref(ref) if isinstance(ref, str) else ref
    model = models.get(session, workspace, ref.name)
    if ref.version is not None:
        return models.version(session, model, ref.version)
    if ref.alias is not None:
        number = models.aliases(session, model).get(ref.alias)
        if number is None:
            raise NotFound(f"Model {ref.name!r} has no alias {ref.alias!r}.")
        return models.version(session, model, number)
    latest = models.latest(session, model)
    if latest is None:
        raise NotFound(f"Model {ref.name!r} has no version that is not archived.")
    return latest


def register(
    session: Session,
    workspace: str,
    name: str,
    job_id: str,
    *,
    dataset_id: str | None,
    aliases: Iterable[str] = (),
    tags: Iterable[str] = (),
    submitted_at: float | None = None,
    **values: Any,
) -> ModelVersion:
    """Add a version to a model, which is made if need be; the same job gets the same version again.

    Args:
        session: a write transaction; the caller's other changes become true with this one or not at all.
        workspace: the model's workspace.
        name: the model's name.
        job_id: the job that made the version.
        dataset_id: what it was trained on; a dataset that was deleted meanwhile leaves the link empty.
        aliases: names that are moved to the version, except those moved by what was asked for after the
            job: by a person, or by a job submitted later that ended earlier.
        tags: labels that are added to the model's.
        submitted_at: when the job was submitted, as UTC seconds; None: now.
        values: blob_sha256, learner, task, parameters, schema, lineage, metrics and perhaps notes.

    Raises:
        Invalid: the name or an alias is not allowed.
    """
    check_name(name, "model.name")
    wanted = [check_alias(alias, "model.aliases") for alias in aliases]
    held = dataset_id if dataset_id is not None and datasets.hold(session, dataset_id) else None
    model = models.get_or_insert(session, workspace, name)
    version, is_new = models.insert_version(session, model, job_id, dataset_id=held, **values)
    if is_new:
        asked_at = time.time() if submitted_at is None else submitted_at
        model = models.lock(session, model)
        model.tags = list(dict.fromkeys([*model.tags, *tags]))
        for alias in wanted:
            models.set_alias_as_of(session, model, alias, version.version, asked_at)
    return version


def move_alias(session: Session, workspace: str, name: str, alias: str, number: int) -> ModelVersion:
    """Let an alias name another version, in one step.

    Raises:
        NotFound: no such model or version. Conflict: it is archived. Invalid: the alias is not allowed.
    """
    check_alias(alias, "alias")
    return models.set_alias(session, models.get(session, workspace, name), alias, number)
