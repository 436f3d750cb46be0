"""Passages and queries become the same tokens, whatever the script and however an identifier is written."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from subprocess import run
from time import process_time
from typing import Any

import pytest

from citewell.analysis import ANALYZER_VERSION, Analyzer, analyze, analyze_query, identifiers
from citewell.analysis.analyzer import _Remembered
from citewell.errors import ConfigError, InvalidRequest


def finds(query: str, passage: str) -> bool:
    return not set(analyze_query(query)).isdisjoint(analyze(passage))


@pytest.mark.requirement("LEX-1")
def test_words_are_folded_stemmed_and_kept_in_order_and_number() -> None:
    assert analyze("The Pods restarted; restarting PODS") == ["the", "pod", "restart", "restart", "pod"]
    assert analyze("Straße STRASSE") == ["strass", "strass"]


@pytest.mark.requirement("LEX-1")
@pytest.mark.parametrize("text", [None, 5, b"etcd", ["etcd"], {"text": "etcd"}])
def test_what_is_no_text_is_refused_by_name_and_value(text: Any) -> None:  # noqa: ANN401 - raw on purpose
    for analyse in (analyze, analyze_query, identifiers, Analyzer().analyze, Analyzer().analyze_query):
        with pytest.raises(InvalidRequest, match="the text to analyse can't be ") as caught:
            analyse(text)
        assert caught.value.way_out


@pytest.mark.requirement("LEX-1")
@pytest.mark.parametrize("words", [None, "the", 5, [5], [["the"]]])
def test_stop_words_are_a_collection_of_texts(words: Any) -> None:  # noqa: ANN401 - raw on purpose
    assert Analyzer(stop_words={"gateway"}).analyze_query("the gateway") == ["the"]
    with pytest.raises(InvalidRequest, match="stop_words can't ") as caught:
        Analyzer(stop_words=words)
    assert caught.value.way_out


@pytest.mark.requirement("LEX-1")
def test_a_query_loses_stop_words_and_repetitions_and_keeps_its_order() -> None:
    assert analyze_query("Why does the gateway restart, and which gateway is it?") == ["gateway", "restart"]
    assert analyze_query("What's the user's quota? I don't know") == ["user", "quota", "know"]


@pytest.mark.requirement("LEX-1")
def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert analyze_query("to be or what to be") == ["to", "be", "or", "what"]
    assert analyze_query("什么 是 的") == ["什么", "是", "的"]
    assert analyze_query("The Who") == ["the", "who"]


@pytest.mark.requirement("LEX-1")
def test_not_stays_in_a_query() -> None:
    assert analyze_query("which node is not ready") == ["node", "not", "readi"]


@pytest.mark.requirement("LEX-1")
def test_a_stop_word_in_capitals_is_a_name_unless_all_is_in_capitals() -> None:
    assert analyze_query("who runs IT in the US") == ["run", "it", "us"]
    assert analyze_query("WHY IS ETCD SLOW") == ["etcd", "slow"]


@pytest.mark.requirement("LEX-1", "LEX-3")
@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("fetchTableRow", ["fetchtablerow", "fetch", "tabl", "row"]),
        ("max_conn", ["max_conn", "max", "conn"]),
        ("KB-4471", ["kb-4471", "kb", "4471"]),
        ("CVE-2031-0042", ["cve-2031-0042", "cve", "2031", "0042"]),
        ("10.0.0.12", ["10.0.0.12"]),
        ("v1.24.3", ["v1.24.3", "1.24.3", "1.24", "v1"]),
        ("SQLSTATE 53300", ["sqlstate", "53300"]),
        ("pg_stat_activity", ["pg_stat_activity", "pg", "stat", "activ"]),
        ("--flag-name", ["flag-name", "flag", "name"]),
        ("kube-system/etcd-0", ["kube-system/etcd-0", "kube-system", "kube", "system", "etcd-0", "etcd"]),
        ("/var/lib/etcd/member.db", ["var/lib/etcd/member.db", "var", "lib", "etcd", "member.db", "member", "db"]),
        ("C:\\new\\table.md", ["c:\\new\\table.md", "new", "table.md", "tabl", "md"]),
        ("https://a.example:8080/x", ["https://a.example:8080/x", "https", "a.example", "exampl", "8080"]),
        ("shard/3", ["shard/3", "shard", "3"]),
        ("a/b-c", ["a/b-c", "b-c", "bc"]),
        ("nginx:1.25.3", ["nginx:1.25.3", "nginx", "1.25.3", "1.25"]),
        ("oncall@shop.example", ["oncall@shop.example", "oncal", "shop.example", "shop", "exampl"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("HTTPServerError", ["httpservererror", "http", "server", "error"]),
        ("KubePodCrashLooping", ["kubepodcrashlooping", "kubepodcrashloop", "kube", "pod", "crash", "loop"]),
        ("TargetDown", ["targetdown", "target", "down"]),
        ("iOS", ["ios", "io"]),
        ("404Error", ["404error", "404", "error"]),
        ("v1.24", ["v1.24", "1.24", "v1"]),
        ("1.24.3-rc.1", ["1.24.3-rc.1", "1.24", "rc"]),
        ("2031-01-15", ["2031-01-15", "2031"]),
        ("sha256", ["sha256", "sha", "256"]),
        ("KB4471", ["kb4471", "kb", "4471"]),
        ("HTTP2Server", ["http2server", "http2", "server"]),
        ("x509v3", ["x509v3", "509", "v3"]),
        ("k8s", ["k8s"]),
        ("__init__", ["__init__", "init"]),
        ("PVCs", ["pvc"]),
        ("VMs", ["vm"]),
        ("C++", ["c++"]),
        ("C++17", ["c++", "17"]),
        ("C#", ["c#"]),
        ("value++ docs#", ["valu", "doc"]),
        ("max‑conn", ["max-conn", "max", "conn"]),
        (".NET", [".net", "net"]),
        ("ASP.NET", ["asp.net", "asp", "net"]),
        (".env", [".env", "env"]),
        ("e-mail", ["e-mail", "email", "mail"]),
        ("U.S.", ["u.s", "us"]),
        ("I/O", ["i/o"]),
        ("O'Reilly's", ["o'reilly", "oreilli", "reilli"]),
        ("don’t", ["don't"]),
        ("end.Next", ["end.next", "end", "next"]),
        ("a.b#c++", ["a.b", "ab", "c++"]),
        ("file.md#chunk-2", ["file.md", "file", "md", "chunk-2", "chunk"]),
        ("____ ... --- /", []),
    ],
)
def test_an_identifier_is_kept_whole_and_in_parts(written: str, tokens: list[str]) -> None:
    assert analyze(written) == tokens


@pytest.mark.requirement("LEX-1", "LEX-3")
@pytest.mark.parametrize(
    ("query", "passage"),
    [
        ("4471", "see KB-4471"),
        ("0042", "CVE-2031-0042 is fixed"),
        ("conn", "raise max_conn"),
        ("table", "fetchTableRow fails"),
        ("CVE", "CVE-2031-0042"),
        ("crash looping pods", "KubePodCrashLooping"),
        ("kubepodcrashlooping", "KubePodCrashLooping"),
        ("KUBEPODCRASHLOOPING", "KubePodCrashLooping"),
        ("KubePodCrashLooping", "pods crash in a loop"),
        ("1.24.3", "upgraded to v1.24.3"),
        ("v1.24.3", "release 1.24.3"),
        ("1.24", "upgraded to v1.24.3"),
        ("KB4471", "see KB-4471"),
        ("nginx:1.25.3", "1.25.3 is broken"),
        ("image sha256:a1b2c3d4", "digest a1b2c3d4"),
        ("host 10.0.0.12:5432", "from 10.0.0.12"),
        ("etcd-0", "pod kube-system/etcd-0 is down"),
        ("kube-system/etcd-0", "etcd-0 is down"),
        ("https://wiki.example/KB-4471", "KB-4471"),
        ("PVC", "all PVCs are bound"),
        ("email", "by e-mail"),
        ("Redis", "Ｒｅｄｉｓ 连接超时"),
        ("超时", "Redis连接超时"),
        ("data\u00adbase", "database"),
        ("data\u200bbase", "database"),
        ("ﬁle", "file"),
        ("cafe\u0301", "CAFÉ"),
        ("max‑conn", "max-conn"),
        ("user’s", "user's"),
    ],
)
def test_what_a_person_would_call_the_same_is_found(query: str, passage: str) -> None:
    """I83, I81: whole, in part, in other widths and other cases."""
    assert finds(query, passage)


@pytest.mark.requirement("LEX-2")
def test_query_syntax_is_nothing_but_its_words() -> None:
    """I83: no operator, no quote, no hyphen means anything."""
    assert analyze_query('KB -4471 OR "') == ["kb", "4471"]
    assert analyze_query("+etcd -slow field:value (a AND b)* ~2 ^3") == [
        "etcd", "slow", "field:value", "field", "valu", "and", "b", "2", "3",
    ]  # fmt: skip


@pytest.mark.requirement("LEX-1")
def test_the_steps_of_a_path_stay_out_of_a_query_where_their_parts_stand_in() -> None:
    assert analyze_query("monitoring/prometheus-k8s-0") == [
        "monitoring/prometheus-k8s-0",
        "monitor",
        "prometheus",
        "k8s",
    ]
    assert "prometheus-k8s-0" in analyze("monitoring/prometheus-k8s-0")
    assert analyze_query("10.0.0.12:5432") == ["10.0.0.12:5432", "10.0.0.12", "5432"]
    assert analyze_query("sha256:7c9d5b6f4") == ["sha256:7c9d5b6f4", "sha", "256", "7c9d5b6f4"]


@pytest.mark.requirement("LEX-1", "LEX-3")
@pytest.mark.parametrize("query", ["连接池", "连接池耗尽", "重启网关", "网关", "数据库", "扩容", "耗尽时"])
def test_parts_of_a_chinese_sentence_find_it(query: str) -> None:
    """I81: ZH, however the dictionary cuts the sentence and however it cuts the query."""
    sentence = set(analyze("数据库连接池耗尽时先扩容再重启网关"))
    assert set(analyze_query(query)) <= sentence


@pytest.mark.requirement("LEX-1")
def test_chinese_is_cut_into_words_their_parts_and_the_other_pairs() -> None:
    assert analyze("连接池") == ["连接", "连接池", "接池"]
    assert analyze("数据库") == ["数据", "据库", "数据库"]
    assert analyze("网") == ["网"]
    assert analyze_query("如何重启网关？") == ["重启", "网关", "何重", "启网"]


@pytest.mark.requirement("LEX-1")
def test_kana_and_hangul_become_pairs_and_single_characters_stay() -> None:
    assert analyze("データベース") == ["デー", "ータ", "タベ", "ベー", "ース"]
    assert analyze("ﾃﾞｰﾀ") == ["デー", "ータ"]
    assert analyze("らーめんの") == ["らー", "ーめ", "めん", "んの"]
    assert analyze("メモリの量") == ["メモ", "モリ", "の", "量"]
    assert analyze("쿠버네티스 팟") == ["쿠버", "버네", "네티", "티스", "팟"]


@pytest.mark.requirement("LEX-1")
def test_scripts_of_south_east_asia_become_pairs_of_letters_with_their_signs() -> None:
    assert analyze("สวัสดี") == ["สวั", "วัส", "สดี"]
    assert finds("ដំណើរការ", "ការដំណើរការ")


@pytest.mark.requirement("LEX-1")
def test_other_scripts_have_words() -> None:
    assert analyze("Кошка СПИТ") == ["кошка", "спит"]
    assert analyze("Σίσυφος ΣΊΣΥΦΟΣ") == ["σίσυφοσ", "σίσυφοσ"]
    assert analyze("مرحبا بالعالم") == ["مرحبا", "بالعالم"]
    assert analyze("हिन्दी में") == ["हिन्दी", "में"]
    assert analyze("ok 🔥🇩🇪") == ["ok", "🔥", "🇩🇪"]


@pytest.mark.requirement("SCORE-6")
def test_identifiers_have_a_digit_an_underscore_an_inner_hyphen_or_camel_case() -> None:
    text = (
        "Why did KB-4471, max_conn, fetchTableRow, HTTPServer, end-to-end and 2024 fail on API, PVCs, C++ or --force?"
    )
    assert identifiers(text) == ["kb-4471", "max_conn", "fetchtablerow", "httpserver", "end-to-end", "2024"]


@pytest.mark.requirement("SCORE-6")
def test_identifiers_are_named_once_in_the_steps_of_their_paths() -> None:
    assert identifiers("kube-system/etcd-0 and etcd-0 at 10.0.0.12:5432") == [
        "kube-system",
        "etcd-0",
        "10.0.0.12",
        "5432",
    ]
    assert identifiers("shard/3") == ["3"]
    assert identifiers("Ｘ１ ZX-81-Q v1.24.3's 第3章 plain words ____") == ["x1", "zx-81-q", "v1.24.3", "3"]


@pytest.mark.requirement("LEX-1")
def test_nothing_that_can_be_in_a_string_breaks_the_analysis() -> None:
    assert analyze("\ud800a\x00b\udfff \ufffe\u2028") == ["a", "b"]
    assert analyze("") == analyze_query("") == analyze_query("?!") == identifiers("") == []


@pytest.mark.requirement("LEX-1")
@pytest.mark.parametrize(
    "text", ["x" * 300_000, "aB" * 150_000, "e\u0301" * 150_000, "ß" * 10_000, "a_" * 5_000, "a/b-" * 5_000]
)
def test_a_token_is_cut_at_128_characters(text: str) -> None:
    assert max(map(len, analyze(text))) == 128
    assert analyze(text[:1_000])[0] == analyze(text)[0]


@pytest.mark.requirement("LEX-1")
def test_what_is_longer_than_a_token_has_no_parts() -> None:
    assert analyze("Ab" * 64) == ["ab" * 64, *["ab"] * 64]
    assert analyze("Ab" * 65) == ["ab" * 64]


LONG = {
    "one line of JSON": "".join(f'{{"key_{n}":{{"id":{n * 7919},"name":"camelCase{n}"}}}},' for n in range(6_000)),
    "base64": "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24sIGJ1dCBieSB0/+" * 4_000,
    "slashes": "a/" * 150_000,
    "dots": "." * 300_000,
    "letters and dots": ".a" * 150_000,
    "colons": ":" * 299_999 + "a",
    "apostrophes": "s'" * 150_000,
    "capitals": "A" * 300_000,
    "changing case": "aA" * 150_000,
    "underscores": "_" * 300_000,
    "marks": "a" + "\u0301" * 300_000,
    "Chinese": "数据库连接池" * 50_000,
    "Thai": "ส" * 300_000,
    "signs": "C++" * 100_000,
}  # fmt: skip


@pytest.mark.requirement("LEX-1")
@pytest.mark.parametrize("kind", LONG)
def test_300_kb_of_anything_take_about_as_long_as_ten_times_30_kb(kind: str) -> None:
    """I108: no text is cut in quadratic time; the bound is generous, a quadratic step would miss it by far."""
    text = LONG[kind]
    Analyzer().analyze(text[:30_000])  # loads what is loaded once
    started = process_time()
    Analyzer().analyze(text)
    assert process_time() - started < 3


@pytest.mark.requirement("LEX-1")
def test_a_stemmer_can_be_chosen_or_left_out() -> None:
    assert Analyzer("german").analyze("Häuser liefen") == ["haus", "lief"]
    assert Analyzer(None).analyze("restarted pods") == ["restarted", "pods"]
    assert Analyzer("russian").analyze("кошки") == ["кошк"]
    assert Analyzer(stop_words=["etcd"]).analyze_query("why is etcd slow") == ["whi", "is", "slow"]


@pytest.mark.requirement("LEX-1")
def test_a_stemmer_that_does_not_exist_is_refused_with_those_that_do() -> None:
    """I82."""
    with pytest.raises(ConfigError, match=r"no stemmer 'klingon'.*english.*french"):
        Analyzer("klingon")


@pytest.mark.requirement("INGEST-8")
def test_each_stemmer_has_its_own_version_and_stop_words_have_none() -> None:
    versions = [Analyzer(name).version for name in ("english", "german", None)]
    assert len(set(versions)) == 3
    assert Analyzer(stop_words=()).version == Analyzer().version == ANALYZER_VERSION


def test_what_is_remembered_is_bounded_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Remembered, "_most", 100)
    analyzer = Analyzer()
    words = " ".join(f"word{n} pods" for n in range(1_000))
    first = analyzer.analyze(words)
    assert first.count("pod") == 1_000
    assert 0 < len(analyzer._indexed) <= 100
    assert analyzer.analyze(words) == first
    analyzer.analyze("x" * 1_000)
    assert max(map(len, analyzer._indexed)) <= 32


@pytest.mark.requirement("LEX-1")
def test_threads_get_the_same_tokens_as_one_after_the_other() -> None:
    texts = [
        f"Restarting pods{n} KubePodCrashLooping{n % 7} 数据库连接池{n} camelCase{n} running_jobs_{n}"
        for n in range(400)
    ]
    expected = [Analyzer().analyze(text) for text in texts[::40]]
    shared = Analyzer()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shared.analyze, texts))
        asked = list(pool.map(shared.analyze_query, texts))
    assert found[::40] == expected
    assert asked == [shared.analyze_query(text) for text in texts]


@pytest.mark.requirement("LEX-1")
def test_every_process_gets_the_same_tokens() -> None:
    text = "why 数据库连接池耗尽 KB-4471 fetchTableRow データ a b"
    program = f"from citewell.analysis import analyze_query; print(ascii(analyze_query({text!a})))"
    expected = f"{analyze_query(text)!a}\n"
    for seed in ("0", "1"):
        environment = {"PYTHONHASHSEED": seed}
        done = run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == expected


def test_words_that_others_teach_the_segmenter_are_none_of_ours() -> None:
    program = (
        "import rjieba; rjieba.add_word('接池耗', 100_000, 'n');"
        "from citewell.analysis import analyze; print(ascii(analyze('接池耗')), rjieba.cut('接池耗'))"
    )
    done = run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{analyze('接池耗')!a} ['接池耗']\n"
    assert "接池耗" not in analyze("接池耗")


def test_importing_the_analysis_loads_neither_dictionary_nor_stemmer() -> None:
    program = "import sys, citewell.analysis; print({'rjieba', 'Stemmer'} & set(sys.modules))"
    done = run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
