"""Which field of a foreign collection is what: `--map`, paths into rows, presets, and the file that keeps it all."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.milvus.foreign.attachment import (
    FILE_NAME,
    Attachment,
    check_free,
    check_uri,
    read_attachment,
    write_attachment,
)
from citewell.adapters.milvus.foreign.mapping import FieldMap, first_usable, follow, parse_assignments
from citewell.adapters.milvus.foreign.presets import PRESETS, detected, preset_named
from citewell.adapters.milvus.foreign.schema import Field, Kind, Schema
from citewell.errors import CitewellError, InvalidRequest, StoreCorrupt, StoreUnreachable, StoreVersion
from citewell.model import EmbedderIdentity

pytestmark = pytest.mark.requirement("ENGINE-3")

ROW = {
    "pk": 7,
    "metadata": {"source": "etcd.md", "a.b": "dotted", "deep": {"x": 1}, "none": None},
    "as_text": '{"source": "text.md", "nested": {"y": 2}}',
    "broken": "{not json",
    "blank": "",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("pk", 7),
        ("metadata.source", "etcd.md"),
        ("metadata.deep.x", 1),
        ("metadata.a.b", "dotted"),
        ("as_text.source", "text.md"),
        ("as_text.nested.y", 2),
        ("broken.source", None),
        ("pk.source", None),
        ("metadata.none", None),
        ("metadata.deep.x.further", None),
        ("nowhere", None),
        ("nowhere.at.all", None),
    ],
)
def test_a_path_leads_through_json_and_the_text_of_json(path: str, value: object) -> None:
    assert follow(ROW, path) == value


def test_of_several_paths_the_first_that_leads_to_something_wins() -> None:
    assert first_usable(ROW, ("nowhere", "blank", "metadata.none", "as_text.source", "metadata.source")) == "text.md"
    assert first_usable(ROW, ("nowhere", "blank")) is None


def test_a_role_given_twice_has_two_paths_in_that_order() -> None:
    fields = parse_assignments(["docId=a", "docId = metadata.b", "text=t"])
    assert fields.of("docId") == ("a", "metadata.b")
    assert fields.over(FieldMap({"text": ("other",), "title": ("x",)})).paths == {
        "text": ("t",),
        "title": ("x",),
        "docId": ("a", "metadata.b"),
    }


@pytest.mark.parametrize(
    ("assignment", "named"),
    [
        ("docid=x", "'docid'"),
        ("x", "'x'"),
        ("=x", "'=x'"),
        ("text=", "'text='"),
        ("", "''"),
    ],
)
def test_what_maps_nothing_is_refused_by_name(assignment: str, named: str) -> None:
    with pytest.raises(InvalidRequest, match=r"ROLE=FIELD|docId") as refused:
        parse_assignments([assignment])
    assert named in refused.value.message


def test_the_text_has_one_field() -> None:
    with pytest.raises(InvalidRequest, match="'a' and 'b'"):
        parse_assignments(["text=a", "text=b"])


def _schema(primary: str, kinds: dict[str, Kind], *, dynamic: bool = False) -> Schema:
    fields = {name: Field(name, kind, kind) for name, kind in kinds.items()}
    return Schema("theirs", fields, primary, counts_up=False, is_dynamic=dynamic, bm25={}, indexes={})


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (_schema("pk", {"pk": "integer", "text": "text", "vector": "vector", "source": "text"}), "langchain"),
        (
            _schema("id", {"id": "text", "doc_id": "text", "text": "text", "embedding": "vector"}, dynamic=True),
            "llama-index",
        ),
        (_schema("id", {"id": "text", "text": "text", "vector": "vector"}, dynamic=True), "haystack"),
        (
            _schema("doc_id", {"doc_id": "text", "content": "text", "metadata": "json", "embedding": "vector"}),
            "spring-ai",
        ),
    ],
)
def test_a_tool_is_told_by_the_fields_that_it_makes(schema: Schema, name: str) -> None:
    found = detected(schema)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "schema",
    [
        _schema("id", {"id": "text", "text": "text", "vector": "vector"}),
        _schema("doc_id", {"doc_id": "text", "content": "text", "metadata": "text", "embedding": "vector"}),
        _schema("pk", {"pk": "integer", "text": "text", "embedding": "vector"}),
        _schema("key", {"key": "text", "body": "text", "dense": "vector"}, dynamic=True),
    ],
)
def test_fields_that_are_nearly_those_of_a_tool_are_none(schema: Schema) -> None:
    assert detected(schema) is None


def test_an_unknown_preset_is_refused_with_those_that_there_are() -> None:
    assert preset_named(" LangChain ") is PRESETS["langchain"]
    with pytest.raises(InvalidRequest, match="llama-index, haystack, spring-ai") as refused:
        preset_named("pinecone")
    assert "'pinecone'" in refused.value.message


_WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_PATHS = st.dictionaries(
    st.sampled_from(["docId", "chunkIndex", "source", "category", "scope"]),
    st.lists(_WORDS, min_size=1, max_size=3).map(tuple),
)


@given(
    words=st.lists(_WORDS, min_size=8, max_size=8),
    paths=_PATHS,
    metric=st.sampled_from(["L2", "IP", "COSINE"]),
    unit=st.booleans(),
)
def test_whatever_an_attachment_says_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    words: list[str],
    paths: dict[str, tuple[str, ...]],
    metric: str,
    unit: bool,
) -> None:
    fields = FieldMap({"text": (words[0],), "vector": (words[1],), **paths}, (words[2],))
    model = EmbedderIdentity(words[3], 12, words[4], (words[5], words[6]))
    attachment = Attachment(
        "http://x:1", words[7], metric, unit, fields, model, absent=("None",), json_text=("m",), preset="langchain"
    )
    folder = tmp_path_factory.mktemp("attached")
    file = write_attachment(folder, attachment)
    assert read_attachment(folder) == attachment
    assert [entry.name for entry in folder.iterdir()] == [FILE_NAME]
    assert tomllib.loads(file.read_text("utf-8"))["collection"] == words[7]


def _written(folder: Path) -> Path:
    fields = FieldMap({"text": ("text",), "vector": ("vector",)})
    return write_attachment(folder, Attachment("http://x:1", "c", "L2", True, fields, EmbedderIdentity("e", 4, "1")))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("format = 1", "format = 2", StoreVersion),
        ('metric = "L2"', 'metric = "HAMMING"', StoreCorrupt),
        ('text = ["text"]', 'nonsense = ["text"]', StoreCorrupt),
        ("dimensions = 4", 'dimensions = "many"', StoreCorrupt),
        ("[embedder]", "[embedder", StoreCorrupt),
    ],
)
def test_a_file_that_is_no_attachment_is_refused_by_its_name(
    tmp_path: Path, old: str, new: str, kind: type[CitewellError]
) -> None:
    file = _written(tmp_path)
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(kind, match=r"attachment\.toml") as refused:
        read_attachment(tmp_path)
    assert "citewell attach" in refused.value.way_out


def test_an_attachment_goes_into_a_directory_of_its_own(tmp_path: Path) -> None:
    check_free(tmp_path / "new")
    check_free(tmp_path)
    _written(tmp_path)
    check_free(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "citewell.db").touch()
    for taken in (other, other / "citewell.db"):
        with pytest.raises(StoreUnreachable, match=r"holds other files|is a file"):
            check_free(taken)


def test_a_password_is_not_recorded_and_a_path_becomes_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_uri("milvus:./theirs.db") == f"milvus:{tmp_path / 'theirs.db'}"
    assert check_uri("http://host:19530/docs") == "http://host:19530/docs"
    with pytest.raises(InvalidRequest, match=r"password.*store\.token") as refused:
        check_uri("http://root:secret@host:19530")
    assert "secret" not in str(refused.value)
