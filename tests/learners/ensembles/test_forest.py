"""Bagged trees and forests: seeds, draws, the error out of bag, importances, stored size."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier as Peer
from sklearn.tree import DecisionTreeClassifier as PeerTree

from learners._accel import interpreted, uncompiled
from learners.ensembles import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    compiled_answers,
    members,
)
from learners.ensembles.drawing import Draws
from learners.ensembles.members import MemberTrees
from learners.ensembles.storage import smallest
from learners.persist import dump
from learners.table import Table
from learners.trees import DecisionTreeClassifier, batch, column_draws, growth
from learners.trees.build import grow_tree
from learners.trees.cells import by_column
from learners.trees.column_draws import draw_columns, draw_of, hashed, list_columns
from learners.trees.room import new_work
from learners.trees.setup import GrowthOptions
from learners.trees.shared import SharedColumns
from tests.learners.tables import read
from tests.learners.trees.random_trees import COLUMNS, random_rows, random_tree


def test_the_same_seed_gives_the_same_forest_whatever_the_threads():
    table, target = read("credit-g", "class")
    one, two, other = (
        RandomForestClassifier(members=6, threads=threads, seed=seed).fit(table, target)
        for threads, seed in ((1, 3), (3, 3), (1, 4))
    )
    assert one.out_of_bag_ == two.out_of_bag_
    found, wanted = one.get_state().arrays, two.get_state().arrays
    assert all(np.array_equal(found[name], wanted[name], equal_nan=True) for name in wanted)
    assert dump(one.get_state()) != dump(other.get_state())


@pytest.mark.parametrize(("table_name", "label"), [("credit-g", "class"), ("hepatitis", "Class")])
@pytest.mark.parametrize("options", [GrowthOptions("gini"), GrowthOptions("entropy", max_leaves=9)])
def test_a_tree_on_shared_columns_is_the_tree_grown_alone(table_name, label, options):
    table, target = read(table_name, label)
    shared = SharedColumns(table, target.cells, 2, np.ones(table.n_rows), options)
    for seed in range(2):
        weights = np.random.default_rng(seed).integers(0, 3, table.n_rows).astype(float)
        found = shared.grow(weights).own_arrays()
        alone = grow_tree(table, target.cells, 2, weights, options).own_arrays()
        for name in ("test", "feature", "threshold", "level_codes", "value", "fraction"):
            assert found[name] == pytest.approx(alone[name], rel=1e-9, nan_ok=True)


@pytest.mark.parametrize(("table_name", "label"), [("credit-g", "class"), ("hepatitis", "Class")])
def test_a_tree_does_not_depend_on_those_whose_memory_it_uses(table_name, label):
    table, target = read(table_name, label)
    rng, ones, options = np.random.default_rng(0), np.ones(table.n_rows), GrowthOptions("gini")
    weights = [rng.integers(0, 3, table.n_rows).astype(float), ones, ones * (rng.random(table.n_rows) < 0.1)]
    weights += [rng.random(table.n_rows), *weights]
    shared = SharedColumns(table, target.cells, 2, ones, options)
    for own in weights:
        found = shared.grow(own, draw=draw_of(4, 3)).own_arrays()
        alone = SharedColumns(table, target.cells, 2, ones, options).grow(own, draw=draw_of(4, 3)).own_arrays()
        assert all(found[name].tobytes() == alone[name].tobytes() for name in alone)


@pytest.mark.parametrize("need", [1, 3, 7, 12])
def test_few_drawn_columns_are_those_of_many_and_ascend(need, monkeypatch):
    shared = SharedColumns(Table.from_array(np.eye(12)), np.arange(12.0) % 2, 2, np.ones(12), GrowthOptions("gini"))
    problem = shared._prepared.problem._replace(draw=draw_of(need, 11))
    work = new_work(problem, shared._prepared.rules)
    found = []
    for few in (0, 16):
        monkeypatch.setattr(column_draws, "_FEW_DRAWN", few)
        with uncompiled():
            left = interpreted(list_columns)(problem, work, np.arange(12) != 4)
            left, drawn = interpreted(draw_columns)(problem, work, 5, left, need)
        assert (left, drawn) == (11 - min(need, 11), min(need, 11))
        found.append(work.looked[:drawn].tolist())
    assert found[0] == found[1] == sorted(set(found[0]) - {4})


def test_all_columns_drawn_are_no_draw():
    table, target = read("credit-g", "class")
    shared = SharedColumns(table, target.cells, 2, np.ones(table.n_rows), GrowthOptions("gini"))
    plain, drawn = shared.grow(np.ones(table.n_rows)), shared.grow(np.ones(table.n_rows), draw=draw_of(20, 5))
    assert np.array_equal(plain.feature, drawn.feature)


def test_columns_are_drawn_alike_however_often_there_was_too_little_room(monkeypatch):
    table, target = read("hepatitis", "Class")
    wanted = RandomForestClassifier(members=3).fit(table, target).get_state()
    monkeypatch.setattr(growth, "_MOST_NODES", 4)
    monkeypatch.setattr(growth, "_FEWEST_ENTRIES", 2)
    found = RandomForestClassifier(members=3).fit(table, target).get_state()
    assert dump(found) == dump(wanted)


def test_one_column_a_node_is_each_as_often():
    """Of 8 columns alike in their chance the roots of 400 trees take each about 50 times: chi-square below 30."""
    random = np.random.default_rng(0)
    values, codes = random.normal(size=(30, 8)), np.arange(30.0) % 2
    shared = SharedColumns(Table.from_array(values), codes, 2, np.ones(30), GrowthOptions("gini", max_depth=1))
    roots = [shared.grow(np.ones(30), draw=draw_of(1, seed * 7919)).feature[0] for seed in range(400)]
    counts = np.bincount(roots, minlength=8)
    assert ((counts - 50) ** 2 / 50).sum() < 30


def test_hashes_of_neighbours_are_spread():
    found = np.array([interpreted(hashed)(number) for number in range(2000)]) / 2**32
    assert abs(found.mean() - 0.5) < 0.03
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.07


def test_a_sample_leaves_out_a_third_of_the_rows():
    draws = Draws(np.ones(20_000), 1.0, 0)
    assert draws.counts(0).sum() == 20_000
    assert len(draws.left_out(0)) / 20_000 == pytest.approx(np.exp(-1), abs=0.01)
    weights = np.array([1.0, 2.0, 0.0, 3.0])
    repeated = np.repeat(np.arange(4), weights.astype(int))
    counted = np.bincount(repeated, Draws(np.ones(6), 1.0, 5).counts(2), minlength=4)
    assert Draws(weights, 1.0, 5).counts(2).tolist() == counted.tolist()


@pytest.mark.parametrize(("weights", "drawn"), [([0.1] * 10, 10), ([0.0] * 4 + [0.1] * 6, 6), ([1e3] * 10, 160)])
def test_there_are_as_many_draws_as_rows_at_least_and_sixteen_times_as_many_at_most(weights, drawn):
    draws = Draws(np.array(weights), 1.0, 0)
    assert draws.counts(0).sum() == drawn
    assert draws.counts(0).tolist() != draws.counts(1).tolist()


def test_the_error_out_of_bag_is_near_the_peers():
    table, target = read("pima", "class")
    ours = RandomForestClassifier(seed=1).fit(table, target)
    peer = Peer(100, oob_score=True, random_state=1).fit(table.values, target.codes)
    assert ours.out_of_bag_.error == pytest.approx(1 - peer.oob_score_, abs=0.03)
    assert ours.out_of_bag_.rows == table.n_rows
    assert np.argmax(ours.feature_importances_) == np.argmax(peer.feature_importances_)
    assert ours.feature_importances_ == pytest.approx(peer.feature_importances_, abs=0.05)


@pytest.mark.parametrize(("n_columns", "third"), [(2, 1), (3, 1), (8, 2), (9, 3)])
def test_nodes_of_numbers_look_at_a_third_of_the_columns(n_columns, third):
    values = np.random.default_rng(6).normal(size=(60, n_columns))
    found, wanted, whole = (
        RandomForestRegressor(members=3, **given).fit(values, values.sum(axis=1))
        for given in ({}, {"columns_a_node": third}, {"columns_a_node": n_columns})
    )
    assert found.predict(values).tolist() == wanted.predict(values).tolist() != whole.predict(values).tolist()


def test_nodes_of_classes_look_at_the_root_of_the_columns():
    """Of 16 columns 4: a third of them would be 5."""
    generator = np.random.default_rng(7)
    values, codes = generator.normal(size=(80, 16)), generator.integers(0, 2, 80)
    by_default, four, five = (
        RandomForestClassifier(members=3, **given).fit(values, codes).predict_proba(values).tolist()
        for given in ({}, {"columns_a_node": 4}, {"columns_a_node": 5})
    )
    assert by_default == four != five


def test_a_share_of_the_rows_is_drawn_and_rows_without_weight_never():
    assert Draws(np.ones(200), 0.3, 1).counts(4).sum() == 60
    weights = np.arange(50.0) % 2
    draws = Draws(weights, 1.0, 2)
    assert (draws.counts(0)[weights == 0] == 0).all()
    assert (weights[draws.left_out(0)] > 0).all()


def test_class_weights_of_a_bag_are_weights_of_its_rows():
    table, target = read("credit-g", "class")
    factors = np.where(np.array(target.column.labels)[target.codes] == "bad", 3.0, 1.0)
    by_class = BaggingClassifier(members=3, class_weight={"bad": 3}).fit(table, target)
    by_row = BaggingClassifier(members=3).fit(table, target, factors)
    assert by_class.predict_proba(table).tolist() == by_row.predict_proba(table).tolist()
    assert by_class.out_of_bag_ == by_row.out_of_bag_


def test_importances_are_the_mean_of_the_trees_own():
    """Each tree's, by its sample, is that of the tree learner: rows times decrease, in shares of their sum."""
    table, target = read("credit-g", "class")
    bag = BaggingClassifier(members=3, seed=6).fit(table, target)
    draws = Draws(np.ones(table.n_rows), 1.0, 6)
    trees = [DecisionTreeClassifier(criterion=bag.criterion) for _ in range(3)]
    own = [tree.fit(table, target, draws.counts(m)).feature_importances_ for m, tree in enumerate(trees)]
    assert bag.feature_importances_ == pytest.approx(np.mean(own, axis=0), rel=1e-9)
    peer = PeerTree(random_state=0).fit(table.values[:, [1, 4]], target.codes)
    numbers = DecisionTreeClassifier(criterion="gini").fit(table.values[:, [1, 4]], target.codes)
    assert numbers.feature_importances_ == pytest.approx(peer.feature_importances_, abs=0.02)


def test_shares_that_all_members_agree_on_are_one_and_no_more():
    """Eleven times 1 / 11 is more than 1 by its last digit."""
    table, target = read("iris", "class")
    shares = RandomForestClassifier(members=11).fit(table, target).predict_proba(table)
    assert sum([1 / 11] * 11) > 1
    assert shares.max() == 1
    assert (shares == 1).sum() > 100


def test_importances_sum_to_one_also_where_some_trees_are_single_leaves():
    """Of three rows, one of another class, three samples of ten are of one class alone."""
    model = BaggingClassifier(members=20).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert 0 < (model.members_.nodes.feature[model.members_.roots] < 0).sum() < 20
    assert model.feature_importances_.tolist() == [1]


def test_of_numbers_the_members_nearest_to_the_answer_show_their_paths():
    generator = np.random.default_rng(9)
    values = generator.normal(size=(60, 3))
    model = RandomForestRegressor(members=9).fit(values, values.sum(axis=1))
    for reason, answer in zip(model.explain(values[:8]), model.predict(values[:8]), strict=True):
        gaps = np.array([abs(vote.value - answer) for vote in reason.votes])
        assert [one.member for one in reason.paths] == np.argsort(gaps, kind="stable")[:3].tolist()


def test_the_members_that_give_most_to_the_answer_show_their_paths():
    table, target = read("credit-g", "class")
    model = RandomForestClassifier(members=9, min_leaf=10).fit(table, target)
    some = table.take(np.arange(8))
    for reason, shares in zip(model.explain(some), model.predict_proba(some), strict=True):
        worth = np.array([vote.shares[shares.argmax()] for vote in reason.votes])
        assert [one.member for one in reason.paths] == np.argsort(-worth, kind="stable")[:3].tolist()


def test_votes_are_the_members_answers_and_a_few_have_their_paths():
    table, target = read("hepatitis", "Class")
    model = RandomForestClassifier(members=9).fit(table, target)
    for row, reason in enumerate(model.explain(table.take(np.arange(4)))):
        assert reason.replayed() == pytest.approx(model.predict_proba(table.take(np.array([row])))[0])
        assert (len(reason.votes), len(reason.paths)) == (9, 3)
        for one in reason.paths:
            shares = np.sum([b.weight * np.array([s for _, s in b.distribution]) for b in one.path.branches], axis=0)
            assert reason.votes[one.member].shares == pytest.approx(shares)


def test_votes_are_told_with_their_shares_and_numbers_from_the_least_to_the_most():
    table, target = read("hepatitis", "Class")
    (reason,) = RandomForestClassifier(members=5).fit(table, target).explain(table.take(np.array([3])))
    for vote, told in zip(reason.votes, reason.to_json()["votes"], strict=True):
        assert [one["share"] for one in told["distribution"]] == list(vote.shares)
        assert told["label"] == target.column.labels[int(np.argmax(vote.shares))]
    shares = np.mean([vote.shares for vote in reason.votes], axis=0)
    first, second = np.argsort(-shares)
    names = target.column.labels
    assert reason.text() == f"5 members vote: {names[first]} {shares[first]:.4f}, {names[second]} {shares[second]:.4f}"
    values = np.random.default_rng(3).normal(size=(40, 2))
    model = RandomForestRegressor(members=6).fit(values, values.sum(axis=1))
    (reason,) = model.explain(values[:1])
    numbers = [vote["value"] for vote in reason.to_json()["votes"]]
    assert np.mean(numbers) == pytest.approx(model.predict(values[:1])[0])
    assert reason.text().startswith(f"6 members say {min(numbers):.6g} to {max(numbers):.6g}; together ")


def test_a_mean_of_equal_numbers_is_exactly_that():
    model = RandomForestRegressor(members=7).fit([[0.0], [1.0]], [0.1, 0.1])
    assert model.predict([[0.3]]).tolist() == [0.1]


def test_numbers_are_stored_in_the_smallest_type_that_holds_them():
    assert smallest(np.array([1, -128])).dtype == np.int8
    assert smallest(np.array([1.0, 300.0])).dtype == np.int16
    assert smallest(np.array([0.5, np.nan])).dtype == np.float32
    assert smallest(np.array([0.1])).dtype == np.float64
    assert np.signbit(smallest(np.array([-0.0]))).all()


@pytest.mark.parametrize(("table_name", "label"), [("credit-g", "class"), ("hepatitis", "Class")])
@pytest.mark.parametrize("made", [AdaBoostClassifier, RandomForestClassifier])
def test_a_row_is_answered_alike_in_every_company(table_name, label, made, monkeypatch):
    table, target = read(table_name, label)
    model = made(members=5).fit(table, target)
    whole = model.predict_proba(table)
    rows = [np.array([row]) for row in range(40)]
    assert [model.predict_proba(table.take(row))[0].tolist() for row in rows] == whole[:40].tolist()
    monkeypatch.setattr(members, "_NUMBERS_AT_ONCE", 70)
    assert model.predict_proba(table).tobytes() == whole.tobytes()


@pytest.fixture
def by_machine_code(monkeypatch):
    """Machine code answers however few rows there are; tests call it when arrays have answered."""

    def switch():
        monkeypatch.setattr(batch, "MANY_WALKS", 1)
        monkeypatch.setattr(members, "MANY_WALKS", 1)
        monkeypatch.setattr(batch, "_MANY_DIVISIONS", 1)
        monkeypatch.setattr(members, "_MANY_ROWS", 1)
        monkeypatch.setattr(compiled_answers, "_CELLS_AT_ONCE", 1)
        monkeypatch.setattr(compiled_answers, "_FEWEST_ROWS", 40)

    return switch


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(members=5),
        RandomForestClassifier(members=5, threads=2),
        AdaBoostClassifier(members=5),
    ],
)
def test_many_rows_are_answered_by_machine_code_as_by_arrays(model, by_machine_code):
    table, target = read("hepatitis", "Class")
    model.fit(table, target)
    by_arrays = model.predict_proba(table)
    by_machine_code()
    assert model.predict_proba(table).tobytes() == by_arrays.tobytes()


def test_numbers_are_answered_by_machine_code_as_by_arrays(by_machine_code):
    values = np.random.default_rng(0).random((200, 4))
    values[::3, 1] = np.nan
    model = RandomForestRegressor(members=7).fit(values, np.nansum(values, axis=1))
    by_arrays = model.predict(values)
    by_machine_code()
    assert model.predict(values).tobytes() == by_arrays.tobytes()


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_of_test_is_answered_by_machine_code_as_by_arrays(seed, by_machine_code):
    rng = np.random.default_rng(seed)
    table = random_rows(rng, 60, 0.15)
    trees = [random_tree(rng, table, rng.integers(0, 3, 60), np.ones(60), 3) for _ in range(4)]
    own = MemberTrees.of(trees, COLUMNS, regression=False)
    asked, weights = by_column(random_rows(rng, 150, 0.2).values), rng.random(4)
    by_arrays = own.answers(asked, weights, hard=False)
    by_machine_code()
    assert own.answers(asked, weights, hard=False).tobytes() == by_arrays.tobytes()
