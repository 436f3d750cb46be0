"""Paths become files with document ids: sorted, visible, inside the folder (spec section 0, INGEST-6)."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from citewell.errors import InvalidRequest
from citewell.ingest.walk import Found, walk


def write(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}", encoding="utf-8")
    return root


def found(*paths: Path, prefix: str = "") -> Found:
    return walk(list(paths), prefix=prefix, takes=lambda name: name.lower().endswith((".md", ".txt")))


def ids(*paths: Path, prefix: str = "") -> list[str]:
    return [file.doc_id for file in found(*paths, prefix=prefix).files]


def refusals(*paths: Path, prefix: str = "") -> list[tuple[str, str]]:
    return [(report.doc_id, report.status) for report in found(*paths, prefix=prefix).refused]


@pytest.mark.requirement("INGEST-1", "INGEST-6")
def test_document_ids_are_paths_relative_to_the_folder_with_slashes_and_sorted(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.md", "a/b/c.TXT", "Zed.md")
    assert ids(tmp_path) == ["Zed.md", "a/b/c.TXT", "a/z.md", "b.md"]


@pytest.mark.requirement("INGEST-1")
def test_a_single_file_is_named_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "a/z.md")
    assert ids(tmp_path / "a" / "z.md") == ["z.md"]


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("prefix", "doc_id"), [("wiki", "wiki/a.md"), ("wiki/", "wiki/a.md"), ("kb:", "kb:a.md"), ("", "a.md")]
)
def test_a_prefix_stands_before_every_id_and_a_slash_between_two_words(
    tmp_path: Path, prefix: str, doc_id: str
) -> None:
    write(tmp_path, "a.md")
    assert ids(tmp_path, prefix=prefix) == [doc_id]


@pytest.mark.requirement("INGEST-6")
def test_hidden_files_and_folders_are_passed_over_in_silence(tmp_path: Path) -> None:
    write(tmp_path, ".hidden.md", ".git/a.md", "a.md")
    assert (ids(tmp_path), refusals(tmp_path)) == (["a.md"], [])


@pytest.mark.requirement("INGEST-6")
def test_a_hidden_file_named_by_the_caller_is_taken(tmp_path: Path) -> None:
    write(tmp_path, ".hidden.md")
    assert ids(tmp_path / ".hidden.md") == [".hidden.md"]


@pytest.mark.requirement("INGEST-6")
def test_unknown_suffixes_are_skipped_by_name(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.docx", "Makefile")
    report = found(tmp_path).refused
    assert [(each.doc_id, each.status) for each in report] == [("Makefile", "skipped"), ("b.docx", "skipped")]
    assert report[1].detail == "files ending in '.docx' can't be read"


@pytest.mark.requirement("INGEST-6")
def test_a_missing_path_is_refused_by_name_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"no file or folder '.*nowhere'"):
        found(write(tmp_path, "a.md"), tmp_path / "nowhere")
    with pytest.raises(InvalidRequest, match="nothing to ingest"):
        found()


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize(
    ("name", "said"),
    [("n" * 300, "File name too long"), ("a\0b", "null"), (os.fsdecode(b"caf\xe9"), "not valid Unicode")],
)
def test_a_path_that_cannot_be_looked_at_is_refused_by_name(tmp_path: Path, name: str, said: str) -> None:
    with suppress(OSError, ValueError):
        write(tmp_path / name, "a.md")
    with pytest.raises(InvalidRequest, match=said):
        found(tmp_path / name)


@pytest.mark.requirement("INGEST-6")
def test_a_path_in_a_folder_that_nobody_may_enter_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    write(tmp_path, "a.md")
    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(InvalidRequest, match=r"a\.md' can't be looked at: Permission denied"):
        found(tmp_path / "a.md")


@pytest.mark.requirement("INGEST-6")
def test_a_named_file_that_nobody_may_reach_any_more_fails_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    write(tmp_path, "a.md")
    monkeypatch.setattr(Path, "is_symlink", denied)
    assert refusals(tmp_path / "a.md") == [("a.md", "failed")]


@pytest.mark.requirement("INGEST-6")
def test_the_same_id_from_two_folders_is_refused_by_name_unless_a_prefix_sets_it_apart(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", "a.md", "b.md"), write(tmp_path / "two", "a.md")
    both = found(one, two)
    assert [file.doc_id for file in both.files] == ["a.md", "b.md"]
    assert both.files[0].path == one / "a.md"
    assert [(each.doc_id, each.status) for each in both.refused] == [("a.md", "failed")]
    assert str(two / "a.md") in both.refused[0].detail


@pytest.mark.requirement("INGEST-6")
def test_a_file_named_twice_is_taken_once(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    assert (ids(tmp_path, tmp_path / "a.md", tmp_path), refusals(tmp_path, tmp_path / "a.md")) == (["a.md"], [])


@pytest.mark.requirement("INGEST-6")
def test_links_in_a_circle_end(tmp_path: Path) -> None:
    write(tmp_path, "a/b.md")
    (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert ids(tmp_path) == ["a/b.md"]


@pytest.mark.requirement("INGEST-6", "SAFE-1")
def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "private", "key.md")
    docs = write(tmp_path / "docs", "a.md")
    (docs / "key.md").symlink_to(secret / "key.md")
    (docs / "all").symlink_to(secret, target_is_directory=True)
    assert ids(docs) == ["a.md"]
    assert refusals(docs) == [("all", "skipped"), ("key.md", "skipped")]


@pytest.mark.requirement("INGEST-6")
def test_a_link_within_the_folder_is_a_document_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    (tmp_path / "b.md").symlink_to(tmp_path / "a.md")
    assert ids(tmp_path) == ["a.md", "b.md"]


@pytest.mark.requirement("INGEST-6")
def test_links_to_nowhere_and_pipes_are_skipped_by_name(tmp_path: Path) -> None:
    (tmp_path / "lost.md").symlink_to(tmp_path / "nowhere.md")
    os.mkfifo(tmp_path / "pipe.md")
    assert refusals(tmp_path) == [("lost.md", "skipped"), ("pipe.md", "skipped")]


@pytest.mark.requirement("INGEST-6", "ID-8")
def test_names_that_can_be_no_document_id_fail_by_name(tmp_path: Path) -> None:
    write(tmp_path, "vector:7.md", "good.md")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md")).write_text("x", encoding="utf-8")
    assert ids(tmp_path) == ["good.md"]
    assert refusals(tmp_path) == [("bad\\udcff.md", "failed"), ("vector:7.md", "failed")]


@pytest.mark.requirement("INGEST-6", "ID-7")
def test_names_that_normalise_alike_are_one_id(tmp_path: Path) -> None:
    write(tmp_path, "e\u0301.md", "\u00e9.md")
    assert ids(tmp_path) == ["\u00e9.md"]
    assert refusals(tmp_path) == [("\u00e9.md", "failed")]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_folder_that_cannot_be_read_is_told_and_the_root_is_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.md", "locked/b.md")
    real = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    done = found(tmp_path)
    assert [file.doc_id for file in done.files] == ["a.md"]
    assert [(each.doc_id, each.status, each.detail) for each in done.refused] == [
        ("locked", "failed", "the folder can't be read: Permission denied")
    ]
    assert [root.whole for root in done.roots] == [False]


@pytest.mark.requirement("INGEST-5")
def test_only_a_folder_is_a_whole_root(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    assert [root.whole for root in found(tmp_path, tmp_path / "a.md").roots] == [True, False]


@pytest.mark.requirement("INGEST-6")
def test_a_link_to_itself_is_skipped_by_name_and_the_folder_is_whole_still(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    (tmp_path / "round.md").symlink_to("round.md")
    (tmp_path / "there").symlink_to("back")
    (tmp_path / "back").symlink_to("there")
    done = found(tmp_path)
    assert [(each.doc_id, each.status) for each in done.refused] == [
        ("back", "skipped"),
        ("round.md", "skipped"),
        ("there", "skipped"),
    ]
    assert [root.whole for root in done.roots] == [True]


@pytest.mark.requirement("INGEST-6", "ID-7")
def test_a_link_to_a_folder_never_takes_the_place_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "m/a.md", ".hidden/b.md")
    for link, target in (("a", "m"), ("z", "m"), ("y", ".hidden"), ("x", ".hidden")):
        (tmp_path / link).symlink_to(tmp_path / target, target_is_directory=True)
    assert ids(tmp_path) == ["m/a.md", "x/b.md"]


@pytest.mark.requirement("INGEST-6", "SAFE-1")
def test_a_link_that_the_caller_names_is_followed_wherever_it_leads_and_keeps_its_name(tmp_path: Path) -> None:
    elsewhere = write(tmp_path / "elsewhere", "real.md", "deep/x.md")
    docs = write(tmp_path / "docs", "a.md")
    (docs / "link.md").symlink_to(elsewhere / "real.md")
    (docs / "all").symlink_to(elsewhere, target_is_directory=True)
    assert ids(docs / "link.md") == ["link.md"]
    assert ids(docs / "all") == ["deep/x.md", "real.md"]
    assert found(docs / "all").roots[0].path == str(docs / "all")


@pytest.mark.requirement("INGEST-6", "SAFE-1")
def test_a_folder_beside_the_root_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    secret = write(tmp_path / "docs-private", "key.md")
    docs = write(tmp_path / "docs", "a.md")
    (docs / "key.md").symlink_to(secret / "key.md")
    assert (ids(docs), refusals(docs)) == (["a.md"], [("key.md", "skipped")])


@pytest.mark.requirement("INGEST-6")
def test_sockets_are_skipped_by_name_and_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.md")
        assert refusals(tmp_path) == [("s.md", "skipped")]


@pytest.mark.slow
@pytest.mark.requirement("INGEST-6")
def test_a_walk_takes_time_in_proportion_to_the_files(tmp_path: Path) -> None:
    """Ten times the files with an ignore file at every level: not twenty times the work; 20,000 within 5 s of it."""
    seconds = []
    for count in (2_000, 20_000):
        root = tmp_path / str(count)
        for folder in range(count // 100):
            write(root / f"d{folder % 10}" / f"e{folder}", *(f"f{number}.md" for number in range(100)))
            (root / f"d{folder % 10}" / f"e{folder}" / ".gitignore").write_text("*.log\n/out/\n", encoding="utf-8")
        started = time.process_time()
        assert len(found(root).files) == count
        seconds.append(time.process_time() - started)
    assert seconds[1] < 20 * max(seconds[0], 0.05)
    assert seconds[1] < 5
