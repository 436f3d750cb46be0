"""Filters in Milvus's language: values are literals, types survive, nothing that a caller gives becomes syntax."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.filters import (
    MAX_TOKEN_BYTES,
    Bearer,
    expression,
    literal,
    marks,
    passes,
    tenant,
    token,
)
from citewell.model import Filters, Scalar

any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
scalars = st.one_of(any_text, st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False))
HOSTILE = (
    'a"b', "a'b", "a\\", "\\", "\\\\", '\\"', "\\n", "line\nbreak", "a\rb", "tab\t", '" or version >= 0 or "',
    "数据库连接池", "😀👩‍👩‍👧", "%", "_", "\\u0041", "\x01\x1f\x7f", "", " ", "x" * 300, "文" * 300, "\u2028",
)  # fmt: skip


@pytest.mark.requirement("SAFE-2")
@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", '"a"'), ('a"b', '"a\\"b"'), ("a\\", '"a\\\\"'), ("\n", '"\\n"'), ('\\"', '"\\\\\\""'), ("文", '"文"')],
)
def test_backslashes_are_doubled_before_quotes_are_escaped(value: str, expected: str) -> None:
    assert literal(value) == expected


@pytest.mark.requirement("SAFE-2")
@given(any_text)
def test_a_literal_ends_where_its_value_ends(value: str) -> None:
    assert re.fullmatch(r'"(?:[^"\\\n\r]|\\.)*"', literal(value))


@pytest.mark.requirement("SAFE-2", "PORT-2")
@given(scalars, scalars)
def test_values_share_a_mark_only_if_a_filter_takes_them_for_equal(one: Scalar, other: Scalar) -> None:
    equal = one == other and isinstance(one, bool) == isinstance(other, bool)
    assert (marks({"field": one}) == marks({"field": other})) is equal


@pytest.mark.requirement("SAFE-2", "PORT-2")
@given(any_text, any_text, any_text, any_text)
def test_a_name_and_a_value_are_never_taken_for_another_pair(name: str, value: str, other: str, second: str) -> None:
    assume((name, value) != (other, second))
    assert marks({name: value}) != marks({other: second})


@pytest.mark.requirement("PORT-2")
def test_each_item_of_a_list_has_a_mark_and_what_is_no_value_has_none() -> None:
    assert len(marks({"a": [1, "x", True, 1.0, None, ["deep"]], "b": None, "c": {"d": 1}})) == 3
    assert marks({"a": 1.0}) == marks({"a": 1}) != marks({"a": True}) != marks({"a": "1"})


@pytest.mark.requirement("SAFE-2")
@given(st.text(max_size=2000), st.text(max_size=2000))
def test_tokens_are_short_and_as_different_as_their_texts(one: str, other: str) -> None:
    assert (token(one) == token(other)) is (one == other)
    assert len(token(one).encode("utf-8", "surrogatepass")) <= MAX_TOKEN_BYTES


@pytest.mark.requirement("SAFE-2")
def test_a_text_that_looks_like_a_digest_is_not_taken_for_the_text_that_has_it() -> None:
    long = "文" * 300
    assert token(token(long)) != token(long)


@pytest.mark.requirement("ENGINE-2", "SAFE-3")
def test_the_tenant_of_a_document_is_its_only_label_or_one_that_no_label_can_be() -> None:
    assert tenant(("x",)) != tenant(("y",))
    assert {tenant(None), tenant(())} == {"-"}
    assert tenant(("x", "y")) == tenant(("a", "b")) == "+"
    assert {tenant(("+",)), tenant(("-",))}.isdisjoint({"+", "-"})


@pytest.mark.requirement("SAFE-1", "SAFE-3")
def test_a_scope_looks_into_its_own_tenants_and_into_those_of_several_labels() -> None:
    assert expression(Filters()) == ""
    assert expression(Filters(scope=())) == "(version < 0)"
    assert expression(Filters(scope=("x",))) == '(tenant in ["=x", "+"] and array_contains_any(labels, ["x"]))'


@pytest.mark.requirement("SAFE-1", "PORT-2")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), True),
        (Filters(category="ops"), True),
        (Filters(category="hr"), False),
        (Filters(scope=("x", "q")), True),
        (Filters(scope=()), False),
        (Filters(where=(("n", 1),)), True),
        (Filters(where=(("n", True),)), False),
        (Filters(exclude_documents=("a",)), False),
    ],
)
def test_the_rule_for_other_indexes_lets_through_what_the_expression_does(filters: Filters, expected: bool) -> None:
    bearer = Bearer("a", token("=ops"), frozenset({"x"}), frozenset(marks({"n": 1})))
    assert passes(filters)(bearer) is expected


class Values:
    """A collection that holds texts, and finds those that equal one."""

    def __init__(self, client: Client, name: str) -> None:
        from pymilvus import DataType, MilvusClient  # noqa: PLC0415 - only here

        self._client, self._name = client, name
        self._numbers = itertools.count()
        schema = MilvusClient.create_schema(auto_id=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("value", DataType.VARCHAR, max_length=4096)
        schema.add_field("list", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=4, max_length=4096)
        schema.add_field("pad", DataType.FLOAT_VECTOR, dim=2)
        indexes = MilvusClient.prepare_index_params()
        indexes.add_index("pad", index_type="FLAT", metric_type="L2")
        client.call("create_collection", name, schema=schema)
        client.call("create_index", name, indexes, sync=False)
        client.load(name)

    def add(self, values: list[str]) -> list[int]:
        """Store them and return their numbers."""
        ids = [next(self._numbers) for _ in values]
        rows = zip(ids, values, strict=True)
        data = [{"id": number, "value": value, "list": [value, "-"], "pad": [0, 1]} for number, value in rows]
        self._client.call("insert", self._name, data)
        return ids

    def find(self, chosen: str) -> set[int]:
        """The numbers of what an expression matches."""
        rows = self._client.call(
            "query", self._name, filter=chosen, output_fields=["id"], limit=16_000, consistency_level="Strong"
        )
        return {row["id"] for row in rows}


def check_any_texts(values: Values, texts: list[str]) -> None:
    """Each text is found by what equals it, in every way in which filters compare; and nothing else is."""
    ids = values.add(texts)
    own = f"id >= {ids[0]} and id <= {ids[-1]}"
    for text in dict.fromkeys(texts):
        equal = {number for number, held in zip(ids, texts, strict=True) if held == text}
        for way in (
            f"value == {literal(text)}",
            f"value in [{literal(text)}]",
            f"array_contains(list, {literal(text)})",
            f"array_contains_any(list, [{literal(text)}])",
        ):
            expected = set(ids) if text == "-" and "list" in way else equal
            assert values.find(f"{own} and {way}") == expected, (way, text)


@pytest.fixture(scope="module")
def lite_values(tmp_path_factory: pytest.TempPathFactory) -> Values:
    return Values(Client(f"milvus:{tmp_path_factory.mktemp('values')}/values.db"), "values_of_any_kind")


LISTS = st.lists(any_text, min_size=1, max_size=6)
FEW = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.requirement("SAFE-2")
@FEW
@given(LISTS)
def test_any_text_is_found_by_itself_alone_on_lite(lite_values: Values, texts: list[str]) -> None:
    """I71, I72."""
    check_any_texts(lite_values, texts)


@pytest.mark.requirement("SAFE-2")
def test_hostile_texts_are_found_by_themselves_alone_on_lite(lite_values: Values) -> None:
    check_any_texts(lite_values, list(HOSTILE))


@pytest.fixture(scope="module")
def server_values(running_milvus: object) -> Values:
    from milvus_server import Server  # noqa: PLC0415 - few tests need it

    if not isinstance(running_milvus, Server):
        pytest.skip(str(running_milvus))
    return Values(Client(running_milvus.uri, timeout_s=30), "values_of_any_kind")


@pytest.mark.slow
@pytest.mark.requirement("SAFE-2")
@FEW
@given(LISTS)
def test_any_text_is_found_by_itself_alone_on_a_server(server_values: Values, texts: list[str]) -> None:
    """I71, I72."""
    check_any_texts(server_values, texts)


@pytest.mark.slow
@pytest.mark.requirement("SAFE-2")
def test_hostile_texts_are_found_by_themselves_alone_on_a_server(server_values: Values) -> None:
    check_any_texts(server_values, list(HOSTILE))


@pytest.mark.requirement("SAFE-2")
def test_a_value_of_a_filter_reaches_no_other_collection(tmp_path: Path) -> None:
    """A value can't close its literal and go on as syntax: the engine is asked for it, and says that nothing has it."""
    client = Client(f"milvus:{tmp_path}/values.db")
    values = Values(client, "values_of_any_kind")
    values.add(["secret"])
    assert values.find(f"value == {literal(chr(34) + ' or id >= 0 or value == ' + chr(34))}") == set()
    client.close()
