"""A Knowledge that opens in the background: once, for all who wait; again after a failure; closed at the end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from citewell import Knowledge
from citewell.errors import StoreLocked
from citewell.server.mcp.opening import Opening
from citewell.testing.fakes import HashEmbedder


class Shop:
    """Opens when it is let, or fails as often as it is told; counts."""

    def __init__(self, failures: int = 0) -> None:
        self.free, self.failures, self.asked = threading.Event(), failures, 0

    def __call__(self) -> Knowledge:
        self.asked += 1
        self.free.wait(30)
        if self.failures:
            self.failures -= 1
            raise StoreLocked("another writer holds the store", way_out="Wait.")
        return Knowledge.open("memory:", embedder=HashEmbedder())


@pytest.mark.requirement("API-3")
def test_it_is_opened_once_for_all_who_wait_and_who_gives_up_stops_nobody() -> None:
    async def scene() -> None:
        shop = Shop()
        opening = Opening(shop)
        opening.start()
        opening.start()
        waiting = [asyncio.ensure_future(opening.get()) for _ in range(3)]
        await asyncio.sleep(0)
        ready = [opening.ready]
        waiting[0].cancel()
        shop.free.set()
        first, second = await asyncio.gather(*waiting[1:])
        assert first is second
        assert [*ready, opening.ready] == [False, True]
        assert shop.asked == 1
        await opening.close()

    asyncio.run(scene())


def test_after_a_failure_who_asks_next_makes_it_try_again() -> None:
    async def scene() -> None:
        shop = Shop(failures=1)
        shop.free.set()
        opening = Opening(shop)
        with pytest.raises(StoreLocked):
            await opening.get()
        assert not opening.ready
        opening.start()  # begun before, so nothing happens until somebody needs it
        assert shop.asked == 1
        assert await opening.get() is await opening.get()
        assert shop.asked == 2
        await opening.close()

    asyncio.run(scene())


def test_closing_waits_for_an_opening_that_is_under_way_and_closes_what_it_opened() -> None:
    class Closing(Knowledge):
        closed = 0

        def close(self) -> None:
            type(self).closed += 1
            super().close()

    async def scene() -> None:
        opening = Opening(lambda: Closing.open("memory:", embedder=HashEmbedder()))
        await opening.close()  # nothing was begun
        opening.start()
        await opening.close()
        await opening.close()
        assert Closing.closed == 1

    asyncio.run(scene())


def test_closing_after_a_failure_is_no_failure() -> None:
    async def scene() -> None:
        shop = Shop(failures=1)
        shop.free.set()
        opening = Opening(shop)
        opening.start()
        await opening.close()

    asyncio.run(scene())
