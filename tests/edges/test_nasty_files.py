"""Files as they are found in the wild: each ends as it should, its text right or its refusal named (INGEST-1..9)."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from odd_files import ODD_FILES, Odd

from citewell import IngestReport, Knowledge
from citewell.model import EvidenceBlock, FileReport, FileStatus
from citewell.testing.fakes import HashEmbedder

NASTY = Path(__file__).resolve().parents[3] / "shared" / "data" / "nasty"
MAXIMUM = 2_000
FENCE = re.compile(r"^[ >]*(`{3,}|~{3,})", re.MULTILINE)


MISSED: Mapping[str, set[str]] = {"resources.adoc": {"resources", "cmo", "routes", "services"}}  # targets of its links
"""Words that the rough way finds and a reader of the page does not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What ingestion made of a folder."""

    report: IngestReport
    chunks: dict[str, list[EvidenceBlock]]

    def file(self, name: str) -> FileReport:
        return next(file for file in self.report.files if file.doc_id == name)


def ingested(folder: Path) -> Outcome:
    with Knowledge.open("memory:", embedder=HashEmbedder()) as kb:
        report = kb.ingest(folder)
        chunks = {
            each.doc_id: [kb.show(f"{each.doc_id}#chunk-{index}") for index in range(each.chunks)]
            for each in kb.documents()
        }
    return Outcome(report, chunks)


@pytest.fixture(scope="module")
def nasty() -> Outcome:
    if not NASTY.is_dir():
        pytest.skip(f"the shared data set is not there: {NASTY}")
    return ingested(NASTY)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("odd")
    for file in ODD_FILES:
        (folder / file.name).write_bytes(file.data)
    return ingested(folder)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the manifest calls for.

    Attributes:
        said: (text, breadcrumb or None for any, page or None, line or None) of chunks that there must be.
        unsaid: texts that no chunk holds.
    """

    name: str
    status: FileStatus = "added"
    detail: str = ""
    title: str = ""
    said: Sequence[tuple[str, str | None, int | None, int | None]] = ()
    unsaid: Sequence[str] = ()
    metadata: Sequence[tuple[str, object]] = ()


WANTED = (
    Wanted(
        "api-reference-236k.md",
        title="HTTP API",
        said=[("## SESSION MANAGEMENT", "HTTP API > SESSION MANAGEMENT", None, None)],
        metadata=[("slug", "/http_api_reference")],
    ),
    Wanted(
        "ascii-art-fence.md",
        title="CronJob",
        said=[("# ┌───────────── minute (0 - 59)", None, None, None), ("* * * * *", None, None, None)],
        metadata=[("weight", 80)],
    ),
    Wanted(
        "bom-frontmatter-zh.md",
        title="访问集群",
        said=[("## 访问集群中正在运行的服务", "访问集群中正在运行的服务", None, 365)],
        unsaid=["\ufeff", "content_type: concept\n---"],
        metadata=[("weight", 20)],
    ),
    Wanted(
        "crlf-frontmatter.md",
        title="Memory Manager",
        said=[("## Memory Manager configuration", None, None, None)],
        metadata=[("min-kubernetes-server-version", "v1.21")],
    ),
    Wanted(
        "crlf-vi.html",
        title="Sử dụng kubectl để triển khai ứng dụng",
        said=[("- Tìm hiểu về triển khai ứng dụng (Deployment).", "Mục tiêu", None, None)],
        unsaid=["<div", "stylesheet", "weight: 10"],
        metadata=[("language", "vi"), ("weight", 10)],
    ),
    Wanted("empty.md", "no_text", "it is empty"),
    Wanted(
        "giant-table.md",
        title="Feature Gates",
        said=[
            (
                "| Feature | Default | Stage | Since | Until |",
                "Overview > Feature gates for Alpha or Beta features",
                None,
                None,
            )
        ],
    ),
    Wanted(
        "html-heavy.md",
        title="Vespa query performance - a practical guide",
        said=[("## Tear down the container", "Tear down the container", None, 2386)],
    ),
    Wanted(
        "one-line-10k.md", title="Sample Metrics", said=[("cluster_operator_conditions{", "Sample Metrics", None, None)]
    ),
    Wanted(
        "pdf-named.md",
        detail="it is a PDF file, not Markdown, and read as such",
        title="example_table",
        said=[("Table 1. This is an example table with two multicolumn headers", "", 1, None)],
        unsaid=["%PDF"],
    ),
    Wanted(
        "resources.adoc",
        title="Resources reference for the Cluster Monitoring Operator",
        said=[
            ("**Important:** In certain situations, accessing endpoints", None, None, 8),
            ("```terminal\n", None, None, None),
            ("- Routes\n- Services", None, None, 8),
        ],
        unsaid=["====", "link:", "DO NOT EDIT"],
    ),
    Wanted("rtl-arabic-readme.md", said=[("## 🙌 المساهمة", "🙌 المساهمة", None, 415)]),
    Wanted("scanned.pdf", "no_text", "its one page holds no text, perhaps images of it; it needs OCR"),
    Wanted(
        "small.pdf",
        title="sample_pdf_with_headers",
        said=[
            (
                "A wiki (/ˈwɪki/ (About this soundlisten) WIK-ee) is a hypertext publication collaboratively edited",
                "",
                1,
                None,
            ),
            ("having been ranked in the top ten since 2007.[3]", "", 2, None),
            ("Some wikis, including the original, have a backlink feature", "", 4, None),
        ],
        unsaid=["This is a header", "This is a footer", "Page 3 of 4"],
    ),
    Wanted(
        "unbalanced-fence-base64.md",
        title="MachineConfigControllerPausedPoolKubeletCA",
        said=[("## Mitigation", "MachineConfigControllerPausedPoolKubeletCA > Mitigation", None, None)],
    ),
    Wanted(
        "utf16le-crlf-requirements.txt",
        detail="read as utf-16-le",
        said=[("click==8.1.7\ncolorama==0.4.6\ncontourpy==1.2.1", "", None, 1)],
    ),
    Wanted(
        "vertical-merge.docx",
        title="遗传病检测项目表",
        said=[
            (
                f"| {number} | {disease} | {gene} | 15个工作日 | 检测方法：提取外周血基因组 DNA",
                "遗传病检测项目表",
                None,
                None,
            )
            for number, disease, gene in [
                ("Q0101", "遗传性乳腺癌", "BRCA1"),
                ("Q0102", "遗传性卵巢癌", "BRCA2"),
                ("Q0103", "林奇综合征", "MLH1"),
                ("Q0104", "家族性腺瘤性息肉病", "APC"),
            ]
        ],
    ),
)


@pytest.mark.requirement("INGEST-1", "INGEST-2", "INGEST-3", "INGEST-9")
@pytest.mark.parametrize("wanted", WANTED, ids=lambda wanted: wanted.name)
def test_every_nasty_file_ends_as_its_manifest_calls_for(nasty: Outcome, wanted: Wanted) -> None:
    """Trials H and I."""
    file = nasty.file(wanted.name)
    assert (file.status, file.detail) == (wanted.status, wanted.detail)
    chunks = nasty.chunks.get(wanted.name, [])
    assert bool(chunks) == (wanted.status == "added")
    assert {chunk.title for chunk in chunks} <= {wanted.title or Path(wanted.name).stem}
    for text, breadcrumb, page, line in wanted.said:
        holding = [chunk for chunk in chunks if text in chunk.text]
        assert holding, text
        assert breadcrumb is None or holding[0].breadcrumb == breadcrumb
        assert (page, line) in ((None, None), (holding[0].locator.page, holding[0].locator.line))
    for text in wanted.unsaid:
        assert not [chunk.text for chunk in chunks if text in chunk.text]
    assert all(chunk.metadata[name] == value for chunk in chunks for name, value in wanted.metadata)


@pytest.mark.requirement("INGEST-1")
def test_every_file_of_the_manifest_is_in_the_table(nasty: Outcome) -> None:
    listed = [line.split("\t")[0] for line in (NASTY / "manifest.tsv").read_text("utf-8").splitlines()[1:]]
    assert sorted(listed) == sorted(wanted.name for wanted in WANTED)
    assert {file.doc_id for file in nasty.report.files} == {*listed, "manifest.tsv"}


def written(name: str) -> str:
    """What a person wrote in a file, by a rougher way than its reader's."""
    data = (NASTY / name).read_bytes()
    if name.endswith(".docx"):
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            return " ".join(re.findall(r"<w:t(?: [^>]*)?>([^<]*)", package.read("word/document.xml").decode()))
    text = data.decode("utf-16" if data.startswith(b"\xff\xfe") else "utf-8-sig")
    if name.endswith(".html"):
        return re.sub(r"<[^>]*>", "", text[text.index("<body") :])
    if name.endswith(".adoc"):
        kept = (line for line in text.split("\n") if not line.startswith((":", "//", "[", "include")))
        return re.sub(r"link:|\{[\w-]+\}", "", "\n".join(kept))
    return re.sub(r"\A---\r?\n.*?\n---\r?\n", "", text, flags=re.DOTALL)


TEXTS = [wanted.name for wanted in WANTED if wanted.status == "added" and not wanted.name.startswith(("pdf", "small"))]


@pytest.mark.requirement("INGEST-1", "INGEST-4")
@pytest.mark.parametrize("name", TEXTS)
def test_no_word_of_a_nasty_file_is_lost(nasty: Outcome, name: str) -> None:
    """Each as often as it was written, or more often: headers and fence marks are repeated."""
    shown = Counter(word for chunk in nasty.chunks[name] for word in re.findall(r"\w+", chunk.text))
    lost = Counter(re.findall(r"\w+", written(name))) - shown
    assert set(lost) <= MISSED.get(name, set()), lost


@pytest.mark.requirement("INGEST-1", "INGEST-2", "INGEST-6", "INGEST-9")
@pytest.mark.parametrize("file", ODD_FILES, ids=lambda file: file.name)
def test_every_odd_file_ends_as_it_should(odd: Outcome, file: Odd) -> None:
    """Trials I105, I107, I108, I111, I114, I116."""
    report = odd.file(file.name)
    detail = re.sub(r"(?:; |^)same text as '.*'$", "", report.detail)  # one text in several encodings
    assert (report.status, detail) == (file.status, file.detail)
    texts = [chunk.text for chunk in odd.chunks.get(file.name, [])]
    if file.texts is not None:
        assert texts == list(file.texts)
    assert all(any(said in text for text in texts) for said in file.said)


@pytest.mark.requirement("INGEST-2", "INGEST-4")
@pytest.mark.parametrize("folder", ["nasty", "odd"])
def test_whatever_the_file_chunks_are_bounded_clean_and_balanced(folder: str, request: pytest.FixtureRequest) -> None:
    outcome: Outcome = request.getfixturevalue(folder)
    for chunk in (chunk for chunks in outcome.chunks.values() for chunk in chunks):
        assert 0 < len(chunk.text) <= MAXIMUM, chunk.evidence_key
        assert not {"\r", "\x00", "\ufffd"} & set(chunk.text), chunk.evidence_key
        assert chunk.text == chunk.text.encode("utf-8").decode("utf-8")
        if chunk.doc_id not in {
            "unbalanced-fence-base64.md",
            "html-heavy.md",
        }:  # as unbalanced as their authors left them
            assert len(FENCE.findall(chunk.text)) % 2 == 0, chunk.evidence_key


@pytest.mark.requirement("INGEST-1", "INGEST-4")
def test_every_chunk_of_a_table_begins_with_its_header(odd: Outcome, nasty: Outcome) -> None:
    """Trials I108, I110."""
    tables = {
        "table.csv": "| id | name |\n| --- | --- |\n",
        "vertical-merge.docx": "| 项目编号 | 检测项目 | 相关基因 | 周期 | 检测方法 |\n| --- |",
    }
    rows = [chunk for chunk in odd.chunks["table.csv"] if "| item " in chunk.text]
    assert len(rows) > 50
    assert all(chunk.text.startswith(tables["table.csv"]) for chunk in rows)
    merged = [chunk for chunk in nasty.chunks["vertical-merge.docx"] if "Q010" in chunk.text]
    assert all(tables["vertical-merge.docx"] in chunk.text for chunk in merged)


@pytest.mark.requirement("INGEST-1")
def test_rows_and_records_are_found_at_their_lines(odd: Outcome) -> None:
    for chunk in odd.chunks["table.csv"]:
        first = re.search(r"\| (\d+) \| item", chunk.text)
        assert first is not None
        # The first chunk begins with the header itself.
        assert chunk.locator.line == (int(first.group(1)) + 2 if chunk.chunk_index else 1)
