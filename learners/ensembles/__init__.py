"""Ensembles: boosted trees, bagged trees and random forests."""

from learners.ensembles.adaboost import AdaBoostClassifier
from learners.ensembles.bagging import BaggingClassifier, BaggingRegressor
from learners.ensembles.forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
