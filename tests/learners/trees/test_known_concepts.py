"""Problems whose best possible answer is known: the MONK's, CART's lights and waves, Friedman's first function."""

import math

import numpy as np
import pytest

from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read
from tests.learners.trees.trees import grown_on, nominal
from tests.shared import generated_path

#: The lights of the digits 0 to 9: top, top left, top right, middle, bottom left, bottom right, bottom.
LIGHTS = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")

MONKS = {
    1: lambda a: (a[0] == a[1]) | (a[4] == 1),
    2: lambda a: (a == 1).sum(axis=0) == 2,
    3: lambda a: ((a[4] == 3) & (a[3] == 1)) | ((a[4] != 4) & (a[1] != 3)),
}


@pytest.mark.parametrize(("number", "wrong"), [(1, 0), (2, 0), (3, 6)])
def test_monks_labels_are_those_of_the_concepts(number, wrong):
    """All test labels agree, and of the third's 122 training labels 6 do not (monks.names)."""
    for part, errors in (("train", wrong), ("test", 0)):
        table, labels = read(f"monks-{number}-{part}", "class")
        assert table.names == ["a1", "a2", "a3", "a4", "a5", "a6"]
        truth = labels.cells == labels.column.levels.index("1")
        assert (MONKS[number](table.values.T) != truth).sum() == errors


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_tree_of_all_rows_of_a_monk_is_the_concept(number):
    """Grown on the 432 rows that there are, every combination of levels is answered as the concept says."""
    table, labels = read(f"monks-{number}-test", "class")
    names = [nominal(name, [str(int(cell)) for cell in table.column(name).cells]) for name in table.names]
    model = DecisionTreeClassifier(criterion="entropy", nominal="multiway").fit(grown_on(*names), labels)
    assert table.n_rows == 432
    assert model.score(grown_on(*names), labels) == 1


def lights():
    """Whether each of the 10 digits lights each of the 7 lights, and all 128 patterns with their probabilities."""
    digits = np.array([[int(light) for light in pattern] for pattern in LIGHTS])
    patterns = np.arange(128)[:, None] >> np.arange(7) & 1
    wrong = (patterns[:, None] != digits).sum(axis=2)
    return patterns, 0.1 * 0.1**wrong * 0.9 ** (7 - wrong)


def test_the_lights_bayes_rate_is_what_all_patterns_say_and_a_tree_of_them_has_it():
    patterns, joint = lights()
    assert joint.sum() == pytest.approx(1, abs=1e-12)
    assert 100 * joint.max(axis=1).sum() == pytest.approx(74.002248, abs=5e-7)
    rows, digits = np.repeat(patterns, 10, axis=0).astype(float), np.tile(np.arange(10), 128)
    model = DecisionTreeClassifier().fit(rows, digits, joint.ravel())
    assert model.score(rows, digits, joint.ravel()) == pytest.approx(0.74002248, abs=5e-9)
    assert model.predict_proba(patterns.astype(float)) == pytest.approx(joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("name", "best"), [("led7", 0.74002248), ("waveform21", 0.86)])
def test_no_tree_beats_bayes_on_rows_it_has_not_seen(name, best):
    (train,) = generated_path("").glob(f"{name}-train*.csv")
    X, y = read_plainly(generated_path(f"{name}-test5000.csv"))
    model = DecisionTreeClassifier.from_params({"preset": "c45"}).fit(*read_plainly(train))
    error = math.sqrt(best * (1 - best) / len(y))
    assert best - 0.2 < (model.predict(X) == y).mean() < best + 2 * error
    if name == "led7":
        places = 1 << np.arange(7)
        patterns, joint = lights()
        assert (patterns @ places == np.arange(128)).all()
        said = joint.argmax(axis=1)[X.astype(int) @ places]
        assert (said == y.astype(int)).mean() == pytest.approx(best, abs=3 * error)


def test_friedmans_first_function_leaves_noise_of_variance_one():
    """Var(y) is about 24.8 with the noise, and nothing explains more than all but 1 of it."""
    train, test = (read_plainly(generated_path(f"friedman1-{part}.csv")) for part in ("train200", "test1000"))
    x, y = test[0], test[1].astype(float)
    function = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    noise = (y - function) ** 2
    assert noise.mean() == pytest.approx(1, abs=3 * noise.std() / math.sqrt(len(y)))
    assert y.var() == pytest.approx(24.8, abs=3 * ((y - y.mean()) ** 2).std() / math.sqrt(len(y)))
    model = DecisionTreeRegressor.from_params({"preset": "cart"}).fit(train[0], train[1].astype(float))
    assert 1 < ((model.predict(x) - y) ** 2).mean() < 0.6 * y.var()


def read_plainly(path):
    """The numbers of a file and the texts of its last column."""
    rows = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=str)
    return rows[:, :-1].astype(float), rows[:, -1]
