"""Inputs that once broke something, found by hostile values and by fuzzing: each stays harmless (SAFE-2, API-7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import guard
from citewell.adapters.readers import FileReader
from citewell.config import Settings
from citewell.config.parse import parse_environment, parse_file
from citewell.errors import ConfigError
from citewell.ingest.ignore import Rules

TOO_DEEP: Mapping[str, tuple[str, str]] = {
    "a YAML list in itself": ("server: {cors-origins: " + "[" * 5_000, "a.yaml"),
    "a YAML table in itself": ("{a: " * 5_000 + "}" * 5_000, "a.yaml"),
    "a YAML alias of its own table": ("a: &a {b: *a}", "a.yaml"),
    "a TOML list in itself": ("a = " + "[" * 5_000 + "]" * 5_000, "a.toml"),
    "a TOML key of many parts": (".".join("a" * 5_000) + " = 1", "a.toml"),
}


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize("name", TOO_DEEP)
def test_a_configuration_that_nests_without_end_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"can't be parsed: it nests too deeply|which is no setting"):
        parse_file(*TOO_DEEP[name])


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize("key", ["retrieval.search.weights", "server.cors-origins", "server.tokens"])
def test_a_variable_that_nests_without_end_is_refused(key: str) -> None:
    variable = "CITEWELL_" + key.upper().replace(".", "__").replace("-", "_")
    with pytest.raises(ConfigError, match=key):
        Settings.of(parse_environment({variable: "[" * 100_000}))


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize("key", ["rag.retrieve-k", "rag.min-similarity", "retrieval.search.rrf-k"])
@pytest.mark.parametrize("value", [1 << 5_000, -(1 << 5_000), "9" * 5_000, "1e999"], ids=["big", "low", "text", "e"])
def test_a_number_beyond_all_bounds_is_refused_in_a_line(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=key) as caught:
        Settings.of({key: value})
    assert len(str(caught.value)) < 300


@pytest.mark.requirement("API-7", "SAFE-2")
@pytest.mark.parametrize("key", ["embedder.api-key", "reranker.api-key", "store.token"])
def test_a_secret_of_the_wrong_kind_is_refused_without_being_told(key: str) -> None:
    with pytest.raises(ConfigError, match=key) as caught:
        Settings.of({key: 31337_31337_31337})
    assert "31337" not in str(caught.value)


@pytest.mark.requirement("API-7", "SAFE-2")
def test_a_file_that_is_no_yaml_is_refused_by_its_line_without_quoting_it() -> None:
    with pytest.raises(ConfigError, match=r"a\.yaml can't be parsed: .*, line 3\.") as caught:
        parse_file('embedder:\n  api-key: "31337\n', "a.yaml")
    assert "31337" not in str(caught.value)


@pytest.mark.requirement("API-7")
def test_a_long_name_that_is_no_setting_is_told_in_a_line() -> None:
    with pytest.raises(ConfigError, match="which is no setting") as caught:
        Settings.of({"rag." + "k" * 100_000: 1})
    assert len(str(caught.value)) < 300


@pytest.mark.requirement("INGEST-3")
@pytest.mark.parametrize("value", ["1" + ":59" * 300 + ".5", "-1" + ":59" * 300 + ".5"])
def test_front_matter_with_a_number_too_large_to_be_one_stays_text_and_is_reported(value: str) -> None:
    text: Any = FileReader().read(f"---\nat: {value}\n---\n\nThe text.\n".encode(), "a.md")
    assert text.text.endswith("---\n\nThe text.\n")
    assert text.remarks[0].startswith("front matter kept as text")


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize("layer", ["[", "(", ".", "- ", "1. ", "[(", "\u201c"])
def test_an_id_of_a_list_in_layers_without_end_is_unknown_in_a_moment(layer: str) -> None:
    """What was looked at, layer by layer, grew with the square of them: 20,000 took minutes."""
    shown = ["a.md#chunk-0"]
    (citation,) = guard.check([layer * 50_000 + "a.md#chunk-0"], shown).citations
    assert citation.verdict == "unknown"
    (near,) = guard.check([layer * 8 + "a.md#chunk-0"], shown).citations
    assert near.verdict == ("shown" if layer != "." else "unknown")


@pytest.mark.requirement("INGEST-1")
def test_a_line_of_unclosed_passthroughs_is_read_in_one_pass() -> None:
    """Each looked for its end to the end of the line: a megabyte took minutes."""
    text = FileReader().read(b"pass:[" * 50_000, "a.adoc").text
    assert text.startswith("pass:[pass:[")


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("line", ["[z-a].md", "x[k-1]", "[a#chunk-1]"])
def test_a_range_from_behind_to_before_in_an_ignore_file_matches_nothing(line: str) -> None:
    """It ended the whole ingestion."""
    rules = Rules([line, "*.log"])
    assert rules.verdict("a.log", folder=False) is True
    assert rules.verdict("k.md", folder=False) is None


@pytest.mark.requirement("INGEST-6")
def test_a_pattern_of_many_stars_is_looked_for_in_one_pass() -> None:
    """Six stars took a minute for a name of a hundred letters."""
    rules = Rules(["*a" * 60 + "*b"])
    assert rules.verdict("a" * 250, folder=False) is None
    assert rules.verdict("a" * 250 + "b", folder=False) is True
    assert rules.verdict("x/" + "ca" * 60 + "b", folder=False) is True


def _matches(pattern: str, name: str) -> bool:
    """A glob without folders, from its definition."""
    if not pattern or not name:
        return not name and not pattern.strip("*")
    if pattern[0] == "*":
        return _matches(pattern[1:], name) or _matches(pattern, name[1:])
    return pattern[0] in ("?", name[0]) and _matches(pattern[1:], name[1:])


@pytest.mark.requirement("INGEST-6")
@given(
    st.lists(st.sampled_from(["*", "a", "b", "?", "*a", "b*"]), min_size=2, max_size=7).map("".join),
    st.text("ab", min_size=1, max_size=8),
)
def test_stars_match_what_their_definition_says(pattern: str, name: str) -> None:
    pattern = f"a{pattern.replace('**', '*a*')}"
    assert (Rules([pattern]).verdict(f"a{name}", folder=False) is True) is _matches(pattern, f"a{name}")
