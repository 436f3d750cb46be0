"""The only door to pymilvus: connects by location, says what the server can do, and makes every call.

    milvus:./kb.db            Milvus Lite, within this process
    http://host:19530         any Milvus; https:// with TLS; a token if the server wants one

Every call has a time-out, within which pymilvus tries again when the server is away for a moment; what it raises comes
out as one of Citewell's errors. It knows no schema and no document.
"""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from citewell.adapters.milvus.faults import translated
from citewell.adapters.milvus.lite import flushing, generation, hold, let_go, lite_path, restart, steadily, write_lock
from citewell.errors import InvalidRequest, StoreUnreachable, StoreVersion

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_LOAD_S = 120.0
_FLUSH_S = 120.0
_READS = frozenset({"search", "query"})
_WRITES = frozenset({"insert", "upsert", "delete", "create_collection", "drop_collection"})


@dataclass(frozen=True, slots=True)
class Server:
    """What is at the other end.

    Attributes:
        text: the version as the server says it.
        is_lite: whether it is Milvus Lite.
        numbers: of the version, such as (2, 3, 5).
    """

    text: str
    is_lite: bool
    numbers: tuple[int, int, int]

    @property
    def has_bm25(self) -> bool:
        """Native BM25 came with 2.5; Lite has it since it was written anew (3)."""
        return self.numbers >= ((3, 0, 0) if self.is_lite else (2, 5, 0))

    @property
    def has_inverted(self) -> bool:
        """Inverted indexes on scalar fields came with 2.4; Lite needs none."""
        return not self.is_lite and self.numbers >= (2, 4, 0)


def server_of(text: str) -> Server:
    """What a version text says.

    Raises:
        StoreVersion: it is older than 2.3, or says nothing.
    """
    found = _NUMBERS.search(text)
    numbers = (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)
    is_lite = text.startswith("milvus_lite")
    least = (3, 0, 0) if is_lite else (2, 3, 0)
    if numbers < least:
        raise StoreVersion(
            f"the Milvus is of version {text!r}, which Citewell does not know how to use",
            way_out=f"Use {least[0]}.{least[1]} or later.",
        )
    return Server(text, is_lite, numbers)


class Client:
    """A connection to one Milvus; safe to call from several threads.

    Args:
        location: `milvus:PATH.db`, `http://...` or `https://...`.
        token: `user:password` or an API key.
        timeout_s: of each call, its retries included.

    Raises:
        InvalidRequest: no such kind of location, or the extra `milvus` is not installed.
        StoreLocked: another process has the Lite store open.
        StoreUnreachable: nothing answers, or refuses the token.
        StoreVersion: the server is older than 2.3.
    """

    def __init__(self, location: str, *, token: str | None = None, timeout_s: float = 10.0) -> None:
        if not (location.startswith("milvus:") or _is_address(location)):
            raise InvalidRequest(f"{location!r} names no Milvus", way_out="Give milvus:PATH.db or http://HOST:PORT.")
        _pymilvus()
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # what it logs as errors comes out as ours
        self.location = location
        self.timeout_s = timeout_s
        self._token = token
        self._closed = False
        self._turn = threading.Lock()
        self._loaded: set[str] = set()
        self._unseen: dict[str, int] = {}
        """Per collection: changes that a read of the level `Session` may miss, since one of the level `Strong`."""
        self._path: Path | None = lite_path(location) if location.startswith("milvus:") else None
        self._generation = 0
        if self._path is not None:
            hold(self._path)
            self._generation = generation(self._path)
        try:
            self._client = self._connected()
            self.server = server_of(str(self.call("get_server_version")))
        except BaseException:
            self.close()
            raise

    @property
    def is_lite(self) -> bool:
        """Whether the engine is within this process."""
        return self._path is not None

    def call(self, name: str, *args: object, **options: object) -> Any:  # noqa: ANN401 - as many types as methods
        """Call this method of pymilvus's client; what it raises comes out translated.

        On Lite writes take turns, and after one that failed the store is opened anew.

        Raises:
            StoreError: as `faults` decides.
        """
        if self._closed:
            raise StoreUnreachable(f"the store {self.location} is closed", way_out="Open it again.")
        options.setdefault("timeout", self.timeout_s)
        with self._translating(name):
            if self._path is not None:
                return self._call_lite(self._path, name, partial(self._made, name, args, options))
            return self._call_server(name, str(args[0]) if args else "", args, options)

    def _made(self, name: str, args: tuple[object, ...], options: dict[str, object]) -> Any:  # noqa: ANN401 - as `call`
        if self._path is not None:
            self._follow(self._path)
        return getattr(self._client, name)(*args, **options)

    def _call_lite(self, path: Path, name: str, make: Callable[[], T]) -> T:
        """Make a call; a read that failed because the engine was opened anew meanwhile, whoever did that, again."""
        began = self._follow(path)
        try:
            return self._in_turn(path, name, make)
        except Exception:
            if name in (*_WRITES, "flush") or self._follow(path) == began:
                raise
            return self._in_turn(path, name, make)

    def _follow(self, path: Path) -> int:
        """Be connected to the engine as it was opened last; which one that is."""
        if self._generation != generation(path):
            with write_lock(path):
                if self._generation != generation(path):
                    self._connect_anew(path)
        return self._generation

    def _in_turn(self, path: Path, name: str, make: Callable[[], T]) -> T:
        """Writes take turns, and reads miss nothing that is being flushed."""
        if name in _READS:
            return steadily(path, make)
        with flushing(path) if name == "flush" else write_lock(path) if name in _WRITES else nullcontext():
            return make()

    def _call_server(self, name: str, collection: str, args: tuple[object, ...], options: dict[str, object]) -> Any:  # noqa: ANN401 - as `call`
        """Make a call, so that a read of the level `Session` sees all that this process knows to have happened.

        It waits for this process's own writes as it is; but of a deletion a server (2.3) does not say when it was, and
        of what others wrote before a collection was opened nobody does. The first read after such waits for everything.
        """
        unseen = self._unseen.get(collection, 0)
        if unseen and options.get("consistency_level") == "Session":
            options["consistency_level"] = "Strong"
        answer = self._made(name, args, options)
        if name == "delete":
            self.expect_changes(collection)
        with self._turn:
            if options.get("consistency_level") == "Strong" and self._unseen.get(collection) == unseen:
                self._unseen[collection] = 0
        return answer

    def load(self, *collections: str) -> None:
        """Make collections searchable, side by side, and again whenever the store is opened anew.

        Raises:
            StoreUnreachable: the server does not get it done in time.
        """
        for collection in collections:
            self.call("load_collection", collection, _async=True)
        deadline = time.monotonic() + max(self.timeout_s, _LOAD_S)
        for collection in collections:
            while "Loading" in str(self.call("get_load_state", collection)["state"]):
                if time.monotonic() > deadline:
                    message = f"the Milvus at {self.location} has not loaded {collection!r} in {_LOAD_S:g} s"
                    raise StoreUnreachable(message, way_out="Look into its log, and at its memory.")
                time.sleep(0.02)
        with self._turn:
            self._loaded.update(collections)
        for collection in collections:
            self.expect_changes(collection)

    def expect_changes(self, collection: str) -> None:
        """Let the next read of the collection wait for whatever others wrote to it before now."""
        with self._turn:
            self._unseen[collection] = self._unseen.get(collection, 0) + 1

    def flush(self, collection: str) -> None:
        """Bring what Milvus has in memory into files; that may take its time."""
        self.call("flush", collection, timeout=max(self.timeout_s, _FLUSH_S))

    def has(self, collection: str) -> bool:
        """Whether there is such a collection."""
        return bool(self.call("has_collection", collection))

    def close(self) -> None:
        """Let go of the connection, and of the Lite store's lock with the last who has it. Idempotent."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
        client = getattr(self, "_client", None)
        if client is not None:
            client.close()
        if self._path is not None:
            let_go(self._path)

    def _connected(self) -> Any:  # noqa: ANN401 - as for the module
        address = self.location if self._path is None else str(self._path)
        client_of = _pymilvus().MilvusClient
        with self._translating("connect"):
            # A connection of its own: one that pymilvus shares would go on speaking to an engine that was stopped, or
            # be closed by somebody else. Version 2 is asked for that by an alias, version 3 by `dedicated`.
            apart = {"dedicated": True, "alias": f"citewell-{uuid.uuid4().hex}"}
            return client_of(uri=address, token=self._token or "", timeout=self.timeout_s, **apart)

    @contextmanager
    def _translating(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self._path is not None and name in (*_WRITES, "flush"):
                self._open_anew(self._path)
            raise translated(error, self.location) from error

    def _open_anew(self, path: Path) -> None:
        """After a failed write: what Lite holds in memory is no longer to be trusted."""
        with write_lock(path):
            restart(path)
            self._connect_anew(path)

    def _connect_anew(self, path: Path) -> None:
        """Leave an engine that was stopped; callers hold the lock."""
        with self._translating("reopen"):
            self._client.close()
            now = generation(path)
            self._client = self._connected()
            for collection in sorted(self._loaded):
                self._client.load_collection(collection)
            self._generation = now


def _is_address(location: str) -> bool:
    """Whether it names a host (pymilvus would take a blank one for this machine), and a port that can be one."""
    try:
        parts = urlsplit(location)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _pymilvus() -> Any:  # noqa: ANN401 - a module without type information
    try:
        import pymilvus  # noqa: PLC0415 - an extra, and half a second
    except ImportError as error:
        raise InvalidRequest(
            "Milvus needs pymilvus, which is not installed", way_out="Install it: pip install 'citewell[milvus]'"
        ) from error
    return pymilvus
