"""The edge around code of a third party: whatever it raises becomes one named error, for the caller to go on with.

It knows no stage and no vendor; what a failure means, callers decide.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from citewell.errors import CitewellError

_T = TypeVar("_T")
_log = logging.getLogger("citewell.attempts")


def attempt(
    act: Callable[[], _T], wrap: type[CitewellError], what: str
) -> tuple[_T, None] | tuple[None, CitewellError]:
    """The edge of a path: whatever breaks inside becomes a named cause, so that the other paths still answer."""
    try:
        return act(), None
    except CitewellError as error:
        _log.warning("%s: %s", what, error)
        return None, error
    except Exception as error:  # noqa: BLE001 - a store or embedder of a third party may raise anything
        return None, _named(error, wrap, what)


def insist(act: Callable[[], _T], wrap: type[CitewellError], what: str) -> _T:
    """The same edge where nobody can go on: what breaks inside is raised by its name.

    Least of all may a StopIteration get out as such: who awaits it in an event loop would wait for ever.
    """
    try:
        return act()
    except CitewellError:
        raise
    except Exception as error:
        raise _named(error, wrap, what) from error


def _named(error: Exception, wrap: type[CitewellError], what: str) -> CitewellError:
    _log.warning("%s", what, exc_info=True)
    named = wrap(f"{what}: {type(error).__name__}: {error}", way_out="See the log for the traceback.")
    named.__cause__ = error
    return named
