"""What is wanted after which step, and rows that are another's beginning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.errors import DataError
from learners.neural.recurrent.network import RecurrentNetwork
from learners.neural.recurrent.sequences import Sequences
from learners.neural.recurrent.structure import Structure
from learners.neural.recurrent.teaching import following, hosts, lesson
from learners.neural.recurrent.unfolding import Taught, unfold
from learners.table import Column, Kind, Series, Table


def made(texts: list[str]) -> Sequences:
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return Sequences(np.array([[float(ord(letter))] for letter in "".join(texts)]), starts)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=12))
def test_a_host_begins_with_its_guest_and_has_none_itself(texts: list[str]) -> None:
    found = hosts(made(texts)).tolist()
    for row, host in enumerate(found):
        assert texts[host].startswith(texts[row])
        assert found[host] == host
        longer = [text for text in texts if text.startswith(texts[row])]
        assert not any(text.startswith(texts[host]) and text != texts[host] for text in longer)
    assert len({texts[host] for host in found}) == len(set(found))  # equal ones have one host


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=8), st.integers(0, 9))
def test_rows_learned_in_one_pass_teach_what_they_teach_alone(texts: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, structure = made(texts), Structure(1, (3,), 1)
    rows = Sequences(rows.values / 100, rows.starts)
    targets, weights = rng.normal(size=(len(texts), 1)), rng.random(len(texts)) + 0.1
    theta = RecurrentNetwork(structure, structure.initial(rng)).theta
    joined = lesson(rows, targets, weights, "last-step", 1)
    assert len(joined.rows) == len(set(hosts(rows).tolist()))
    by_step = np.zeros(len(rows.values))
    by_step[rows.starts[1:] - 1] = weights
    apart = Taught(rows.values, rows.starts, np.repeat(targets, rows.lengths, axis=0), by_step)
    together = Taught(joined.rows.values, joined.rows.starts, joined.targets, joined.weights)
    gradients = []
    for taught in (apart, together):
        gradients.append(np.zeros(len(theta)))
        unfold(theta, structure.shape(), taught, np.arange(len(taught.starts) - 1), 0, gradients[-1])
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-9, atol=1e-12)


def test_each_way_of_teaching_wants_its_steps() -> None:
    rows, targets, weights = made(["abc", "ca"]), np.array([[1.0], [2.0]]), np.array([1.0, 3.0])
    assert lesson(rows, targets, weights, "last-step", 1).weights.tolist() == [0, 0, 1, 0, 3]
    assert lesson(rows, targets, weights, "every-step", 1).targets.ravel().tolist() == [1, 1, 1, 2, 2]
    assert lesson(rows, targets, weights, "every-step", 3).weights.tolist() == [0, 0, 1, 0, 3]


WORDS = Table.from_columns({"word": ["abc", "ca", None, ""]}, [Column("word", Kind.TEXT)])
NEXT = Series.from_values("next", ["a", "b", "c", "b"], Column("next", Kind.NOMINAL, ("a", "b", "c")))


def test_each_symbol_is_followed_by_the_next_and_the_last_by_the_target() -> None:
    found = following(WORDS, NEXT, 1)
    assert found.cells.tolist() == [1, 2, 0, 0, 1, 2, 1]
    assert found.lengths.tolist() == [3, 2, 1, 1]
    seen = following(WORDS, NEXT, 2).cells
    assert np.isnan(seen).tolist() == [True, False, False, True, False, False, False]


def test_numbers_follow_as_numbers_and_as_labels() -> None:
    table = Table.from_columns({"bits": [[0, 1, 1], [1, 0]]})
    values = Series(Column("next"), np.array([0.5, 2.0]))
    assert following(table, values, 1).cells.tolist() == [1, 1, 0.5, 0, 2]
    labels = Series.from_values("next", [0, 1], Column("next", Kind.NOMINAL, ("0", "1"), "number"))
    assert following(table, labels, 1).cells.tolist() == [1, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("table", "target", "said"),
    [
        (WORDS, Series(NEXT.column, np.zeros(4)), None),
        (Table.from_columns({"x": [1.0]}), NEXT.take(np.array([0])), "there is none"),
        (Table.from_columns({"x": [[[1, 2]]]}), NEXT.take(np.array([0])), "column 'x' has 2"),
        (WORDS, Series(Column("y"), np.zeros(4)), "column 'word' is text"),
        (
            Table.from_columns({"word": ["axa"]}, [Column("word", Kind.TEXT)]),
            NEXT.take(np.array([0])),
            "row 0: the sequence in column 'word' goes on with 'x', which is no class of the target 'next'",
        ),
    ],
)
def test_what_cannot_be_taught_so_is_told(table: Table, target: Series, said: str | None) -> None:
    if said is None:
        following(table, target, 1)
        return
    with pytest.raises(DataError, match=said):
        following(table, target, 1)
