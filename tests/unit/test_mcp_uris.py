"""Names as URIs and back: any Unicode text comes back as it was, and nothing else is taken for one of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import InvalidRequest
from citewell.server.mcp.uris import Place, document_uri, evidence_uri, place_of


@pytest.mark.requirement("API-3", "SAFE-2")
@given(st.text(st.characters(), min_size=1))
def test_any_name_comes_back_from_its_uri(name: str) -> None:
    assert place_of(evidence_uri(name)) == Place("evidence", name)
    assert place_of(document_uri(name)) == Place("document", name)
    assert evidence_uri(name).isascii()
    assert not set(evidence_uri(name).removeprefix("citewell://evidence/")) & set("/#?&, \\")


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("citewell://evidence/etcd.md%23chunk-2", Place("evidence", "etcd.md#chunk-2")),
        ("citewell://evidence/etcd.md#chunk-2", Place("evidence", "etcd.md#chunk-2")),
        ("citewell://evidence/a/b.md%23chunk-0", Place("evidence", "a/b.md#chunk-0")),
        ("citewell://document/../%E6%BC%A2?x.md", Place("document", "../漢?x.md")),
        ("citewell://document/100%2525.md", Place("document", "100%25.md")),
    ],
)
def test_what_stands_unencoded_in_a_uri_is_read_as_it_stands(uri: str, place: Place) -> None:
    assert place_of(uri) == place


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "citewell://evidence/",
        "citewell://other/x",
        "file:///etc/passwd",
        "citewell://document/%ff",
        "evidence/x",
        7,
    ],
)
def test_what_is_none_of_ours_is_refused(uri: object) -> None:
    with pytest.raises(InvalidRequest, match=r"names nothing here|uri can't be"):
        place_of(uri)
