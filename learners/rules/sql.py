"""Rule sets as SQL that SQLite and PostgreSQL run alike.

Two forms. :func:`case_expression` is one ``CASE`` over the rules: exact for every row in which
all values tested on its path are known; a row that no rule covers alone gives ``NULL``.
:func:`select_statement` covers every row as the model does: a missing value (``NULL``) or an unseen
level shares the row among a tree's rules, and the answer is the weighted mean. Of an ordered set both
forms answer every row, since one rule answers each, and the second one also names that rule.

The source must have the model's columns under their own names: numeric ones as numbers, level
columns as text, or as numbers or booleans where the levels are those. Sums and conjunctions are
written as balanced trees, because databases bound the depth of an expression.

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
from learners.rules.sql_combined import is_unknown, satisfies
from learners.rules.sql_literals import identifier, label_list, number_literal, scalar_literal
from learners.table import Column, canonical_text
from learners.trees.combined.column import CombinedColumn

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


def _case(rules: RuleSet, results: Sequence[str]) -> str:
    """The ``CASE`` that gives the result of the first rule that answers for the whole row."""
    covers = _written(rules, _covers)
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
    and of equally good classes (see :mod:`learners.decisions`) the first is the prediction. A name that
    is taken already, or too long, is replaced by one that is not (``proba_1``, ``prediction_``). Of an
    ordered set there is the column ``rule`` too, the id of the rule that answered.
    """
    if rules.ordered:
        return _ordered_select(rules, source)
    written = _written(rules, _share)
    shares = [_times(written.of(rule)) for rule in rules.rules]
    taken = {column.name for column in rules.columns}
    prediction = identifier(free_name("prediction", taken))
    if rules.classes is None:
        said = [float(rule.answer) if rule.function is None else f"({_said(rules, rule)})" for rule in rules.rules]
        mean = _weighted(shares, said)
        return f"SELECT source.*,\n{mean} AS {prediction}\nFROM {identifier(source)} AS source"
    names = [identifier(name) for name in _probability_names(rules, taken)]
    distributions = np.array([rule.distribution for rule in rules.rules])
    inner = ",\n".join(
        f"{_weighted(shares, distributions[:, index].tolist())} AS {name}" for index, name in enumerate(names)
    )
    return (
        f"SELECT rated.*,\n{_likeliest(rules, names)} AS {prediction}\n"
        f"FROM (\nSELECT source.*,\n{inner}\nFROM {identifier(source)} AS source\n) AS rated"
    )


def _ordered_select(rules: RuleSet, source: str) -> str:
    """The same of an ordered set: first the rule of each row, then what it says."""
    taken = {column.name for column in rules.columns}
    rule_name, prediction = identifier(free_name("rule", taken)), identifier(free_name("prediction", taken))
    names = [identifier(name) for name in _probability_names(rules, taken)]
    ids = [scalar_literal(rule.id) for rule in rules.rules]
    inner = _case(rules, ids)

    def said(values: Sequence[str]) -> str:
        cases = " ".join(f"WHEN {rule} THEN {value}" for rule, value in zip(ids[:-1], values[:-1], strict=True))
        return f"CASE {rule_name} {cases} ELSE {values[-1]} END" if cases else values[-1]

    distributions = [rule.distribution or () for rule in rules.rules]
    columns = [
        f"{said([number_literal(shares[index]) for shares in distributions])} AS {name}"
        for index, name in enumerate(names)
    ]
    columns.append(f"{said([scalar_literal(rule.answer) for rule in rules.rules])} AS {prediction}")
    listed = ",\n".join(columns)
    return (
        f"SELECT ruled.*,\n{listed}\nFROM (\nSELECT source.*,\n{inner} AS {rule_name}\n"
        f"FROM {identifier(source)} AS source\n) AS ruled"
    )


def _written(rules: RuleSet, write: Callable[[Column, RuleCondition], str]) -> Once:
    """The text of each condition, each written once."""
    tested = rules.tested
    return Once(lambda condition: write(tested[condition.feature], condition))


def _covers(column: Column, condition: RuleCondition) -> str:
    """Whether the rule answers for the whole row as far as this column goes."""
    tests = [_holds(column, condition)]
    if condition.missing == 1:
        tests.append(_is_missing(column))
    if condition.unseen == 1 and not condition.negated and column.levels:
        tests.append(f"{identifier(column.name)} NOT IN ({label_list(column, range(len(column.levels)))})")
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def _share(column: Column, condition: RuleCondition) -> str:
    """The share of the row for which the rule answers as far as this column goes."""
    cases = ""
    if condition.missing > 0:
        cases = f"WHEN {_is_missing(column)} THEN {number_literal(condition.missing)} "
    if column.levels and condition.unseen != float(condition.negated):
        known = label_list(column, range(len(column.levels)))
        unseen = number_literal(condition.unseen)
        cases += f"WHEN {identifier(column.name)} NOT IN ({known}) THEN {unseen} "
    return f"CASE {cases}WHEN {_holds(column, condition)} THEN 1 ELSE 0 END"


def _is_missing(column: Column) -> str:
    return is_unknown(column) if isinstance(column, CombinedColumn) else f"{identifier(column.name)} IS NULL"


def _holds(column: Column, condition: RuleCondition) -> str:
    """Whether a known value satisfies the condition; not true where the value is missing."""
    if isinstance(column, CombinedColumn):
        return satisfies(column, condition.low, condition.high)
    name = identifier(column.name)
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
    return f"{name} {'NOT IN' if condition.negated else 'IN'} ({label_list(column, codes)})"


def _said(rules: RuleSet, rule: Rule) -> str:
    """What a rule answers: a literal, or a linear function in the order in which it is added up."""
    if rule.function is None:
        return scalar_literal(rule.answer)
    columns = rules.columns
    terms = [f"{number_literal(term.coefficient)} * {_counted(columns, term)}" for term in rule.function.terms]
    return chain([number_literal(rule.function.intercept), *terms], "+")


def _counted(columns: Sequence[Column], term: LinearTerm) -> str:
    """What a term's variable is: a number, or 1 or 0 by a level; its default where that is not known."""
    column = columns[term.feature]
    name, default = identifier(column.name), number_literal(term.default)
    if term.ones is None:
        return f"COALESCE({name}, {default})"
    cases = [
        f"WHEN {name} IN ({label_list(column, codes)}) THEN {number}"
        for codes, number in ((term.ones, 1), (term.zeros or (), 0))
        if codes
    ]
    return f"CASE {' '.join(cases)} ELSE {default} END"


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
