"""What a run says of an unchanged text takes effect on every path, and nothing is embedded for it (INGEST-5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ingest_room import HookedStore, Room, sections, statuses

from citewell.adapters.local import LocalStore
from citewell.analysis import analyze
from citewell.model import Filters
from citewell.testing.fakes import HashEmbedder


@pytest.fixture(params=["memory", "local"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Room]:
    store = HookedStore() if request.param == "memory" else LocalStore.open(tmp_path / "kb")
    yield Room(tmp_path / "docs", store)
    store.close()


@dataclass(frozen=True)
class Seen:
    """How many chunks each path finds within the filters."""

    dense: int
    lexical: int


def seen(room: Room, filters: Filters) -> Seen:
    vector, terms = HashEmbedder().embed_query("topic"), analyze("topic")
    with room.store.snapshot() as view:
        return Seen(len(view.dense(vector, 50, filters)), len(view.lexical(terms, 50, filters)))


ALL, NONE = Seen(4, 4), Seen(0, 0)


@pytest.mark.requirement("INGEST-5", "SAFE-1", "SAFE-3")
def test_a_changed_scope_holds_on_every_path_and_in_what_is_shown(room: Room) -> None:
    room.write(a=sections(4))
    room.ingest(scope=["x"])
    room.embedded()
    assert (seen(room, Filters(scope=("x",))), seen(room, Filters(scope=("y",)))) == (ALL, NONE)
    report = room.ingest(scope=["y"])
    assert (statuses(report), report.embedded, room.embedded()) == ({"a.md": "updated"}, 0, [])
    assert (seen(room, Filters(scope=("x",))), seen(room, Filters(scope=("y",)))) == (NONE, ALL)
    assert {chunk.scope for chunk in room.chunks("a.md")} == {("y",)}
    room.ingest()
    assert (seen(room, Filters(scope=("y",))), seen(room, Filters())) == (NONE, ALL)


@pytest.mark.requirement("INGEST-5")
def test_a_changed_category_holds_on_every_path(room: Room) -> None:
    room.write(a=sections(4))
    room.ingest(category="ops")
    room.embedded()
    assert room.ingest(category="hr").embedded == 0
    assert (seen(room, Filters(category="ops")), seen(room, Filters(category="hr"))) == (NONE, ALL)
    assert (room.embedded(), room.infos()["a.md"].category) == ([], "hr")


@pytest.mark.requirement("INGEST-5", "INGEST-3")
def test_changed_front_matter_holds_on_every_path(room: Room) -> None:
    room.write(a=f"---\nteam: core\ncategory: ops\n---\n{sections(4)}")
    room.ingest()
    room.embedded()
    room.write(a=f"---\nteam: edge\ncategory: hr\n---\n{sections(4)}")
    assert (room.ingest().embedded, room.embedded()) == (0, [])
    for old, new in (
        (Filters(where=(("team", "core"),)), Filters(where=(("team", "edge"),))),
        (Filters(category="ops"), Filters(category="hr")),
    ):
        assert (seen(room, old), seen(room, new)) == (NONE, ALL)


@pytest.mark.requirement("INGEST-5")
def test_the_same_said_again_writes_nothing(room: Room) -> None:
    room.write(a=sections(4))
    room.ingest(scope=["x", "y"], category="ops")
    before = room.store.status().sequence
    assert statuses(room.ingest(scope=["y", "x", "x"], category="ops")) == {"a.md": "unchanged"}
    assert room.store.status().sequence == before


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_the_catalogue_is_read_once_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("documents", "stored"):
        real = getattr(HookedStore, name)

        def counted(store: HookedStore, *rest: str, name: str = name, real: object = real) -> object:
            calls.append(name)
            return real(store, *rest)  # type: ignore[operator]  # a method of the store

        monkeypatch.setattr(HookedStore, name, counted)
    room = Room(tmp_path / "docs")
    room.write(**{f"n{number}": f"Text {number}." for number in range(40)})
    room.ingest()
    room.write(n7="Text 7, changed.")
    calls.clear()
    room.ingest(prune=True)
    assert calls == ["documents", "stored"]
