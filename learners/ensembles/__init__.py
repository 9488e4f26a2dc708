"""Ensembles: boosted trees, bagged trees and random forests."""

from learners.ensembles.adaboost import AdaBoostClassifier
from learners.ensembles.bagging import BaggingClassifier, BaggingRegressor

__all__ = ["AdaBoostClassifier", "BaggingClassifier", "BaggingRegressor"]
