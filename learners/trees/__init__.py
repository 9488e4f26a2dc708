"""Decision trees: one grower, one flat node array, one traversal."""

from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.model_tree import ModelTreeRegressor
from learners.trees.regressor import DecisionTreeRegressor

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor", "ModelTreeRegressor"]
