"""What is answered where no training row came: as the node above, and of equally good classes the first.

Wherever the decision is read: training's own losses, predictions, rules, SQL, the tree as data and its drawing.
"""

import numpy as np
import pytest

from learners.rules import rules_of
from learners.rules.sql.statements import case_expression, select_statement
from learners.table import Column, Kind, Series, Table
from learners.trees.cells import by_column
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.pruning.reduced_error import class_losses
from service.operations.explanation.tree import tree_json
from service.operations.explanation.tree_picture import View, tree_picture
from service.operations.identity import Identity
from service.operations.served import ServedModel

#: Class weights beneath ``x > 0``, where the levels p, q and s occur and r does not; and who of them is decided for.
#: The first of the best in the order of the classes, whatever comes first in the rows; 0.1 + 0.2 is not quite 0.3.
CASES = {
    "two": (("a", "b"), {"a": [2.0], "b": [2.0]}, None, "a"),
    "two, the other way round": (("b", "a"), {"a": [2.0], "b": [2.0]}, None, "b"),
    "the last two of three": (("a", "b", "c"), {"a": [1.0], "b": [2.0], "c": [2.0]}, None, "b"),
    "three": (("c", "b", "a"), {"a": [1.0], "b": [1.0], "c": [1.0]}, None, "c"),
    "rounded": (("a", "b"), {"a": [0.3], "b": [0.1, 0.2]}, None, "a"),
    "rounded, the other way round": (("b", "a"), {"a": [0.3], "b": [0.1, 0.2]}, None, "b"),
    "by utility": (("a", "b"), {"a": [1.0], "b": [3.0]}, {"a": {"a": 3.0}, "b": {"b": 1.0}}, "a"),
    "no tie": (("a", "b"), {"a": [2.0], "b": [2.5]}, None, "b"),
}
COLUMNS = (Column("x"), Column("level", Kind.NOMINAL, ("p", "q", "r", "s")))


def grown(classes, held, utility, **params):
    """A tree whose root asks for x, and whose right node asks for the level, of which r did not occur there.

    Left of the root lie ten rows of the last class, so that the root's plurality is another's.
    """
    target = Column("y", Kind.NOMINAL, classes)
    rows = [(0.0, 2.0, classes[-1], 1.0)] * 10
    places = dict(zip(held, (0.0, 1.0, 3.0), strict=False))
    rows += [(1.0, places[label], label, weight) for label, weights in held.items() for weight in weights]
    x, level, labels, weights = zip(*rows, strict=True)
    table = Table(COLUMNS, np.asfortranarray(np.column_stack((x, level))))
    answers = Series(target, np.array([target.encode(label) for label in labels]))
    # x alone costs nothing, so that it is asked first
    params = {"nominal": "multiway", "cost_form": "idx", "costs": {"x": 1e-9, "level": 1.0}} | params
    return DecisionTreeClassifier(utility=utility, **params).fit(table, answers, np.array(weights))


@pytest.mark.parametrize("estimate", ["raw", "laplace"])
@pytest.mark.parametrize("case", CASES)
def test_an_empty_branch_decides_as_its_parent_and_the_first_of_equals(database, case, estimate):
    classes, held, utility, decided = CASES[case]
    if estimate == "laplace" and case == "by utility":
        held = {"a": [1.0], "b": [5.0]}  # with one row more of each class 2 and 6
    model = grown(classes, held, utility, leaf_estimate=estimate)
    nodes = model.tree_
    (empty,) = np.flatnonzero((nodes.n_children == 0) & (nodes.rows == 0))
    above = int(nodes.parent[empty])
    assert nodes.parent[above] == 0
    assert nodes.weight[empty] == 0
    np.testing.assert_array_equal(nodes.value[empty], nodes.value[above])
    asked = Table(COLUMNS, np.asfortranarray([[1.0, 2.0], [1.0, -1.0]]))  # the level that did not occur, and another
    assert model.apply(asked).tolist() == [empty, empty]
    assert model.predict(asked).tolist() == [decided, decided]

    rules = rules_of(model)
    (rule,) = (one for one in rules.rules if one.leaf == empty)
    assert (rule.answer, rule.rows) == (decided, 0)
    assert rules.predict(asked).tolist() == [decided, decided]
    database.fill(asked)
    assert database.evaluate(case_expression(rules)) == [decided, decided]
    assert [row["prediction"] for row in database.select(select_statement(rules, "rows"))] == [decided, decided]

    served = ServedModel(model, Identity("w", "m", 1, "classification"))
    told = {node["id"]: node for node in tree_json(served)["nodes"]}
    assert told[empty]["label"] == told[above]["label"] == decided
    assert told[empty]["distribution"] == told[above]["distribution"]
    assert f"node {empty}: {decided}, no training rows" in tree_picture(served, View())
    assert [b'"label":"%s"' % decided.encode() in answer for answer in served.answers(asked.values)] == [True, True]


@pytest.mark.parametrize(("classes", "losses"), [(("a", "b"), 1.0), (("b", "a"), 2.0)])
def test_training_judges_an_empty_branch_by_the_class_that_it_answers(classes, losses):
    """Of rows kept back two of a and one of b get there: with ``a`` decided one is lost, with ``b`` two."""
    model = grown(classes, {"a": [2.0], "b": [2.0]}, None)
    nodes, target = model.tree_, model.target_
    codes = np.array([int(target.encode(label)) for label in ("a", "a", "b")])
    cells = by_column(np.tile([1.0, 2.0], (3, 1)))
    entries = model.packed_tree_.placed(cells, np.arange(3))
    decided = np.array([model.decide(share[None])[0] for share in nodes.shares()])
    found = class_losses(nodes, entries, codes, np.ones(3), decided, 1 - np.eye(2))
    (empty,) = np.flatnonzero((nodes.n_children == 0) & (nodes.rows == 0))
    assert found[empty] == found[nodes.parent[empty]] == losses
