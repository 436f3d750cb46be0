"""Which field of a foreign collection is what: roles -> paths, read from `--map ROLE=PATH` and followed into rows.

A path is a field, or a field and keys within it: `metadata.source`. It goes through JSON fields, JSON kept as text and
the fields that rows bring themselves. Several paths for one role: the first that holds something usable wins. It knows
no engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from citewell.checks import HALF
from citewell.errors import InvalidRequest

ROLES: Mapping[str, str] = {
    "text": "the passage; needed",
    "vector": "the dense vector; needed where there are several",
    "sparse": "the BM25 field that the engine makes itself",
    "docId": "the document",
    "chunkIndex": "the place of the chunk in its document, from 0",
    "source": "where the document comes from",
    "title": "of the document",
    "breadcrumb": "the headings above the passage",
    "category": "what a category is compared with",
    "scope": "the labels that the document bears: a text, or a list of texts",
    "page": "counted from 1",
    "line": "counted from 1",
    "url": "of the passage",
    "start": "where the passage begins in the document, in characters",
    "end": "where it ends",
    "metadata": "a JSON object (or its text) whose entries `where` compares with",
}
"""What can be mapped, and what it means."""


Path = str
Entity = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Roles and their paths.

    Attributes:
        paths: by role; each has at least one path.
        hidden: fields that are no metadata, such as another tool's own copy of the row.
    """

    paths: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()

    def of(self, role: str) -> tuple[Path, ...]:
        """The paths of a role; empty if it is not mapped."""
        return self.paths.get(role, ())

    def one(self, role: str) -> Path:
        """The only path of a role that has one by rule: text, vector."""
        return self.paths[role][0]

    def over(self, below: FieldMap) -> FieldMap:
        """This one, and the other one's paths for the roles that it does not name."""
        return FieldMap({**below.paths, **self.paths}, below.hidden + self.hidden)


def parse_assignments(assignments: Iterable[str]) -> FieldMap:
    """What `--map ROLE=PATH`, given several times, says; a role given again has further paths.

    Raises:
        InvalidRequest: it is no ROLE=PATH, or there is no such role.
    """
    paths: dict[str, tuple[Path, ...]] = {}
    for assignment in assignments:
        role, mark, path = (part.strip() for part in assignment.partition("="))
        if not (role and mark and path):
            raise InvalidRequest(
                f"{assignment!r} maps nothing", way_out="Give ROLE=FIELD, such as --map docId=metadata.source."
            )
        if role not in ROLES:
            raise InvalidRequest(
                f"{role!r} is nothing that a field can be mapped to", way_out=f"There are: {', '.join(ROLES)}."
            )
        if role in ("text", "vector", "sparse") and role in paths:
            raise InvalidRequest(f"{role} has one field, not {paths[role][0]!r} and {path!r}", way_out="Name one.")
        paths[role] = (*paths.get(role, ()), path)
    return FieldMap(paths)


def root(path: Path) -> str:
    """The field with which a path begins."""
    return path.partition(".")[0]


def keys(path: Path) -> tuple[str, ...]:
    """The keys behind the field."""
    return tuple(path.split(".")[1:])


def follow(entity: Entity, path: Path) -> object:
    """What lies at the end of a path in a row; None if there is nothing.

    A key with dots in it is found as well, where the parts by themselves lead nowhere.
    """
    first, _, rest = path.partition(".")
    value = entity.get(first)
    return _within(value, rest) if rest else value


def _within(value: object, rest: str) -> object:
    held = as_object(value)
    if held is None:
        return None
    if rest in held:
        return held[rest]
    first, _, further = rest.partition(".")
    return _within(held.get(first), further) if further else None


def as_object(value: object) -> Mapping[str, object] | None:
    """A JSON object, given as such or as its text; None for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = _whole_characters(json.loads(value)) if "\\u" in value else json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


def _whole_characters(value: object) -> object:
    r"""The value with a mark in place of each half a character: JSON can say `\ud800` alone, and no text holds it."""
    said = json.dumps(value, ensure_ascii=False)
    return json.loads(HALF.sub("\ufffd", said)) if HALF.search(said) else value


def first_usable(entity: Entity, paths: Sequence[Path]) -> object:
    """What the first of these paths that leads to something holds; None if none does."""
    for path in paths:
        value = follow(entity, path)
        if value is not None and value != "" and value != []:
            return value
    return None
