"""The conformance suite: what every learner promises, as checks that anyone can run on theirs.

>>> from learners.checks import checks_for
>>> for check in checks_for(MyLearner):
...     check(MyLearner)  # raises AssertionError with a sentence
"""

from learners.checks.suite import KNOWN_FAILURES, Check, checks_for

__all__ = ["KNOWN_FAILURES", "Check", "checks_for"]
