"""Linear models: least squares, ridge, lasso, elastic net, polynomials; logistic and softmax regression."""

from learners.linear.classifier import LogisticClassifier
from learners.linear.regressor import LinearRegressor

__all__ = ["LinearRegressor", "LogisticClassifier"]
