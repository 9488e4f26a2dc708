"""A model's tree as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from learners.decisions import decide
from learners.table import Column
from learners.trees.combined.column import CombinedColumn
from learners.trees.estimator import FittedTree
from learners.trees.model_tree.fitted import FittedModelTree
from learners.trees.nodes import LEAF, THRESHOLD, Nodes
from learners.trees.paths import condition_of
from service.errors import Conflict, Fault, Invalid
from service.operations.served import ServedModel

#: Most nodes of one answer; some 6 MB of JSON.
MAX_NODES = 10_000


def tree_json(model: ServedModel, top: int = 0, levels: int | None = None) -> dict[str, Any]:
    """The version and its nodes, flat: a node's children are named by id, so no depth is too deep for a reader.

    Args:
        model: whose tree.
        top: the node whose branches are given, itself first.
        levels: how many levels beneath it; None for all.

    Raises:
        Conflict: the model is no tree.
        Invalid: it has no such node, or more than :data:`MAX_NODES` nodes are asked for.
    """
    learner = tree_of(model)
    chosen = _chosen(learner.tree_, top, levels)
    nodes, columns, target = learner.tree_, learner.tested_columns_, learner.target_
    parent, depth, rows = (array[chosen].tolist() for array in (nodes.parent, nodes.depth, nodes.rows))
    weight, impurity = nodes.weight[chosen].tolist(), nodes.impurity[chosen].tolist()
    answers = _answers(learner, chosen)
    records = []
    for place, node in enumerate(chosen):
        above = parent[place]
        record: dict[str, Any] = {"id": node, "parent": above if node else None, "depth": depth[place]}
        if node:
            column = columns[nodes.feature[above]]
            record["condition"] = condition_of(nodes, column, above, node - int(nodes.first_child[above])).to_json()
        record |= {"rows": rows[place], "weight": weight[place], "impurity": impurity[place]}
        record |= answers[place] | _test(nodes, node, columns)
        records.append(record)
    return model.identity.to_json() | {
        "columns": [column.to_json() for column in learner.columns_],
        "target": target.to_json(),
        "n_nodes": nodes.n_nodes,
        "n_leaves": nodes.n_leaves,
        "depth": nodes.greatest_depth,
        "nodes": records,
    }


def _chosen(nodes: Nodes, top: int, levels: int | None) -> list[int]:
    """The nodes at and beneath one, level by level; no more than are given at once."""
    check_node(nodes, top)
    level, chosen = [top], [top]
    depth = 0
    while level and depth != levels:
        level = [child for node in level for child in nodes.children(node)]
        if len(chosen) + len(level) > MAX_NODES:
            allowed = f"at most {depth} beneath node {top}"
            message = f"more than {MAX_NODES} nodes are asked for; ask for fewer levels, and for the rest by node"
            raise Invalid(message, [Fault(message, parameter="levels", allowed=allowed)])
        chosen += level
        depth += 1
    return sorted(chosen)


def check_node(nodes: Nodes, node: int) -> None:
    """Raise :class:`Invalid` if a tree has no such node."""
    if not 0 <= node < nodes.n_nodes:
        message = f"the tree has no node {node}; its nodes are 0 to {nodes.n_nodes - 1}"
        raise Invalid(message, [Fault(message, parameter="node", allowed=[0, nodes.n_nodes - 1], value=node)])


def tree_of(model: ServedModel) -> FittedTree:
    """The fitted tree of a model.

    Raises:
        Conflict: the model is no tree.
    """
    if not isinstance(model.learner, FittedTree):
        message = f"{model.learner.name} is no tree"
        raise Conflict(f"The model has no tree: {message}", [Fault(message, parameter="ref")])
    return model.learner


def _answers(learner: FittedTree, chosen: list[int]) -> list[dict[str, Any]]:
    """What each of some nodes answers."""
    nodes = learner.tree_
    if learner.target_.is_numeric:
        numbers = nodes.value[chosen, :2].tolist()
        found: list[dict[str, Any]] = [{"value": value, "variance": variance} for value, variance in numbers]
        if isinstance(learner, FittedModelTree):
            for place, node in enumerate(chosen):
                if nodes.test[node] == LEAF:
                    found[place]["linear"] = learner.function(node).to_json()
        return found
    labels, shares = learner.target_.labels, nodes.shares_of(chosen)
    decided = decide(shares, learner.utility_).tolist()
    return [
        {
            "label": labels[best],
            "distribution": [{"label": label, "share": share} for label, share in zip(labels, own, strict=True)],
        }
        for best, own in zip(decided, shares.tolist(), strict=True)
    ]


def _test(nodes: Nodes, node: int, columns: Sequence[Column]) -> dict[str, Any]:
    """What an inner node asks, where its branches lead, and where a missing value goes."""
    if nodes.test[node] == LEAF:
        return {"children": []}
    column = columns[nodes.feature[node]]
    record: dict[str, Any] = {"gain": float(nodes.gain[node])}
    if isinstance(column, CombinedColumn):
        record["test"] = condition_of(nodes, column, node, 0).to_json()
    else:
        record["column"] = column.name
    if nodes.test[node] == THRESHOLD and "column" in record:
        record["threshold"] = column.decode(float(nodes.threshold[node]))
    children = nodes.children(node)
    follows = int(nodes.missing_branch[node])
    if follows >= 0:
        record["missing"] = [{"child": children[follows], "share": 1.0}]
    else:
        record["missing"] = [{"child": child, "share": float(nodes.fraction[child])} for child in children]
    return record | {"children": list(children)}
