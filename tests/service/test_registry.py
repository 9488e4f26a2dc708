"""References to versions, and what they resolve to."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import Invalid, NotFound
from service.registry import NAME_PATTERN, ModelRef, check_alias, check_name, move_alias, parse_ref, resolve
from service.store import models
from service.store.session import Store
from service.store.tables import Model
from tests.service.store.making import WORKSPACE, count, register

names = st.from_regex(NAME_PATTERN, fullmatch=True)


references = st.one_of(
    st.builds(ModelRef, names),
    st.builds(ModelRef, names, st.integers(1, 10**9 - 1)),
    st.builds(ModelRef, names, st.none(), names),
)


@given(references)
def test_references_round_trip(ref: ModelRef) -> None:
    assert parse_ref(str(ref)) == ref


@given(st.text())
def test_any_text_is_a_reference_or_not_found(text: str) -> None:
    try:
        name = parse_ref(text).name
    except NotFound:
        return
    assert text.startswith(name)


NO_REFERENCES = ["", ".m", "m:", "m:-1", "m:x", "m:1:2", "m@", "m@a@b", "m:1@a", "m n", "m\n", "ü"]
NO_REFERENCES += ["m" * 129, "m:\u0661", "m:" + "9" * 10, "m:0", "m:01", "m:007"]


@pytest.mark.parametrize("text", NO_REFERENCES)
def test_what_is_not_a_reference(text: str) -> None:
    with pytest.raises(NotFound) as caught:
        parse_ref(text)
    assert caught.value.faults[0].parameter == "ref"


NO_NAMES = ["", "-a", "a b", "a/b", "a:b", "a@b", "x" * 129, "a\0", "é"]


def test_names_are_checked_before_anything_is_stored(store: Store) -> None:
    for name in NO_NAMES:
        with pytest.raises(Invalid):
            check_name(name, "name")
        with pytest.raises(Invalid) as caught:
            register(store, name, "job_1")
        assert caught.value.faults[0].parameter == "model.name"
        with pytest.raises(Invalid) as caught:
            register(store, "m", "job_1", aliases=[name])
        assert caught.value.faults[0].parameter == "model.aliases"
    assert count(store, Model) == 0


def test_resolving(store: Store) -> None:
    for number in (1, 2, 3):
        register(store, "m", f"job_{number}")
    with store.begin() as session:
        move_alias(session, WORKSPACE, "m", "champion", 2)
        models.archive(session, models.get(session, WORKSPACE, "m"), 3)
    with store.read() as session:
        wanted = {"m": 2, "m:1": 1, "m:3": 3, "m@champion": 2}
        assert {text: resolve(session, WORKSPACE, text).version for text in wanted} == wanted
        for text in ("n", "m:4", "m:0", "m@other", "m@Champion"):
            with pytest.raises(NotFound):
                resolve(session, WORKSPACE, text)
        with pytest.raises(NotFound):
            resolve(session, "other", "m")
    with store.begin() as session:
        model = models.get(session, WORKSPACE, "m")
        models.delete_alias(session, model, "champion")
        for number in (1, 2):
            models.archive(session, model, number)
        with pytest.raises(NotFound, match="not archived"):
            resolve(session, WORKSPACE, "m")


def test_moving_an_alias_checks_its_name(store: Store) -> None:
    register(store, "m", "job_1")
    with pytest.raises(Invalid), store.begin() as session:
        move_alias(session, WORKSPACE, "m", "a b", 1)


@pytest.mark.parametrize("text", ["1", "007", "latest", "LATEST"])
def test_what_the_bare_name_and_versions_mean_is_no_alias(text: str) -> None:
    with pytest.raises(Invalid, match="the bare name is the latest") as caught:
        check_alias(text, "alias")
    assert caught.value.faults[0].parameter == "alias"
    assert check_name(text, "model.name") == text


@pytest.mark.parametrize("text", ["champion", "v1", "1a", "latest-2", "2026-11"])
def test_other_names_are_aliases(text: str) -> None:
    assert check_alias(text, "alias") == text


def aliases(store: Store) -> dict[str, int]:
    with store.read() as session:
        return models.aliases(session, models.get(session, WORKSPACE, "m"))


def test_a_training_does_not_move_an_alias_back_to_an_earlier_submission(store: Store) -> None:
    register(store, "m", "job_2", aliases=["champion"], submitted_at=2.0)
    register(store, "m", "job_1", aliases=["champion", "fresh"], submitted_at=1.0)
    assert aliases(store) == {"champion": 1, "fresh": 2}
    register(store, "m", "job_3", aliases=["champion", "fresh"], submitted_at=3.0)
    assert aliases(store) == {"champion": 3, "fresh": 3}


def test_a_persons_move_is_obeyed_and_outlasts_what_was_submitted_before_it(store: Store) -> None:
    before = time.time()
    register(store, "m", "job_1", aliases=["champion"], submitted_at=before + 3600)
    register(store, "m", "job_2", submitted_at=before)
    with store.begin() as session:
        move_alias(session, WORKSPACE, "m", "champion", 2)
    register(store, "m", "job_3", aliases=["champion"], submitted_at=before)
    assert aliases(store) == {"champion": 2}
    register(store, "m", "job_4", aliases=["champion"], submitted_at=time.time())
    assert aliases(store) == {"champion": 4}
