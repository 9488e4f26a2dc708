"""Model trees (M5'): trees whose leaves answer by linear functions."""

from learners.trees.model_tree.estimator import ModelTreeRegressor

__all__ = ["ModelTreeRegressor"]
