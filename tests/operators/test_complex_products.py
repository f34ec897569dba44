"""Products of complex numbers, as the real products and sums that they are made of."""

from __future__ import annotations

import pytest

from tests.operators.execution import Tally, call, macs_of, typed, work_of


class Real:
    """A number of the tally: what is multiplied and summed up is counted by its parts."""

    def __init__(self, tally, parts):
        self.tally, self.parts = tally, parts

    def times(self, other):
        """Each part of the one meets each part of the other, and is added to a part of the result."""
        for _ in self.parts:
            for _ in other.parts:
                self.tally.mac(0, 0, 0)
        return Real(self.tally, max(self.parts, other.parts, key=len))


CALLS = {
    "linear": ({"x": (2, 3), "w": (4, 3)}, [(24, "x", "w")]),
    "matmul": ({"x": (2, 3), "w": (3, 4)}, [(24, "x", "w")]),
    "conv": ({"x": (1, 2, 5), "w": (3, 2, 2)}, [(3 * 4 * 4, "x", "w")]),
    "conv_transpose": ({"x": (1, 2, 5), "w": (2, 3, 2)}, [(10 * 6, "x", "w")]),
    "grouped_matmul": ({"x": (6, 3), "w": (2, 3, 4), "ends": (2,)}, [(72, "x", "w")]),
    "bilinear": ({"x": (2, 3), "z": (2, 5), "w": (4, 3, 5)}, [(2 * 4 * 15, "x", "w"), (2 * 4 * 5, "", "z")]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("which", ["", "x", "w", "xw", "z", "xz", "xwz"])
def test_a_product_of_complex_numbers_is_made_of_real_ones(name, which):
    shapes, products = CALLS[name]
    tally, last = Tally(), None
    for count, left, right in products:
        made = None
        for _ in range(count):
            first = last if not left else Real(tally, "ri" if left in which else "r")
            made = first.times(Real(tally, "ri" if right in which else "r"))
        last = made
    types = {slot: typed(shape, "complex64" if slot in which else "float32") for slot, shape in shapes.items()}
    assert macs_of(name, call(name, {}, **types)) == tally.macs


@pytest.mark.parametrize("complex_ones", [(), (0,), (1,), (2,), (0, 1), (0, 2), (0, 1, 2)])
def test_the_pairs_of_an_einstein_sum(complex_ones):
    """Of ij,jk,kl: what one step leaves is complex if one of its operands was."""
    shapes = [(2, 3), (3, 4), (4, 5)]
    types = [typed(one, "complex64" if place in complex_ones else "float32") for place, one in enumerate(shapes)]
    parts = [2 if place in complex_ones else 1 for place in range(3)]
    expected = 24 * parts[0] * parts[1] + 40 * max(parts[0], parts[1]) * parts[2]
    assert macs_of("einsum", call("einsum", {"equation": "ij,jk,kl->il"}, xs=types)) == expected


def test_a_complex_bias_is_two_additions():
    kind = {name: typed(shape, "complex64") for name, shape in {"x": (2, 3), "w": (4, 3), "b": (4,)}.items()}
    assert work_of("linear", call("linear", {}, **kind)).add == 2 * 8
    assert work_of("einsum", call("einsum", {"equation": "ij->i"}, xs=[typed((2, 3), "complex64")])).add == 2 * 4
