"""Ensembles of other learners than their own trees: the updates, the peer's errors, ends, reasons and models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.linear_model import LogisticRegression as PeerLogistic

from learners import catalog
from learners.base import Learner
from learners.catalog import dump_model, load_model
from learners.ensembles import AdaBoostClassifier, BaggingClassifier, BaggingRegressor
from learners.ensembles.boosting import reweighed
from learners.ensembles.drawing import Draws
from learners.ensembles.member_learners import CLASSIFIERS, REGRESSORS, MemberLearners, warnings_of
from learners.errors import ModelFormatError
from learners.persist import load
from learners.table import Column, Kind, Series, Table
from tests.learners.tables import read

LOGISTIC = {"learner": "logistic-classifier", "parameters": {"penalty": "none"}}
#: What makes members of these learners weak, and their training short.
WEAK: dict[str, dict[str, Any]] = {
    "decision-tree-classifier": {"max_depth": 2, "interval_tests": True},
    "rule-set-classifier": {"max_rules": 1},
    "nearest-neighbors-classifier": {"k": 25},
    "logistic-classifier": {},
    "neural-network-classifier": {"epochs": 8, "hidden_units": [2]},
    "cascade-correlation-classifier": {"max_hidden": 1, "output_epochs": 8, "candidate_epochs": 4},
    "growing-network-classifier": {"epochs": 8},
    "decision-tree-regressor": {"max_depth": 2},
    "model-tree-regressor": {},
    "nearest-neighbors-regressor": {"k": 5},
    "local-linear-regressor": {},
    "linear-regressor": {},
    "neural-network-regressor": {"epochs": 8, "hidden_units": [2]},
    "cascade-correlation-regressor": {"max_hidden": 1, "output_epochs": 8, "candidate_epochs": 4},
    "growing-network-regressor": {"epochs": 8},
}


def of(learner: type[Learner]) -> dict[str, Any]:
    return {"learner": learner.name, "parameters": WEAK[learner.name]}


def blurred(n_classes: int, n_rows: int = 300) -> tuple[Table, Series]:
    """Classes about the corners of a polygon, so near to each other that no line divides them."""
    generator = np.random.default_rng(3)
    codes = np.arange(n_rows) % n_classes
    angles = 2 * np.pi * codes / n_classes
    values = np.column_stack([np.cos(angles), np.sin(angles)]) + generator.normal(size=(n_rows, 2))
    column = Column("y", Kind.NOMINAL, tuple("abcdef"[:n_classes]))
    return Table.from_array(values), Series(column, codes.astype(np.float64))


def few(name: str, target: str, n_rows: int = 150) -> tuple[Table, Series]:
    table, truth = read(name, target)
    rows = np.arange(0, len(table), max(1, len(table) // n_rows))
    return table.take(rows), truth.take(rows)


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_the_update_makes_the_last_member_no_better_than_chance(learner: type[Learner]) -> None:
    table, target = few("pima", "class")
    model = AdaBoostClassifier(members=4, member=of(learner)).fit(table, target)
    weights = np.ones(table.n_rows)
    cells = np.ascontiguousarray(table.values.T)
    assert model.n_members_ >= 2
    for votes, error, vote in zip(
        model.members_.each(cells, hard=True), model.boosted_.errors, model.boosted_.votes, strict=True
    ):
        wrong = votes.argmax(axis=1) != target.codes
        assert weights[wrong].sum() / weights.sum() == pytest.approx(error, abs=1e-12)
        weights = reweighed(weights, wrong, vote)
        assert weights[wrong].sum() / weights.sum() == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_errors_votes_and_answers_of_logistic_members_are_the_peers(n_classes: int) -> None:
    table, target = blurred(n_classes)
    ours = AdaBoostClassifier(members=8, member=LOGISTIC).fit(table, target)
    peer = Peer(PeerLogistic(C=np.inf, tol=1e-12, max_iter=10_000), n_estimators=8).fit(table.values, target.codes)
    assert ours.n_members_ == len(peer.estimators_)
    assert ours.boosted_.errors == pytest.approx(peer.estimator_errors_[: ours.n_members_], rel=1e-9)
    assert ours.boosted_.votes == pytest.approx(peer.estimator_weights_[: ours.n_members_], rel=1e-9)
    assert (ours.decide(ours.predict_proba(table)) == peer.predict(table.values)).all()


def test_members_are_those_that_the_learner_makes_of_the_weights() -> None:
    table, target = few("pima", "class")
    model = AdaBoostClassifier(members=3, member=LOGISTIC).fit(table, target)
    weights = np.ones(table.n_rows)
    for member, vote in zip(model.members_.learners, model.boosted_.votes, strict=True):
        alone = catalog.make("logistic-classifier", LOGISTIC["parameters"]).fit(table, target, weights)
        assert (alone.predict_proba(table) == member.predict_proba(table)).all()
        weights = reweighed(weights, alone.predict_proba(table).argmax(axis=1) != target.codes, vote)


def test_whole_weights_are_repeated_rows_and_a_row_of_none_is_absent() -> None:
    table, target = blurred(3, 120)
    weights = np.arange(table.n_rows) % 4
    repeated = np.repeat(np.arange(table.n_rows), weights)
    weighted = AdaBoostClassifier(members=5, member=LOGISTIC).fit(table, target, weights)
    copies = AdaBoostClassifier(members=5, member=LOGISTIC).fit(table.take(repeated), target.take(repeated))
    assert weighted.boosted_.errors == pytest.approx(copies.boosted_.errors, rel=1e-9)
    assert weighted.predict_proba(table) == pytest.approx(copies.predict_proba(table), abs=1e-9)


def test_no_error_ends_with_that_member() -> None:
    table, target = few("iris", "class")
    nearest = {"learner": "nearest-neighbors-classifier", "parameters": {"k": 1}}
    model = AdaBoostClassifier(member=nearest).fit(table, target)
    assert (model.n_members_, model.boosted_.ended) == (1, "perfect")
    assert np.isfinite(model.boosted_.votes).all()


def test_no_better_than_chance_keeps_the_first_member_alone_and_its_shares() -> None:
    """XOR: a line leaves half of the rows on either side wrong."""
    xor = Table.from_array(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.array([0.0, 1.0, 1.0, 0.0]))
    model = AdaBoostClassifier(member=LOGISTIC).fit(xor, target)
    assert (model.n_members_, model.boosted_.ended) == (1, "guess")
    assert model.predict_proba(xor) == pytest.approx(np.full((4, 2), 0.5), abs=1e-9)


@pytest.mark.parametrize("learner", CLASSIFIERS)
@pytest.mark.parametrize("name", ["adaboost-classifier", "bagging-classifier"])
def test_models_answer_alike_loaded_and_row_by_row_and_tell_their_members_reasons(
    name: str, learner: type[Learner]
) -> None:
    table, target = few("labor", "class")  # levels, numbers and gaps
    model: Any = catalog.make(name, {"members": 4, "member": of(learner)}).fit(table, target)
    stored = dump_model(model)
    loaded: Any = load_model(load(stored))
    assert dump_model(loaded) == stored
    shares = model.predict_proba(table)
    single = np.vstack([loaded.predict_proba(table.take(np.array([row]))) for row in range(len(table))])
    assert (single == shares).all()
    asked = table.take(np.arange(6))
    for row, (one, again) in enumerate(zip(model.explain(asked), loaded.explain(asked), strict=True)):
        assert one.to_json() == again.to_json()
        assert one.replayed() == pytest.approx(shares[row])
        assert len(one.votes) == model.n_members_
        assert all(vote.leaf is None for vote in one.votes)
        assert len(one.reasons) == min(3, model.n_members_)
        for told in one.reasons:
            (own,) = model.members_.learners[told.member].explain(asked.take(np.array([row])))
            assert told.to_json() == {"member": told.member, **own.to_json()}
        worth = [
            one.votes[told.member].weight * one.votes[told.member].shares[shares[row].argmax()] for told in one.reasons
        ]
        assert worth == sorted(worth, reverse=True)


def test_a_reason_is_as_long_as_all_votes_and_the_reasons_of_a_few_members() -> None:
    table, target = few("pima", "class")
    model = BaggingClassifier(members=5, member=LOGISTIC).fit(table, target)

    def sizes(learner: Learner, values: Any) -> Any:
        return iter([np.array([reason.n_tests for reason in learner.explain(Table(table.columns, values))])])

    found = np.concatenate(list(model.reason_sizes(table.values, sizes)))
    reasons = model.explain(table)
    assert found.tolist() == [reason.n_tests for reason in reasons]
    assert found.tolist() == [5 + sum(one.reason.n_tests for one in reason.reasons) for reason in reasons]


@pytest.mark.parametrize("learner", REGRESSORS)
def test_a_bag_of_numbers_is_the_mean_of_what_learners_make_of_samples(learner: type[Learner]) -> None:
    flowers, _ = few("iris", "class", 75)
    table, target = flowers.drop(["petalwidth"]), flowers.column("petalwidth")
    model = BaggingRegressor(members=3, seed=5, member=of(learner)).fit(table, target)
    draws = Draws(np.ones(len(table)), 1.0, 5)
    answers, sums, counts = [], np.zeros(len(table)), np.zeros(len(table))
    for member in range(3):
        alone = model._new_member(member).fit(table, target, draws.counts(member))
        answers.append(np.asarray(alone.predict(table)))
        left = draws.left_out(member)
        sums[left] += answers[-1][left]
        counts[left] += 1
    assert model.predict(table) == pytest.approx(np.mean(answers, axis=0))
    judged = counts > 0
    squares = (sums[judged] / counts[judged] - target.cells[judged]) ** 2
    assert model.out_of_bag_ is not None
    assert (model.out_of_bag_.rows, model.out_of_bag_.error) == (judged.sum(), pytest.approx(squares.mean()))
    assert load_model(load(dump_model(model))).predict(table) == pytest.approx(model.predict(table), rel=0, abs=0)
    assert model.explain(table.take(np.arange(2)))[1].replayed() == pytest.approx(model.predict(table)[1])


def test_equal_numbers_have_exactly_that_mean() -> None:
    table = Table.from_array(np.arange(10.0)[:, None])
    target = Series(Column("y"), np.full(10, 0.1))
    line = {"learner": "linear-regressor"}
    assert (BaggingRegressor(members=7, member=line).fit(table, target).predict(table) == 0.1).all()


def test_threads_change_nothing() -> None:
    table, target = few("labor", "class")
    one, three = (
        BaggingClassifier(members=6, threads=threads, member={"learner": "rule-set-classifier"}).fit(table, target)
        for threads in (1, 3)
    )
    assert (one.predict_proba(table) == three.predict_proba(table)).all()
    assert one.out_of_bag_ == three.out_of_bag_


def test_importances_are_the_members_or_are_measured_or_there_are_none() -> None:
    table, target = few("pima", "class")
    tree = {"learner": "decision-tree-classifier", "parameters": {"max_depth": 2}}
    trees = AdaBoostClassifier(members=3, member=tree).fit(table, target)
    own = np.array([one.feature_importances_ for one in trees.members_.learners])
    assert trees.feature_importances_ == pytest.approx(trees.weights_ @ own)
    trees.set_params(member=LOGISTIC).fit(table, target)
    assert not hasattr(trees, "feature_importances_")
    noisy = Table.from_array(np.column_stack([target.codes, np.random.default_rng(0).random(len(table))]))
    bag = BaggingClassifier(members=5, member=LOGISTIC, importance="permutation").fit(noisy, target)
    assert bag.feature_importances_[0] > 0.2
    assert abs(bag.feature_importances_[1]) < 0.05


def test_headers_of_members_do_not_repeat_the_ensembles() -> None:
    table, target = few("labor", "class")
    model = AdaBoostClassifier(members=3, member=LOGISTIC).fit(table, target)
    state = model.get_state()
    assert len(state.header["members"]) == model.n_members_
    assert all({"columns", "target"}.isdisjoint(header) for header in state.header["members"])
    state.header["members"][0]["learner"] = "nobody"
    with pytest.raises(ModelFormatError):
        load_model(state)


def test_warnings_of_members_are_told_once() -> None:
    table, target = few("pima", "class")
    short = {"learner": "growing-network-classifier", "parameters": {"epochs": 8}}
    model = AdaBoostClassifier(members=3, member=short).fit(table, target)
    (warning,) = model.training_notes()["warnings"]
    assert warning.startswith("member 1 and 2 more: ")
    assert isinstance(model.members_, MemberLearners)
    assert warnings_of(model.members_.learners[:1])[0].startswith("member 1: ")
