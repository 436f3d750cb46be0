"""Ctrl-C that is held back: raised where it is looked at, at once where it is let through or pressed again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from citewell.interrupts import CtrlC


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Python's own handler, whatever ran before."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.requirement("INGEST-7", "API-2")
def test_ctrl_c_is_raised_where_it_is_looked_at_and_once() -> None:
    steps = []
    with CtrlC() as ctrl_c:
        ctrl_c.look()
        press()
        steps.append("pressed")
        with pytest.raises(KeyboardInterrupt):
            ctrl_c.look()
        ctrl_c.look()
        steps.append("went on")
    assert steps == ["pressed", "went on"]


@pytest.mark.requirement("INGEST-7", "API-2")
def test_ctrl_c_that_nobody_looked_at_is_raised_at_the_end() -> None:
    ctrl_c = CtrlC()
    ctrl_c.__enter__()
    press()
    with pytest.raises(KeyboardInterrupt):
        ctrl_c.__exit__(None)
    with pytest.raises(KeyboardInterrupt):
        press()


@pytest.mark.requirement("INGEST-7", "API-2")
def test_an_error_of_the_body_is_not_hidden_behind_ctrl_c() -> None:
    def fails() -> None:
        with CtrlC():
            press()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()


@pytest.mark.requirement("INGEST-7", "API-2")
def test_a_handler_that_the_body_sets_stays_in_force() -> None:
    pressed: list[int] = []
    with CtrlC():
        signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    press()
    assert pressed == [signal.SIGINT]


@pytest.mark.requirement("INGEST-7", "API-2")
def test_ctrl_c_is_raised_at_once_in_what_may_take_long() -> None:
    steps = []

    def long() -> None:
        press()
        steps.append("never reached")

    with CtrlC() as ctrl_c:
        with pytest.raises(KeyboardInterrupt):
            ctrl_c.through(long)
        ctrl_c.look()
        assert ctrl_c.through(pow, 2, 5) == 32
        press()
        with pytest.raises(KeyboardInterrupt):  # held back from before
            ctrl_c.through(steps.append, "nor this")
    assert steps == []


@pytest.mark.requirement("INGEST-7", "API-2")
def test_ctrl_c_that_is_pressed_again_before_anybody_looked_is_raised_at_once() -> None:
    with CtrlC() as ctrl_c:
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
        with pytest.raises(KeyboardInterrupt):  # of the two presses
            ctrl_c.look()
        ctrl_c.look()


@pytest.mark.requirement("INGEST-7", "API-2")
def test_a_handler_of_the_callers_is_left_alone() -> None:
    told: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        told.append(number)

    signal.signal(signal.SIGINT, handler)
    with CtrlC() as ctrl_c:
        press()
        ctrl_c.look()
    assert told == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.requirement("INGEST-7", "API-2")
def test_a_thread_holds_nothing_back_for_only_the_main_one_is_interrupted() -> None:
    handlers: list[object] = []

    def work() -> None:
        with CtrlC():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
