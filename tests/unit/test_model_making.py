"""Values made quickly are those that their class makes: equal, frozen, of that very type."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from citewell.fusion import Fused
from citewell.model import Candidate, EvidenceBlock, Hit, Locator, Reason, StoredChunk
from citewell.model.making import maker, maker_in_order
from citewell.search.hits import hit

KINDS = (Candidate, EvidenceBlock, Hit, Locator, Reason, StoredChunk)


def values(kind: type) -> dict[str, Any]:
    """Another value for each field."""
    return {part.name: f"value {number}" for number, part in enumerate(fields(kind))}


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_made_quickly_is_the_one_that_its_class_makes(kind: type) -> None:
    made, plain = maker(kind)(**values(kind)), kind(**values(kind))
    assert type(made) is kind
    assert made == plain
    assert repr(made) == repr(plain)
    assert hash(made) == hash(plain)
    assert pickle.loads(pickle.dumps(made)) == plain  # noqa: S301 - its own


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_made_without_names_has_each_field_in_its_place(kind: type) -> None:
    made, plain = maker_in_order(kind)(*values(kind).values()), kind(**values(kind))
    assert type(made) is kind
    assert made == plain
    assert pickle.loads(pickle.dumps(made)) == plain  # noqa: S301 - its own
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(kind)[0].name, "other")
    with pytest.raises(TypeError):
        maker_in_order(kind)("one of many")


@pytest.mark.requirement("API-1", "POST-8")
@pytest.mark.parametrize("kind", [Candidate, EvidenceBlock, Hit])
def test_a_candidate_for_the_trace_and_a_block_keep_each_field_but_what_they_leave_out(kind: type) -> None:
    given = values(kind)
    common = {name: given[name] for name in values(Candidate)}
    candidate = kind(**given)
    assert candidate.without_text() == Candidate(**{**common, "text": ""})
    assert candidate.as_block() == EvidenceBlock(**common, role="hit")


@pytest.mark.requirement("SCORE-1", "RRF-4")
@pytest.mark.parametrize("paths", [("dense",), ("lexical",), ("dense", "dense_filtered", "lexical")])
def test_a_hit_has_each_field_of_its_chunk_and_each_number_in_its_place(paths: tuple[str, ...]) -> None:
    chunk = StoredChunk(**values(StoredChunk))
    reasons = [Reason(path, rank, rank / 8) for rank, path in enumerate(paths, start=1)]
    made = hit(Fused("value 0", 0.75, {}), chunk, reasons, 0.5, fused=True)
    assert made == Hit(
        **values(StoredChunk),
        similarity=0.5,
        lexical_score=len(paths) / 8 if "lexical" in paths else None,
        fused_score=0.75,
        rerank_score=None,
        reasons=tuple(reasons),
    )
    assert hit(Fused("value 0", 0.75, {}), chunk, reasons, None, fused=False) == replace(
        made, similarity=None, fused_score=None
    )


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_made_quickly_is_frozen(kind: type) -> None:
    made = maker(kind)(**values(kind))
    for part in fields(kind):
        with pytest.raises(FrozenInstanceError):
            setattr(made, part.name, "other")
        with pytest.raises(FrozenInstanceError):
            delattr(made, part.name)
    with pytest.raises((AttributeError, TypeError)):
        made.further = 1
    assert made == kind(**values(kind))


@pytest.mark.requirement("API-1")
def test_defaults_are_those_of_the_class_and_no_two_values_share_a_mapping() -> None:
    make = maker(Hit)
    assert make(evidence_key="a") == Hit(evidence_key="a")
    assert make(evidence_key="a").metadata is not make(evidence_key="a").metadata
    assert replace(make(evidence_key="a"), text="b") == Hit(evidence_key="a", text="b")


@pytest.mark.requirement("API-1")
def test_what_the_class_refuses_is_refused() -> None:
    with pytest.raises(TypeError, match="evidence_key"):
        maker(Hit)()  # type: ignore[call-arg]  # a key is wanted
    with pytest.raises(TypeError, match="other"):
        maker(Hit)(evidence_key="a", other=1)  # type: ignore[call-arg]  # there is no such field
    with pytest.raises(TypeError):
        maker(Candidate)("a")  # type: ignore[call-arg]  # by name alone
