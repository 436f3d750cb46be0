"""Whatever JSON a model sends to a tool: an answer as its schema says, that UTF-8 can carry, or an error of our own."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_room import filled

from citewell import Document, Knowledge
from citewell.errors import CitewellError
from citewell.identity import format_key as key
from citewell.server.callers import ANYONE, Caller
from citewell.server.mcp.answers import on_wire, refused, result_of
from citewell.server.mcp.conversation import new_conversation
from citewell.server.mcp.tools import TOOLS, Call, Tool
from citewell.server.mcp.uris import EVIDENCE

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 60),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=20),
    st.sampled_from(
        ["etcd", "wheel", "hybrid", key("a\ud800.md", 0), key("b]<\u202e.md", 0), "[b]<\u202e.md#chunk-0]", "red"]
    ),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
SENSIBLE = {
    "query": st.sampled_from(["etcd wheel", "disk", "\ud800 wheel"]),
    "id": st.sampled_from([key("b]<\u202e.md", 0), key("etcd.md", 0)]),
    "answer": st.sampled_from(
        [f"It turns [{key('b]<', 0)}].", f'"A wheel" [{key("etcd.md", 0)}].', "\ud800 [x#chunk-1]"]
    ),
    "scope": st.sampled_from([["red"], "red", []]),
}


@pytest.fixture(scope="module")
def knowledge() -> Iterator[Knowledge]:
    documents = [Document("etcd.md", "A wheel of etcd.", scope="red"), Document("b]<\u202e.md", "A wheel. <b>\x1b[2J")]
    with filled(*documents) as opened:
        yield opened


@pytest.mark.requirement("API-3", "API-8")
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@given(data=st.data())
@settings(max_examples=100)
def test_any_arguments_are_answered_or_refused(knowledge: Knowledge, tool: Tool, data: st.DataObject) -> None:
    names = [*tool.takes["properties"], "unknown"]
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True))
    arguments = {name: data.draw(SENSIBLE.get(name, ANYTHING) | ANYTHING, label=name) for name in chosen}
    caller = data.draw(st.sampled_from([ANYONE, Caller("ann", ("red",), bound=True, apart=True)]))
    lasting = data.draw(st.booleans())
    told = ""
    try:
        call = Call(knowledge, caller, new_conversation(lasting=lasting), tool.check(arguments), EVIDENCE)
        result = result_of(tool.run(call))
        jsonschema.validate(result.structured_content, tool.gives)
    except CitewellError as error:
        result, told = refused(error), str(error)
    assert ("unknown argument 'unknown'" in told) == ("unknown" in arguments)
    assert result.content
    result.model_dump_json().encode("utf-8")


@given(ANYTHING)
def test_what_goes_on_the_wire_has_a_form_in_utf_8_and_is_otherwise_as_it_was(value: object) -> None:
    wired = on_wire(value)
    json.dumps(wired, ensure_ascii=False).encode("utf-8")
    text = repr(value)
    if not any("\ud800" <= character <= "\udfff" for character in text) and "\\ud" not in text:
        assert repr(wired) == text
