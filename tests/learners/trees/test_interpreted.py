"""Compiled kernels and the same functions run as plain Python give the same trees and answers."""

import hashlib
import os
import subprocess
import sys

import numpy as np

from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.model_tree import ModelTreeRegressor
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read

VARIANTS = (
    {},
    {"criterion": "entropy", "nominal": "multiway"},
    {"criterion": "gain-ratio", "nominal": "one-vs-rest", "threshold_penalty": True},
    {"criterion": "entropy", "pruning": "error-based", "subtree_raising": True},
    {"pruning": "cost-complexity", "alpha": 0.01},
    {"pruning": "cost-complexity", "alpha_choice": "cv-1se", "alpha_folds": 3},
    {"pruning": "reduced-error"},
    {"pruning": "reduced-error", "pruning_order": "best-first"},
    {"pruning": "chi-square"},
    {"pruning": "minimum-length"},
    {"missing": "as-value"},
    {"missing": "most-likely", "discretise": "mdl", "criterion": "gain-ratio"},
    {"missing": "as-value", "discretise": "equal-frequency", "bins": 3, "nominal": "one-vs-rest"},
    {"criterion": "entropy", "nominal": "multiway", "cost_form": "eg2", "stop_significance": 0.3},
    {"max_depth": 2, "interval_tests": True, "formula_tests": "m-of-n", "oblique_tests": True},
)


def fingerprints() -> list[str]:
    """A hash of every array of trees grown on small tables, and of their answers."""
    found = []
    for name, target in (("labor", "class"), ("contact-lenses", "contact-lenses"), ("iris", "class")):
        table, labels = read(name, target)
        for params in VARIANTS:
            found.append(fingerprint(DecisionTreeClassifier(**params).fit(table, labels), table))
            weight = np.linspace(0, 2, len(table))
            found.append(fingerprint(DecisionTreeClassifier(**params).fit(table, labels, weight), table))
        for params in ({"max_leaves": 9}, {"leaf": "median"}, {"pruning": "reduced-error"}):
            found.append(fingerprint(DecisionTreeRegressor(**params).fit(table, labels_as_numbers(labels)), table))
        for params in ({}, {"nominal": "subset", "pruning": "none"}):
            found.append(fingerprint(ModelTreeRegressor(**params).fit(table, labels_as_numbers(labels)), table))
    return found


def labels_as_numbers(labels):
    return labels.cells + 0.25


def fingerprint(model, table: Table) -> str:
    digest = hashlib.sha256()
    for array in model.tree_.to_arrays().values():
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(np.ascontiguousarray(model.predict(table).astype(str)).tobytes())
    return digest.hexdigest()


def test_compiled_equals_plain_python():
    program = (
        "import json; from tests.learners.trees.test_interpreted import fingerprints; print(json.dumps(fingerprints()))"
    )
    environment = {**os.environ, "RULEWOOD_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    import json

    assert json.loads(done.stdout) == fingerprints()
