"""Settings: precedence, refusals that name the key, and where each value came from."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.config import KEYS, Key, Settings
from citewell.errors import ConfigError


def _load(tmp_path: Path, text: str, name: str = "citewell.toml", /, **environment: str) -> Settings:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return Settings.load(path, environment=environment)


@pytest.mark.requirement("API-7", "PORT-3", "POST-5")
def test_the_defaults_are_the_promised_ones() -> None:
    settings = Settings.load(environment={})
    assert settings.lookup.retrieve_k == 50
    assert settings.lookup.return_n == 5
    assert settings.lookup.max_chunks_per_document == 2
    assert settings.lookup.min_similarity is None
    assert settings.lookup.keep_identifiers is True
    assert settings.lookup.refill is True
    assert settings.search.mode == "dense"
    assert settings.search.rrf_k == 60
    assert settings.search.paths == ("dense", "dense_filtered", "lexical")
    assert settings.store.require_scope is False
    assert {origin for _, _, origin in settings.describe()} == {"default"}


@pytest.mark.requirement("API-7")
def test_a_file_gives_way_to_the_environment_and_both_to_an_argument(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[rag]\nretrieve-k = 20\nreturn-n = 4\nmax-chunks-per-document = 1\n", encoding="utf-8")
    settings = Settings.load(
        path,
        environment={"CITEWELL_RAG__RETRIEVE_K": "30", "CITEWELL_RAG__RETURN_N": "6"},
        overrides={"rag.return-n": 7},
    )
    found = {name: (value, origin) for name, value, origin in settings.describe()}
    assert found["rag.max-chunks-per-document"] == (1, str(path))
    assert found["rag.retrieve-k"] == (30, "environment")
    assert found["rag.return-n"] == (7, "argument")


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", '[rag]\nretrieve-k = 20\n[retrieval.search]\nmode = "hybrid"\nweights = {lexical = 1.5}\n'),
        (
            "b.toml",
            '"rag.retrieve-k" = 20\n"retrieval.search.mode" = "hybrid"\n"retrieval.search.weights.lexical" = 1.5\n',
        ),
        (
            "c.yaml",
            "rag:\n  retrieve-k: 20\nretrieval.search.mode: hybrid\nretrieval.search.weights:\n  lexical: 1.5\n",
        ),
        ("d.yml", "rag: {retrieve_k: 20}\nretrieval: {search: {mode: hybrid, weights: {lexical: 1.5}}}\n"),
    ],
)
def test_toml_and_yaml_nested_or_dotted_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    settings = _load(tmp_path, text, name)
    assert settings.search.weights is not None
    assert (settings.lookup.retrieve_k, settings.search.mode, settings.search.weights["lexical"]) == (20, "hybrid", 1.5)


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[rag]\nretrive-k = 20\n", "rag.retrive-k"),
        ("[rga]\nretrieve-k = 20\n", "rga.retrieve-k"),
        ("colour = 'red'\n", "colour"),
        ("[retrieval.search.weights]\nsparse = 1.0\n", "retrieval.search.weights.sparse"),
    ],
)
def test_an_unknown_key_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        _load(tmp_path, text)


@pytest.mark.requirement("API-7")
def test_a_typing_error_gets_the_key_that_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'rag\.retrieve-k'"):
        Settings.load(environment={"CITEWELL_RAG__RETREIVE_K": "3"})


@pytest.mark.requirement("PORT-3", "SCORE-5", "RRF-1", "POST-5")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("retrieval.search.mode", "sparse"),
        ("retrieval.search.mode", "Hybrid"),
        ("retrieval.search.mode", ""),
        ("retrieval.search.rrf-k", 0),
        ("retrieval.search.rrf-k", "nan"),
        ("retrieval.search.paths", []),
        ("retrieval.search.paths", ["bm25"]),
        ("retrieval.search.weights", {"lexical": -1}),
        ("retrieval.search.weights", {"lexical": float("inf")}),
        ("rag.retrieve-k", 0),
        ("rag.retrieve-k", 10_001),
        ("rag.retrieve-k", True),
        ("rag.retrieve-k", 2.5),
        ("rag.min-similarity", 1.01),
        ("rag.min-similarity", -1.01),
        ("rag.min-similarity", "high"),
        ("rag.refill", "perhaps"),
        ("rag.max-chunks-per-document", -1),
    ],
)
def test_a_value_out_of_range_is_refused_with_its_key_and_itself(key: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.of({key: value})
    assert key in str(caught.value)
    assert caught.value.way_out


@pytest.mark.requirement("API-7")
def test_weights_of_a_file_and_of_the_environment_are_put_together(tmp_path: Path) -> None:
    settings = _load(
        tmp_path,
        "[retrieval.search.weights]\ndense = 1.5\nlexical = 1.4\n",
        CITEWELL_RETRIEVAL__SEARCH__WEIGHTS__LEXICAL="1.2",
    )
    assert settings.search.weights == {"dense": 1.5, "dense_filtered": 1.0, "lexical": 1.2}


@pytest.mark.requirement("RRF-5")
def test_a_weight_that_reaches_the_sum_of_two_others_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"retrieval\.search\.weights"):
        Settings.of({"retrieval.search.weights": {"lexical": 2.0}})
    allowed = Settings.of({"retrieval.search.weights": {"lexical": 1.99}}).search.weights
    assert allowed == {"dense": 1.0, "dense_filtered": 1.0, "lexical": 1.99}


@pytest.mark.requirement("SCORE-5")
def test_a_floor_of_zero_is_a_floor_and_only_unset_is_off(tmp_path: Path) -> None:
    assert Settings.of({"rag.min-similarity": 0}).lookup.min_similarity == 0.0
    assert Settings.load(environment={"CITEWELL_RAG__MIN_SIMILARITY": "0"}).lookup.min_similarity == 0.0
    assert Settings.load(environment={"CITEWELL_RAG__MIN_SIMILARITY": ""}).lookup.min_similarity is None


@pytest.mark.requirement("POST-5")
def test_top_k_stands_in_for_whichever_width_is_absent() -> None:
    both = Settings.of({"rag.top-k": 8})
    assert (both.lookup.retrieve_k, both.lookup.return_n) == (8, 8)
    one = Settings.of({"rag.top-k": 8, "rag.retrieve-k": 40})
    assert (one.lookup.retrieve_k, one.lookup.return_n) == (40, 8)
    assert ("rag.return-n", 8, "rag.top-k of argument") in one.describe()


@pytest.mark.requirement("POST-5")
def test_retrieve_k_below_return_n_is_refused_with_both_values_and_origins() -> None:
    with pytest.raises(ConfigError, match=r"rag\.retrieve-k is 3 \(argument\), below rag\.return-n,.* 5 \(default\)"):
        Settings.of({"rag.retrieve-k": 3})


@pytest.mark.requirement("PORT-3")
def test_a_path_can_be_switched_off_and_the_lexical_path_can_stand_alone() -> None:
    assert Settings.of({"retrieval.search.paths": ["lexical"]}).search.paths == ("lexical",)
    assert Settings.load(environment={"CITEWELL_RETRIEVAL__SEARCH__PATHS": "lexical, dense"}).search.paths == (
        "dense",
        "lexical",
    )


@pytest.mark.requirement("API-7")
def test_a_secret_is_never_shown() -> None:
    settings = Settings.of({"embedder.url": "http://127.0.0.1:1/v1", "embedder.api-key": "sesame"})
    assert settings.embedder.api_key == "sesame"
    assert "sesame" not in repr(settings)
    assert "sesame" not in str(settings.describe())


@pytest.mark.requirement("API-7")
def test_a_file_that_can_not_be_read_or_parsed_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        Settings.load(tmp_path / "nowhere.toml", environment={})
    with pytest.raises(ConfigError, match="broken"):
        _load(tmp_path, "[rag\n", "broken.toml")
    with pytest.raises(ConfigError, match="list"):
        _load(tmp_path, "- a\n- b\n", "list.yaml")


ANYTHING = st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text()))


@given(st.sampled_from(KEYS), ANYTHING)
def test_any_value_is_either_taken_or_refused_as_a_configuration_error(key: Key, value: object) -> None:
    with contextlib.suppress(ConfigError):
        assert Settings.of({key.name: value}).describe()


@pytest.mark.requirement("API-7")
def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text("#" * 1_000_001)
    for path in (Path("/dev/zero"), tmp_path / "large.toml"):
        with pytest.raises(ConfigError, match=r"can't be read: .*File too large"):
            Settings.load(path)
    (tmp_path / "most.toml").write_text("#" * 1_000_000)
    Settings.load(tmp_path / "most.toml", environment={})
