"""Records of reasons."""

from __future__ import annotations

from learners.explanation import labelled


def test_labels_keep_their_order_and_type() -> None:
    assert labelled((True, "a", 1), [0.5, 0.25, 0.25]) == ((True, 0.5), ("a", 0.25), (1, 0.25))
