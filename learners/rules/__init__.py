"""Rule sets: what a tree says, as one IF ... THEN for each leaf."""

from learners.rules.access import rules_of
from learners.rules.classifier import RuleSetClassifier
from learners.rules.render import to_markdown, to_text
from learners.rules.sql.statements import case_expression, select_statement

__all__ = ["RuleSetClassifier", "case_expression", "rules_of", "select_statement", "to_markdown", "to_text"]
