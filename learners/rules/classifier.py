"""The rule set as a learner of its own: C4.5rules."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, ModelState, Progress, no_progress
from learners.class_weights import class_weight_parameter
from learners.evaluation.folds import hold_out
from learners.params import choice, integer, learner, real
from learners.rules.fitted import FittedRules
from learners.rules.induction import InductionOptions, Sample, induce, sample_of
from learners.rules.mdl import Weighing
from learners.rules.ordered import OrderedRules
from learners.table import Column, Series
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import Nodes

_LARGEST_SEED = 2**53 - 1
#: C4.5's thresholds.
_C45 = {"threshold": "data", "threshold_minimum": "c4.5"}


@learner
class RuleSetClassifier(FittedRules):
    """IF-THEN rules in an order; the first one that covers a row answers it.

    Made as C4.5rules makes them (Quinlan 1993, chapter 5): an unpruned C4.5 tree is grown, each of its leaves
    becomes a rule, conditions that do no good are dropped, for each class the subset of rules is kept that
    describes it shortest, the classes are ordered by their false positives, the default is the class of most
    rows that no rule covers, and rules are removed without which there are no more training errors.
    The parts say how: :mod:`~learners.rules.postpruning`, :mod:`~learners.rules.mdl`,
    :mod:`~learners.rules.ranking`.

    A rule's probabilities are Laplace estimates, (n_k + 1) / (n + K), over all training rows that it covers and
    the classes that occur; the plain counts stand beside them. A condition on a missing value is not satisfied,
    nor is one on a level that the model does not know, except ``not in``; rows with such values go on to later
    rules, at last to the default.
    """

    name: ClassVar[str] = "rule-set-classifier"
    summary: ClassVar[str] = (
        "Decides by the first of a few IF-THEN rules that covers the row, else by a default (C4.5rules); "
        "its probabilities are Laplace estimates."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="classification",
        explanations=("rule",),
        exports=("rules",),
        missing=True,
        categories=True,
        column_order_matters=True,  # of equally good tests of the tree the first column's is made
    )

    criterion: str = choice(
        "gain-ratio",
        ("gain-ratio", "entropy", "gini"),
        "What a test of the tree should gain: bits over split information (C4.5), bits, or Gini impurity.",
    )
    nominal: str = choice(
        "multiway",
        ("multiway", "subset", "one-vs-rest"),
        "How the tree splits a nominal or boolean column: one branch a level (C4.5), two sets of levels, or one "
        "level against the rest.",
    )
    min_leaf: float = real(2.0, "Least weight that at least two branches of a test of the tree hold.", minimum=1)
    max_depth: int | None = integer(
        None, "Greatest number of tests on a path of the tree.", minimum=0, none_means="no limit", is_size=True
    )
    max_leaves: int | None = integer(
        None, "Grow the tree best first up to this number of leaves.", minimum=1, none_means="no limit", is_size=True
    )
    postpruning: str = choice(
        "pessimistic",
        ("pessimistic", "validation", "none"),
        "How conditions are dropped from a rule: by C4.5's pessimistic estimate of its error rate, by its accuracy "
        "on rows held out from the tree, or not at all.",
    )
    confidence: float = real(
        0.25,
        "Confidence of the pessimistic estimate, by which conditions are dropped and the rules of a class ordered; "
        "smaller values drop more.",
        minimum=0,
        maximum=0.5,
        exclusive_minimum=True,
    )
    validation_fraction: float = real(
        0.25,
        "Share of the rows held out for post-pruning by validation.",
        minimum=0.01,
        maximum=0.9,
        only_with={"postpruning": ("validation",)},
    )
    seed: int = integer(0, "Which rows are held out, where any are.", minimum=0, maximum=_LARGEST_SEED)
    subset: str = choice(
        "mdl", ("mdl", "all"), "Which rules of a class are kept: those that describe it shortest, or all."
    )
    theory_weight: float = real(
        0.5,
        "Weight of the rules' own bits beside those of their exceptions; larger values keep fewer rules.",
        minimum=0,
        maximum=1e9,
        only_with={"subset": ("mdl",)},
    )
    redundancy: float = real(
        1.0,
        "How many times over the rows say the same; larger values keep fewer rules.",
        minimum=1e-9,
        maximum=1e9,
        only_with={"subset": ("mdl",)},
    )
    max_rules: int | None = integer(
        None,
        "Keep at most so many rules, the default not counted: the best set of at most 10 candidates, of more those "
        "without which most errors would be made.",
        minimum=0,
        none_means="no limit",
        is_size=True,
    )
    class_weight: dict[str, float] | None = class_weight_parameter()
    threads: int = integer(1, "Number of threads that grow the tree; the rules are the same.", minimum=1, maximum=256)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow a tree and make rules of it; see :meth:`learners.base.Learner.fit`."""
        table, target, weights = self._training_rows(X, y, sample_weight)
        rows = sample_of(table, target, weights)
        growing, judging = self._parts(rows)
        nodes = self._grown(growing, target.column, progress)
        options = InductionOptions(
            postpruning=self.postpruning,
            confidence=float(self.confidence),
            subset=self.subset,
            weighing=Weighing(float(self.theory_weight), float(self.redundancy)),
            max_rules=None if self.max_rules is None else int(self.max_rules),
        )
        rules = induce(nodes, target.column, rows, judging, options, progress)
        self._remember_columns(X, table)
        self._set_rules(rules, target.column)
        progress(1.0, f"{rules.n_rules} rules")
        return self

    def _parts(self, rows: Sample) -> tuple[Sample, Sample]:
        """The rows from which the tree is grown, and those that judge conditions."""
        if self.postpruning != "validation" or len(rows.codes) < 2:
            return rows, rows
        split, _ = hold_out(len(rows.codes), float(self.validation_fraction), int(self.seed), rows.codes)
        return rows.take(split.train), rows.take(split.test)

    def _grown(self, rows: Sample, target: Column, progress: Progress) -> Nodes:
        own = ("criterion", "nominal", "min_leaf", "max_depth", "max_leaves", "threads")
        options = {name: getattr(self, name) for name in own}
        options |= _C45 | {"threshold_penalty": self.criterion != "gini"}  # it is in bits
        tree: DecisionTreeClassifier = DecisionTreeClassifier.from_params(options)
        codes = Series(target, rows.codes.astype(np.float64))
        tree.fit(rows.table, codes, rows.weights, progress=lambda share, said: progress(0.4 * share, said))
        return tree.tree_

    def get_state(self) -> ModelState:
        return ModelState(self._header(), self.ordered_rules_.to_arrays())

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made = cls._of_header(state.header)
        made._set_rules(OrderedRules.from_arrays(state.arrays), made.target_)
        return made
