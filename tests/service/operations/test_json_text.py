"""Answers are encoded whatever kind of number a record holds; anything else is refused."""

import numpy as np
import pytest

from service.operations.json_text import encode_json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(0.1), b"0.1"),
        (np.float64("nan"), b"null"),
        (np.int32(-3), b"-3"),
        (np.bool_(True), b"true"),
        (np.str_("é"), '"é"'.encode()),
    ],
)
def test_numbers_of_numpy_are_written_as_pythons_are(value, text):
    assert encode_json({"one": value, "many": [value]}) == b'{"one":' + text + b',"many":[' + text + b"]}"


def test_what_has_no_json_is_refused():
    with pytest.raises(TypeError, match="ndarray"):
        encode_json(np.zeros(2))
