"""The job ``predict``: a version answers every row of a dataset; ``rows-i`` the i-th fifty thousand.

Rows go the way of those of a request, so they are answered alike. Each part's answers are a piece of the file
that is downloaded; the first begins it, the last ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from learners.table import Table
from service.fault_json import describer
from service.formats.table_file import open_table, rows
from service.operations.policies import under_policies
from service.operations.row_formats import BATCH, Piece, write_piece
from service.operations.rows import Encoded, Options, encode_records
from service.operations.served import ServedModel
from service.operations.submission.version import PART_ROWS
from service.operations.work.part import Kind, Part, Request, Result, Results
from service.operations.work.version import loaded
from service.store.tables import Job

_ROWS = "rows-"


def plan(request: Request, results: Results) -> list[str]:
    """A part for so many rows each."""
    return [f"{_ROWS}{number}" for number in range(1, request["parts"] + 1)]


def run(part: Part) -> Result:
    """Answer and store some rows."""
    output, number = part.request["output"], int(part.name.removeprefix(_ROWS))
    options = Options(
        explain=output["explain"],
        interval=output.get("interval", False),
        unseen=output["unseen"],
        missing=output["missing"],
        decision=output.get("decision"),
    )
    model = under_policies(loaded(part, part.request["version"]), options)
    table = _of_model(open_table(part.blobs.path(part.dataset.table_sha256)), model)
    first = (number - 1) * PART_ROWS
    counts = np.zeros(2, dtype=np.int64)
    pieces = write_piece(
        model,
        _batches(part, table, model, options, first, counts),
        options,
        describer(minimal=part.options.get("error_detail") == "minimal"),
        output["format"],
        piece=Piece(first, begins=number == 1, ends=number == part.request["parts"]),
    )
    content = b"".join(pieces)
    answered, failed = counts.tolist()
    return {"blob_sha256": part.blobs.put_bytes(content), "size": len(content), "rows": answered, "failed": failed}


def _of_model(table: Table, model: ServedModel) -> Table:
    """The columns that the model takes; others, its target among them, need no word in every row."""
    return table.select([name for name in table.names if name in model.inputs.names])


def _batches(
    part: Part, table: Table, model: ServedModel, options: Options, first: int, counts: Any
) -> Iterator[Encoded]:
    last = min(first + PART_ROWS, table.n_rows)
    for begin in range(first, last, BATCH):
        part.progress((begin - first) / PART_ROWS, f"row {begin} of {table.n_rows}")
        encoded = encode_records(rows(table, begin, min(BATCH, last - begin)), model.inputs, options)
        counts += (encoded.n_rows, len(encoded.faults))
        yield encoded


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """How much there is to download."""
    found = [parts[name] for name in plan(job.request, dict)]
    of = job.request["version"]
    return {
        "version": f"{of['name']}:{of['version']}",
        "predictions": {
            "format": job.request["output"]["format"],
            "rows": sum(one["rows"] for one in found),
            "failed": sum(one["failed"] for one in found),
            "size": sum(one["size"] for one in found),
        },
    }


KIND = Kind(plan, run, finish)
