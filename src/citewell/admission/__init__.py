"""Turns the raw arguments of a lookup into a LookupRequest, or refuses them by name.

The one place for it (SAFE-3, SAFE-4, PORT-3, POST-5, SCORE-5, API-8): behind it every value is of its type and within
its range, so that no later stage checks again. It knows no configuration (the settings come in as policies), no
store and no engine.

    request   every argument of a lookup -> LookupRequest
    query     its text
    labels    scope, category, session, names of arguments
    where     exact metadata filters
"""

from citewell.admission.labels import (
    MAX_SESSION_CHARACTERS,
    admit_scope,
    check_category,
    check_labels,
    check_names,
    check_session,
)
from citewell.admission.query import MAX_QUERY_CHARACTERS
from citewell.admission.request import MAX_COUNT, MAX_NEIGHBOURS, OFF, LookupRequest, Origin, admit

__all__ = [
    "MAX_COUNT",
    "MAX_NEIGHBOURS",
    "MAX_QUERY_CHARACTERS",
    "MAX_SESSION_CHARACTERS",
    "OFF",
    "LookupRequest",
    "Origin",
    "admit",
    "admit_scope",
    "check_category",
    "check_labels",
    "check_names",
    "check_session",
]
