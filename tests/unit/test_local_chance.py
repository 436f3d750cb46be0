"""The stream that codes are made with never changes: files that older versions wrote stay valid."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.adapters.local.chance import Chance


@pytest.mark.parametrize("width", [1, 2, 64, 384, 1_024, 1_536])
def test_signs_and_orders_are_those_of_the_frozen_random_state(width: int) -> None:
    chance, frozen = Chance(20_260), np.random.RandomState(20_260)
    for _ in range(2):
        assert chance.signs(width) == frozen.choice(np.array([-1, 1]), width).tolist()
        assert chance.order(width) == frozen.permutation(width).tolist()
