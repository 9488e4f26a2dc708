"""Trees by the names of the methods that people know, each with its paper's choices."""

from __future__ import annotations

from learners.params import Preset

_CART = {
    "nominal": "subset",
    "min_split": 6,
    "pruning": "cost-complexity",
    "alpha_choice": "cv-1se",
    "alpha_folds": 10,
}

CLASSIFIER_PRESETS = {
    "id3": Preset(
        {"criterion": "entropy", "nominal": "multiway", "pruning": "none"},
        "Quinlan, Induction of decision trees, Machine Learning 1 (1986): information gain, a branch a level, "
        "grown until pure.",
    ),
    "c45": Preset(
        {
            "criterion": "gain-ratio",
            "nominal": "multiway",
            "min_leaf": 2,
            "threshold": "data",
            "threshold_penalty": True,
            "threshold_minimum": "c4.5",
            "missing": "fractional",
            "pruning": "error-based",
            "confidence": 0.25,
            "subtree_raising": True,
        },
        "Quinlan, C4.5: Programs for Machine Learning (1993), with the threshold correction of Release 8 (Journal of "
        "Artificial Intelligence Research 4, 1996): gain ratio, fractional missing values, error-based pruning.",
    ),
    "cart": Preset(
        {"criterion": "gini", "pruning_cost": "error"} | _CART,
        "Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984): Gini, two-way splits of "
        "nodes of more than 5 rows, pruned by errors and leaves, by 10-fold cross-validation and the 1-SE rule.",
    ),
    "stump": Preset(
        {"criterion": "entropy", "nominal": "multiway", "max_depth": 1},
        "Iba and Langley, Induction of one-level decision trees (1992): the one test of most information.",
    ),
}

REGRESSOR_PRESETS = {
    "cart": Preset(
        _CART,
        "Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984): least squares, two-way "
        "splits of nodes of more than 5 rows, cost-complexity pruning by 10-fold cross-validation and the 1-SE rule.",
    ),
    "stump": Preset({"max_depth": 1}, "Iba and Langley, Induction of one-level decision trees (1992), by variance."),
}

MODEL_TREE_PRESETS = {
    "m5": Preset(
        {
            "criterion": "deviation",
            "nominal": "ordered",
            "min_split": 4,
            "min_deviation": 0.05,
            "pruning": "adjusted-error",
            "pruning_multiplier": 2,
            "smoothing": 15,
        },
        "Wang and Witten, Inducing model trees for continuous classes (1997), after Quinlan (1992): M5', nodes of 4 "
        "rows and 5 % of the deviation, pruning by adjusted error, smoothing by 15.",
    ),
}
