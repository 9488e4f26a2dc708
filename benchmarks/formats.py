"""Which library parses CSV: pyarrow against polars on speed and on nasty files; and what reading costs here.

polars is no dependency of the project; install it beside for this comparison, or leave its lines out.

    python benchmarks/formats.py [--megabytes 100] [--rounds 5]
    python benchmarks/formats.py --ingest 1000      # one file of that many megabytes, with the memory it took
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from service.formats.ingest import ingest
from service.formats.options import ReadOptions
from service.settings import Limits

HAS_POLARS = importlib.util.find_spec("polars") is not None

NASTY = {
    "short row": b"a,b,y\n1,4,p\n2,5\n3,6,p\n",
    "long row": b"a,b,y\n1,4,p\n2,5,q\n3,6,p,extra\n",
    "trailing comma": b"a,b,y\n1,4,p,\n2,5,q,\n",
    "quoted newline, empty text, empty cell": b'id,note,y\n1,"one\ntwo",a\n3,"",a\n4,,b\n',
    "NUL": b"x,y\n1,a\n2,b\0c\n",
    "names twice": b"a,a,y\n1,9,p\n",
    "not UTF-8": b"a,y\nM\xfcnchen,a\n",
    "open quote": b'a,y\n1,p\n2,"q\n3,r\n',
    "blank lines": b"\n\na,y\n\n1,p\n\n2,q\n\n",
}


def write_csv(path: Path, megabytes: int) -> None:
    """15 columns of doubles, 3 of integers, 2 of names."""
    rng = np.random.default_rng(0)
    n = 20_000
    columns = [rng.normal(size=n).round(6).astype(str) for _ in range(15)]
    columns += [rng.integers(0, 1000, n).astype(str) for _ in range(3)]
    columns += [rng.choice(["red", "green", "blue", "dark violet"], n) for _ in range(2)]
    block = ("\n".join(",".join(row) for row in zip(*columns, strict=True)) + "\n").encode()
    with path.open("wb") as file:
        file.write(",".join(f"c{number}" for number in range(20)).encode() + b"\n")
        for _ in range(max(1, megabytes * 1_000_000 // len(block))):
            file.write(block)


def pyarrow_texts(path: Path) -> None:
    types = {f"c{number}": pa.string() for number in range(20)}
    reader = csv.open_csv(
        path,
        csv.ReadOptions(block_size=4 << 20),
        None,
        csv.ConvertOptions(column_types=types, strings_can_be_null=True),
    )
    for batch in reader:
        for number in range(18):
            pc.cast(batch.column(number), pa.float64())


def pyarrow_inferred(path: Path) -> None:
    csv.read_csv(path)


def polars_texts(path: Path) -> None:
    import polars as pl

    names = [f"c{number}" for number in range(18)]
    pl.read_csv(path, infer_schema=False).select(pl.col(names).cast(pl.Float64, strict=False))


def polars_inferred(path: Path) -> None:
    import polars as pl

    pl.read_csv(path)


def rulewood(path: Path) -> None:
    ingest(path, ReadOptions(), path.with_suffix(".table"), Limits())


def by_pyarrow(data: bytes) -> str:
    noted: list[str] = []

    def note(row: csv.InvalidRow) -> str:
        noted.append(f"row {row.number}: {row.actual_columns} cells for {row.expected_columns}")
        return "skip"

    options = csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    parsing = csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note)
    table = csv.read_csv(io.BytesIO(data), csv.ReadOptions(use_threads=False), parsing, options)
    columns = dict(zip(table.column_names, (column.to_pylist() for column in table.columns), strict=False))
    return f"{columns} {'; '.join(noted)}"


def by_polars(data: bytes) -> str:
    import polars as pl

    return str(pl.read_csv(io.BytesIO(data), infer_schema=False).to_dict(as_series=False))


def compare(megabytes: int, rounds: int) -> None:
    ways: list[Callable[[Path], None]] = [pyarrow_texts, pyarrow_inferred, rulewood]
    if HAS_POLARS:
        ways += [polars_texts, polars_inferred]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        write_csv(path, megabytes)
        size = path.stat().st_size / 1e6
        seconds: dict[str, list[tuple[float, float]]] = {way.__name__: [] for way in ways}
        for way in ways:
            way(path)
        for _ in range(rounds):
            for way in ways:
                wall, cpu = time.perf_counter(), time.process_time()
                way(path)
                seconds[way.__name__].append((time.perf_counter() - wall, time.process_time() - cpu))
    report(size, rounds, seconds)


def report(size: float, rounds: int, seconds: dict[str, list[tuple[float, float]]]) -> None:
    """Medians; the processor's time (all threads) is steadier than the clock on a busy machine."""
    walls = {name: statistics.median(wall for wall, _ in pairs) for name, pairs in seconds.items()}
    cpus = {name: statistics.median(cpu for _, cpu in pairs) for name, pairs in seconds.items()}
    print(f"\n{size:.0f} MB, {rounds} rounds side by side\n")
    print("| way | MB/s | time, ratio | MB per processor second | processor time, ratio |\n|---|---|---|---|---|")
    for name in seconds:
        wall, cpu = walls[name] / walls["pyarrow_texts"], cpus[name] / cpus["pyarrow_texts"]
        print(f"| {name} | {size / walls[name]:.0f} | {wall:.2f} | {size / cpus[name]:.0f} | {cpu:.2f} |")


def nasty() -> None:
    for name, data in NASTY.items():
        for parse in (by_pyarrow, by_polars)[: 1 + HAS_POLARS]:
            try:
                answer = parse(data)
            except Exception as error:  # what the error says is what is shown
                answer = f"{type(error).__name__}: {' '.join(str(error).split())[:110]}"
            print(f"{name:40} {parse.__name__:11} {answer}")


def ingest_alone(path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, cpu = time.perf_counter(), time.process_time()
    found = ingest(path, ReadOptions(), path.with_suffix(".table"), Limits())
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    megabytes = path.stat().st_size / 1e6
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    print(
        f"{megabytes:.0f} MB, {found.n_rows} rows: {seconds:.1f} s, {megabytes / seconds:.0f} MB/s, "
        f"{cpu:.1f} s of processor, "
        f"peak {grown:.0f} MB above the {before / 1e3:.0f} MB of the idle process"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ingest", type=int, metavar="MEGABYTES")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone:
        ingest_alone(arguments.alone)
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, pyarrow {pa.__version__}")
    if arguments.ingest:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data.csv"
            write_csv(path, arguments.ingest)
            subprocess.run([sys.executable, __file__, "--alone", str(path)], check=True)
        return
    nasty()
    compare(arguments.megabytes, arguments.rounds)


if __name__ == "__main__":
    main()
