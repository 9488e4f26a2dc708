"""Rule sets as text, Markdown and JSON; for SQL see :mod:`learners.rules.sql.statements`.

Numbers in conditions are written in the shortest form that reads back to the same double. Where a
rule also answers for a share of the rows whose value is missing, the text and Markdown say so to three
digits; the exact shares are in the JSON form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from learners.conditions import name_text
from learners.decisions import TIE
from learners.rules.indented import Written, indented
from learners.rules.rule import Once, Rule, RuleCondition, RuleSet


def to_json(rules: RuleSet) -> dict[str, Any]:
    """A JSON object: columns, target, classes and every rule with its exact numbers."""
    return rules.to_json()


def to_text(rules: RuleSet) -> str:
    """One line a rule: ``IF ... AND ... THEN answer  [share of the class; rows; share by missing column]``.

    Where the model does not answer with the plain share of the training rows but with an estimate of it
    (Laplace's, in an ordered set), the estimate stands beside it. Of numbers the deviation of the targets stands there,
    but not beside a linear function, whose errors it does not tell.
    The rules after the first of an ordered set begin with ``ELSE``.
    """
    target = name_text(rules.target.name)
    shared = Once(_share)
    lines: list[str] = []
    for rule in rules.rules:
        tests = " AND ".join([condition.text for condition in rule.conditions])
        lead = f"IF {tests} THEN " if tests else "ALWAYS "
        if rules.ordered and lines:
            lead = f"ELSE {lead}" if tests else "ELSE "
        lines.append(f"{lead}{target} = {rule.conclusion()}  [{_support(rules, rule)}{_shares(shared.of(rule))}]")
    return "\n".join(lines) + "\n"


def to_markdown(rules: RuleSet) -> str:
    """A table with one line a rule, for documents; any level or column name survives in it."""
    estimated = any(_is_estimate(rules, rule) for rule in rules.rules)
    spreads = (["Share", "Estimate"] if estimated else ["Share"]) if rules.classes else ["Deviation"]
    if any(rule.function is not None for rule in rules.rules):
        spreads = []
    head = ["#", "If", f"Then {name_text(rules.target.name)}", *spreads, "Rows", "Id"]
    lines = [_row(map(_markdown_cell, head)), f"|---:|:---|:---|{'---:|' * len(spreads)}---:|:---|"]
    written = Once(lambda condition: _markdown_cell(_condition_text(condition)))
    cell = lru_cache(_markdown_cell)  # few different answers and numbers
    for number, rule in enumerate(rules.rules, start=1):
        tests = " and ".join(written.of(rule))
        tests = tests or ("else" if rules.ordered and number > 1 else "always")
        numbers = [rule.share, rule.confidence] if rules.classes else [rule.deviation]
        shown = ["" if one is None else f"{one:.4g}" for one in numbers[: len(spreads)]]
        ends = map(cell, (rule.conclusion(), *shown, f"{rule.weight:.6g}"))
        lines.append(_row([str(number), tests, *ends, rule.id]))  # an id has no sign to escape
    return "\n".join(lines) + "\n"


def _condition_text(condition: RuleCondition) -> str:
    return condition.text if condition.missing == 0 else f"{condition.text} (missing: {condition.missing:.3g})"


def _share(condition: RuleCondition) -> str:
    """What share of a row satisfies the condition where its column is missing; empty if none does."""
    return f"{condition.condition.subject} {condition.missing:.3g}" if condition.missing > 0 else ""


def _shares(shares: Sequence[str]) -> str:
    """What share of a row follows the rule where a column is missing, by that of each of its conditions."""
    said = ", ".join(filter(None, shares))
    return f"; where missing: {said}" if said else ""


def _is_estimate(rules: RuleSet, rule: Rule) -> bool:
    """Whether the answer's probability is another number than its share of the rows."""
    share = rule.share
    return rule.confidence is not None and (rules.ordered or share is None or abs(share - rule.confidence) > TIE)


def _support(rules: RuleSet, rule: Rule) -> str:
    rows = f"{rule.weight:.6g} rows" if rule.weight != 1 else "1 row"
    if rule.confidence is not None:
        said = [] if rule.share is None else [f"share {rule.share:.4g}"]
        if _is_estimate(rules, rule):
            said.append(f"estimate {rule.confidence:.4g}")
        return f"{', '.join(said)}; {rows}"
    return rows if rule.function is not None else f"deviation {rule.deviation:.4g}; {rows}"


def _row(cells: Iterable[str]) -> str:
    """A line of a Markdown table; the cells are escaped."""
    return f"| {' | '.join(cells)} |"


def _markdown_cell(text: str) -> str:
    """Escape what Markdown, or HTML inside it, would read as markup.

    Names with any sign but a word's are in JSON's quotes already, so line breaks are ``\\n`` there.
    """
    for sign in _MARKUP:
        if sign in text:
            text = text.replace(sign, "\\" + sign)
    return text


#: The backslash first, since it escapes the others.
_MARKUP = "\\`*_{}[]<>()#+!|~&$"


def to_json_text(rules: RuleSet) -> str:
    """:func:`to_json` as one text, indented by two blanks a level."""
    written = Once(lambda condition: Written(indented(condition.to_json(), _CONDITION_LEVEL)))

    def record(rule: Rule) -> dict[str, Any]:
        return rule.to_json() | {"conditions": written.of(rule)}

    return indented(replace(rules, rules=()).to_json() | {"rules": list(map(record, rules.rules))})


#: Of a condition in the list of a rule in the list of the object.
_CONDITION_LEVEL = 4
