"""What the default embedder does without its model: what it promises of itself, counts and cuts."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.embedders.models import USE_MULTILINGUAL
from citewell.adapters.embedders.onnx import UseMultilingual
from citewell.adapters.embedders.texts import clean
from citewell.errors import ConfigError, EmbedderUnavailable
from citewell.ports import Embedder, embedder_identity

NOWHERE = Path("/nowhere/use-multilingual.onnx")
ANY_TEXT = st.text(st.characters())  # lone surrogates too
EXPANDING = st.text(st.sampled_from("a文\ufdfa㍿ﬃ½\u1100\u1161\u11a8e\u0301"), max_size=400)


@pytest.mark.requirement("INGEST-8")
def test_it_says_who_it_is_without_its_model() -> None:
    embedder = UseMultilingual(NOWHERE)
    assert isinstance(embedder, Embedder)
    identity = embedder_identity(embedder)
    assert (identity.name, identity.dimensions, identity.prefixes) == ("use-multilingual", 512, ("", ""))
    assert identity.fingerprint.startswith(USE_MULTILINGUAL.sha256)


@pytest.mark.requirement("ENGINE-4")
def test_a_missing_model_is_named_at_the_first_text_with_the_way_out() -> None:
    embedder = UseMultilingual(NOWHERE)
    for attempt in (lambda: embedder.embed_query("a"), lambda: embedder.embed_passages(["a", "b"]), embedder.warm):
        with pytest.raises(EmbedderUnavailable, match=r"/nowhere/use-multilingual\.onnx is missing") as caught:
            attempt()
        assert "citewell model pull" in caught.value.way_out


@pytest.mark.requirement("PORT-6")
def test_no_passages_need_no_model() -> None:
    """I94: nothing to embed is nothing to do."""
    assert UseMultilingual(NOWHERE).embed_passages([]).shape == (0, 512)


@pytest.mark.requirement("API-7")
def test_less_than_one_worker_is_refused() -> None:
    with pytest.raises(ConfigError, match="0 workers"):
        UseMultilingual(NOWHERE, workers=0)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0 + 3),
        ("etcd", 4 + 3),
        ("连接池", 3 + 3),
        ("ﬃ", 3 + 3),  # one character that is normalised to three: ffi
        ("\ufdfa", 18 + 3),  # and one to eighteen
        ("a\ud800", 2 + 3),
    ],
)
@pytest.mark.requirement("INGEST-4")
def test_a_text_has_at_most_one_token_per_normalised_character_and_three(text: str, tokens: int) -> None:
    assert UseMultilingual(NOWHERE).count_tokens(text) == tokens


@pytest.mark.requirement("INGEST-4")
@given(ANY_TEXT | EXPANDING)
def test_the_bound_on_tokens_never_falls_short_of_the_normalised_text(text: str) -> None:
    bound = UseMultilingual(NOWHERE).count_tokens(text)
    assert bound >= len(text) + 3
    assert bound >= len(unicodedata.normalize("NFKC", text)) + 3
    assert bound == UseMultilingual(NOWHERE).count_tokens(clean(text))


@pytest.mark.requirement("INGEST-4")
@given(EXPANDING, st.integers(1, 40))
def test_a_text_is_taken_whole_if_it_fits_and_else_by_a_beginning_that_fits(text: str, times: int) -> None:
    """I108: the bound holds for any content, and no text within it loses anything."""
    embedder = UseMultilingual(NOWHERE)
    long = text * times
    fitted = embedder._fit(long)
    assert embedder.count_tokens(fitted) <= embedder.max_tokens
    assert long.startswith(fitted)
    if embedder.count_tokens(long) <= embedder.max_tokens:
        assert fitted == long
    else:
        assert embedder.count_tokens(fitted) > embedder.max_tokens // 2


@pytest.mark.requirement("INGEST-2")
@given(ANY_TEXT)
def test_a_cleaned_text_has_utf8_no_nul_and_as_many_characters(text: str) -> None:
    cleaned = clean(text)
    assert cleaned.encode().decode() == cleaned
    assert "\0" not in cleaned
    assert len(cleaned) == len(text)
    assert clean(cleaned) == cleaned


@pytest.mark.requirement("INGEST-2")
def test_nul_becomes_a_space_and_a_lone_surrogate_the_replacement_character() -> None:
    assert clean("a\0b\udc80c😀") == "a b\ufffdc😀"
