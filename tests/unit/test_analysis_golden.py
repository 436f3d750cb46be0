"""A change of the tokens is a change of the version: stores made with the other tokens must be refused, not misread."""

from __future__ import annotations

import hashlib
import json

import pytest

from citewell.analysis import ANALYZER_VERSION, Analyzer

SAMPLES = [
    "The quick brown foxes were jumping over lazy dogs; nobody's running generously, happily or organizationally.",
    "Alert KubePodCrashLooping: pod kube-system/etcd-0 (10.0.0.12:2379) restarted 5 times, KB-4471 / CVE-2031-0042.",
    "fetchTableRow() -> max_conn=100; HTTPServerError 503, SQLSTATE 53300, pg_stat_activity, --flag-name, v1.24.3-rc.1",
    "https://user@shop.example:8080/a/b.html?x=1#top C:\\Temp\\new.txt ~/.env std::vector<int> C++ C# F# .NET ASP.NET",
    "PVCs VMs APIs iOS k8s x509v3 sha256:7c9d5b 3.14 1,000 10MiB 2031-01-15T10:30:00Z e-mail U.S. I/O O'Reilly's don’t",
    "数据库连接池耗尽时先扩容再重启网关。中华人民共和国国务院发布第3号令；Redis连接超时，重试５次。",
    "データベースの接続が切れました。らーめん ﾒﾓﾘ 쿠버네티스 파드가 재시작됩니다 สวัสดีครับ ຂອບໃຈ မြန်မာ ភាសាខ្មែរ",
    "Кошки бегали быстро. Ποσειδῶν Straße İstanbul naïve café مرحبا بالعالم हिन्दी में שלום tiếng Việt 🔥🇩🇪 ﬁle ² ½ ﷺ",
    "what is the reason why it does not work? WHY IS IT SLOW 什么是连接池？如何重启网关？",
    "___ __init__ _word_ ... -- // \\\\ :: @ # ++ a+b=c x" + "y" * 200,
]

RECORDED = {
    "1-english": "d8e75d34f8affe1f",
    "1-german": "d951f139e1effc18",
    "1-unstemmed": "236f904988d87b79",
}
"""By version: the digest of all tokens. A changed digest needs a raised version (`_RULES`) and a new line here."""


def digest(analyzer: Analyzer) -> str:
    tokens = [[analyzer.analyze(text), analyzer.analyze_query(text)] for text in SAMPLES]
    return hashlib.sha256(json.dumps(tokens, ensure_ascii=True).encode()).hexdigest()[:16]


@pytest.mark.requirement("INGEST-8", "LEX-1")
@pytest.mark.parametrize("stemmer", ["english", "german", None])
def test_tokens_change_with_the_version_alone(stemmer: str | None) -> None:
    analyzer = Analyzer(stemmer)
    assert analyzer.version in RECORDED, "record the digest of the new version"
    assert digest(analyzer) == RECORDED[analyzer.version], "the tokens changed: raise the version and record it"


@pytest.mark.requirement("INGEST-8")
def test_the_default_version_is_recorded() -> None:
    assert Analyzer().version == ANALYZER_VERSION
    assert len(set(RECORDED.values())) == len(RECORDED)
