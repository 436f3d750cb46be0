"""Values made quickly are those that their class makes: equal, frozen, of that very type."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from citewell.model import Candidate, EvidenceBlock, Hit, Locator, Reason, StoredChunk
from citewell.model.making import maker

KINDS = (Candidate, EvidenceBlock, Hit, Locator, Reason, StoredChunk)


def values(kind: type) -> dict[str, object]:
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
