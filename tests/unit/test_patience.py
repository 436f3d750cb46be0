"""Calls that may hang: waited for so long and no longer, at a bounded cost in threads, after a fork too."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import SimpleNamespace

import pytest

from citewell import patience
from citewell.patience import MOST_LATE, Call, Late, Patience


@pytest.fixture
def calls(request: pytest.FixtureRequest) -> Iterator[Patience]:
    made = Patience(request.node.name)
    yield made
    made.close()


def settled(check: Callable[[], bool]) -> bool:
    """Whether it comes true within a time that no machine needs."""
    deadline = time.perf_counter() + 30
    while not check() and time.perf_counter() < deadline:
        time.sleep(0.002)
    return check()


def threads(calls: Patience) -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == calls._name]


@pytest.mark.requirement("PORT-2")
def test_an_answer_comes_back_and_an_error_is_raised_where_it_is_waited_for(calls: Patience) -> None:
    assert calls.start("sum", lambda: 1 + 1).result(60) == 2
    with pytest.raises(ZeroDivisionError):
        calls.start("sum", lambda: 1 // 0).result(60)
    with pytest.raises(TimeoutError, match="its own"):
        calls.start("sum", lambda: _raise(TimeoutError("its own"))).result(60)


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.requirement("PORT-2")
def test_a_late_call_costs_the_limit_counted_from_its_start(calls: Patience, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, now = threading.Event(), [0.0]
    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: now[0]))
    call = calls.start("hang", gate.wait)
    now[0] = 61.0
    before = time.perf_counter()
    with pytest.raises(TimeoutError, match="timed out after 60 s"):
        call.result(60)  # counted from now, it would be waited for until a minute has passed
    assert time.perf_counter() - before < 30
    gate.set()


@pytest.mark.requirement("PORT-2")
def test_what_a_call_took_is_known_however_late_it_is_asked_for(
    calls: Patience, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [5.0]
    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: now[0]))
    call = calls.start("pass", lambda: now.append(now.pop() + 0.25))
    assert call.done.wait(60)
    now[0] = 9.0
    call.result(60)
    assert call.milliseconds == 250.0


@pytest.mark.requirement("PORT-2")
def test_what_never_answers_costs_four_threads_of_its_kind_and_others_go_on(calls: Patience) -> None:
    gate = threading.Event()
    asked: list[int] = []

    def hang() -> None:
        asked.append(1)
        gate.wait()

    for _ in range(MOST_LATE):
        with pytest.raises(TimeoutError, match="timed out"):
            calls.start("hang", hang).result(0.01)
    for _ in range(20):
        with pytest.raises(TimeoutError, match="was not asked: 4 calls before are late and still run"):
            calls.start("hang", hang)
    assert settled(lambda: len(asked) == 4)  # a thread may have come to its call after nobody waited for it any more
    assert len(threads(calls)) == 4
    assert calls.start("other", lambda: "answered").result(60) == "answered"
    gate.set()
    assert settled(lambda: not calls._late)
    assert calls.start("hang", lambda: "healed").result(60) == "healed"


@pytest.mark.requirement("PORT-2")
def test_a_thread_serves_one_call_after_another_and_ends_when_there_is_none(
    calls: Patience, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = {calls.start("who", threading.get_ident).result(60) for _ in range(50)}
    assert len(served) == 1
    monkeypatch.setattr(patience, "_IDLE_S", 0.02)  # from its next rest on
    assert calls.start("who", threading.get_ident).result(60) in served
    assert settled(lambda: threads(calls) == [])
    assert calls.start("who", lambda: "again").result(60) == "again"


@pytest.mark.requirement("PORT-2")
def test_closing_leaves_no_thread_but_those_that_are_late_and_says_how_many() -> None:
    calls, gate = Patience("citewell-closing"), threading.Event()
    calls.start("sum", lambda: 1).result(60)
    late = calls.start("hang", gate.wait)
    with pytest.raises(TimeoutError):
        late.result(0.01)
    assert calls.close(patience_s=0.01) == 1
    with pytest.raises(RuntimeError, match="closed"):
        calls.start("sum", lambda: 1)
    gate.set()
    assert calls.close() == 0
    assert settled(lambda: threads(calls) == [])


def test_a_call_for_which_the_system_has_no_thread_is_not_begun_and_not_waited_for(
    calls: Patience, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refused)
        with pytest.raises(Late, match="was not asked: can't start new thread"):
            calls.start("kind", lambda: 1)
    assert calls.start("kind", lambda: 2).result(5) == 2
    assert calls.close(patience_s=0.1) == 0


@pytest.mark.requirement("PORT-2")
def test_the_callers_context_goes_along(calls: Patience) -> None:
    who: ContextVar[str] = ContextVar("who")
    who.set("a request")
    assert calls.start("see", who.get).result(60) == "a request"


@pytest.mark.requirement("PORT-2")
def test_many_callers_each_get_the_answer_to_their_own_call(calls: Patience) -> None:
    answers: dict[int, list[int]] = {}

    def ask(number: int) -> None:
        made: list[Call[int]] = [calls.start("n", lambda at=at: number * 1000 + at) for at in range(50)]  # type: ignore[misc]  # a bound argument
        answers[number] = [call.result(60) for call in made]

    callers = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert answers == {number: [number * 1000 + at for at in range(50)] for number in range(8)}
    assert calls._running == {}


@pytest.mark.requirement("PORT-2")
def test_a_forked_child_is_answered_though_its_parents_threads_are_gone(calls: Patience) -> None:
    assert calls.start("who", os.getpid).result(60) == os.getpid()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if calls.start("who", os.getpid).result(20) == os.getpid() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert calls.start("who", os.getpid).result(60) == os.getpid()
