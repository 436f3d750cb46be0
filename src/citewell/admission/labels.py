"""Labels that callers and documents give: scopes, categories, session ids, names of arguments; checked and made alike.

It knows no request; ingestion and lookups call the same functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence, Set
from typing import Final

from citewell.checks import HALF, check_list, shown
from citewell.errors import InvalidRequest, ScopeDenied

MAX_SESSION_CHARACTERS: Final = 200
"""The longest session id."""

_UNUSABLE = re.compile("[\x00\ud800-\udfff]")

_NAMED = 10
"""Unknown arguments that a refusal names."""


def admit_scope(scope: object, *, require_scope: bool = False) -> tuple[str, ...] | None:
    """The labels that a caller holds, as `check_labels` gives them; for calls that take a scope and nothing else.

    Raises:
        InvalidRequest: as `check_labels`.
        ScopeDenied: there is none, and `require_scope`. An empty list is a scope, within which there is nothing.
    """
    labels = check_labels(scope)
    if labels is None and require_scope:
        raise ScopeDenied("this store answers within a scope only, and the call has none", way_out="Give `scope`.")
    return labels


def check_category(value: object) -> str | None:
    """A category as it is compared: NFC-normalised and stripped; None, blank text and an empty list are "no category".

    A list of one label is that label. Ingestion calls this for documents, lookups for callers.

    Raises:
        InvalidRequest: it is something else, or holds a lone surrogate.
    """
    if isinstance(value, (list, tuple)) and len(value) <= 1:
        value = value[0] if value else None
    if value is None:
        return None
    if not isinstance(value, str) or HALF.search(value):
        raise InvalidRequest(f"a category can't be {shown(value)}", way_out="Give one text, or nothing.")
    return unicodedata.normalize("NFC", value).strip() or None


def check_labels(value: object) -> tuple[str, ...] | None:
    """Labels of a scope, sorted by code point, each once; None stays None, an empty list is () (SAFE-3).

    A bare string is one label. Labels are kept exactly: neither stripped nor normalised. Ingestion calls this for the
    labels that a document bears, lookups for those that a caller holds.

    Raises:
        InvalidRequest: it is no list of labels, or one is blank, no text, or holds a lone surrogate.
    """
    if value is None:
        return None
    labels = [value] if isinstance(value, str) else value
    if not isinstance(labels, (Sequence, Set)) or isinstance(labels, (bytes, bytearray, memoryview)):
        raise InvalidRequest(f"a scope can't be {shown(value)}", way_out="Give a list of labels, or one label as text.")
    return tuple(sorted({_label(label) for label in labels}))


def check_session(value: object) -> str | None:
    """A session id as it is compared: NFC-normalised and stripped; None and blank text are "no session".

    Raises:
        InvalidRequest: it is no text, longer than MAX_SESSION_CHARACTERS, or holds NUL or a lone surrogate.
    """
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_SESSION_CHARACTERS or _UNUSABLE.search(value):
        raise InvalidRequest(
            f"a session id can't be {shown(value)}",
            way_out=f"Give one text of at most {MAX_SESSION_CHARACTERS} characters, or nothing.",
        )
    return unicodedata.normalize("NFC", value).strip() or None


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse argument names that a tool or an endpoint doesn't know (API-8).

    Raises:
        InvalidRequest: names the unknown ones, of too many the first, and those that are known.
    """
    names = check_list("the names of arguments", given)
    unknown = sorted({shown(name) for name in names if not isinstance(name, str) or name not in known})
    if unknown:
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        way_out = f"Known are: {', '.join(known)}." if known else "Leave them out: there are none."
        raise InvalidRequest(f"unknown argument {', '.join(unknown[:_NAMED])}{more}", way_out=way_out)


def _label(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or HALF.search(value):
        raise InvalidRequest(
            f"a scope can't hold the label {shown(value)}", way_out="Labels are text that is not blank."
        )
    return value
