"""The store contract on values: what was written comes back, whatever characters it holds, and touches nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from citewell.errors import InvalidRequest
from citewell.identity import check_doc_id
from citewell.model import DocumentChange, Filters, Locator, StoredChunk
from citewell.ports import Store
from citewell.testing.requirement import requirement
from citewell.testing.samples import change
from citewell.testing.store_base import StoreSuite, key, look, put, size_of, texts_of, version_of, write

HOSTILE = (
    'x" or id >= 0 or "x', "x' or id >= 0 or 'x", "x' OR '1'='1", 'a"b', "a'b", "a\\", "\\",
    "C:\\new\\table.md", 'a\\"b', "a\\'b",
    "line\nbreak", "tab\tand\rreturn", "数据库连接池", "😀👩‍👩‍👧", "é",
    "%", "_", "a%", "*", "?", "[a]", "{b}", "$c",
    key("a", 1), key("a")[1:], "doc:", "null", "None", "true", "0", "-1", "1e5", ";--", "/*", "a,b", "a|b", "a b",
    "\u200b", "\u202eabc",
    "\x01\x1f\x7f", "\u2028", "\ufffd", "\U0010ffff", "e\u0301x", "l" * 300, "文" * 300,
)  # fmt: skip

any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
few = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    # One store serves every example, and the same test runs in the class of every engine: both are meant.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow],
)


def usable(doc_id: str) -> bool:
    """Whether ingestion would let the id in as it stands."""
    try:
        return check_doc_id(doc_id) == doc_id
    except InvalidRequest:
        return False


MARKED = key("docs/a", 7) + ".md"
"""A document id that holds what looks like the end of a key (ID-8)."""

HOSTILE_IDS = tuple(value for value in HOSTILE if usable(value))


def fetched(store: Store, key: str) -> StoredChunk:
    """The chunk with this key."""
    with store.snapshot() as snapshot:
        return snapshot.fetch([key])[key]


class HostileValues(StoreSuite):
    """No value is ever syntax (SAFE-2)."""

    @requirement("SAFE-2", "ID-3")
    def test_any_document_id_can_be_written_found_replaced_and_deleted_alone(self, store: Store) -> None:
        """I73."""
        keys = sorted(key(doc_id) for doc_id in HOSTILE_IDS)
        assert len(set(keys)) == len(HOSTILE_IDS) > 40
        write(store, *(change(doc_id, ["shared", "shared tail"]) for doc_id in HOSTILE_IDS))
        for doc_id in HOSTILE_IDS:
            put(store, doc_id, ["shared"])
        assert look(store, "shared").everywhere == keys
        assert [info.doc_id for info in store.documents()] == sorted(HOSTILE_IDS)
        for left, doc_id in reversed(list(enumerate(HOSTILE_IDS))):
            assert fetched(store, key(doc_id)).doc_id == doc_id
            others = tuple(other for other in HOSTILE_IDS if other != doc_id)
            assert look(store, "shared", Filters(exclude_documents=others)).everywhere == [key(doc_id)]
            assert store.delete([doc_id]) == 1
            assert store.stored(doc_id) is None
            assert size_of(store) == left

    @requirement("SAFE-2")
    @pytest.mark.parametrize("field", ["category", "scope", "where"])
    def test_a_filter_with_any_value_finds_exactly_what_bears_it(self, store: Store, field: str) -> None:
        """I71, I72."""
        write(store, *(bearing(f"{at:02}", field, value) for at, value in enumerate(HOSTILE)))
        put(store, "bare", ["shared"])
        for at, value in enumerate(HOSTILE):
            assert look(store, "shared", filter_for(field, value)).everywhere == [key(f"{at:02}")], value
            assert borne(fetched(store, key(f"{at:02}")), field) == value

    @requirement("SAFE-2")
    @pytest.mark.parametrize("field", ["category", "scope", "where"])
    def test_a_filter_with_a_value_that_nothing_bears_finds_nothing(self, store: Store, field: str) -> None:
        """I71."""
        write(store, *(bearing(doc_id, field, "x") for doc_id in ("a", "b")))
        for value in HOSTILE:
            assert look(store, "shared", filter_for(field, value)).everywhere == [], value

    @requirement("SAFE-2")
    @few
    @given(value=any_text, other=any_text)
    @pytest.mark.parametrize("field", ["category", "scope", "where"])
    def test_a_value_round_trips_for_any_text(self, store: Store, field: str, value: str, other: str) -> None:
        """I72."""
        assume(value != other)
        for doc_id, text in (("one", value), ("two", other)):
            write(store, replace(bearing(doc_id, field, text), expected_version=version_of(store, doc_id)))
        assert look(store, "shared", filter_for(field, value)).everywhere == [key("one")]
        assert borne(fetched(store, key("one")), field) == value

    @requirement("SAFE-2", "ID-8")
    @few
    @given(doc_id=any_text.filter(usable), text=any_text)
    def test_a_document_id_and_a_text_round_trip_for_any_text(self, store: Store, doc_id: str, text: str) -> None:
        """I72, I73."""
        put(store, doc_id, [text, f"shared {text}"])
        chunk = fetched(store, key(doc_id))
        assert (chunk.evidence_key, chunk.doc_id, chunk.chunk_index, chunk.text) == (key(doc_id), doc_id, 0, text)
        assert look(store, "shared", k=1).lexical == (key(doc_id, 1),)
        assert [info.doc_id for info in store.documents()] == [doc_id]
        assert store.delete([doc_id]) == 2


def bearing(doc_id: str, field: str, value: str) -> DocumentChange:
    """A document that bears the value in this field."""
    return change(
        doc_id,
        ["shared"],
        category=value if field == "category" else None,
        scope=[value] if field == "scope" else None,
        metadata={"field": value} if field == "where" else None,
    )


def filter_for(field: str, value: str) -> Filters:
    """The filter that asks for the value in this field."""
    return {
        "category": Filters(category=value),
        "scope": Filters(scope=(value,)),
        "where": Filters(where=(("field", value),)),
    }[field]


def borne(chunk: StoredChunk, field: str) -> object:
    """The value as it came back."""
    if field == "scope":
        return chunk.scope[0] if chunk.scope else None
    return chunk.category if field == "category" else chunk.metadata["field"]


class RoundTrips(StoreSuite):
    """A chunk comes back as it was written."""

    TEXTS = (
        "plain", "", " leading and trailing \n", "a\r\nb\rc\nd",
        "tab\tvertical\x0bform\x0cbell\x07escape\x1b[0m\x7f\x85",
        "e\u0301 stays decomposed, \u00e9 composed", "ﬁ Ｒｅｄｉｓ ①", "😀👩‍👩‍👧🏳️‍🌈",
        "数据库连接池耗尽时先扩容再重启网关", "\ufeffmark", "\u200b\u200d\u2028\u2029", "\ufffd", "\U0010ffff",
        "'\"\\%_;--", "文" * 20_000, "😀" * 9_000,
    )  # fmt: skip

    @requirement("ID-1", "ID-3", "PORT-1")
    def test_a_chunk_comes_back_with_all_that_was_written(self, store: Store) -> None:
        new = change(MARKED, ["one", "two"], title="Title", source="file:///a.md", category="ops", scope=["y", "x"])
        located = replace(
            new.chunks[1],
            breadcrumb="Head > Sub",
            span=(10, 4_000_000_000),
            locator=Locator(page=3, line=70, url="https://example.org/a?b=1#c"),
        )
        metadata = {"year": 2031}
        write(store, replace(new, chunks=(new.chunks[0], located), document=replace(new.document, metadata=metadata)))
        assert fetched(store, key(MARKED, 1)) == StoredChunk(
            evidence_key=key(MARKED, 1),
            doc_id=MARKED,
            chunk_index=1,
            text="two",
            source="file:///a.md",
            title="Title",
            breadcrumb="Head > Sub",
            category="ops",
            scope=("x", "y"),
            span=(10, 4_000_000_000),
            locator=Locator(page=3, line=70, url="https://example.org/a?b=1#c"),
            metadata=metadata,
            digest=located.digest,
        )

    @requirement("ID-1")
    def test_what_a_document_lacks_comes_back_as_lacking(self, store: Store) -> None:
        new = change("a.md", ["one"])
        write(store, replace(new, chunks=(replace(new.chunks[0], locator=Locator()),)))
        chunk = fetched(store, key("a.md"))
        assert (chunk.category, chunk.scope, chunk.title, chunk.breadcrumb) == (None, None, "", "")
        assert (chunk.locator, chunk.metadata) == (Locator(), {})

    @requirement("INGEST-2", "ID-3")
    def test_texts_come_back_to_the_last_character(self, store: Store) -> None:
        """I117, I120."""
        put(store, "a.md", self.TEXTS, terms=[[str(index)] for index in range(len(self.TEXTS))])
        kept = texts_of(store, [key("a.md", index) for index in range(len(self.TEXTS))])
        assert [kept[key("a.md", index)] for index in range(len(self.TEXTS))] == list(self.TEXTS)

    @requirement("ID-6", "PORT-2")
    def test_metadata_comes_back_with_its_types(self, store: Store) -> None:
        """I138."""
        metadata: dict[str, object] = {
            "int": 1, "negative": -7, "large": 2**53 + 1, "float": 1.0, "half": 0.5,
            "yes": True, "no": False, "nothing": None,
            "text": "1", "blank": "", "list": [1, 1.0, "1", True, None, []],
            "map": {"b": 1, "a": {"深": [2]}}, "页": "码",
        }  # fmt: skip
        put(store, "a.md", ["text"], metadata=metadata)
        kept = fetched(store, key("a.md")).metadata
        # `repr` tells 1 from 1.0 from True, which `==` does not; order of names is free.
        assert {name: repr(value) for name, value in kept.items()} == {
            name: repr(value) for name, value in metadata.items()
        }
        stored = store.stored("a.md")
        assert stored is not None
        assert {name: repr(value) for name, value in stored.record.metadata.items()} == {
            name: repr(value) for name, value in metadata.items()
        }

    @requirement("PORT-1")
    def test_fetch_leaves_out_what_is_not_there_and_takes_many_keys(self, store: Store) -> None:
        put(store, "a.md", [f"text {index}" for index in range(1200)])
        keys = [key("a.md", index) for index in range(1200)]
        strangers = [key("a.md", 1200), key("a.md") + "0", key("b.md"), "vector:1", "nonsense", ""]
        assert texts_of(store, [*keys, *strangers]) == {key: f"text {index}" for index, key in enumerate(keys)}
        assert texts_of(store, [keys[3], keys[3]]) == {keys[3]: "text 3"}
        assert texts_of(store, []) == {}
