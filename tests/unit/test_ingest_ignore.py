"""Patterns in the syntax of `.gitignore` mean here what they mean to git."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from citewell.errors import InvalidRequest
from citewell.ingest.ignore import Level, Rules, left_out, selection
from citewell.ingest.walk import walk


def matched(pattern: str, path: str, *, folder: bool = False) -> bool | None:
    return Rules([pattern]).verdict(path, folder=folder)


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.md", "a.md", True),
        ("*.md", "deep/down/a.md", True),
        ("*.md", "a.txt", None),
        ("/a.md", "a.md", True),
        ("/a.md", "deep/a.md", None),
        ("deep/a.md", "deep/a.md", True),
        ("deep/a.md", "so/deep/a.md", None),
        ("**/deep/a.md", "so/deep/a.md", True),
        ("deep/**", "deep/down/a.md", True),
        ("deep/**/a.md", "deep/a.md", True),
        ("deep", "deep/a.md", None),
        ("*", "any", True),
        ("**", "deep/any", True),
        ("?.md", "ab.md", None),
        ("[ab].md", "b.md", True),
        ("!a.md", "a.md", False),
        ("\\!a.md", "!a.md", True),
        ("\\#a.md", "#a.md", True),
        ("a.md  ", "a.md", True),
        ("a.md\r", "a.md", True),
        ("# a.md", "a.md", None),
        ("", "a.md", None),
        ("[", "[", None),
    ],
)
def test_a_pattern_matches_the_path_itself_and_never_only_a_folder_above_it(
    pattern: str, path: str, expected: bool | None
) -> None:
    assert matched(pattern, path) is expected


@pytest.mark.requirement("INGEST-6")
def test_a_slash_at_the_end_is_for_folders_alone() -> None:
    assert (matched("drafts/", "drafts", folder=True), matched("drafts/", "drafts")) == (True, None)
    assert matched("drafts/", "deep/drafts", folder=True) is True
    assert matched("deep/**", "deep", folder=True) is None
    assert matched("drafts//", "drafts", folder=True) is None  # nor does git match it


@pytest.mark.requirement("INGEST-6")
def test_of_one_list_the_last_match_decides_and_of_several_the_innermost() -> None:
    rules = Rules(["*.md", "!keep.md", "/keep.md"])
    assert (rules.verdict("keep.md", folder=False), rules.verdict("in/keep.md", folder=False)) == (True, False)
    outer = Level(Rules(["*.log", "*.md"]), ".gitignore")
    inner = Level(Rules(["!a.md"]), ".citewellignore", cut=len("in/"), outer=outer)
    assert left_out(inner, "in/a.md", folder=False) is None
    assert left_out(inner, "in/b.md", folder=False) == ".gitignore"
    assert left_out(None, "in/b.md", folder=False) is None


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("globs", ["", "# a comment", ["*.md", "  "], ["*.md", 7]])
def test_a_glob_that_matches_nothing_is_refused_by_name(globs: str | list[str]) -> None:
    with pytest.raises(InvalidRequest, match="include can't be"):
        selection(globs)
    with pytest.raises(InvalidRequest, match="exclude can't be"):
        selection((), globs)


_PATTERNS = (
    "a", "b", "foo", "*.md", "*", "**", "?", "[ab]", "f*o", "a/", "foo/", "/a", "/foo/", "**/a", "a/**", "foo/**",
    "a/b", "a/**/b", "*/", "**/", "!a", "!a/", "!*.md", "!foo/**", "!*/", "!/foo", "!b.md", "foo/*", "/*", "!/a/",
    "**/foo/**", "a/*/b.md", "*.m[a-d]", "!**/b.md", "[!a].md", "a/b/", "**/b/*", "a//", "/**", "!foo/a", "f[", "[]-]",
    "a ", "\\!a", "#a", "**a", "a**", "a/**b", "***",
)  # fmt: skip
_NAMES = ("a", "b", "foo", "fo", "a.md", "b.md", "foo.md", "x.txt")


def _grow(chance: random.Random, folder: Path, depth: int) -> None:
    """Some files and folders, and often an ignore file."""
    for name in chance.sample(_NAMES, chance.randint(2, 5)):
        if "." in name or depth == 0 or chance.random() < 0.2:
            (folder / name).write_text("x", encoding="utf-8")
        else:
            (folder / name).mkdir()
            _grow(chance, folder / name, depth - 1)
    if chance.random() < 0.6:
        lines = "\n".join(chance.sample(_PATTERNS, chance.randint(1, 5)))
        (folder / ".gitignore").write_text(lines, encoding="utf-8")


def _told_by_git(folder: Path) -> list[str]:
    command = ["git", "-C", str(folder), "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(path for path in listed if path and not Path(path).name.startswith("."))


@pytest.mark.requirement("INGEST-6")
@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@pytest.mark.parametrize("seed", range(40))
def test_a_tree_with_any_ignore_files_is_walked_as_git_lists_it(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    _grow(chance, tmp_path, 3)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("\n".join(chance.sample(_PATTERNS, 1)), encoding="utf-8")
    found = walk([tmp_path], prefix="", takes=lambda name: True)
    assert [file.doc_id for file in found.files] == _told_by_git(tmp_path)
