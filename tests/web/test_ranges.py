"""Both ends of a number's range belong to it, whatever a float makes of them."""

from __future__ import annotations

import pytest

from weighbridge.web.controls import Number, stated
from weighbridge.web.simulators import simulators

NUMBERS = [(name, one) for name, each in simulators().items() for one in each.controls if isinstance(one, Number)]
TENTHS = [("tenths", Number("x", "x", low, low, low + 1, step=0.1)) for low in (0.1, 0.3, 0.7, 1.1)]


@pytest.mark.parametrize(("page", "number"), [*NUMBERS, *TENTHS], ids=lambda part: getattr(part, "name", part))
def test_the_ends_are_in_the_range(page: str, number: Number) -> None:
    for end in (number.minimum, number.maximum, number.reach or number.maximum):
        found = stated((number,), [(number.name, str(end))])
        assert not found.faults
        assert found.state[number.name] == end
