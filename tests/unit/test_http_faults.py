"""Every way in which the HTTP library can fail is in the table, so that none reaches a caller untranslated."""

from __future__ import annotations

import httpx2
import pytest

from citewell.adapters.http.faults import FAULTS, fault_of, fault_of_status


def _with_subclasses(kind: type[Exception]) -> set[type[Exception]]:
    return {kind}.union(*(_with_subclasses(inner) for inner in kind.__subclasses__()))


def _exported() -> list[type[Exception]]:
    exported = [getattr(httpx2, name) for name in httpx2.__all__]
    kinds = [kind for kind in exported if isinstance(kind, type) and issubclass(kind, Exception)]
    found = set().union(*(_with_subclasses(kind) for kind in kinds))
    return sorted((kind for kind in found if kind.__module__.startswith("httpx2")), key=lambda kind: kind.__name__)


@pytest.mark.requirement("ENGINE-4")
def test_each_exception_of_httpx2_has_an_entry_of_its_own() -> None:
    assert len(_exported()) >= 28
    assert [kind.__name__ for kind in _exported() if kind not in FAULTS] == []


@pytest.mark.requirement("ENGINE-4")
def test_each_entry_is_an_exception_of_httpx2_and_says_what_to_do() -> None:
    assert sorted(FAULTS, key=lambda kind: kind.__name__) == _exported()
    assert [kind.__name__ for kind, fault in FAULTS.items() if not fault.says or not fault.way_out] == []


@pytest.mark.requirement("ENGINE-4")
def test_an_exception_without_an_entry_counts_as_its_nearest_base() -> None:
    class OddTimeout(httpx2.ReadTimeout):
        pass

    assert fault_of(OddTimeout("late")) == FAULTS[httpx2.ReadTimeout]


@pytest.mark.parametrize(
    ("status", "unavailable", "may_pass", "of_payload"),
    [
        (429, True, True, False),
        (500, True, True, False),
        (503, True, True, False),
        (301, True, False, False),
        (401, True, False, False),
        (403, True, False, False),
        (404, True, False, False),
        (400, False, False, True),
        (408, False, False, True),
        (413, False, False, True),
        (422, False, False, True),
    ],
)
@pytest.mark.requirement("ENGINE-4")
def test_only_limits_and_disorder_may_pass_and_other_refusals_are_final(
    status: int, unavailable: bool, may_pass: bool, of_payload: bool
) -> None:
    fault = fault_of_status(status, "why")
    assert fault is not None
    assert (fault.unavailable, fault.may_pass, fault.of_payload) == (unavailable, may_pass, of_payload)
    assert str(status) in fault.says
    assert fault.way_out


@pytest.mark.parametrize("status", [200, 201, 204])
@pytest.mark.requirement("ENGINE-4")
def test_success_is_no_fault(status: int) -> None:
    assert fault_of_status(status, "") is None
