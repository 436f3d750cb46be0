"""The frameworks' adapters where no framework is: what names them says which extra to install (API-6)."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from citewell import Document, Knowledge, Settings
from citewell.errors import ConfigError, InvalidRequest
from citewell.integrations.lazy import Framework, names_of
from citewell.integrations.passages import find, plain, where_of
from citewell.testing.fakes import HashEmbedder

PACKAGES = [("langchain", "langchain_core"), ("llamaindex", "llama_index"), ("haystack", "haystack")]


@pytest.fixture
def kb() -> Iterator[Knowledge]:
    with Knowledge.open("memory:", embedder=HashEmbedder(), settings=Settings.of({"rag.hints": False})) as knowledge:
        knowledge.ingest_documents([Document("a.md", "Slow disks.", metadata={"doc_id": "theirs", "team": "a"})])
        yield knowledge


@pytest.mark.requirement("API-6")
@pytest.mark.parametrize(("package", "framework"), PACKAGES)
def test_an_adapter_without_its_framework_names_the_extra(
    package: str, framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, framework, None)  # as if it were not installed, wherever the test runs
    adapter = importlib.import_module(f"citewell.integrations.{package}")
    extra = "llama-index" if package == "llamaindex" else package
    for name in adapter.__all__:
        with pytest.raises(ConfigError, match=rf"{name} needs .*Install citewell\[{extra}\]"):
            getattr(adapter, name)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        getattr(adapter, "Nonsense")  # noqa: B009 - the access is what is tested


@pytest.mark.requirement("API-6")
def test_importing_an_adapter_loads_no_framework() -> None:
    program = "import sys\n" + "\n".join(f"import citewell.integrations.{package}" for package, _ in PACKAGES)
    program += f"\nprint([name for name in {[name for _, name in PACKAGES]} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_another_module_that_is_missing_is_not_blamed_on_the_framework() -> None:
    find_name = names_of("citewell", {"Thing": "no_such_module"}, Framework("langchain_core", "langchain-core", "x"))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        find_name("Thing")


def test_what_lookups_make_wins_over_a_documents_own_field_of_that_name(kb: Knowledge) -> None:
    (passage,) = find(kb, "slow", count=1, options={}).passages
    assert (passage.metadata["doc_id"], passage.metadata["team"]) == ("a.md", "a")


@pytest.mark.requirement("API-8")
def test_return_n_has_the_frameworks_own_name_and_is_refused_by_ours(kb: Knowledge) -> None:
    with pytest.raises(InvalidRequest, match="'return_n'"):
        find(kb, "slow", count=1, options={"return_n": 2})


def test_metadata_are_values_of_json_alone() -> None:
    given = {"a": (1, 2.5, True, None), "b": {"c": float("nan")}, 3: object, "d": float("inf")}
    assert json.dumps(plain([np.int64(3), np.float32(0.5)])) == "[3, 0.5]"
    assert plain(given) == {"a": [1, 2.5, True, None], "b": {"c": None}, "3": "<class 'object'>", "d": None}


def test_conditions_that_can_all_hold_become_where_and_others_are_refused() -> None:
    assert where_of([("team", "a"), ("team", "a")], {"n": 1}) == {"team": "a", "n": 1}
    for pair in ([("n", 1), ("n", 2)], [("n", 1), ("n", True)]):
        with pytest.raises(InvalidRequest, match="of 'n', which nothing can meet"):
            where_of(pair)
    with pytest.raises(InvalidRequest, match="'evidence_key'"):
        where_of([("evidence_key", "a.md#chunk-0")])
