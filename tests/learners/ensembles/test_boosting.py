"""AdaBoost's weights and votes: the closed forms, the ends, and the peer's votes on real data."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.tree import DecisionTreeClassifier as PeerTree

from learners.base import no_progress
from learners.ensembles import AdaBoostClassifier
from learners.ensembles.boosting import boost, reweighed, vote_of
from learners.errors import Cancelled
from learners.table import MISSING, UNSEEN, Column, Kind, Series, Table
from tests.learners.tables import read


def classes(codes, labels="ab"):
    return Series(Column("y", Kind.NOMINAL, tuple(labels)), np.asarray(codes, float))


def weights_by_round(model, table, target):
    """The weights before each round and after the last, from the members' own answers."""
    votes = model.members_.each(np.ascontiguousarray(table.values.T), hard=True)
    weights = [np.ones(table.n_rows)]
    for member, vote in enumerate(model.boosted_.votes):
        wrong = votes[member].argmax(axis=1) != target.codes
        weights.append(reweighed(weights[-1], wrong, vote))
    return votes, weights


@pytest.mark.parametrize("error", [1e-9, 0.01, 0.25, 0.4999])
def test_a_vote_is_the_log_of_the_odds_to_be_right(error):
    assert vote_of(error) == pytest.approx(np.log((1 - error) / error))
    assert vote_of(0.5) == pytest.approx(0)
    assert vote_of(2 / 3, 3) == pytest.approx(0)
    assert vote_of(0.0) == pytest.approx(np.log(1e10 - 1))  # that of one error in 10^10


def test_the_update_makes_the_last_member_no_better_than_chance():
    table, target = read("pima", "class")
    model = AdaBoostClassifier(members=30).fit(table, target)
    votes, weights = weights_by_round(model, table, target)
    for member, after in enumerate(weights[1:]):
        wrong = votes[member].argmax(axis=1) != target.codes
        assert after[wrong].sum() / after.sum() == pytest.approx(0.5, abs=1e-12)
        assert after.sum() == pytest.approx(table.n_rows)


def test_of_three_classes_the_last_member_is_as_good_as_guessing_by_samme():
    weights, wrong = np.ones(10), np.arange(10) < 4
    after = reweighed(weights, wrong, vote_of(0.4, 3))
    assert after[wrong].sum() / after.sum() == pytest.approx(2 / 3)
    after = reweighed(weights, wrong, vote_of(0.4))
    assert after[wrong].sum() / after.sum() == pytest.approx(1 / 2)


def test_errors_votes_and_weights_are_the_peers_on_real_data():
    table, target = read("pima", "class")
    ours = AdaBoostClassifier(members=15).fit(table, target)
    peer = Peer(PeerTree(max_depth=1), n_estimators=15).fit(table.values, target.codes)
    assert ours.boosted_.errors == pytest.approx(peer.estimator_errors_, rel=1e-9)
    assert ours.boosted_.votes == pytest.approx(peer.estimator_weights_, rel=1e-9)
    assert (ours.decide(ours.predict_proba(table)) == peer.predict(table.values)).all()


def test_samme_of_many_classes_is_the_peers():
    table, target = read("wine", "class")
    ours = AdaBoostClassifier(members=10).fit(table, target)
    peer = Peer(PeerTree(max_depth=1), n_estimators=10).fit(table.values, target.codes)
    assert ours.boosted_.errors == pytest.approx(peer.estimator_errors_, rel=1e-9)
    assert ours.boosted_.votes == pytest.approx(peer.estimator_weights_, rel=1e-9)


def test_no_error_ends_with_that_member_and_a_finite_vote():
    model = AdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], classes([0, 0, 1, 1]))
    assert model.boosted_.ended == "perfect"
    assert model.boosted_.votes == pytest.approx([10 * np.log(10)])
    assert model.predict_proba([[0.5], [2.5]]).tolist() == [[1, 0], [0, 1]]


def test_fully_grown_trees_end_at_once_with_one_tree():
    table, target = read("ionosphere", "class")
    model = AdaBoostClassifier(max_depth=None).fit(table, target)
    assert (model.n_members_, model.boosted_.ended) == (1, "perfect")


def test_no_better_than_chance_keeps_the_first_member_alone():
    """XOR: no test on one column is better than chance."""
    xor = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    model = AdaBoostClassifier().fit(xor, classes([0, 1, 1, 0]))
    assert (model.n_members_, model.boosted_.ended) == (1, "guess")
    assert model.boosted_.errors == pytest.approx([0.5])
    assert AdaBoostClassifier(max_depth=2).fit(xor, classes([0, 1, 1, 0])).score(xor, classes([0, 1, 1, 0])) == 1


def test_a_member_no_better_than_a_guess_is_not_sure():
    """Where nothing tells rows apart, what is known are the shares of the classes."""
    rows, target = [[1.0, np.nan]] * 8, classes([0] * 4 + [1] * 4)
    model = AdaBoostClassifier().fit(rows, target)
    again = AdaBoostClassifier.from_state(model.get_state())
    for fitted in (model, again):
        assert fitted.predict_proba(rows[:1]).tolist() == [[0.5, 0.5]]
    (reason,) = model.explain(rows[:1])
    assert reason.margin == 0


def test_m1_wants_half_of_the_rows_and_samme_a_guess_among_the_classes():
    """Four classes in equal parts: the best stump gets half of them wrong."""
    table, target = np.arange(4.0)[:, None], classes(range(4), "abcd")
    m1 = AdaBoostClassifier(algorithm="m1").fit(table, target)
    samme = AdaBoostClassifier(algorithm="samme", members=20).fit(table, target)
    assert (m1.n_members_, m1.boosted_.ended) == (1, "guess")
    assert samme.n_members_ == 20
    assert samme.boosted_.errors[0] == pytest.approx(1 / 2)
    assert samme.boosted_.votes[0] == pytest.approx(np.log(3))


def test_a_member_worse_than_chance_is_left_out():
    answers = iter([np.arange(8) < 2, np.arange(8) >= 2])
    found = boost(lambda weights, progress: next(answers), np.ones(8), 2, 5, samme=False, progress=no_progress)
    assert found.ended == "chance"
    assert len(found.votes) == 1


def test_one_class_is_answered_by_one_member_without_a_test():
    model = AdaBoostClassifier().fit([[0.0], [1.0]], classes([1, 1]))
    assert (model.n_members_, model.boosted_.ended) == (1, "perfect")
    assert model.predict_proba([[5.0]]).tolist() == [[0, 1]]
    assert model.explain([[5.0]])[0].columns[0].column is None


def test_weights_of_rows_that_are_always_right_stay_above_zero():
    weights = np.ones(9)
    for _ in range(3000):
        weights = reweighed(weights, np.arange(9) == 0, vote_of(0.2))
    assert (weights > 0).all()
    assert np.isfinite(weights).all()


def test_stop_rules_count_the_given_weights():
    """Of 6 rows each side keeps 2, however heavy boosting has made one (the last counts as 3) or light two others."""
    table, target = np.arange(6.0)[:, None], classes([0, 0, 1, 1, 1, 0])
    model = AdaBoostClassifier(members=10, min_leaf=2).fit(table, target)
    tested = model.members_.nodes.threshold
    assert model.boosted_.errors[0] == pytest.approx(1 / 6)
    assert set(tested[~np.isnan(tested)]) == {1.5, 3.5}


def test_each_column_adds_its_stumps_votes():
    table, target = read("credit-g", "class")
    model = AdaBoostClassifier(members=25).fit(table, target)
    tested = model.members_.nodes.feature[model.members_.roots]
    votes = model.members_.each(np.ascontiguousarray(table.values[:5].T), hard=True)
    for row, reason in enumerate(model.explain(table.take(np.arange(5)))):
        assert reason.kind == "additive"
        assert sum(one.members for one in reason.columns) == 25
        shares = model.predict_proba(table.take(np.array([row])))[0]
        assert reason.margin == pytest.approx(shares.max() - shares.min())
        assert reason.margin == pytest.approx(sum(one.margin for one in reason.columns))
        for one in reason.columns:
            of_column = tested == table.position(one.column)
            wanted = (model.boosted_.votes[of_column, None] * votes[of_column, row]).sum(axis=0)
            assert one.votes == pytest.approx(wanted / model.boosted_.votes.sum())


def test_of_stumps_a_columns_importance_is_its_share_of_the_votes():
    """A tree of one test has all its importance in that column; trees count by their votes, as the peer has it."""
    table, target = read("pima", "class")
    model = AdaBoostClassifier(members=12).fit(table, target)
    tested = model.members_.nodes.feature[model.members_.roots]
    shares = np.bincount(tested, weights=model.boosted_.votes, minlength=8) / model.boosted_.votes.sum()
    assert model.feature_importances_ == pytest.approx(shares)
    peer = Peer(PeerTree(max_depth=1), n_estimators=12).fit(table.values, target.codes)
    assert model.feature_importances_ == pytest.approx(peer.feature_importances_)
    deeper = AdaBoostClassifier(members=12, max_depth=2).fit(table, target)
    assert deeper.feature_importances_.sum() == pytest.approx(1)
    single = AdaBoostClassifier().fit([[0.0, 1.0], [1.0, 1.0]], classes([1, 1]))
    assert single.feature_importances_.tolist() == [0, 0]


def test_reasons_are_told_as_votes_of_columns_and_members():
    """Of stumps by column, of deeper trees by member: each votes for one class, and by which is told."""
    table, target = read("pima", "class")
    asked = table.take(np.arange(300))
    stumps = AdaBoostClassifier(members=60).fit(table, target)
    reasons, cells = stumps.explain(asked), np.ascontiguousarray(asked.values.T)
    by_member = stumps.members_.each(cells, hard=True)
    tested = stumps.members_.nodes.feature[stumps.members_.roots]
    for row in (0, 256, 299):
        record, n_columns = reasons[row].to_json(), len(reasons[row].columns)
        assert record["weight"] == pytest.approx(stumps.boosted_.votes.sum())
        for one in record["columns"]:
            of_column = tested == table.position(one["column"])
            wanted = stumps.weights_[of_column] @ by_member[of_column, row]
            assert [vote["share"] for vote in one["votes"]] == pytest.approx(wanted)
            assert one["members"] == of_column.sum()
            assert one["observed"] == asked.values[row, table.position(one["column"])]
        text = reasons[row].text()
        assert text.endswith(f"; {n_columns - 5} more")
        assert text.count("; ") == 5
        assert f"{record['columns'][0]['observed']:g}: {record['columns'][0]['margin']:+.4f}" in text
    trees = AdaBoostClassifier(members=7, max_depth=2).fit(table, target)
    by_member = trees.members_.each(cells, hard=True)
    leaves = trees.members_.leaves(cells)
    reasons = trees.explain(asked)
    for row in (0, 7, 299):
        votes = reasons[row].to_json()["votes"]
        assert [vote["label"] for vote in votes] == [target.column.labels[code] for code in by_member[:, row].argmax(1)]
        assert [vote["weight"] for vote in votes] == pytest.approx(trees.boosted_.votes / trees.boosted_.votes.sum())
        assert [vote["leaf"] for vote in votes] == leaves[:, row].tolist()
        assert not any("distribution" in vote for vote in votes)
        assert reasons[row].n_tests == 7 + sum(one.path.n_tests for one in reasons[row].paths)
    sizes = np.concatenate(list(trees.reason_sizes(asked.values, None)))
    assert sizes.tolist() == [reason.n_tests for reason in reasons]


def test_columns_are_told_by_the_size_of_what_they_add_and_add_up_to_the_margin_of_two_classes():
    """Of three classes the margin is that over the next one alone, not over all others."""
    table, target = read("wine", "class")
    model = AdaBoostClassifier(members=12).fit(table, target)
    shares = model.predict_proba(table)
    for row, reason in enumerate(model.explain(table)):
        ranked = np.sort(shares[row])[::-1]
        assert reason.margin == pytest.approx(ranked[0] - ranked[1])
        sizes = [abs(one.margin) for one in reason.columns]
        assert sizes == sorted(sizes, reverse=True)
        assert reason.n_tests == len(reason.columns) == len({one.column for one in reason.columns})
    (sizes,) = model.reason_sizes(table.values[:2], None)
    assert sizes.tolist() == [len(reason.columns)] * 2


def test_class_weights_are_weights_of_the_rows():
    table, target = read("pima", "class")
    by_class = AdaBoostClassifier(members=6, class_weight={"tested_positive": 3}).fit(table, target)
    factors = np.where(np.array(target.column.labels)[target.codes] == "tested_positive", 3.0, 1.0)
    by_row = AdaBoostClassifier(members=6).fit(table, target, factors)
    assert by_class.boosted_.errors == pytest.approx(by_row.boosted_.errors, rel=1e-12)
    np.testing.assert_allclose(by_class.predict_proba(table), by_row.predict_proba(table), rtol=1e-12)
    assert by_class.boosted_.errors[0] != pytest.approx(
        AdaBoostClassifier(members=6).fit(table, target).boosted_.errors[0]
    )


def test_a_class_without_weight_is_no_guess():
    """Of three classes of which one has no weight SAMME guesses among two, as it does without these rows."""
    table, target = read("iris", "class")
    noisy = Series(target.column, np.where(np.arange(150) % 9 == 0, (target.cells + 1) % 2, target.cells))
    weights = (noisy.codes < 2).astype(float)
    kept = np.flatnonzero(weights)
    weighted = AdaBoostClassifier(members=5).fit(table, noisy, weights)
    alone = AdaBoostClassifier(members=5).fit(table.take(kept), noisy.take(kept))
    assert weighted.boosted_.votes == pytest.approx(alone.boosted_.votes)
    assert weighted.boosted_.votes[0] == pytest.approx(np.log(1 / weighted.boosted_.errors[0] - 1))


def test_missing_and_unseen_values_are_told_and_voted_on():
    colour = Column("colour", Kind.NOMINAL, ("red", "green", "blue"))
    table = Table((colour, Column("x")), np.array([[0, 1.0], [1, 2.0], [2, 3.0], [0, 4.0], [1, MISSING]]))
    model = AdaBoostClassifier(members=5).fit(table, classes([0, 1, 1, 0, 1]))
    asked = Table(table.columns, np.array([[UNSEEN, 1.0], [MISSING, MISSING]]))
    states = [{one.column: one.state for one in reason.columns} for reason in model.explain(asked)]
    assert states[0]["colour"] == "unseen"
    assert states[1]["colour"] == "missing"
    texts = [reason.text() for reason in model.explain(asked)]
    assert "colour = unseen: " in texts[0]
    assert "colour = missing: " in texts[1]


def test_members_are_judged_by_rows_with_missing_values_too():
    """A row that a test divides is answered by what the tests below it say, not by the node that it stops at."""
    table, target = read("hepatitis", "Class")
    assert np.isnan(table.values).any()
    model = AdaBoostClassifier(members=6, max_depth=2).fit(table, target)
    votes, weights = weights_by_round(model, table, target)
    assert set(votes.ravel()) == {0, 1}  # each votes for one class, also where the row is divided
    for member, before in enumerate(weights[:-1]):
        wrong = votes[member].argmax(axis=1) != target.codes
        assert model.boosted_.errors[member] == pytest.approx(before[wrong].sum() / before.sum())


def test_cancelling_between_rounds_leaves_no_model():
    table, target = read("pima", "class")
    model = AdaBoostClassifier(members=50)

    def stop(share, message):
        if share > 0.3:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        model.fit(table, target, progress=stop)
    assert not model.is_fitted
