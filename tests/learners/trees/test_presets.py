import numpy as np
import pytest

from learners import catalog
from learners.checks import samples
from learners.errors import ParameterError
from learners.params import PRESET
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.presets import CLASSIFIER_PRESETS, MODEL_TREE_PRESETS, REGRESSOR_PRESETS
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read
from tests.learners.trees.trees import same_tree

CASES = [
    *(("decision-tree-classifier", name) for name in CLASSIFIER_PRESETS),
    *(("decision-tree-regressor", name) for name in REGRESSOR_PRESETS),
    *(("model-tree-regressor", name) for name in MODEL_TREE_PRESETS),
]


@pytest.mark.parametrize(("learner", "preset"), CASES)
def test_a_preset_is_its_parameters(learner, preset):
    sample = samples.mixed(catalog.get(learner).capabilities)
    parameters = catalog.get(learner).presets[preset].parameters
    one = catalog.make(learner, {"preset": preset}).fit(sample.table, sample.target)
    other = catalog.get(learner)(**parameters).fit(sample.table, sample.target)
    assert one.get_params() == other.get_params()
    assert same_tree(one, other)
    copy = catalog.load_model(one.get_state())
    assert copy.get_params() == one.get_params()


@pytest.mark.parametrize(("learner", "preset"), CASES)
def test_presets_are_in_the_catalogue_with_their_papers(learner, preset):
    described = catalog.describe(learner)
    assert preset in described["parameters"]["properties"]["preset"]["enum"]
    shown = described["presets"][preset]
    assert set(shown["parameters"]) <= {parameter.name for parameter in catalog.get(learner).parameters()}
    assert "(19" in shown["source"]
    catalog.make(learner, shown["parameters"])


def test_explicit_parameters_override_the_presets():
    made = catalog.make("decision-tree-classifier", {"min_leaf": 7, "preset": "c45", "confidence": 0.1})
    assert (made.min_leaf, made.confidence, made.criterion) == (7, 0.1, "gain-ratio")
    assert (
        catalog.make("decision-tree-classifier", {"preset": None}).get_params() == DecisionTreeClassifier().get_params()
    )


@pytest.mark.parametrize(
    ("learner", "given", "left_out"),
    [
        ("decision-tree-classifier", {"preset": "c45", "pruning": "none"}, {"subtree_raising"}),
        ("decision-tree-classifier", {"preset": "c45", "pruning": "cost-complexity"}, {"subtree_raising"}),
        ("decision-tree-classifier", {"preset": "c45", "criterion": "gini"}, {"threshold_penalty"}),
        ("decision-tree-classifier", {"preset": "cart", "pruning": "none"}, {"alpha_choice", "pruning_cost"}),
        ("decision-tree-classifier", {"preset": "cart", "alpha_choice": "given", "alpha": 0.1}, set()),
        ("decision-tree-regressor", {"preset": "cart", "pruning": "none"}, {"alpha_choice"}),
        ("model-tree-regressor", {"preset": "m5", "pruning": "none"}, set()),
    ],
)
def test_what_a_preset_says_to_no_effect_is_left_out(learner, given, left_out):
    made = catalog.make(learner, given)
    defaults = {parameter.name: parameter.default for parameter in made.parameters()}
    for name, value in catalog.get(learner).presets[given["preset"]].parameters.items():
        expected = given.get(name, defaults[name] if name in left_out else value)
        assert getattr(made, name) == expected, name
    for name in left_out:
        with pytest.raises(ParameterError, match=f"parameter {name} = .* has no effect") as refusal:
            catalog.make(learner, given | {name: made.presets[given["preset"]].parameters[name]})
        assert refusal.value.field == name


def test_what_the_names_promise():
    table, target = read("contact-lenses", "contact-lenses")
    id3 = DecisionTreeClassifier.from_params({"preset": "id3"}).fit(table, target)
    assert id3.score(table, target) == 1.0
    assert id3.n_leaves_ == 9  # Cendrowska's lenses by ID3
    c45 = DecisionTreeClassifier.from_params({"preset": "c45"}).fit(table, target)
    assert c45.n_leaves_ == 4  # as J48 has it
    stump = DecisionTreeClassifier.from_params({"preset": "stump"}).fit(table, target)
    assert stump.get_depth() == 1
    assert table.names[stump.tree_.feature[0]] == "tear-prod-rate"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    cart = DecisionTreeRegressor.from_params({"preset": "cart"}).fit(X, (X[:, 0] > 0) + rng.normal(size=300) / 3)
    assert cart.n_leaves_ == 2


@pytest.mark.parametrize("wrong", ["c5.0", "", 3, ["c45"]])
def test_an_unknown_preset_is_refused_with_those_there_are(wrong):
    with pytest.raises(ParameterError, match=r"parameter preset must be one of id3, c45, cart, stump") as caught:
        catalog.make("decision-tree-classifier", {"preset": wrong})
    assert caught.value.field == PRESET


def test_a_parameter_that_a_preset_makes_senseless_names_both():
    with pytest.raises(ParameterError, match=r"alpha = 0\.5 has no effect with alpha_choice = .cv-1se."):
        catalog.make("decision-tree-classifier", {"preset": "cart", "alpha": 0.5})
