"""Tables and sentences of figures say what the results say: small results, written out by hand."""

from __future__ import annotations

import re

import pytest
from scripts_room import script

MILVUS = {
    "commit": "0123abc", "date": "2026-11-30", "chunks": 5000, "dimensions": 384, "lookups": 500,
    "engines": [
        {
            "engine": "Lite", "ms": {"lookup": 29.74, "with_hints": 33.0, "bare": 26.06, "bound": 31.97},
            "dense": {"same order": 1.0, "same first": 1.0, "overlap@20": 1.0},
            "lexical": {"same order": 0.5, "same first": 0.984, "overlap@20": 0.838},
            "missed": [],
        },
        {
            "engine": "2.3.5", "ms": {"lookup": 9.01, "with_hints": 11.0, "bare": 6.0, "bound": 8.9},
            "dense": {"same order": 1.0, "same first": 1.0, "overlap@20": 1.0},
            "lexical": {"same order": 1.0, "same first": 1.0, "overlap@20": 1.0},
            "missed": ["dense lookup over its bare search"],
        },
    ],
}  # fmt: skip


def lines(text: str) -> list[str]:
    """Without the line that parts the head from the rows."""
    return [line for line in text.splitlines() if line and not line.startswith("|---")]


def test_a_server_under_load_stands_beside_the_idle_one_with_the_bounds_and_what_missed_them() -> None:
    phase = {
        "lookups": 606, "errors": 0,
        "ms": {
            "lookup": {"p50": 16.12, "p99": 153.4, "most": 160.0}, "other": {"p50": 2.0, "p99": 3.0, "most": 4.0},
            "healthz": {"p50": 1.5, "p99": 37.0, "most": 40.0}, "mcp ping": {"p50": 3.6, "p99": 47.0, "most": 50.0},
        },
        "server MiB": {"first": 341.2, "after a third": 342.0, "last": 343.4}, "ingestion MiB": 300.4,
    }  # fmt: skip
    busy = {**phase, "lookups": 1792, "server MiB": {"first": 370.0, "after a third": 412.0, "last": 498.0}}
    text = script("figure_server").load(
        {
            "commit": "0123abc", "date": "2026-11-30", "clients": 16, "seconds": 60.0, "think, s": 0.5,
            "bounds": {"times idle": 2.0, "ping, ms": 50.0, "times a third": 1.25}, "idle": phase, "loaded": busy,
            "ingested": {"done": 408, "total": 597, "embedded": 7260, "changed": 408}, "missed": ["memory"],
        }
    )  # fmt: skip
    assert lines(text) == [
        "|  | idle | during the ingestion |",
        "| lookups, errors | 606, 0 | 1,792, 0 |",
        "| lookup, p50 | 16.1 ms | 16.1 ms (bound: 2 times idle) |",
        "| lookup, p99 | 153 ms | 153 ms |",
        "| `/healthz`, p50, p99 | 1.50, 37.0 ms | 1.50, 37.0 ms (bound of the p99: 50 ms) |",
        "| `ping` of MCP in a session, p50, p99 | 3.60, 47.0 ms | 3.60, 47.0 ms (bound of the p99: 50 ms) |",
        (
            "| memory of the server | 341 to 343 MiB | 370, 412 after a third, 498 MiB at last"
            " (bound: 1.25 times that after a third) |"
        ),
        "| memory of the ingestion's process, at most | 300 MiB | 300 MiB |",
        "| ingested |  | 408 of 597 documents, 7,260 chunks embedded |",
        "16 clients, 60 s, 0.5 s between an answer and the next question. Missed: memory. Commit 0123abc, 2026-11-30.",
    ]


def test_the_start_of_a_server_says_what_of_it_is_the_sdk() -> None:
    text = script("figure_server").start(
        {
            "commit": "0123abc", "date": "2026-11-30", "rounds": 5,
            "SDK, s": 1.8, "handshake, s": 1.5, "above the SDK, s": 0.07, "first lookup, s": 2.9,
        }
    )  # fmt: skip
    assert lines(text) == [
        "| medians of 5 | seconds |",
        "| the SDK's own import | 1.80 |",
        "| the handshake, from the start of the process | 1.50 |",
        "| of it above the SDK | 0.07 |",
        "| the first answer, with the default model | 2.90 |",
        "Commit 0123abc, 2026-11-30.",
    ]


def test_a_lookup_on_milvus_stands_beside_its_bare_search_and_says_where_it_misses_the_bound() -> None:
    assert lines(script("figure_milvus").lookup(MILVUS)) == [
        "| medians, ms | the bare search | dense lookup | bound | with hints |",
        "| Lite | 26.1 | 29.7 | 32.0 | 33.0 |",
        "| 2.3.5 | 6.00 | 9.01 | 8.90, missed | 11.0 |",
        "5,000 chunks of 384 dimensions, 500 lookups. Commit 0123abc, 2026-11-30.",
    ]


def test_agreement_has_a_line_for_each_engine_and_path() -> None:
    assert lines(script("figure_milvus").agreement(MILVUS)) == [
        "| beside `local` | same keys in the same order | same first | overlap of 20 |",
        "| Lite, dense | 1.000 | 1.000 | 1.000 |",
        "| Lite, lexical | **.500** | .984 | **.838** |",
        "| 2.3.5, dense | 1.000 | 1.000 | 1.000 |",
        "| 2.3.5, lexical | 1.000 | 1.000 | 1.000 |",
    ]


def searched(search: dict[str, int], recall: float) -> dict[str, object]:
    """A row of bench/milvus_scale.py, every search 3.04 ms."""
    kept = {f"{kept} {what}": value for kept in ("all", "1%", "10%", "30%")
            for what, value in (("p50_ms", 3.04), ("recall", recall))}  # fmt: skip
    return {"search": search, **kept}


def test_indexes_say_once_what_building_took_and_bold_a_poor_recall() -> None:
    hnsw = {"index": "HNSW", "build_s": 17.9, "memory_mb": 40}
    rows = [
        {**hnsw, **searched({"ef": 64}, 0.883)},
        {**hnsw, **searched({"ef": 2048}, 1.0)},
        {"index": "FLAT", "build_s": 1.0, **searched({}, 1.0)},
    ]
    result = {"chunks": 30000, "dims": 384, "server": "v2.3.5", "indexes": rows}
    poor, good = "3.0 ms, **.883**", "3.0 ms, 1.000"
    assert lines(script("figure_milvus").indexes(result)) == [
        "| index | search | built in | all | 1% | 10% | 30% |",
        f"| HNSW | ef 64 | 18 s | {' | '.join([poor] * 4)} |",
        f"| HNSW | ef 2,048 |  | {' | '.join([good] * 4)} |",
        f"| FLAT |  | 1 s | {' | '.join([good] * 4)} |",
        "30,000 chunks of 384 dimensions, server v2.3.5.",
    ]
    # 40 MB / 30,000 chunks = 1,333 bytes each.
    assert "took 40 MB, which is 1.3 GB for a million" in script("figure_milvus").memory(result)


def test_a_partition_key_stands_under_the_plain_field() -> None:
    found = [
        {"partition_key": key, "ef": ef, "p50_ms": 2.89, "recall": recall}
        for key, ef, recall in ((False, 64, 1.0), (False, 2048, 1.0), (True, 64, 0.857), (True, 2048, 0.999))
    ]
    assert lines(script("figure_milvus").keys({"partition_keys": found})) == [
        "|  | ef 64 | ef 2,048 |",
        "| a plain field | 2.9 ms, 1.000 | 2.9 ms, 1.000 |",
        "| the partition key, 16 partitions | 2.9 ms, **.857** | 2.9 ms, .999 |",
    ]


def test_writers_and_shards_have_a_line_for_each_setting() -> None:
    rows = [{"writers": 4, "shards": 1, "rows_per_s": 7543, "p50_ms_right_after": 5.25}]
    assert lines(script("figure_milvus").writers({"writers": rows}))[1:] == ["| 4 | 1 | 7,543 | 5.2 ms |"]
    split = [{"shards": 16, "documents_per_shard": 796, "overlap@20": 0.892, "same_top_1": 0.74}]
    assert lines(script("figure_milvus").shards({"shards": split}))[1:] == ["| 16 | 796 | .892 | .740 |"]


@pytest.mark.requirement("EVAL-2")
def test_a_floor_stands_with_what_it_keeps_and_the_other_set_that_it_rejects_least_of() -> None:
    row = {
        "set": "runbooks", "proposed": True, "floor": 0.2, "interval": [0.1805, 0.208],
        "kept, made questions": 0.929, "kept, its people's questions": 1.0, "rejected, everyday questions": 0.958,
        "rejected, of other sets": {"a": 0.66, "b": 0.08, "c": 0.7},
    }  # fmt: skip
    # (.66 + .08 + .70) / 3 = .48
    assert lines(script("figure_tuning").calibration({"sets": [row]}))[1:] == [
        "| runbooks | 0.20 | 0.18 to 0.21 | 96% | 93% | 100% | 48% (b 8%) | proposed |"
    ]


def test_made_questions_stand_beside_people_s_by_the_farthest_of_all_sets() -> None:
    sets = [
        {"kept, its people's questions": people, "kept, made questions": made}
        for people, made in ((1.0, 0.93), (0.85, 0.9), (0.69, 0.53))
    ]
    text = script("figure_tuning").stand_in({"commit": "0123abc", "date": "2026-11-30", "sets": sets})
    # 100 - 93 = 7; 85 - 90 = -5; 69 - 53 = 16
    assert "between -5 and +16 points" in text


def tuned(**over: object) -> dict[str, object]:
    """A finding of `citewell tune --json` that proposes nothing and finds no floor."""
    compared = [{"measure": "nDCG@10", "current": 0.8781, "gain": 0.0, "p": 1.0}]
    found = {
        "dataset": "runbooks", "queries": 114, "judged": 114, "grain": "document", "metric": "nDCG@10", "folds": 5,
        "comparisons": compared, "steps": [{"changes": {}, "comparisons": compared, "agreeing": 5}], "proposed": {},
        "floor": {"value": None, "verdict": "none", "losses": {}, "rejected": 0.0},
    }  # fmt: skip
    return {**found, **over}


@pytest.mark.requirement("EVAL-2")
def test_tuning_says_what_was_chosen_what_that_is_worth_held_out_and_what_is_proposed() -> None:
    step = {
        "changes": {
            "retrieval.search.weights": {"from": None, "to": {"dense": 1, "dense_filtered": 1, "lexical": 1.9}},
            "retrieval.search.rrf-k": {"from": 60, "to": 40},
        },
        "comparisons": [{"measure": "nDCG@10", "current": 0.8781, "gain": 0.0012, "p": 0.9258}],
        "agreeing": 3,
    }
    floor = {
        "value": 0.3, "verdict": "offer", "losses": {"nDCG@10": 0.004, "recall@5": 0.0}, "rejected": 0.302
    }  # fmt: skip
    rows = [
        tuned(),
        tuned(dataset="cmrc2018-dev", queries=1000, judged=3219, steps=[step], floor=floor, proposed={"rag.x": 2}),
    ]
    assert lines(script("figure_tuning").tuning(rows))[1:] == [
        "| runbooks, 114 questions by document | .878 | nothing |  |  |  | nothing | none |",
        (
            "| cmrc2018-dev, 1,000 of 3,219 questions by document | .878 | weights 1:1:1.9, rrf-k 40 | +.001 | 0.9258"
            " | 3 of 5 | x 2 | 0.30, offered: nDCG@10 -.004, recall@5 +.000; rejects 30% of blocks |"
        ),
    ]


def test_the_token_bound_has_a_column_for_each_tokenizer_and_its_worst_part_in_brackets() -> None:
    result = {
        "commit": "0123abc", "date": "2026-11-30",
        "rows": [{"text": "rare Han", "ratios": {"o200k_base": [0.777, 0.766]}}],
    }  # fmt: skip
    assert lines(script("figure_tuning").tokens(result)) == [
        "| text | o200k_base |",
        "| rare Chinese characters alone | 0.78 (0.77) |",
        "Commit 0123abc, 2026-11-30.",
    ]


def test_a_figure_of_scale_that_no_size_has_gets_no_row_and_one_that_a_size_lacks_an_empty_cell() -> None:
    call = {f"fetch {what}": value for what, value in (("cpu", 2.0), ("p50", 2.5), ("p95", 3.0))}
    text = script("figure_scale").scale({"1000": {"chunks": 1000}, "10000": {"chunks": 10000, **call}})
    assert lines(text)[1:2] == ["| fetching the texts of 50 chunks (ms) |  | 2.00 / 2.50 / 3.00 |  |"]
    assert "lexical path" not in text


def against(difference: float, p: float) -> dict[str, object]:
    """A set's result in which hybrid differs from its lexical path so."""
    none = {"nDCG@10": {"difference": 0.2, "p": 0.0001}}
    tests = {"citewell dense": none, "citewell lexical": {"nDCG@10": {"difference": difference, "p": p}}}
    return {"stacks": {"citewell": {"against": tests}}}


def test_a_set_is_named_where_hybrid_is_below_its_own_path_and_chance_is_no_explanation() -> None:
    below = script("figure_sentences").below_a_path
    results = {"a": against(-0.008, 0.009), "b": against(-0.3, 0.06), "c": against(0.1, 0.01)}
    assert below(results) == "Hybrid stays below Citewell's own lexical path on a (.008, p .009)."
    assert below({"b": against(-0.3, 0.06)}) == (
        "Hybrid is below neither of Citewell's own paths on any set with p < .05."
    )


def test_the_fastest_peer_is_named_with_the_ratio_of_like_to_like_and_the_aim() -> None:
    result = {"chunks": 100000, "fastest": "txtai", "bound": 0.5}
    ratios = {"ratio": 2.583, "ratio, plain": 0.977, "ratio, shallow": 0.754}
    text = script("figure_sentences").fastest({**result, **ratios})
    assert text.replace("\n", " ") == (
        "Of 100,000 chunks a hybrid lookup takes 0.75 times as long as with txtai, the fastest peer there, where both"
        " do the same, 20 deep and 20 texts (aim: at most 0.5, missed); 0.98 at its own depth of 50, and 2.58 with"
        " hints as well, which no peer gives."
    )
    assert "held" in script("figure_sentences").fastest({**result, **ratios, "ratio, shallow": 0.5})


def test_weighing_names_the_sets_that_are_below_their_better_path() -> None:
    row = {"set": "a", "dense": 0.5, "lexical": 0.842, "fixed 1.9": 0.772, "in force": 0.833}
    rows = [{**row, "p against the better path": 0.02}, {**row, "set": "b", "p against the better path": 0.2}]
    said = script("figure_sentences").below_better_path({"rows": rows})
    # .842 - .833 = .009; .842 - .772 = .070
    assert said == "Below its better path with p < .05: a by .009 (with the fixed weight 1.9 by .070)."


def test_the_whole_of_all_scripts_stands_under_their_times() -> None:
    rows = [
        {"script": "bench/warm.py", "minutes": 0.25, "processor": 0.3},
        {"script": "bench/scale.py", "minutes": 12.04, "processor": 14.0},
    ]
    text = script("figure_times").times({"commit": "0123abc", "date": "2026-12-01", "scripts": rows})
    # .25 + 12.04 = 12.29; .3 + 14 = 14.3
    assert lines(text) == [
        "| script | minutes | of processor |",
        "| `bench/warm.py` | 0.2 | 0.3 |",
        "| `bench/scale.py` | 12.0 | 14.0 |",
        "| all | 12.3 | 14.3 |",
        "Commit 0123abc, 2026-12-01.",
    ]


def test_a_stack_keeps_its_name_whole_in_the_paired_tests() -> None:
    tests = {metric: {"difference": 0.1, "better": 3, "worse": 1, "p": 0.5} for metric in ("nDCG@10", "recall@5")}
    against = {"citewell dense": tests, "textbook hybrid": tests}
    text = script("figure_peers").paired({"runbooks": {"stacks": {"citewell": {"against": against}}}})
    names = [line.split("|")[1].strip() for line in lines(text)[1::2]]
    assert names == ["Citewell, dense", "textbook RRF (numpy, bm25s), hybrid"]


@pytest.mark.parametrize(
    ("fresh", "said"),
    [
        ({"fresh": True}, "All timed in one run, one stack after the other: commit 0123abc, 2026-12-01."),
        ({}, "The peers' times were kept from an earlier run than Citewell's, so ratios between the two mean little."),
    ],
)
def test_times_beside_the_peers_say_whether_they_are_of_one_run(fresh: dict[str, bool], said: str) -> None:
    ways = {way: {"p50 ms": 2.0, "p95 ms": 3.0} for way in ("hybrid", "dense", "lexical")}
    stack = {"ways": ways, "build_processor_s": 0.5, "memory_mb": 100.0, "disk_mb": 0.0}
    found = {"commit": "0123abc", "date": "2026-12-01", "stacks": {"citewell": stack}, **fresh}
    assert lines(script("figure_peers").costs({"chunking-eval": found}))[1:] == [
        "| **Citewell**, the given chunks | 2.00 / 3.00 | 1.00 | 2.00 | 2.00 | 0.50 | 100 | none |",
        said,
    ]


def test_the_best_weight_for_all_queries_stands_with_what_it_gives() -> None:
    row = {
        "set": "runbooks", "dense": 0.8329, "lexical": 0.871, "fixed 1": 0.889,
        "best fixed": {"weight": 1.9033, "nDCG@10": 0.8996}, "in force": 0.8781, "p against the better path": 0.5,
        "chosen without it": {"constants": [4.0, 4.0, 10.0], "nDCG@10": 0.876},
    }  # fmt: skip
    assert lines(script("figure_tables").weighing({"rows": [row]})) == [
        "| set | dense | lexical | fixed 1 | the best one | chosen without it | in force | p against the better path |",
        "| runbooks | .833 | .871 | .889 | .900 (1.9) | .876 (4, 4, 10) | **.878** | 0.50 |",
    ]


def test_every_page_with_a_marker_is_written_and_every_table_has_its_place() -> None:
    figures = script("figures")
    pages = [figures.ROOT / "README.md", *sorted((figures.ROOT / "docs").glob("*.md"))]
    marked = {
        page.relative_to(figures.ROOT).as_posix(): re.findall(r"<!-- figures: ([\w-]+) -->", page.read_text("utf-8"))
        for page in pages
    }
    assert {page for page, names in marked.items() if names} - set(figures.PAGES) == set()
    assert {name for names in marked.values() for name in names} == set(figures.TABLES)
