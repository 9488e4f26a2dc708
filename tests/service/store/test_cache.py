"""The disk cache: whole verified files, bounded, shared."""

from __future__ import annotations

import hashlib
import mmap
import os
import time
from pathlib import Path

import pytest

from service.store.cache import DamagedBlobError, DiskCache


def _add(cache: DiskCache, data: bytes, *, used_seconds_ago: float = 0.0) -> tuple[str, Path]:
    sha256 = hashlib.sha256(data).hexdigest()
    path = cache.add(sha256, [data[:3], data[3:]])
    then = time.time() - used_seconds_ago
    os.utime(path, (then, then))
    return sha256, path


def test_files_lie_under_their_hash(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1000)
    sha256 = hashlib.sha256(b"hello").hexdigest()
    assert cache.find(sha256) is None
    assert _add(cache, b"hello") == (sha256, tmp_path / sha256[:2] / sha256)
    assert cache.find(sha256).read_bytes() == b"hello"
    assert list((tmp_path / "aside").iterdir()) == []


def test_other_bytes_are_not_kept(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1000)
    with pytest.raises(DamagedBlobError):
        cache.add("0" * 64, [b"hello"])
    assert cache.find("0" * 64) is None
    assert list((tmp_path / "aside").iterdir()) == []


def test_a_source_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> object:
        yield b"he"
        raise OSError(5, "gone")

    cache = DiskCache(tmp_path, 1000)
    with pytest.raises(OSError, match="gone"):
        cache.add(hashlib.sha256(b"hello").hexdigest(), pieces())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_was_not_used_for_the_longest_goes_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 250)
    old = _add(cache, b"a" * 100, used_seconds_ago=300)[0]
    older = _add(cache, b"b" * 100, used_seconds_ago=400)[0]
    assert cache.find(old) is not None  # a use makes it young
    new = _add(cache, b"c" * 100)[0]
    assert [cache.find(sha256) is not None for sha256 in (old, older, new)] == [True, False, True]


def test_files_just_asked_for_are_kept_above_the_bound(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 0)
    assert _add(cache, b"abcd")[1].exists()


def test_a_mapped_file_outlives_its_name(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 0)
    _, path = _add(cache, b"abcd", used_seconds_ago=300)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        cache.trim()
        assert not path.exists()
        assert mapped[:] == b"abcd"


def test_remains_of_dead_writers_are_removed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1000)
    _add(cache, b"abcd")
    dead, writing = tmp_path / "aside" / "dead", tmp_path / "aside" / "writing"
    dead.write_bytes(b"ab")
    writing.write_bytes(b"ab")
    os.utime(dead, (0, 0))
    cache.trim()
    assert (dead.exists(), writing.exists()) == (False, True)
