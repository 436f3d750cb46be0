"""The default model keeps the embedder contract, and means what it should; skipped where it is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.embedders import onnx
from citewell.adapters.embedders.models import USE_MULTILINGUAL, cache_dir, installed, verify
from citewell.adapters.embedders.onnx import UseMultilingual, begin
from citewell.errors import EmbedderUnavailable
from citewell.ports import Embedder
from citewell.testing import EmbedderContract
from citewell.testing.embedder import LONG_TEXTS, ODD_TEXTS, TEXTS

MODEL = installed(cache_dir())
NEEDS_MODEL = pytest.mark.skipif(
    MODEL is None, reason="the default model is not installed; `citewell model pull` fetches it"
)

PARAPHRASES = (
    ("The database ran out of connections.", "No more sessions can be opened to Postgres."),
    ("Restart the gateway after changing its certificate.", "Once the TLS cert is replaced, reboot the ingress."),
    ("The disk is full.", "There is no space left on the device."),
    ("Customers were charged twice.", "A payment was taken two times from the buyers."),
    ("数据库的连接用完了。", "已经没有可用的数据库会话。"),
    ("更换证书之后要重启网关。", "新的证书装好后，请重新启动入口服务。"),
    ("磁盘满了。", "设备上没有剩余空间。"),
    ("客户被重复扣款。", "买家的钱被扣了两次。"),
)
ACROSS = tuple((PARAPHRASES[i][0], PARAPHRASES[i + 4][0]) for i in range(4))


@pytest.fixture(scope="module")
def model() -> Iterator[UseMultilingual]:
    embedder = UseMultilingual(MODEL, workers=2)
    yield embedder
    embedder.close()


@NEEDS_MODEL
class TestUseMultilingual(EmbedderContract):
    @pytest.fixture
    def embedder(self, model: UseMultilingual) -> Embedder:
        return model


@NEEDS_MODEL
@pytest.mark.requirement("INGEST-8")
def test_the_installed_file_is_the_one_that_the_fingerprint_names(model: UseMultilingual) -> None:
    assert MODEL is not None
    verify(MODEL)
    assert model.fingerprint.startswith(USE_MULTILINGUAL.sha256)


@NEEDS_MODEL
@pytest.mark.parametrize("pairs", [PARAPHRASES[:4], PARAPHRASES[4:], ACROSS], ids=["English", "Chinese", "across"])
@pytest.mark.requirement("PORT-4")
def test_each_sentence_is_closer_to_its_paraphrase_than_to_other_sentences(
    model: UseMultilingual, pairs: tuple[tuple[str, str], ...]
) -> None:
    similarity = model.embed_passages([a for a, _ in pairs]) @ model.embed_passages([b for _, b in pairs]).T
    assert similarity.argmax(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.slow
@NEEDS_MODEL
@pytest.mark.requirement("PORT-6")
def test_the_number_of_workers_changes_no_byte(model: UseMultilingual) -> None:
    texts = [text for text in (*TEXTS, *ODD_TEXTS) for _ in range(3)]
    alone = UseMultilingual(MODEL, workers=1).embed_passages(texts)
    assert model.embed_passages(texts).tobytes() == alone.tobytes()
    assert UseMultilingual(MODEL, workers=4).embed_passages(texts).tobytes() == alone.tobytes()


@NEEDS_MODEL
@pytest.mark.requirement("PORT-6")
def test_a_query_is_embedded_like_a_passage(model: UseMultilingual) -> None:
    for text in TEXTS:
        assert model.embed_query(text).tobytes() == model.embed_passages([text]).tobytes()


@NEEDS_MODEL
@pytest.mark.requirement("INGEST-4")
def test_a_text_within_the_limit_counts_to_its_last_word_and_beyond_it_does_not(model: UseMultilingual) -> None:
    whole = "文" * (model.max_tokens - 3)
    assert model.count_tokens(whole) == model.max_tokens
    assert model.embed_query(whole).tobytes() != model.embed_query(whole[:-1]).tobytes()
    assert model.embed_query(whole + "证书").tobytes() == model.embed_query(whole).tobytes()


@NEEDS_MODEL
@pytest.mark.requirement("INGEST-2")
def test_what_follows_a_nul_is_not_lost(model: UseMultilingual) -> None:
    """The tokenizer takes NUL for the end of the text."""
    assert model.embed_query("disk\0full").tobytes() == model.embed_query("disk full").tobytes()
    assert float(model.embed_query("disk\0full") @ model.embed_query("disk")) < 0.999


@NEEDS_MODEL
@pytest.mark.requirement("PORT-5")
def test_a_query_does_not_wait_for_a_batch_of_passages(model: UseMultilingual) -> None:
    """I135: a lookup is answered while documents are being embedded."""
    passages = [LONG_TEXTS[2][:2000]] * 24
    with ThreadPoolExecutor(1) as pool:
        batch = pool.submit(model.embed_passages, passages)
        time.sleep(0.05)
        assert model.embed_query("why is etcd slow").shape == (512,)
        assert not batch.done()
        batch.result()


@NEEDS_MODEL
@pytest.mark.requirement("PORT-6")
def test_threads_that_come_first_together_load_the_model_once() -> None:
    embedder = UseMultilingual(MODEL)
    start, sessions = threading.Barrier(4), []

    def embed() -> bytes:
        start.wait()
        vector = embedder.embed_query("first").tobytes()
        sessions.append(embedder._session)
        return vector

    with ThreadPoolExecutor(4) as pool:
        vectors = [future.result() for future in [pool.submit(embed) for _ in range(4)]]
    assert len(set(vectors)) == 1
    assert all(session is sessions[0] for session in sessions)


@NEEDS_MODEL
@pytest.mark.requirement("PORT-6")
def test_a_closed_model_loads_again_and_gives_the_same_bytes() -> None:
    embedder = UseMultilingual(MODEL)
    first = embedder.embed_query("again").tobytes()
    embedder.close()
    embedder.close()
    assert embedder.embed_query("again").tobytes() == first


@NEEDS_MODEL
@pytest.mark.requirement("PORT-6")
def test_another_process_and_another_hash_seed_give_the_same_bytes(model: UseMultilingual, tmp_path: Path) -> None:
    """And nothing is reported to the runtime's maker: it would leave an id and a queue below the home folder."""
    program = (
        "import sys; from pathlib import Path; from citewell.adapters.embedders.onnx import UseMultilingual;"
        "print(UseMultilingual(Path(sys.argv[1])).embed_query('网关 gateway').tobytes().hex())"
    )
    # A bare environment, because that of a build machine silences the reports by itself.
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", program, str(MODEL)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == model.embed_query("网关 gateway").tobytes().hex()
    assert done.stderr == ""
    assert list(tmp_path.rglob("*")) == []


@NEEDS_MODEL
@pytest.mark.requirement("PORT-6")
def test_the_tables_that_the_runtime_maps_give_the_same_bytes_as_the_file_read_whole(
    model: UseMultilingual, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is read whole by a runtime that can't map, too: here the graph is none."""
    vectors = [model.embed_query(text).tobytes() for text in (*TEXTS, *LONG_TEXTS)]
    monkeypatch.setattr(onnx, "graph_of", lambda _: b"no graph")
    whole = UseMultilingual(MODEL, workers=2)
    assert [whole.embed_query(text).tobytes() for text in (*TEXTS, *LONG_TEXTS)] == vectors


@NEEDS_MODEL
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system doesn't tell what is mapped")
@pytest.mark.requirement("ENGINE-1")
def test_the_tables_of_a_model_are_mapped(model: UseMultilingual) -> None:
    assert MODEL is not None
    model.warm()
    assert str(MODEL.resolve()) in Path("/proc/self/maps").read_text("utf-8")


@NEEDS_MODEL
@pytest.mark.requirement("PORT-6")
def test_a_model_that_is_a_link_or_lies_behind_one_is_loaded(
    model: UseMultilingual, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MODEL is not None
    (tmp_path / "folder").symlink_to(MODEL.parent)
    (tmp_path / "other").mkdir()
    for name in (MODEL.name, f"{MODEL.name}.sha256"):
        (tmp_path / "other" / name).symlink_to(MODEL.with_name(name))
    monkeypatch.chdir(tmp_path)
    for path in (Path("folder") / MODEL.name, Path("other") / MODEL.name):
        assert UseMultilingual(path).embed_query("disk").tobytes() == model.embed_query("disk").tobytes()


@NEEDS_MODEL
@pytest.mark.requirement("PORT-6")
def test_a_model_that_was_begun_is_loaded_once_and_gives_the_same_bytes(
    model: UseMultilingual, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MODEL is not None
    begin(MODEL)
    embedder = UseMultilingual(MODEL)
    monkeypatch.setattr(onnx, "_open_session", None)  # whoever loads it again fails
    assert embedder.embed_query("disk").tobytes() == model.embed_query("disk").tobytes()


@pytest.mark.requirement("ENGINE-4")
def test_what_fails_when_a_model_is_begun_is_said_where_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / USE_MULTILINGUAL.file_name
    begin(path)
    for _ in range(2):  # and again: there is no model still
        with pytest.raises(EmbedderUnavailable, match="is missing"):
            UseMultilingual(path).embed_query("a")


@pytest.mark.requirement("ENGINE-4")
def test_a_file_that_is_no_model_is_refused_as_unavailable(tmp_path: Path) -> None:
    """With the right size and a record beside it, so that only loading it can tell."""
    path = tmp_path / USE_MULTILINGUAL.file_name
    with path.open("wb") as file:
        file.truncate(USE_MULTILINGUAL.size)  # sparse: takes no space
    path.with_name(path.name + ".sha256").write_text(f"{USE_MULTILINGUAL.sha256}  {path.name}\n")
    with pytest.raises(EmbedderUnavailable, match="can't be loaded") as caught:
        UseMultilingual(path).embed_query("a")
    assert "citewell model pull" in caught.value.way_out


@NEEDS_MODEL
@pytest.mark.requirement("SCORE-2")
def test_unrelated_texts_are_not_close(model: UseMultilingual) -> None:
    """What a floor on similarity may count on: cosines spread from about 0 to 1."""
    similarity = model.embed_query("The disk is full.") @ model.embed_query("我喜欢在周末和朋友们一起打篮球。")
    assert -0.2 < float(np.asarray(similarity)) < 0.3


def test_a_compound_in_camel_case_is_read_as_its_words(model: UseMultilingual) -> None:
    whole = model.embed_query("KubePodCrashLooping on HTTPServer")
    assert np.array_equal(whole, model.embed_query("Kube Pod Crash Looping on HTTP Server"))
    assert model.count_tokens("KubePodCrashLooping") == model.count_tokens("Kube Pod Crash Looping")


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("", 0),
        ("disk full", 9),
        ("fooBarBaz", 11),
        ("ABc", 4),
        ("aB", 2),
        ("中文é", 3),
        ("ﷺ", 18),
        ("①ﬁ", 3),
        ("xYz中ﬁ", 7),
    ],
)
def test_a_text_has_at_most_a_token_for_each_character_after_normalisation_and_three(
    text: str, characters: int
) -> None:
    assert UseMultilingual().count_tokens(text) == characters + 3
