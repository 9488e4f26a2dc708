"""Rule sets as SQL that SQLite and PostgreSQL run alike.

Two forms. :func:`case_expression` is one ``CASE`` over the rules: exact for every row in which
all values tested on its path are known; a row that no rule covers alone gives ``NULL``.
:func:`select_statement` covers every row as the model does: a missing value (``NULL``) or an unseen
level shares the row among a tree's rules, and the answer is the weighted mean. Of an ordered set both
forms answer every row, since one rule answers each, and the second one also names that rule.

The source must have the model's columns under their own names: numeric ones as numbers, level columns as text, or as
numbers where the levels are those, boolean ones in any way that :mod:`learners.rules.sql.columns` tells. Sums and
conjunctions are written as balanced trees, because databases bound the depth of an expression.

A ``SELECT`` gives all columns of the source, then the answers. Whatever columns the source has beside the model's,
none of them is read: inputs are named with the alias of the source, and what is computed on the way with that of a
query that has no other columns. SQLite would take a bare name that the source lacks for a text.

The linear functions of a model tree are added in the model's own order, so for a row that is not shared the
answer is the model's to the bit; functions of 50 terms and more, and shared rows, may differ in the last bits.
A product beyond the range of doubles is kept within it by the model, but not by a database.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from learners.decisions import tie_width
from learners.linear_function import LinearTerm
from learners.rules.rule import Once, Rule, RuleCondition, RuleSet
from learners.rules.sql.columns import is_among, is_unseen
from learners.rules.sql.combined import is_unknown, satisfies
from learners.rules.sql.literals import identifier, number_literal, scalar_literal
from learners.rules.sql.products import product
from learners.table import Column, canonical_text
from learners.trees.combined.column import CombinedColumn

#: The alias of the table that a ``SELECT`` reads.
SOURCE = "source"
#: PostgreSQL cuts names after so many bytes.
_NAME_BYTES = 63
#: Longer chains of one operator are written as balanced trees.
_CHAIN = 50


def case_expression(rules: RuleSet, answer: Literal["label", "leaf", "rule"] = "label") -> str:
    """One ``CASE`` over all rules, to be put in a ``SELECT``.

    Args:
        rules: any rule set.
        answer: ``label`` gives the class label or mean, ``rule`` the rule's id, ``leaf`` the node id of the
            leaf (``NULL`` where a rule is none, or several).

    Returns:
        An expression that is ``NULL`` for a row that several rules share, since a value that
        decides is missing or unseen; :func:`select_statement` answers those too.
    """
    results = {
        "label": lambda rule: _said(rules, rule),
        "leaf": lambda rule: "NULL" if rule.leaf is None else str(rule.leaf),
        "rule": lambda rule: scalar_literal(rule.id),
    }
    return _case(rules, [results[answer](rule) for rule in rules.rules])


def _case(rules: RuleSet, results: Sequence[str], of: str = "") -> str:
    """The ``CASE`` that gives the result of the first rule that answers for the whole row; ``of``: see identifier."""
    covers = _written(rules, _covers, of)
    lines = ["CASE"]
    for rule, result in zip(rules.rules, results, strict=True):
        tests = covers.of(rule)
        if not tests and len(lines) > 1:
            return "\n".join([*lines, f"  ELSE {result}", "END"])
        lines.append(f"  WHEN {chain(tests, 'AND') if tests else '1 = 1'} THEN {result}")
    return "\n".join([*lines, "END"])


def select_statement(rules: RuleSet, source: str) -> str:
    """A ``SELECT`` of a table's columns and of the tree's answer for every row.

    The answer is the column ``prediction``; for classes there is a column ``proba_<class>`` each,
    and of equally good classes (see :mod:`learners.decisions`) the first is the prediction. Of an ordered set there
    is the column ``rule`` too, the id of the rule that answered. A name that the target or one of the model's columns
    has, or that is too long, is replaced by another (``proba_1``, ``prediction_``). A column of the source that the
    model does not know may have such a name as well; the answers are the last columns.
    """
    if rules.ordered:
        return _ordered_select(rules, source)
    written = _written(rules, _share, SOURCE)
    shares = [_times(written.of(rule)) for rule in rules.rules]
    taken = _taken(rules)
    prediction = identifier(free_name("prediction", taken))
    if rules.classes is None:
        said = [
            float(rule.answer) if rule.function is None else f"({_said(rules, rule, SOURCE)})" for rule in rules.rules
        ]
        return read_from(source, [f"{_weighted(shares, said)} AS {prediction}"])
    names = _probability_names(rules, taken)
    distributions = np.array([rule.distribution for rule in rules.rules])
    means = [_weighted(shares, distributions[:, index].tolist()) for index in range(len(names))]
    inner = [f"p{number}" for number in range(1, len(names) + 1)]
    # The probabilities are written twice: outside they could not be told from columns of the source by their names.
    # The limit says that there is one row, lest a database puts the sums in the place of their names again and again.
    rated = ",\n".join(f"{mean} AS {name}" for mean, name in zip(means, inner, strict=True))
    likeliest = _likeliest(rules, [f"rated.{name}" for name in inner])
    columns = [f"{mean} AS {identifier(name)}" for mean, name in zip(means, names, strict=True)]
    columns.append(f"(SELECT {likeliest}\nFROM (SELECT {rated}\nLIMIT 1) AS rated) AS {prediction}")
    return read_from(source, columns)


def _ordered_select(rules: RuleSet, source: str) -> str:
    """The same of an ordered set: the rule of each row, joined with what the rules say."""
    taken = _taken(rules)
    rule_name, prediction = free_name("rule", taken), free_name("prediction", taken)
    names = [rule_name, *_probability_names(rules, taken), prediction]
    ids = [scalar_literal(rule.id) for rule in rules.rules]
    said = [
        ", ".join([one, *map(number_literal, rule.distribution or ()), scalar_literal(rule.answer)])
        for one, rule in zip(ids, rules.rules, strict=True)
    ]
    columns = [f"ruled.column{number} AS {identifier(name)}" for number, name in enumerate(names, start=1)]
    values = ",\n".join(f"({one})" for one in said)
    return (
        f"{read_from(source, columns)}\n"
        f"LEFT JOIN (VALUES\n{values}\n) AS ruled ON ruled.column1 = {_case(rules, ids, SOURCE)}"
    )


def read_from(source: str, columns: Sequence[str]) -> str:
    """A ``SELECT`` of all columns of a table and some more."""
    listed = ",\n".join([f"SELECT {SOURCE}.*", *columns])
    return f"{listed}\nFROM {identifier(source)} AS {SOURCE}"


def _written(rules: RuleSet, write: Callable[[Column, RuleCondition, str], str], of: str) -> Once:
    """The text of each condition, each written once."""
    tested = rules.tested
    return Once(lambda condition: write(tested[condition.feature], condition, of))


def _covers(column: Column, condition: RuleCondition, of: str) -> str:
    """Whether the rule answers for the whole row as far as this column goes."""
    tests = [_holds(column, condition, of)]
    if condition.missing == 1:
        tests.append(_is_missing(column, of))
    if condition.unseen == 1 and not condition.negated and column.levels:
        tests.append(is_unseen(column, of))
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def _share(column: Column, condition: RuleCondition, of: str) -> str:
    """The share of the row for which the rule answers as far as this column goes."""
    cases = ""
    if condition.missing > 0:
        cases = f"WHEN {_is_missing(column, of)} THEN {number_literal(condition.missing)} "
    if column.levels and condition.unseen != float(condition.negated):
        cases += f"WHEN {is_unseen(column, of)} THEN {number_literal(condition.unseen)} "
    return f"CASE {cases}WHEN {_holds(column, condition, of)} THEN 1 ELSE 0 END"


def _is_missing(column: Column, of: str) -> str:
    return is_unknown(column, of) if isinstance(column, CombinedColumn) else f"{identifier(column.name, of)} IS NULL"


def _holds(column: Column, condition: RuleCondition, of: str) -> str:
    """Whether a known value satisfies the condition; not true where the value is missing."""
    if isinstance(column, CombinedColumn):
        return satisfies(column, condition.low, condition.high, of)
    name = identifier(column.name, of)
    if column.is_numeric:
        low, high = condition.low, condition.high
        if not low < high:
            return "1 = 0"
        above = f"{name} > {number_literal(low)}" if low > -math.inf else ""
        below = f"{name} <= {number_literal(high)}" if high < math.inf else ""
        return f"{above} AND {below}" if above and below else above or below or f"{name} IS NOT NULL"
    codes = condition.codes
    if codes is None:
        codes = tuple(code for code in range(len(column.levels)) if condition.low < code <= condition.high)
    if not codes:
        return f"{name} IS NOT NULL" if condition.negated else "1 = 0"
    return is_among(column, codes, of, negated=condition.negated)


def _said(rules: RuleSet, rule: Rule, of: str = "") -> str:
    """What a rule answers: a literal, or a linear function in the order in which it is added up."""
    if rule.function is None:
        return scalar_literal(rule.answer)
    columns = rules.columns
    terms = [_term(columns[term.feature], term, of) for term in rule.function.terms]
    return chain([number_literal(rule.function.intercept), *terms], "+")


def _term(column: Column, term: LinearTerm, of: str) -> str:
    """A coefficient times a variable: a number, or 1 or 0 by a level; its default where that is not known."""
    name, default = identifier(column.name, of), number_literal(term.default)
    if term.ones is None:
        return product(term.coefficient, f"COALESCE({name}, {default})")
    if term.coefficient * term.default == 0.0:
        default = number_literal(0.0)
    cases = [
        f"WHEN {is_among(column, codes, of)} THEN {number}"
        for codes, number in ((term.ones, 1), (term.zeros or (), 0))
        if codes
    ]
    return f"{number_literal(term.coefficient)} * CASE {' '.join(cases)} ELSE {default} END"


def _times(factors: Sequence[str]) -> Callable[[str], str]:
    """What writes the product of some factors and one more, by that one; the rest is written once."""
    if len(factors) >= _CHAIN:
        return lambda last: chain([*factors, last], "*")
    product = "".join([f"{factor} * " for factor in factors])
    return lambda last: product + last


def _weighted(shares: Sequence[Callable[[str], str]], answers: Sequence[float | str]) -> str:
    """The sum over the rules of share times answer; an answer may be an expression."""
    terms = [
        times(answer if isinstance(answer, str) else number_literal(answer))
        for times, answer in zip(shares, answers, strict=True)
        if answer != 0
    ]
    return _balanced(terms or [number_literal(0.0)], " +\n")


def _likeliest(rules: RuleSet, names: Sequence[str]) -> str:
    """The label of the largest probability, or of the largest expected utility; the first of equally good ones.

    A class that fell short of a rival is not the best, so the best is among those after it.
    """
    labels = [scalar_literal(label) for label in rules.classes or ()]
    worth = names if rules.utility is None else [_expected(row, names) for row in rules.utility.tolist()]
    width = number_literal(tie_width(rules.utility))
    cases = [
        f"WHEN {chain([f'{one} >= {rival} - {width}' for rival in worth[index + 1 :]], 'AND')} THEN {labels[index]}"
        for index, one in enumerate(worth[:-1])
    ]
    return f"CASE {' '.join(cases)} ELSE {labels[-1]} END" if cases else labels[0]


def _expected(utilities: Sequence[float], names: Sequence[str]) -> str:
    """The expected utility of one decision."""
    terms = [f"{name} * {number_literal(one)}" for one, name in zip(utilities, names, strict=True) if one != 0]
    return f"({chain(terms or [number_literal(0.0)], '+')})"


def _taken(rules: RuleSet) -> set[str]:
    """Names that a table may have, as far as the model knows."""
    return {column.name for column in (*rules.columns, rules.target)}


def _probability_names(rules: RuleSet, taken: set[str]) -> list[str]:
    wanted = [f"proba_{canonical_text(label)}" for label in rules.classes or ()]
    short = Counter(cut(name) for name in wanted)
    names = []
    for number, name in enumerate(wanted, start=1):
        usable = cut(name) == name and short[name] == 1
        names.append(free_name(name if usable else f"proba_{number}", taken))
    return names


def free_name(name: str, taken: set[str]) -> str:
    """The name, lengthened until it is not taken; databases do not tell capitals apart everywhere."""
    lower = {cut(one).lower() for one in taken}
    while name.lower() in lower:
        name += "_"
    taken.add(name)
    return name


def cut(name: str) -> str:
    """The name as a database cuts it."""
    return name.encode()[:_NAME_BYTES].decode(errors="ignore")


def chain(terms: Sequence[str], operator: str) -> str:
    """Terms joined from the left; of very many in a balanced order, since parsers bear no deep nesting."""
    joined = f" {operator} "
    return joined.join(terms) if len(terms) <= _CHAIN else _balanced(terms, joined)


def _balanced(terms: Sequence[str], operator: str) -> str:
    pieces: list[str] = []
    _balance(terms, 0, len(terms), operator, pieces)
    return "".join(pieces)


def _balance(terms: Sequence[str], start: int, end: int, operator: str, pieces: list[str]) -> None:
    """Add the texts of which the terms from ``start`` to ``end`` are put together; they are joined once, at last."""
    if end - start <= 2:
        pieces.append(operator.join(terms[start:end]))
        return
    middle = start + (end - start) // 2
    pieces.append("(")
    _balance(terms, start, middle, operator, pieces)
    pieces.append(f"){operator}(")
    _balance(terms, middle, end, operator, pieces)
    pieces.append(")")
