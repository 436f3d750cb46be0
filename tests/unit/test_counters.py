"""Token counters by name: tiktoken without a network, the embedder's own, and what is said when one can't be had."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import tiktoken.load
import tiktoken.registry
import tiktoken_ext.openai_public  # type: ignore[import-untyped]  # it ships no types
from vocabularies import cached_name, lay

from citewell import Document, Knowledge, Settings
from citewell.adapters import counters
from citewell.adapters.counters import open_counter
from citewell.errors import ConfigError
from citewell.projection import token_bound
from citewell.testing.fakes import HashEmbedder

WORDS = "The disk of the primary is full."


class Counting(HashEmbedder):
    """An embedder whose tokens are words."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of tiktoken's, nothing loaded yet, and no way to a network."""

    def refuse(address: str) -> bytes:
        raise AssertionError(f"{address} was asked for")

    counters._encoding.cache_clear()
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(tiktoken.load, "read_file", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.requirement("PROJ-4")
def test_an_encoding_whose_vocabulary_is_there_counts_as_tiktoken_does(cache: Path) -> None:
    lay("cl100k_base", cache)
    count = open_counter("tiktoken:cl100k_base", HashEmbedder())
    assert count(WORDS) == 8  # The, disk, of, the, primary, is, full, and the full stop
    assert count("") == 0
    assert count("数据库") == len(tiktoken.get_encoding("cl100k_base").encode("数据库"))


@pytest.mark.requirement("PROJ-4", "PROJ-7")
def test_a_token_of_a_chat_template_in_a_text_is_counted_as_text(cache: Path) -> None:
    lay("cl100k_base", cache)
    count = open_counter("tiktoken:cl100k_base", HashEmbedder())
    assert count("<|endoftext|>") > 1
    assert count("a lone half: \ud83d") > 0


@pytest.mark.requirement("PROJ-4")
def test_nothing_is_fetched_where_the_vocabulary_is_missing(cache: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(str(cache / cached_name("o200k_base")))) as caught:
        open_counter("tiktoken:o200k_base", HashEmbedder())
    assert "Citewell fetches none" in caught.value.message
    assert "tiktoken.get_encoding('o200k_base')" in caught.value.way_out
    assert list(cache.iterdir()) == []


@pytest.mark.requirement("PROJ-4")
def test_a_damaged_vocabulary_is_named_and_neither_thrown_away_nor_fetched_again(cache: Path) -> None:
    path = lay("cl100k_base", cache)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ConfigError, match="its vocabulary is not at"):
        open_counter("tiktoken:cl100k_base", HashEmbedder())
    assert path.exists()


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize("name", ["DATA_GYM_CACHE_DIR", "TMPDIR"])
def test_the_vocabulary_is_looked_for_where_tiktoken_looks(
    name: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv(name, str(cache))
    folder = cache / "data-gym-cache" if name == "TMPDIR" else cache
    folder.mkdir(exist_ok=True)
    lay("cl100k_base", folder)
    assert open_counter("tiktoken:cl100k_base", HashEmbedder())(WORDS) == 8


@pytest.mark.requirement("PROJ-4")
def test_a_cache_that_is_switched_off_has_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay("cl100k_base", cache)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with pytest.raises(ConfigError, match="its vocabulary is not at"):
        open_counter("tiktoken:cl100k_base", HashEmbedder())


@pytest.mark.requirement("PROJ-4")
def test_an_encoding_that_the_program_loaded_itself_needs_no_file(cache: Path) -> None:
    own = tiktoken.Encoding(
        "own", pat_str=r"\S+|\s+", mergeable_ranks={bytes([n]): n for n in range(256)}, special_tokens={}
    )
    tiktoken.registry.ENCODINGS["own"] = own
    assert open_counter("tiktoken:own", HashEmbedder())("four") == 4


@pytest.mark.requirement("PROJ-4")
def test_the_table_of_vocabularies_is_tiktokens_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def note(address: str, expected_hash: str | None = None) -> dict[bytes, int]:
        asked.append((address, expected_hash))
        return {}

    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", note)
    for encoding in counters._VOCABULARIES:
        tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[encoding]()
    assert asked == [
        (counters._ADDRESS.format(name), counters._DIGESTS[name]) for name in counters._VOCABULARIES.values()
    ]


@pytest.mark.requirement("PROJ-4")
def test_the_embedders_own_tokens_can_be_counted_if_it_counts_them() -> None:
    assert open_counter("embedder", Counting())(WORDS) == 7
    with pytest.raises(ConfigError, match="the embedder hash-words counts no tokens") as caught:
        open_counter("embedder", HashEmbedder())
    assert "safe bound" in caught.value.way_out


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize("name", ["gpt-4", "tiktoken", "tiktoken:", "tiktoken:gpt2", "", "Embedder"])
def test_a_counter_that_there_is_not_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(name or "''")) as caught:
        open_counter(name, Counting())
    assert caught.value.way_out


@pytest.mark.requirement("PROJ-4")
def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ConfigError, match="not installed") as caught:
        open_counter("tiktoken:cl100k_base", HashEmbedder())
    assert "citewell[tiktoken]" in caught.value.way_out


def shown(settings: dict[str, object], embedder: HashEmbedder) -> str:
    """What an agent is shown of a chunk of 60 words, at most 40 tokens of it."""
    of = Settings.of({"projection.max-tokens": 40, **settings})
    with Knowledge.open("memory:", embedder=embedder, settings=of) as knowledge:
        knowledge.ingest_documents([Document("a.md", "disk " * 60, format="text")])
        projection: Any = knowledge.lookup("disk").to_agent()
    content: str = projection["evidence"][0]["content"]
    return content


@pytest.mark.requirement("PROJ-4")
def test_what_an_agent_is_shown_is_counted_by_the_counter_in_the_settings(cache: Path) -> None:
    lay("cl100k_base", cache)
    assert len(shown({"projection.token-counter": "embedder"}, Counting()).split()) == 40
    real = shown({"projection.token-counter": "tiktoken:cl100k_base"}, Counting())
    assert len(tiktoken.get_encoding("cl100k_base").encode(real)) in range(38, 41)
    bound = shown({}, Counting())
    assert token_bound(bound) in range(38, 41)
    assert len(bound.split()) < len(real.split())


@pytest.mark.requirement("PROJ-4", "API-7")
def test_a_counter_that_can_not_be_had_is_an_error_when_the_store_is_opened(tmp_path: Path) -> None:
    settings = Settings.of({"projection.token-counter": "embedder"})
    with pytest.raises(ConfigError, match="counts no tokens"):
        Knowledge.open(tmp_path / "kb", embedder=HashEmbedder(), settings=settings)
    with Knowledge.open(tmp_path / "kb", embedder=HashEmbedder(), settings=Settings.of({})) as knowledge:
        assert knowledge.settings.token_counter is None
