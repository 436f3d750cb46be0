"""Globs and ignore files leave files out; what is left out is counted, and pruned only where that was said for good."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ingest_room import Room, statuses

from citewell.adapters.readers import FileReader
from citewell.ingest.ignore import selection
from citewell.ingest.walk import Found, walk


@pytest.fixture
def room(tmp_path: Path) -> Room:
    folder = tmp_path / "docs"
    folder.mkdir()
    return Room(folder)


def tree(root: Path, *names: str, **texts: str) -> Path:
    """Files that hold their name; `gitignore`, `citewellignore`: the file of that name at the root."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}", encoding="utf-8")
    for name, text in texts.items():
        (root / f".{name}").write_text(text, encoding="utf-8")
    return root


def is_text(name: str) -> bool:
    return name.endswith((".md", ".txt"))


class MarkdownOnly(FileReader):
    """Takes no plain text any more."""

    def takes(self, name: str) -> bool:
        return name.endswith(".md")


def found(*paths: Path, include: str | tuple[str, ...] = (), exclude: str | tuple[str, ...] = ()) -> Found:
    return walk(list(paths), prefix="", takes=is_text, selection=selection(include, exclude))


def ids(done: Found) -> list[str]:
    return [file.doc_id for file in done.files]


# What is taken


@pytest.mark.requirement("INGEST-6")
def test_include_takes_files_that_match_or_lie_in_a_folder_that_does(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "b.txt", "api/x.txt", "api/deep/y.txt", "other/api.txt")
    assert ids(found(tmp_path, include=("*.md", "/api/"))) == ["a.md", "api/deep/y.txt", "api/x.txt"]


@pytest.mark.requirement("INGEST-6")
def test_exclude_wins_over_include_and_both_are_relative_to_the_folder_given(tmp_path: Path) -> None:
    tree(tmp_path / "docs", "a.md", "drafts/b.md", "deep/drafts/c.md", "deep/d.md")
    done = found(tmp_path / "docs", include="*.md", exclude="/drafts")
    assert ids(done) == ["a.md", "deep/d.md", "deep/drafts/c.md"]
    assert ids(found(tmp_path / "docs", exclude=("docs/", "deep/*.md"))) == ["a.md", "deep/drafts/c.md", "drafts/b.md"]


@pytest.mark.requirement("INGEST-6")
def test_what_is_left_out_is_counted_a_folder_as_one_and_not_listed(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "b.log", "build/1.md", "build/2.md", "build/3.md", gitignore="build/\n*.log\n")
    done = found(tmp_path, exclude="a.md")
    assert (ids(done), done.refused, sorted(path for _, path in done.left_out)) == ([], (), ["a.md", "b.log", "build"])


@pytest.mark.requirement("INGEST-6")
def test_ignore_files_hold_at_every_level_and_can_take_back_what_an_outer_one_leaves_out(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "a.txt", "in/a.txt", "in/b.txt", gitignore="*.txt\n")
    tree(tmp_path / "in", gitignore="!/a.txt\n")
    assert ids(found(tmp_path)) == ["a.md", "in/a.txt"]


@pytest.mark.requirement("INGEST-6")
def test_our_own_ignore_file_has_the_last_word_at_its_level(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "b.md", gitignore="a.md\n", citewellignore="!a.md\nb.md\n")
    assert ids(found(tmp_path)) == ["a.md"]


@pytest.mark.requirement("INGEST-6")
def test_gitignore_can_be_disregarded_and_our_own_ignore_file_cannot(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "b.md", gitignore="a.md\n", citewellignore="b.md\n")
    done = walk([tmp_path], prefix="", takes=is_text, selection=selection(gitignore=False))
    assert ids(done) == ["a.md"]


@pytest.mark.requirement("INGEST-6")
def test_ignore_files_above_hold_up_to_the_top_of_the_working_tree(tmp_path: Path) -> None:
    tree(tmp_path, gitignore="*.md\n")
    repo = tree(tmp_path / "repo", "docs/a.md", "docs/build/b.md", "docs/c.md", gitignore="/docs/build\n")
    tree(repo, citewellignore="c.md\n")
    assert ids(found(repo / "docs")) == ["a.md", "build/b.md", "c.md"]
    (repo / ".git").mkdir()
    assert ids(found(repo / "docs")) == ["a.md"]


@pytest.mark.requirement("INGEST-6")
def test_a_file_or_folder_named_by_the_caller_is_taken_although_an_ignore_file_names_it(tmp_path: Path) -> None:
    tree(tmp_path, "data/a.md", "b.md", gitignore="data/\nb.md\n")
    (tmp_path / ".git").mkdir()
    assert ids(found(tmp_path)) == []
    assert ids(found(tmp_path / "data")) == ["a.md"]
    assert ids(found(tmp_path / "b.md")) == ["b.md"]
    assert found(tmp_path, tmp_path / "b.md").left_out == {(str(tmp_path), "data"): ".gitignore"}


@pytest.mark.requirement("INGEST-6")
def test_globs_hold_for_a_file_named_by_the_caller_too_since_a_shell_may_have_named_it(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "b.txt")
    done = found(tmp_path / "a.md", tmp_path / "b.txt", exclude="*.txt")
    assert (ids(done), len(done.left_out)) == (["a.md"], 1)


@pytest.mark.requirement("INGEST-6")
def test_a_linked_folder_is_left_out_by_a_pattern_for_folders(tmp_path: Path) -> None:
    tree(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert found(tmp_path, exclude="link/").left_out == {(str(tmp_path), "link"): "glob"}


@pytest.mark.requirement("INGEST-6")
def test_names_and_patterns_in_no_encoding_meet(tmp_path: Path) -> None:
    tree(tmp_path, "a.md")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md")).write_text("x", encoding="utf-8")
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbfbad\xff.md\r\n")
    done = found(tmp_path)
    assert (ids(done), done.refused) == (["a.md"], ())


@pytest.mark.requirement("INGEST-5", "INGEST-6")
@pytest.mark.parametrize("kind", ["pipe", "folder", "huge"])
def test_where_the_ignore_file_cannot_be_read_nothing_is_taken_and_nothing_pruned(tmp_path: Path, kind: str) -> None:
    tree(tmp_path, "a.md", "in/b.md")
    place = tmp_path / "in" / ".gitignore"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.write_text("#" * 1024 * 1024 + "\n#", encoding="utf-8")
    done = found(tmp_path)
    assert (ids(done), [root.whole for root in done.roots]) == (["a.md"], [False])
    assert [(report.doc_id, report.status) for report in done.refused] == [("in", "failed")]
    assert ".gitignore" in done.refused[0].detail


@pytest.mark.requirement("INGEST-6")
def test_a_store_within_the_folder_is_no_document(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "kb/citewell.db", "kb/index/notes.md")
    done = found(tmp_path)
    assert (ids(done), done.refused) == (["a.md"], ())


@pytest.mark.requirement("INGEST-6")
def test_a_folder_that_is_ingested_and_a_store_at_once_is_taken_all_the_same(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "citewell.db")
    assert ids(found(tmp_path)) == ["a.md"]


@pytest.mark.requirement("INGEST-6")
def test_of_the_ignore_files_above_the_nearest_decides(tmp_path: Path) -> None:
    (tree(tmp_path, gitignore="*.md\n") / ".git").mkdir()
    docs = tree(tmp_path / "sub", "docs/a.md", gitignore="!a.md\n") / "docs"
    assert ids(found(docs)) == ["a.md"]


# What becomes of documents that are stored and now left out


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_run_over_a_part_prunes_nothing_of_the_rest(room: Room) -> None:
    room.write(a="Text a.", b="Text b.", api__x="Text x.", api__y="Text y.")
    room.ingest()
    (room.folder / "api" / "y.md").unlink()
    report = room.ingest(prune=True, include="/api/")
    assert (statuses(report), report.ignored) == ({"api/x.md": "unchanged", "api/y.md": "deleted"}, 2)
    report = room.ingest(prune=True, exclude=["a.md", "api/"])
    assert (statuses(report), report.ignored) == ({"b.md": "unchanged"}, 2)
    assert sorted(room.infos()) == ["a.md", "api/x.md", "b.md"]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_what_git_ignores_now_stays_and_it_is_said_that_it_is_not_followed(room: Room) -> None:
    """A forgotten option must not empty a store."""
    room.write(a="Text a.", out__b="Text b.")
    (room.folder / ".gitignore").write_text("out/\n", encoding="utf-8")
    room.ingest(respect_gitignore=False)
    for prune in (False, True):
        report = room.ingest(prune=prune)
        assert statuses(report) == {"a.md": "unchanged", "out/b.md": "skipped"}
        assert "not brought up to date" in report.files[1].detail
        assert (report.files[1].chunks, report.ok, report.ignored) == (1, True, 1)
    assert room.texts("out/b.md") == ["Text b."]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_what_our_own_ignore_file_names_is_to_go_and_goes_with_prune(room: Room) -> None:
    room.write(a="Text a.", secret__b="Text b.")
    room.ingest()
    (room.folder / ".citewellignore").write_text("secret/\n", encoding="utf-8")
    report = room.ingest()
    assert statuses(report) == {"a.md": "unchanged", "secret/b.md": "skipped"}
    assert report.files[1].detail.endswith("until a run prunes")
    report = room.ingest(prune=True)
    assert [(file.doc_id, file.status, file.detail) for file in report.files] == [
        ("a.md", "unchanged", ""),
        ("secret/b.md", "deleted", ".citewellignore leaves it out"),
    ]
    assert list(room.infos()) == ["a.md"]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
@pytest.mark.parametrize("name", [".gitignore", ".citewellignore"])
def test_what_is_ignored_and_gone_is_gone(room: Room, name: str) -> None:
    room.write(a="Text a.", out__b="Text b.")
    room.ingest()
    (room.folder / "out" / "b.md").unlink()
    (room.folder / name).write_text("out/\n", encoding="utf-8")
    assert statuses(room.ingest()) == {"a.md": "unchanged"}
    report = room.ingest(prune=True)
    assert [(file.doc_id, file.detail) for file in report.files] == [("a.md", ""), ("out/b.md", "its file is gone")]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_file_that_is_there_and_can_no_longer_be_taken_is_not_gone(room: Room, tmp_path: Path) -> None:
    """Its reader was taken away, or it became a link out of the folder; hidden ones were named by the caller."""
    room.write(kept="Text.", linked="Text.")
    (room.folder / "odd.txt").write_text("Text of odd.", encoding="utf-8")
    (room.folder / ".hidden.md").write_text("Text of hidden.", encoding="utf-8")
    room.ingest()
    room.ingest(room.folder / ".hidden.md")
    (room.folder / "linked.md").rename(tmp_path / "elsewhere.md")
    (room.folder / "linked.md").symlink_to(tmp_path / "elsewhere.md")
    ingestion = room.ingestion
    ingestion._reader = MarkdownOnly()
    report = ingestion.paths([room.folder], prune=True)
    assert statuses(report) == {"kept.md": "unchanged", "linked.md": "skipped", "odd.txt": "skipped"}
    assert sorted(room.infos()) == [".hidden.md", "kept.md", "linked.md", "odd.txt"]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
@pytest.mark.parametrize("instead", ["nothing", "folder", "pipe", "a lost link", "another case"])
def test_a_file_in_whose_place_there_is_none_is_gone(room: Room, instead: str) -> None:
    room.write(a="Text a.", b="Text b.")
    room.ingest()
    place = room.folder / "b.md"
    place.unlink()
    if instead == "folder":
        place.mkdir()
    elif instead == "pipe":
        os.mkfifo(place)
    elif instead == "a lost link":
        place.symlink_to(room.folder / "nowhere.md")
    elif instead == "another case":
        (room.folder / "B.md").write_text("Text b.", encoding="utf-8")
    report = room.ingest(prune=True)
    assert ("b.md", "deleted") in [(file.doc_id, file.status) for file in report.files]
    assert "b.md" not in room.infos()


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_what_lay_in_a_folder_that_became_a_file_is_gone(room: Room) -> None:
    room.write(a="Text a.", sub__b="Text b.")
    room.ingest()
    (room.folder / "sub" / "b.md").unlink()
    (room.folder / "sub").rmdir()
    (room.folder / "sub").write_text("Text of sub.", encoding="utf-8")
    assert statuses(room.ingest(prune=True))["sub/b.md"] == "deleted"


@pytest.mark.requirement("INGEST-5")
def test_a_root_that_was_reached_by_another_name_is_the_same_root(room: Room, tmp_path: Path) -> None:
    room.write(a="Text a.", b="Text b.", c="Text c.")
    link = tmp_path / "current"
    link.symlink_to(room.folder, target_is_directory=True)
    room.ingest(link)
    (room.folder / "b.md").unlink()
    assert statuses(room.ingest(prune=True)) == {"a.md": "updated", "b.md": "deleted", "c.md": "updated"}
    (room.folder / "c.md").unlink()
    assert statuses(room.ingest(link, prune=True)) == {"a.md": "updated", "c.md": "deleted"}


@pytest.mark.requirement("INGEST-5")
def test_a_link_that_leads_to_another_folder_tomorrow_is_the_same_root_still(room: Room, tmp_path: Path) -> None:
    first, second = tree(tmp_path / "r1", "a.md", "b.md"), tree(tmp_path / "r2", "a.md", "c.md")
    current = tmp_path / "current"
    current.symlink_to(first, target_is_directory=True)
    room.ingest(current)
    current.unlink()
    current.symlink_to(second, target_is_directory=True)
    assert statuses(room.ingest(current, prune=True)) == {"a.md": "unchanged", "b.md": "deleted", "c.md": "added"}


@pytest.mark.requirement("INGEST-6")
def test_the_report_counts_what_was_left_out_beside_the_statuses(room: Room) -> None:
    room.write(a="Text a.", b="Text b.")
    assert room.ingest(exclude="b.md").to_dict()["summary"] == {
        "added": 1, "updated": 0, "unchanged": 0, "deleted": 0, "skipped": 0, "failed": 0, "no_text": 0, "ignored": 1,
    }  # fmt: skip


@pytest.mark.requirement("INGEST-6")
def test_a_real_repository_is_taken_as_git_sees_it(room: Room) -> None:
    room.write(a="Text a.", node_modules__pkg__README="Text of a package.")
    (room.folder / ".gitignore").write_text("node_modules\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(room.folder)], check=True)
    assert statuses(room.ingest()) == {"a.md": "added"}
