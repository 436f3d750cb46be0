"""Keeps sealed segments in files, so that opening a large store reads them instead of making them anew.

Every file may be deleted or damaged at any time: each has a checksum, and what can't be read is simply not there. A
list of the files in use is replaced atomically; files that it does not name are leftovers. Only the holder of the
write lock writes. It does not know whether a file still says the truth.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.adapters.local.codes import Codes
from citewell.adapters.local.faults import GARBLED
from citewell.adapters.local.regular import opened
from citewell.adapters.local.segments import Postings, Segment
from citewell.errors import StoreUnreachable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORMAT = 1
_MAGIC = b"citewell segment\n"
_ALIGNMENT = 64
_BLOCK = 65_536
_CHECKED_UP_TO = 1 << 30
"""Bytes of a file up to which opening checks all of them; `verify` checks larger ones."""
_ATTEMPTS = 5

Arrays = Mapping[str, "NDArray[Any]"]
_Place = tuple[int, str, Sequence[int], int]
"""Where an array begins in a file, its type, its shape and its checksum."""


class Shelf:
    """A directory of segment files.

    Args:
        folder: made when first written to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.damaged: tuple[str, ...] = ()
        """Files that the last `segments` could not use, each with why."""
        self._as_read: dict[str, tuple[Path, tuple[int, ...]]] = {}

    @property
    def _list(self) -> Path:
        return self._folder / "segments.json"

    def edition(self) -> tuple[int, int]:
        """Changes whenever the list of files does; (0, 0) if there is none."""
        try:
            found = self._list.stat()
        except OSError:
            return (0, 0)
        return (found.st_ino, found.st_mtime_ns)

    def size(self) -> int:
        """Bytes in all files."""
        try:
            return sum(entry.stat().st_size for entry in os.scandir(self._folder) if entry.is_file())
        except OSError:
            return 0

    def segments(self, *, thorough: bool = False) -> tuple[Segment, ...]:
        """What the files hold, in the order of the list; `thorough` checks files of any size. Never raises."""
        for _ in range(_ATTEMPTS):
            edition = self.edition()
            opened = [self._open(name, thorough=thorough) for name in self.names()]
            if self.edition() == edition:  # else a writer replaced the list meanwhile and may have removed files
                break
        self.damaged = tuple(found for found in opened if isinstance(found, str))
        return tuple(found for found in opened if isinstance(found, Segment))

    def is_intact(self, segments: Sequence[Segment]) -> bool:
        """Whether nobody has written into the files that these are mapped from.

        What is read of a file that was cut off ends the process, and what was overwritten is nonsense. One that is
        gone, or another one by its name, is no matter: what was mapped stays as it was.
        """
        return all(self._is_as_read(segment.name) for segment in segments if segment.name)

    def keep(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """Write those that have no file yet, list all, remove other files; return them as read from their files.

        Raises:
            OSError: no space, no permission.
            ValueError: a file can't be read back as it was written.
        """
        self._folder.mkdir(exist_ok=True)
        kept = tuple(segment if segment.name else self._write(segment) for segment in segments)
        names = [segment.name for segment in kept]
        temporary = self._list.with_suffix(".new")
        temporary.write_text(json.dumps({"format": _FORMAT, "files": names}))
        temporary.replace(self._list)
        self._tidy({*names, self._list.name})
        return kept

    def names(self) -> list[str]:
        """The files in use, in order."""
        try:
            with os.fdopen(opened(self._list, os.O_RDONLY), "rb") as source:
                listed = json.load(source)
            return [str(name) for name in listed["files"]] if listed["format"] == _FORMAT else []
        except (OSError, StoreUnreachable, ValueError, KeyError, TypeError):
            return []

    def _open(self, name: str, *, thorough: bool) -> Segment | str:
        try:
            return self._mapped(name, thorough=thorough)
        except (OSError, StoreUnreachable, *GARBLED, RecursionError) as error:
            return f"{name}: {error}"

    def _write(self, segment: Segment) -> Segment:
        name = f"{segment.rows[0]}-{segment.rows[-1]}-{os.urandom(4).hex()}.seg"
        _save(self._folder / name, segment)
        return self._mapped(name, thorough=False)

    def _mapped(self, name: str, *, thorough: bool) -> Segment:
        file = self._folder / name
        self._as_read[name] = (file, _look_at(file))
        return _read(file, thorough=thorough)

    def _is_as_read(self, name: str) -> bool:
        if name not in self._as_read:
            return True
        file, known = self._as_read[name]
        try:
            found = _look_at(file)
        except OSError:
            return True
        return found == known or found[0] != known[0]

    def _tidy(self, used: set[str]) -> None:
        for entry in list(os.scandir(self._folder)):
            if entry.name not in used and entry.is_file():
                Path(entry.path).unlink(missing_ok=True)
        self._as_read = {name: seen for name, seen in self._as_read.items() if name in used}


def _look_at(file: Path) -> tuple[int, ...]:
    found = file.stat()
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def _save(file: Path, segment: Segment) -> None:
    places: dict[str, _Place] = {}
    with file.open("wb") as out:
        for name, array in _arrays(segment).items():
            content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            places[name] = (out.tell(), array.dtype.str, array.shape, _checksum(content))
            out.write(content.data)
            out.write(bytes(-array.nbytes % _ALIGNMENT))
        header = json.dumps({"format": _FORMAT, "arrays": places}).encode()
        # The header comes last, behind what it describes: a file that was cut off has none.
        out.write(header + len(header).to_bytes(8, "little") + _MAGIC)


def _arrays(segment: Segment) -> Arrays:
    postings = segment.postings
    if postings.starts is None:
        raise ValueError("only a sealed segment can be kept")
    arrays: dict[str, NDArray[Any]] = {
        "rows": segment.rows, "stamps": segment.stamps, "lengths": segment.lengths, "vectors": segment.vectors,
        "terms": postings.terms, "starts": postings.starts, "places": postings.places, "counts": postings.counts,
    }  # fmt: skip
    codes = segment.codes
    return arrays if codes is None else arrays | {"middle": codes.middle, "bits": codes.bits, "scales": codes.scales}


def _checksum(content: NDArray[np.uint8]) -> int:
    """CRC-32 over the exclusive or of the 64-bit words of each block, which runs at the speed of memory.

    It notices any single flipped byte or misplaced block: what happens to a file that nobody forges.
    """
    whole = content.size // _BLOCK * _BLOCK
    blocks = content[:whole].view(np.uint64).reshape(-1, _BLOCK // 8)
    check = zlib.crc32(np.bitwise_xor.reduce(blocks, axis=1).tobytes())
    return zlib.crc32(content[whole:].tobytes(), check)


def _read(file: Path, *, thorough: bool) -> Segment:
    with os.fdopen(opened(file, os.O_RDONLY), "rb") as source:
        data = memoryview(mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ))
    tail = len(data) - len(_MAGIC) - 8
    if tail < 0 or bytes(data[tail + 8 :]) != _MAGIC:
        raise ValueError("it is no whole segment file")
    body = tail - int.from_bytes(data[tail : tail + 8], "little")
    if body < 0:
        raise ValueError("its header is damaged")
    header = json.loads(bytes(data[body:tail]))
    if header["format"] != _FORMAT:
        raise ValueError(f"it has format {header['format']}")
    check = thorough or body <= _CHECKED_UP_TO
    return _segment({name: _array(data, place, check) for name, place in header["arrays"].items()}, file.name)


def _array(data: memoryview, place: _Place, check: bool) -> NDArray[Any]:
    start, dtype, shape, checksum = place
    count = math.prod(shape)
    array: NDArray[Any] = np.frombuffer(data, dtype=np.dtype(dtype), count=count, offset=start)
    if check and _checksum(array.view(np.uint8)) != checksum:
        raise ValueError("its checksum is wrong")
    return array.reshape(shape)


def _segment(arrays: Arrays, name: str) -> Segment:
    postings = Postings(arrays["terms"], arrays["starts"], arrays["places"], arrays["counts"])
    codes = Codes(arrays["middle"], arrays["bits"], arrays["scales"]) if "bits" in arrays else None
    return Segment(arrays["rows"], arrays["stamps"], arrays["lengths"], arrays["vectors"], postings, codes, name)
