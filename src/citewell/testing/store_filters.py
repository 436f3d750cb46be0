"""The store contract on filters: each one, all together, beside much that they leave out, on both paths alike."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from citewell.identity import parse_key
from citewell.model import Filters, Scalar
from citewell.ports import Store
from citewell.testing.requirement import requirement
from citewell.testing.samples import change
from citewell.testing.store_base import (
    ANY,
    EMBEDDER,
    StoreSuite,
    dense,
    key,
    keys_of,
    look,
    look_or_refuse,
    put,
    random_units,
    write,
)


def documents_of(keys: list[str]) -> list[str]:
    """The document of each key."""
    return [str(parse_key(found).doc_id) for found in keys]


class SingleFilters(StoreSuite):
    """What each filter lets through."""

    WHERE: ClassVar[list[tuple[object, Scalar, bool]]] = [
        ("a", "a", True), ("a", "A", False), ("a", "ab", False), ("", "", True), (" a", "a", False),
        (1, 1, True), (1, 1.0, True), (1.0, 1, True), (1.5, 1.5, True), (1.5, 1, False),
        (-1, -1, True), (0, -0.0, True),
        (True, True, True), (True, 1, False), (1, True, False), (False, 0, False), (0.0, False, False),
        ("1", 1, False), (1, "1", False), ("True", True, False), (True, "true", False), ("1.0", 1.0, False),
        (2**53 + 1, 2**53 + 1, True), (2**53 + 1, 2**53, False),
        (["a", "b"], "b", True), (["a", "b"], "c", False), (["ab"], "a", False),
        ([1, "x"], 1.0, True), ([True], 1, False),
        ([], "", False), ([["a"]], "a", False), ({"a": "b"}, "a", False), ({"a": "b"}, "b", False),
        (None, "None", False), (None, "null", False), (None, "", False), (None, False, False), (None, 0, False),
    ]  # fmt: skip

    @requirement("PORT-2", "SAFE-1")
    def test_no_filter_lets_everything_through(self, store: Store) -> None:
        put(store, "a", ["shared"], category="ops", scope="x")
        put(store, "b", ["shared"])
        assert documents_of(look(store, "shared", ANY).everywhere) == ["a", "b"]

    @requirement("PORT-4", "PORT-5")
    def test_a_category_lets_only_its_own_documents_through(self, store: Store) -> None:
        for doc_id, category in (("a", "ops"), ("b", "hr"), ("c", None), ("d", "Ops"), ("e", "ops")):
            put(store, doc_id, ["shared"], category=category)
        assert documents_of(look(store, "shared", Filters("ops")).everywhere) == ["a", "e"]
        assert documents_of(look(store, "shared", Filters("finance")).everywhere) == []

    @requirement("SAFE-3")
    def test_scope_has_three_states_and_unlabelled_documents_match_no_label(self, store: Store) -> None:
        """I76."""
        for doc_id, scope in (("a", "x"), ("b", ["x", "y"]), ("c", "z"), ("d", None)):
            put(store, doc_id, ["shared"], scope=scope)
        seen = {
            labels: documents_of(look(store, "shared", Filters(scope=labels)).everywhere)
            for labels in (None, (), ("x",), ("y", "z"), ("x", "z"), ("q",), ("X",), ("",), ("None",))
        }
        assert seen == {
            None: ["a", "b", "c", "d"],
            (): [],
            ("x",): ["a", "b"],
            ("y", "z"): ["b", "c"],
            ("x", "z"): ["a", "b", "c"],
            ("q",): [],
            ("X",): [],
            ("",): [],
            ("None",): [],
        }

    @requirement("SAFE-3")
    def test_a_label_is_never_taken_for_a_part_of_another(self, store: Store) -> None:
        for doc_id, scope in (("a", "team"), ("b", "team-a"), ("c", ["team a", "a"]), ("d", "te_m"), ("e", "te%")):
            put(store, doc_id, ["shared"], scope=scope)
        for doc_id, label in (("a", "team"), ("b", "team-a"), ("c", "a"), ("d", "te_m"), ("e", "te%")):
            assert documents_of(look(store, "shared", Filters(scope=(label,))).everywhere) == [doc_id]

    @requirement("PORT-2", "SAFE-1")
    def test_where_compares_values_with_their_types(self, store: Store) -> None:
        write(
            store,
            *(change(f"{at:02}", ["shared"], metadata={"field": held}) for at, (held, _, _) in enumerate(self.WHERE)),
        )
        for at, (held, wanted, expected) in enumerate(self.WHERE):
            others = tuple(f"{other:02}" for other in range(len(self.WHERE)) if other != at)
            filters = Filters(where=(("field", wanted),), exclude_documents=others)
            assert bool(look(store, "shared", filters).everywhere) is expected, (held, wanted)

    @requirement("PORT-2")
    def test_a_document_without_the_field_does_not_match(self, store: Store) -> None:
        put(store, "a", ["shared"], metadata={"other": "x"})
        put(store, "b", ["shared"])
        for value in ("x", "", "None", False, 0):
            assert look(store, "shared", Filters(where=(("field", value),))).everywhere == []

    @requirement("PORT-2")
    def test_every_field_of_where_must_match(self, store: Store) -> None:
        put(store, "a", ["shared"], metadata={"lang": "en", "year": 2031})
        put(store, "b", ["shared"], metadata={"lang": "en", "year": 2032})
        put(store, "c", ["shared"], metadata={"lang": "zh", "year": 2031})
        assert documents_of(look(store, "shared", Filters(where=(("lang", "en"), ("year", 2031)))).everywhere) == ["a"]

    @requirement("PORT-2")
    def test_where_sees_metadata_alone_not_the_fields_of_the_record(self, store: Store) -> None:
        """I140: a user's field named like one of ours collides with nothing."""
        put(store, "a", ["shared"], category="ops", metadata={"category": "mine", "doc_id": "other", "chunk_index": 99})
        put(store, "b", ["shared"], category="mine")
        assert documents_of(look(store, "shared", Filters(where=(("category", "mine"),))).everywhere) == ["a"]
        assert documents_of(look(store, "shared", Filters("mine")).everywhere) == ["b"]
        assert look(store, "shared", Filters(where=(("doc_id", "a"),))).everywhere == []
        assert look(store, "shared", Filters(where=(("chunk_index", 99),))).everywhere == [key("a")]

    @requirement("POST-7", "PORT-2")
    def test_excluded_documents_stay_out_whole(self, store: Store) -> None:
        put(store, "a", ["shared one", "shared two"])
        put(store, "ab", ["shared"])
        put(store, "b", ["shared"])
        assert look(store, "shared", Filters(exclude_documents=("a", "unknown"))).everywhere == [
            key("ab"),
            key("b"),
        ]
        many = tuple(f"unknown{number}" for number in range(200))
        assert look(store, "shared", Filters(exclude_documents=(*many, "ab", "b"))).everywhere == [
            key("a"),
            key("a", 1),
        ]


class CombinedFilters(StoreSuite):
    """Filters together, and beside much that they leave out."""

    @requirement("PORT-2", "SAFE-1")
    def test_all_filters_together_must_hold(self, store: Store) -> None:
        good: dict[str, object] = {"lang": "en"}
        put(store, "good", ["shared"], category="ops", scope="x", metadata=good)
        put(store, "excluded", ["shared"], category="ops", scope="x", metadata=good)
        put(store, "category", ["shared"], category="hr", scope="x", metadata=good)
        put(store, "scope", ["shared"], category="ops", scope="y", metadata=good)
        put(store, "where", ["shared"], category="ops", scope="x", metadata={"lang": "zh"})
        filters = Filters("ops", ("x",), (("lang", "en"),), ("excluded",))
        assert documents_of(look(store, "shared", filters).everywhere) == ["good"]

    @requirement("SAFE-1")
    def test_tenants_with_the_same_text_never_see_each_other(self, store: Store) -> None:
        """I64."""
        for doc_id, scope in (("t1/a", "T1"), ("t2/a", "T2"), ("t2/b", "T2"), ("t1/b", "T1")):
            put(store, doc_id, ["shared secret", "shared plan"], scope=scope)
        for tenant in ("T1", "T2"):
            found = look(store, "shared secret", Filters(scope=(tenant,)))
            prefix = tenant.lower()
            assert found.everywhere == [key(f"{prefix}/{doc}", index) for doc in "ab" for index in (0, 1)]

    @requirement("SAFE-1")
    @pytest.mark.parametrize(
        "narrow",
        [
            Filters("mine"),
            Filters(scope=("T1",)),
            Filters(where=(("owner", "me"),)),
            Filters(exclude_documents=("theirs",)),
        ],
        ids=["category", "scope", "where", "exclude_documents"],
    )
    def test_a_narrow_filter_returns_its_full_count_beside_300_nearer_chunks(
        self, store: Store, narrow: Filters
    ) -> None:
        """I69: what others hold changes no count."""
        query = EMBEDDER.embed_query("shared query")
        away = random_units(12, seed=31)
        texts = [f"shared {'filler ' * 30}" for _ in away]
        put(store, "mine", texts, category="mine", scope="T1", metadata={"owner": "me"}, vectors=list(away))
        alone = look(store, "shared query", narrow, k=10)
        theirs: dict[str, object] = {"owner": "them"}
        put(store, "theirs", ["shared query"] * 300, category="c", scope="T2", metadata=theirs, vectors=[query] * 300)
        beside = look(store, "shared query", narrow, k=10)
        assert len(beside.dense) == len(beside.lexical) == 10
        assert beside == alone
        assert len(look(store, "shared query", narrow, k=50).everywhere) == 12

    @requirement("PORT-4", "SAFE-1")
    @pytest.mark.parametrize("percent", [2, 10, 50])
    def test_the_dense_path_is_as_good_within_a_filter_as_without(self, store: Store, percent: int) -> None:
        vectors = random_units(1000, seed=32)
        write(
            store,
            *(
                change(
                    f"{doc:02}",
                    ["x"] * 20,
                    vectors=list(vectors[doc * 20 : doc * 20 + 20]),
                    metadata={"group": doc * 2},
                )
                for doc in range(50)
            ),
        )
        wanted = tuple(f"{doc:02}" for doc in range(50) if doc * 2 >= percent)
        kept = (1000 // 100) * percent
        recalls = []
        for query in random_units(20, seed=33):
            scores = vectors[:kept].astype(np.float64) @ query.astype(np.float64)
            best = {key(f"{at // 20:02}", at % 20) for at in np.argsort(-scores)[:20]}
            hits = dense(store, query, 20, Filters(exclude_documents=wanted))
            assert len(hits) == 20
            recalls.append(len(best & {*keys_of(hits)}) / 20)
        assert sum(recalls) / len(recalls) >= self.recall

    @requirement("SAFE-2")
    @pytest.mark.parametrize(
        "name", ["x or 1==1", "a.b", 'q"x', "it's", "$[0]", "with space", "页", "", "a\\", "a]", "%"]
    )
    def test_a_field_name_is_a_name_whatever_it_holds(self, store: Store, name: str) -> None:
        """I71: it matches the field of exactly this name, or is refused; it never matches another."""
        put(store, "named", ["shared"], metadata={name: "v"})
        put(store, "plain", ["shared"], metadata={"a": {"b": "v"}, "other": "v"})
        assert documents_of(look_or_refuse(store, "shared", Filters(where=((name, "v"),)))) in (["named"], [])
        assert look_or_refuse(store, "shared", Filters(where=((name, "w"),))) == []
