"""Which paths under a folder are left out: patterns in the syntax of `.gitignore`, level by level; reads no file.

A path is asked about only after every folder above it was found to be in, as git does it, so each pattern has to match
the path itself and never one above it. Of one list of patterns the last that matches decides, of several lists the
innermost.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from citewell.checks import check_list, shown
from citewell.errors import InvalidRequest

Reason = Literal["glob", ".citewellignore", ".gitignore"]

_ALL = frozenset({"*", "**", "**/*", "/**", "/**/*"})


# What stands between two stars of a name is best found at its first place: no other one lets more match. Said so, a
# pattern of many stars is looked for in one pass; else each star tries every place for each place of the others.
_STAR = re.compile(r"\[\^/\]\*(?P<piece>(?:[^()/\[\]\\*+?|$]|\\.|\[(?:[^\]\\]|\\.)+\])+)(?=\[\^/\]\*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Pattern:
    regex: re.Pattern[str]
    matches: bool
    folders_only: bool


class Rules:
    """One list of patterns, relative to one folder."""

    def __init__(self, lines: Iterable[str]) -> None:
        patterns = (_pattern(line) for line in lines)
        self._patterns = tuple(pattern for pattern in patterns if pattern is not None)[::-1]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Whether the path (relative, with `/`, none at its end) is matched; None if no pattern says anything of it."""
        for pattern in self._patterns:
            if (folder or not pattern.folders_only) and pattern.regex.fullmatch(path):
                return pattern.matches
        return None


def _pattern(line: str) -> _Pattern | None:
    """One line; None for a comment, a blank one, or one that git could not use either."""
    line = line.rstrip("\r\n")
    line = line if line.endswith("\\ ") else line.rstrip(" ")
    if line.startswith("#"):
        return None
    negated = line.startswith("!")
    body = line[1:] if negated else line
    folders_only = body.endswith("/")
    try:
        with warnings.catch_warnings():  # `re` warns of classes that it may read otherwise one day
            warnings.simplefilter("ignore", FutureWarning)
            compiled = GitIgnoreSpecPattern(_for_one_level(body.removesuffix("/")))
            # A range from behind to before, `[z-a]`, is an error of `re`'s, and matches nothing for git.
            regex = compiled.regex and re.compile(_STAR.sub(r"(?>[^/]*?\g<piece>)", compiled.regex.pattern))
    except (ValueError, re.error):
        return None
    if compiled.include is None or regex is None:
        return None
    # A second `!` is an ordinary character for git, for pathspec another negation; a file so named is rare enough.
    return _Pattern(regex, matches=not negated, folders_only=folders_only)


def _for_one_level(body: str) -> str:
    """The same pattern, spelt so that its expression matches whole paths and not beginnings of them."""
    while "**/**" in body:
        body = body.replace("**/**", "**")
    if body in _ALL:
        return "?*"
    return f"{body}/*" if body.endswith("/**") else body


@dataclass(frozen=True, slots=True)
class Level:
    """The rules of one folder and of those above it.

    Attributes:
        rules: relative to the folder.
        reason: where they come from.
        lead: put before a path from which `cut` characters were taken, so that it is relative to the folder.
        outer: asked if these say nothing.
    """

    rules: Rules
    reason: Reason
    cut: int = 0
    lead: str = ""
    outer: Level | None = None


def left_out(level: Level | None, path: str, *, folder: bool) -> Reason | None:
    """Why a path, relative to the ingested folder, is left out; None if it is not."""
    while level is not None:
        verdict = level.rules.verdict(level.lead + path[level.cut :], folder=folder)
        if verdict is not None:
            return level.reason if verdict else None
        level = level.outer
    return None


@dataclass(frozen=True, slots=True)
class Selection:
    """What the caller picked of a folder.

    Attributes:
        include: if there are any, only what they match, or a folder above it, is taken.
        exclude: what is not taken; wins over `include`.
        gitignore: whether `.gitignore` files are respected; `.citewellignore` always is.
    """

    include: Rules
    exclude: Rules
    gitignore: bool = True

    def excludes(self, path: str, *, folder: bool) -> bool:
        """Whether a glob keeps a path out."""
        return bool(self.exclude.verdict(path, folder=folder))

    def includes(self, path: str, *, folder: bool) -> bool:
        """Whether a glob takes a path in; always if none was given."""
        return not self.include or bool(self.include.verdict(path, folder=folder))


EVERYTHING = Selection(Rules(()), Rules(()))


def selection(
    include: str | Sequence[str] = (), exclude: str | Sequence[str] = (), *, gitignore: bool = True
) -> Selection:
    """The caller's globs; a bare string is one of them.

    Raises:
        InvalidRequest: one is no text, or matches nothing.
    """
    return Selection(_globs("include", include), _globs("exclude", exclude), gitignore)


def _globs(name: str, globs: str | Sequence[str]) -> Rules:
    chosen: list[object] = [globs] if isinstance(globs, str) else check_list(name, globs, wanted="a list of globs")
    for glob in chosen:
        if not (isinstance(glob, str) and Rules([glob])):
            raise InvalidRequest(
                f"{name} can't be {shown(glob)}: it matches nothing", way_out="Give a glob such as '*.md' or 'drafts/'."
            )
    return Rules(str(glob) for glob in chosen)
