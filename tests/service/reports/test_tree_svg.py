"""The picture of a tree: well-formed whatever the texts, nothing on top of another, nothing left unsaid."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.conditions import Condition
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from service.reports.svg_text import fitted, width, xml_text
from service.reports.tree_layout import Extent, place
from service.reports.tree_svg import Picture, tree_svg
from service.reports.tree_texts import Lit, line_text
from service.reports.tree_texts import test_text as text_of_test

SVG = "{http://www.w3.org/2000/svg}"


def grown(n_rows: int = 400, seed: int = 0) -> DecisionTreeClassifier:
    random = np.random.default_rng(seed)
    table = Table.from_array(random.normal(size=(n_rows, 4)), ["a", "b", "c", "d"])
    labels = Column("label", Kind.NOMINAL, ("no", "yes", "perhaps"))
    return DecisionTreeClassifier().fit(table, Series(labels, random.integers(0, 3, n_rows).astype(float)))


def picture(
    model: DecisionTreeClassifier | DecisionTreeRegressor,
    title: str = "model:1",
    *,
    narrow: bool = False,
    **limits: int,
) -> str:
    return tree_svg(Picture(title, model.tree_, model.columns_, model.target_, Extent(**limits), narrow=narrow))


def boxes_of(svg: str) -> list[tuple[float, ...]]:
    """x, y, width and height of each node's box."""
    return [
        tuple(float(rectangle.attrib[name]) for name in ("x", "y", "width", "height"))
        for rectangle in ElementTree.fromstring(svg).iter(SVG + "rect")
        if rectangle.attrib.get("rx") == "6"
    ]


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(element.itertext()) for element in root.iter() if element.tag in (SVG + "text", SVG + "title")]


@pytest.mark.parametrize(
    ("operator", "values", "text"),
    [
        ("in", ("no checking",), '= "no checking"'),
        ("not in", ("no checking",), 'not "no checking"'),
        ("in", (">=200", "no checking"), '">=200", "no checking"'),
        ("not in", (">=200", "no checking"), 'none of ">=200", "no checking"'),
        ("in", (), "missing"),
        ("not in", (), "known"),
    ],
)
def test_several_excluded_levels_are_all_excluded_in_words(operator, values, text) -> None:
    condition = Condition("status", operator, values=values)
    assert text_of_test(condition) == text
    assert line_text(condition) == f"status {text}"


def test_every_leaf_of_a_small_tree_is_shown_with_its_label_and_count() -> None:
    table = Table.from_array(np.array([[1.0], [2.0], [3.0], [4.0]]), ["size"])
    target = Series(Column("kind", Kind.NOMINAL, ("small", "large")), np.array([0.0, 0.0, 0.0, 1.0]))
    shown = texts(picture(DecisionTreeClassifier().fit(table, target)))
    for text in ("size ?", "4 rows", "small", "100% of 3 rows", "large", "100% of 1 row", "≤ 3.5", "> 3.5"):
        assert any(text in one for one in shown), (text, shown)
    assert "missing: 75%" in shown


@pytest.mark.parametrize("narrow", [False, True])
def test_boxes_never_meet(narrow: bool) -> None:
    boxes = boxes_of(picture(grown(), max_leaves=60, narrow=narrow))
    assert len(boxes) == 2 * 60 - 1
    for index, (x, y, wide, high) in enumerate(boxes):
        for other_x, other_y, other_wide, other_high in boxes[:index]:
            apart = x + wide < other_x or other_x + other_wide < x or y + high < other_y or other_y + other_high < y
            assert apart


@pytest.mark.parametrize("narrow", [False, True])
def test_everything_lies_on_the_page(narrow: bool) -> None:
    root = ElementTree.fromstring(picture(grown(), narrow=narrow))
    wide, high = float(root.attrib["width"]), float(root.attrib["height"])
    for rectangle in root.iter(SVG + "rect"):
        if "x" in rectangle.attrib:
            assert 0 <= float(rectangle.attrib["x"]) <= wide - float(rectangle.attrib["width"])
            assert 0 <= float(rectangle.attrib["y"]) <= high - float(rectangle.attrib["height"])
    for text in root.iter(SVG + "text"):
        shown = (text.text or "") or "".join(child.tail or "" for child in text)
        size = float(text.attrib["font-size"]) * (1.14 if "font-weight" in text.attrib else 1.0)
        assert 0 <= float(text.attrib["x"]) <= wide - width(shown, size)


def test_a_narrow_picture_is_as_wide_as_a_phone_however_deep() -> None:
    svg = picture(grown(3000), narrow=True, max_depth=1000, max_leaves=2000)
    assert ElementTree.fromstring(svg).attrib["width"] == "360"
    assert min(wide for _, _, wide, _ in boxes_of(svg)) > 150


@pytest.mark.parametrize("max_leaves", [1, 2, 7, 30])
def test_what_is_folded_is_counted(max_leaves: int) -> None:
    tree = grown().tree_
    placed = place(tree, Extent(max_depth=1000, max_leaves=max_leaves))
    shown = [one for one in placed if not one.children]
    assert len(shown) == max_leaves
    assert sum(one.folded or 1 for one in shown) == tree.n_leaves
    assert sorted(one.line for one in shown) == list(range(max_leaves))
    svg = picture(grown(), max_leaves=max_leaves)
    assert any("more leaves" in text for text in texts(svg))


def test_depth_is_limited() -> None:
    placed = place(grown().tree_, Extent(max_depth=2, max_leaves=1000))
    assert max(one.depth for one in placed) == 2


def test_parents_stand_beside_their_first_child_and_the_root_at_the_top_left() -> None:
    placed = {one.node: one for one in place(grown().tree_, Extent(max_depth=1000, max_leaves=1000))}
    for one in placed.values():
        if one.children:
            first, last = placed[one.children[0]], placed[one.children[-1]]
            assert one.line == first.line < last.line
            assert first.depth == one.depth + 1
    assert (placed[0].depth, placed[0].line) == (0, 0)
    boxes = [(x, y) for x, y, _, _ in boxes_of(picture(grown()))]
    assert boxes[0] == (min(x for x, _ in boxes), min(y for _, y in boxes))
    assert boxes[0][0] < 50
    assert boxes[0][1] < 150


def test_a_very_deep_tree_is_drawn() -> None:
    values = np.arange(3000.0)[:, None]
    labels = Series(Column("y", Kind.NOMINAL, ("a", "b")), (np.arange(3000) % 2).astype(float))
    model = DecisionTreeClassifier().fit(Table.from_array(values), labels)
    ElementTree.fromstring(picture(model, max_depth=1000, max_leaves=2000))


def test_leaves_beneath_a_node_are_counted() -> None:
    tree = grown().tree_
    counts = tree.leaves_beneath
    assert counts[0] == tree.n_leaves
    for node in range(tree.n_nodes):
        children = list(tree.children(node))
        assert counts[node] == (counts[children].sum() if children else 1)


def test_a_picture_can_begin_at_any_node() -> None:
    model = grown()
    node = next(node for node in range(1, model.tree_.n_nodes) if model.tree_.n_children[node])
    svg = tree_svg(
        Picture("m", model.tree_, model.columns_, model.target_, Extent(root=node), link=lambda n: f"?node={n}")
    )
    inside = {int(text.split(":")[0].split()[1]) for text in texts(svg) if text.startswith("node ")}
    assert node in inside
    assert all(model.tree_.parent[one] in inside for one in inside - {node})
    links = {one.attrib["href"] for one in ElementTree.fromstring(svg).iter(SVG + "a")}
    assert f"?node={model.tree_.parent[node]}" in links
    assert any(text.startswith("↑ where ") for text in texts(svg))


def test_what_is_folded_is_a_link_to_its_own_picture() -> None:
    model = grown()
    extent = Extent(max_leaves=5)
    folded = {one.node for one in place(model.tree_, extent) if one.folded}
    svg = tree_svg(Picture("m", model.tree_, model.columns_, model.target_, extent, link=lambda n: f"?a=1&node={n}"))
    links = [one.attrib["href"] for one in ElementTree.fromstring(svg).iter(SVG + "a")]
    assert sorted(links) == sorted(f"?a=1&node={node}" for node in folded)


@pytest.mark.parametrize("narrow", [False, True])
def test_the_way_of_a_row_is_lit_and_opened_before_all_else(narrow: bool) -> None:
    model = grown()
    row = np.array([[0.3, -0.2, np.nan, 1.5]])
    (reason,) = model.explain(Table.from_array(row, ["a", "b", "c", "d"]))
    lit = Lit.of(reason)  # type: ignore[arg-type]
    assert set(lit.shares) == {0} | {step.child for branch in reason.branches for step in branch.steps}
    extent = Extent(max_depth=1000, max_leaves=len(lit.shares) + 1, kept=lit.shares)
    svg = tree_svg(Picture("m", model.tree_, model.columns_, model.target_, extent, narrow=narrow, lit=lit))
    shown = {one.node for one in place(model.tree_, extent)}
    assert set(lit.shares) <= shown
    told = [text for text in texts(svg) if "of the row comes here" in text]
    assert len(told) == len(lit.shares)
    assert any("c: missing" in text for text in texts(svg))


def test_a_single_leaf_is_a_picture_too() -> None:
    model = DecisionTreeClassifier(max_depth=0).fit(*_two_classes())
    assert "1 leaf" in " ".join(texts(picture(model)))


def _two_classes() -> tuple[Table, Series]:
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.array([0.0, 0.0, 1.0]))
    return Table.from_array(np.array([[1.0], [2.0], [3.0]])), target


def test_a_regression_shows_means() -> None:
    table = Table.from_array(np.array([[1.0], [2.0], [3.0]]))
    model = DecisionTreeRegressor().fit(table, Series(Column("price"), np.array([10.0, 10.0, 1e100])))
    shown = texts(picture(model))
    assert "10" in shown
    assert "1e+100" in shown


@settings(max_examples=40, deadline=None)
@given(
    names=st.lists(st.text(min_size=1, max_size=30), min_size=2, max_size=2, unique=True),
    levels=st.lists(st.text(max_size=300), min_size=3, max_size=3, unique=True),
    title=st.text(max_size=80),
)
def test_any_text_gives_well_formed_xml(names: list[str], levels: list[str], title: str) -> None:
    column = Column(names[0], Kind.NOMINAL, tuple(levels))
    target = Series(Column(names[1], Kind.NOMINAL, (levels[0], levels[1])), np.array([0.0, 1.0, 0.0, 1.0]))
    table = Table((column,), np.asfortranarray([[0.0], [1.0], [2.0], [1.0]]))
    ElementTree.fromstring(picture(DecisionTreeClassifier().fit(table, target), title))


@pytest.mark.parametrize(
    "text", ["</text><script>alert(1)</script>", "]]>", "&amp;", "\x00\x0b\ufffe", "\u202eabc", "a\nb"]
)
def test_markup_and_control_characters_do_no_harm(text: str) -> None:
    element = ElementTree.fromstring(f'<a b="{xml_text(text)}">{xml_text(text)}</a>')
    assert not list(element)
    assert element.text is not None
    assert not set(element.text) & set("\x00\x0b\ufffe\u202e\n")


@given(text=st.text(max_size=60), room=st.floats(20, 300))
def test_a_fitted_text_fits_and_is_cut_only_if_it_must_be(text: str, room: float) -> None:
    shown = fitted(text, 12, room)
    assert width(shown, 12) <= room + 1e-9
    assert (shown == text) == (width(text, 12) <= room) or shown.endswith("…")
