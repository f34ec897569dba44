"""Which none beats: against the definition spelled out, with ties, unknowns, lower bounds, other batches, devices and published rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from tests.report.samples import node, on_device, report
from weighbridge.published import Conditions, Published
from weighbridge.report import Report
from weighbridge.report.comparison import Model, comparison_of
from weighbridge.report.fronts import Front, other_batch
from weighbridge.report.record import NetworkInput

UNDER = Conditions("a board", "a runtime", "fp16", 1)


def costing(size: int | None, macs: int | None, peak: int | None, *, exact: bool = True) -> Report:
    """A report of which only the three figures of the network matter."""
    made = report([node("conv", weights=1, macs=1)])
    facts = made.facts._replace(parameter_bytes=size, macs=macs, exact=exact)
    return replace(made, facts=facts, memory=made.memory._replace(peak_bytes={"live": peak}))


def fronts(*reports: Report) -> tuple[Front, ...]:
    models = [Model(f"m{place}", "", one) for place, one in enumerate(reports)]
    return comparison_of(models, tool="").fronts


@pytest.mark.parametrize("seed", range(40))
def test_the_front_is_what_the_definition_says(seed: int) -> None:
    random = Random(seed)
    costs = [tuple(random.randint(1, 4) for _ in range(3)) for _ in range(random.randint(2, 9))]
    (front,) = fronts(*(costing(*one) for one in costs))
    beaten_by = {
        f"m{one}": tuple(
            f"m{other}"
            for other in range(len(costs))
            if all(costs[other][axis] <= costs[one][axis] for axis in range(3)) and costs[other] != costs[one]
        )
        for one in range(len(costs))
    }
    assert front.metrics == ("parameter_bytes", "macs", "peak_bytes.live")
    assert front.best == tuple(name for name, by in beaten_by.items() if not by)
    assert {one.model: one.by for one in front.beaten} == {name: by for name, by in beaten_by.items() if by}
    assert front.best


def test_equals_do_not_beat_each_other() -> None:
    (front,) = fronts(costing(1, 2, 3), costing(1, 2, 3), costing(1, 2, 4))
    assert front.best == ("m0", "m1")
    assert [(one.model, one.by) for one in front.beaten] == [("m2", ("m0", "m1"))]


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (costing(9, 9, None), "peak, live unknown"),
        (costing(1, 1, 1, exact=False), "model size and MACs not exact"),
        (costing(1, 1, None, exact=False), "peak, live unknown; model size and MACs not exact"),
    ],
)
def test_what_is_not_known_in_full_neither_beats_nor_is_beaten(odd: Report, reason: str) -> None:
    (front,) = fronts(odd, costing(5, 5, 5), costing(6, 6, 6))
    assert front.best == ("m1",)
    assert [(one.model, one.by) for one in front.beaten] == [("m2", ("m1",))]
    assert [tuple(one) for one in front.unplaced] == [("m0", reason)]


def taking(*shapes: tuple[int, ...] | None) -> Report:
    made = costing(1, 1, 1)
    return replace(
        made, network=made.network._replace(inputs=tuple(NetworkInput("x", one, "float32") for one in shapes))
    )


@pytest.mark.parametrize(
    ("first", "later", "is_other"),
    [
        ([(1, 3, 8, 8)], [(4, 3, 8, 8)], True),
        ([(1, 3, 8, 8), (1, 5)], [(4, 3, 8, 8), (4, 5)], True),
        ([(1, 3, 8, 8), (1, 5)], [(4, 3, 8, 8), (1, 5)], True),
        ([(1, 3, 8, 8)], [(1, 3, 8, 8)], False),
        ([(1, 3, 8, 8)], [(1, 3, 9, 9)], False),
        ([(1, 3, 8, 8)], [(4, 3, 9, 9)], False),
        ([(5,)], [(8,)], False),
        ([None], [(8, 2)], False),
        ([(1, 3)], [(4, 3), (4, 3)], False),
        ([], [], False),
    ],
)
def test_another_batch_is_seen_by_the_first_length_alone(first, later, is_other) -> None:
    one, other = taking(*first), taking(*later)
    assert bool(other_batch(one, other)) == is_other
    (front,) = fronts(one, other)
    assert [unplaced.model for unplaced in front.unplaced] == ["m1"] * is_other


def test_on_a_device_only_what_fits_is_placed() -> None:
    small, large = on_device(needed=1000, peak=1000), on_device()
    doubtful = small._replace(fit=small.fit._replace(verdict="unknown"))
    known = [one._replace(latency=one.latency._replace(exact=True)) for one in (small, large, doubtful, small)]
    here = [replace(costing(1, 1, 1), on=(one,)) for one in known]
    _, front = fronts(*here, costing(1, 1, 1))
    assert (front.on, front.metrics) == (small.device, ("deployed_bytes", "peak_bytes.live", "floor_s"))
    assert front.best == ("m0", "m3")
    assert dict(tuple(one) for one in front.unplaced) == {
        "m1": "too large for the device",
        "m2": "whether it fits is unknown",
        "m4": "not weighed there",
    }


def test_another_batch_is_placed_on_no_front_of_a_device() -> None:
    there = on_device(needed=1000, peak=1000)
    there = there._replace(latency=there.latency._replace(exact=True))
    found = fronts(*(replace(taking(shape), on=(there,)) for shape in ((1, 3, 8, 8), (1, 3, 8, 8), (4, 3, 8, 8))))
    for front in found:
        assert front.best == ("m0", "m1")
        assert [tuple(one) for one in front.unplaced] == [
            ("m2", "of another batch than the first: 4x3x8x8, not 1x3x8x8")
        ]
    assert [front.on for front in found] == [None, there.device]


def row(name: str, quality: str | None, latency: str | None, macs: int | None, **changes: object) -> Model:
    fractions = [None if one is None else Fraction(one) for one in (quality, latency, macs)]
    made = Published(name, name, "somebody", quality=fractions[0], latency_s=fractions[1], macs=fractions[2])
    return Model(name, "", None, made._replace(**{"conditions": UNDER, "quality_metric": "mIoU, %", **changes}))


def test_published_rows_are_placed_under_equal_conditions_with_quality_upwards() -> None:
    models = [
        row("good", "82.7", "0.0459", 282),
        row("slow", "82.4", "0.638", 1460),
        row("small", "70", "0.01", 10),
        row("elsewhere", "99", "0.001", 1, conditions=UNDER._replace(batch=8)),
        row("anywhere", "99", "0.001", 1, conditions=None),
        row("other measure", "99", "0.001", 1, quality_metric="top-1, %"),
        row("never timed", "99", None, 1),
    ]
    (front,) = comparison_of(models, tool="").fronts
    assert front.on == "a board, a runtime, fp16, batch 1"
    assert front.best == ("good", "small")
    assert [tuple(one) for one in front.beaten] == [("slow", ("good",))]
    assert [tuple(one) for one in front.unplaced] == [
        ("other measure", "of a quality in top-1, %, not in mIoU, %"),
        ("never timed", "latency, measured unknown"),
    ]


def test_nothing_weighed_stands_on_a_front_with_what_is_published() -> None:
    for weighed, published in product(range(3), range(3)):
        models = [Model(f"w{place}", "", costing(1, 1, 1)) for place in range(weighed)]
        models += [row(f"p{place}", "1", "1", 1) for place in range(published)]
        if models:
            found = comparison_of(models, tool="").fronts
            assert len(found) == (weighed > 1) + (published > 1)
            assert all(len({name[0] for name in front.best}) == 1 for front in found)
