"""The file `attachment.toml`: which collection is attached, what its fields mean, which embedder filled it.

It holds no token and no password; those are settings. A directory with this file is a location that can be opened.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from citewell.adapters.milvus.foreign.mapping import ROLES, FieldMap
from citewell.bounded import read_file
from citewell.errors import InvalidRequest, StoreCorrupt, StoreUnreachable, StoreVersion
from citewell.model import EmbedderIdentity

FILE_NAME = "attachment.toml"
_FORMAT = 1
_LARGEST = 1_000_000
"""Bytes of the file."""

_HEAD = "# Written by `citewell attach`; docs/attach.md says what each line means.\n"
_METRICS = ("COSINE", "IP", "L2")


@dataclass(frozen=True, slots=True)
class Attachment:
    """Everything that opening an attached collection needs.

    Attributes:
        uri: of the Milvus, as `citewell.adapters.milvus.client.Client` takes it.
        metric: `COSINE`, `IP` or `L2`.
        unit: whether the stored vectors have length 1; decides what an L2 distance or inner product means (SCORE-2).
        fields: the mapping.
        absent: texts that mean "none" where a document id is read.
        json_text: JSON fields that hold not objects but the text of some.
        preset: the one that it came from; empty for none.
    """

    uri: str
    collection: str
    metric: str
    unit: bool
    fields: FieldMap
    embedder: EmbedderIdentity
    absent: tuple[str, ...] = ()
    json_text: tuple[str, ...] = ()
    preset: str = ""

    @property
    def vector(self) -> str:
        """The dense vector field."""
        return self.fields.one("vector")


def check_uri(uri: str) -> str:
    """The URI, a Lite path made absolute, for the attachment may be opened from elsewhere.

    Raises:
        InvalidRequest: it holds a password; what is recorded must not.
    """
    if uri.startswith("milvus:"):
        return f"milvus:{Path(uri.removeprefix('milvus:')).expanduser().absolute()}"
    if "@" in urlsplit(uri).netloc:
        raise InvalidRequest(
            "the URI holds a user or a password, which would be recorded",
            way_out="Leave it out and set store.token (CITEWELL_STORE__TOKEN) to 'user:password'.",
        )
    return uri


def check_there(uri: str) -> None:
    """A Lite store is there: opening one that isn't would make it, and attaching makes nothing.

    Raises:
        StoreUnreachable: it isn't.
    """
    if uri.startswith("milvus:") and not Path(uri.removeprefix("milvus:")).exists():
        raise StoreUnreachable(f"there is no Milvus Lite store at {uri}", way_out="Check the path.")


def check_free(directory: Path) -> None:
    """A directory for an attachment is new, empty, or one already.

    Raises:
        StoreUnreachable: it holds something else.
    """
    if not directory.exists() or (directory / FILE_NAME).is_file():
        return
    if not directory.is_dir() or any(directory.iterdir()):
        what = "holds other files" if directory.is_dir() else "is a file"
        raise StoreUnreachable(
            f"{directory} {what}, and an attachment has a directory of its own",
            way_out="Name a new directory with --kb.",
        )


def write_attachment(directory: Path, attachment: Attachment) -> Path:
    """Write the file, in place of one that is there, and return its path.

    Raises:
        StoreUnreachable: it can't be written.
    """
    file = directory / FILE_NAME
    new = file.with_suffix(".new")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        new.write_text(_HEAD + _toml(_values(attachment)), encoding="utf-8")
        new.replace(file)
    except OSError as error:
        raise StoreUnreachable(
            f"{file} can't be written: {error.strerror or error}", way_out="Name a directory that can be."
        ) from error
    return file


def read_attachment(directory: Path) -> Attachment:
    """Read the file of a directory.

    Raises:
        StoreUnreachable: it can't be read.
        StoreVersion: another version of Citewell wrote it.
        StoreCorrupt: it says nothing usable; names what.
    """
    file = directory / FILE_NAME
    try:
        said = tomllib.loads(read_file(file, _LARGEST).decode())
    except OSError as error:
        raise StoreUnreachable(
            f"{file} can't be read: {error.strerror or error}", way_out="Run `citewell attach` again."
        ) from error
    except ValueError as error:
        raise _damaged(file, str(error)) from error
    if said.get("format") != _FORMAT:
        raise StoreVersion(
            f"{file} has the format {said.get('format')!r}, and this version knows {_FORMAT}",
            way_out="Run `citewell attach` again with this version.",
        )
    try:
        return _attachment(said)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(file, f"{type(error).__name__}: {error}") from error


def _damaged(file: Path, why: str) -> StoreCorrupt:
    return StoreCorrupt(f"{file} is no attachment: {why}", way_out="Correct it, or run `citewell attach` again.")


def _attachment(said: Mapping[str, Any]) -> Attachment:
    paths = {role: tuple(str(path) for path in paths) for role, paths in said["map"].items()}
    unknown = [role for role in paths if role not in ROLES]
    if unknown or said["metric"] not in _METRICS or not paths["text"] or not paths["vector"]:
        raise ValueError(f"unknown role {unknown[0]!r}" if unknown else f"the metric {said['metric']!r} or the map")
    model = said["embedder"]
    query, passage = model.get("prefixes", ("", ""))
    return Attachment(
        uri=str(said["uri"]),
        collection=str(said["collection"]),
        metric=said["metric"],
        unit=bool(said["unit"]),
        fields=FieldMap(paths, tuple(said.get("hidden", ()))),
        embedder=EmbedderIdentity(
            str(model["name"]), int(model["dimensions"]), str(model["fingerprint"]), (str(query), str(passage))
        ),
        absent=tuple(said.get("absent", ())),
        json_text=tuple(said.get("json_text", ())),
        preset=str(said.get("preset", "")),
    )


def _values(attachment: Attachment) -> dict[str, object]:
    model = attachment.embedder
    return {
        "format": _FORMAT,
        "uri": attachment.uri,
        "collection": attachment.collection,
        "metric": attachment.metric,
        "unit": attachment.unit,
        "preset": attachment.preset,
        "hidden": list(attachment.fields.hidden),
        "absent": list(attachment.absent),
        "json_text": list(attachment.json_text),
        "map": {role: list(paths) for role, paths in attachment.fields.paths.items()},
        "embedder": {
            "name": model.name,
            "dimensions": model.dimensions,
            "fingerprint": model.fingerprint,
            "prefixes": list(model.prefixes),
        },
    }


def _toml(values: Mapping[str, object], table: str = "") -> str:
    plain = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    lines = [f"\n[{table}]"] if table else []
    lines += [f"{name} = {_literal(value)}" for name, value in plain.items()]
    below = [_toml(value, name) for name, value in values.items() if isinstance(value, Mapping)]
    return "\n".join(lines) + "\n" + "".join(below)


def _literal(value: object) -> str:
    """JSON's texts, numbers, booleans and lists are TOML's too, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
