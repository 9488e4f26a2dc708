"""Learning by neighbours: an answer is made of those of the nearest training rows."""

from learners.neighbors.classifier import NearestNeighborsClassifier
from learners.neighbors.local_linear import LocalLinearRegressor
from learners.neighbors.regressor import NearestNeighborsRegressor

__all__ = ["LocalLinearRegressor", "NearestNeighborsClassifier", "NearestNeighborsRegressor"]
