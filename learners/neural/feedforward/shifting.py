"""Training images moved by some places, anew in each epoch: label-keeping transforms of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learners.errors import ParameterError, quoted
from learners.linear_function import LARGEST
from learners.neural.decoding import decoded
from learners.neural.inputs import Inputs
from learners.neural.training import Augment
from learners.preprocessing.encode import POWER
from learners.table import Column, Table
from learners.types import FloatArray


def check_image(columns: Sequence[Column], width: int, most: int) -> None:
    """Refuse columns that are no image of that width, or moving it out of sight.

    Raises:
        ParameterError: one is not numeric, they make no whole rows, or ``most`` places are all of the image.
    """
    odd = [column.name for column in columns if not column.is_numeric]
    if odd:
        message = f"image_width = {width} takes all columns for numbers of an image; column {quoted(odd[0])} is none"
        raise ParameterError(message, field="image_width")
    if len(columns) % width:
        message = f"image_width = {width} makes no whole rows of {len(columns)} columns"
        raise ParameterError(message, field="image_width")
    height = len(columns) // width
    if most >= max(width, height):
        message = f"image_shift = {most} moves images of {width} x {height} numbers out of sight"
        allowed = f"; at most {max(width, height) - 1}" if max(width, height) > 1 else ""
        raise ParameterError(message + allowed, field="image_shift")


def evenly_scaled(inputs: Inputs, table: Table, weights: FloatArray) -> Inputs:
    """The same inputs, all numbers divided by one unit: the root of the mean of their variances.

    Numbers that hardly vary where they are, such as those at the edges of images, are no longer blown up by a small
    deviation of their own when something else is moved there.

    Args:
        inputs: of n rows, by ``standard``.
        table, weights: the rows; weights > 0, shape (n,).
    """
    encoding = inputs.encoding
    used = np.unique(encoding.column[encoding.kind == POWER])
    if not len(used):
        return inputs
    largest = encoding.factor[used].min()  # of the column with the largest numbers, beside which none overflows
    unit = np.sqrt(np.square(encoding.unit[used] * (largest / encoding.factor[used])).mean())
    units = encoding.unit.copy()
    with np.errstate(over="ignore"):
        units[used] = np.minimum(unit * (encoding.factor[used] / largest), LARGEST)
    made = replace(inputs, encoding=replace(encoding, unit=units))
    return replace(made, mean=(weights / weights.sum()) @ made.batch(table))


def shifting(inputs: Inputs, width: int, most: int) -> Augment:
    """What moves each image by up to so many places, down or up and right or left; its edges are repeated.

    Args:
        inputs: of columns that are the numbers of an image, row by row.
        width: numbers of a row.
        most: places, >= 0.
    """
    height = len(inputs.columns) // width
    is_number = inputs.encoding.kind == POWER  # indicators of gaps stay where they are

    def moved(batch: FloatArray, rng: np.random.Generator) -> FloatArray:
        n_rows = len(batch)
        images = decoded(inputs, batch).reshape(n_rows, height, width)
        down, right = rng.integers(-most, most + 1, (2, n_rows, 1))
        rows = np.clip(np.arange(height) - down, 0, height - 1)
        places = np.clip(np.arange(width) - right, 0, width - 1)
        found = images[np.arange(n_rows)[:, None, None], rows[:, :, None], places[:, None, :]]
        made = inputs.batch(Table(inputs.columns, np.asfortranarray(found.reshape(n_rows, -1))))
        batch[:, is_number] = made[:, is_number]
        return batch

    return moved
