"""Devices and energies of any shape are drawn as far as they go, or there is a reason."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.charts.drawings import drawn
from tests.report.samples import node, on_device, report
from tests.report.test_altered import altered
from weighbridge import BadSpec, Report
from weighbridge.estimates import (
    BatchPoint,
    Bill,
    DeviceEnergy,
    LevelEnergy,
    NodeTime,
    Roof,
    Roofline,
    RoofPoint,
    Throughput,
)
from weighbridge.report.charts.drawn import devices_of

NAMES = ("roofline", "latency", "throughput", "energy")

amounts = st.none() | st.floats(0) | st.sampled_from([0.0, 1.0, 1e-3, 5e-324, 1e308, float("inf"), float("nan")])
sizes = st.sampled_from([0, 1, 2, 1000, 2**53 + 1, 2**64, 2**90, 10**400, 10**3000])
names = st.sampled_from(
    [
        "compute",
        "memory",
        "fits",
        "arithmetic",
        "",
        "__proto__",
        "a'b\\'c",
        '"',
        "</script>",
        "\u202ex",
        "\ud800",
        "é" * 500,
    ]
)
points = st.builds(RoofPoint, st.floats(0), st.floats(0))
roofs = st.builds(Roof, names, names, sizes, amounts, st.lists(points, max_size=4).map(tuple))
rooflines = st.builds(
    Roofline, st.lists(names, max_size=3).map(tuple), st.none() | sizes, st.lists(roofs, max_size=3).map(tuple)
)
batches = st.builds(
    BatchPoint, sizes, amounts, amounts, amounts, amounts, st.none() | names, names, st.booleans(), st.booleans()
)
energies = st.builds(DeviceEnergy, amounts, st.dictionaries(names, amounts, max_size=4), st.booleans(), st.booleans())
levels = st.builds(LevelEnergy, names, amounts, amounts, amounts, amounts, st.none())
bills = st.builds(
    Bill,
    *(names, names, names, st.none() | names, amounts, amounts, amounts),
    st.lists(levels, max_size=4).map(tuple),
    *(st.booleans(), st.booleans(), st.just(()), st.none() | sizes),
)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    nodes = [node(draw(names), macs=draw(st.none() | sizes)) for _ in range(draw(st.sampled_from([0, 1, 2, 31])))]
    times = tuple(
        NodeTime(
            *(one.name, draw(amounts), draw(amounts), draw(st.none() | names), draw(amounts), draw(amounts)),
            *(draw(st.booleans()), draw(st.none() | names), draw(amounts)),
        )
        for one in nodes
    )
    on = on_device()
    latency = on.latency._replace(
        floor_s=draw(amounts),
        layerwise_s=draw(amounts),
        bound=draw(st.none() | names),
        intensity_ops_per_byte=draw(amounts),
        attainable_ops_per_s=draw(amounts),
    )
    odd = on._replace(
        conditions=on.conditions._replace(precision=draw(st.none() | names), batch=draw(st.none() | sizes)),
        latency=latency,
        nodes=draw(st.sampled_from([times, None])),
        throughput=draw(st.none() | st.lists(batches, max_size=5).map(lambda found: Throughput(tuple(found)))),
        energy=draw(st.none() | energies),
        roofline=draw(st.none() | rooflines),
    )
    return report(nodes, on=draw(st.sampled_from([(odd,), (odd, on), ()])), energy=draw(st.none() | bills))


@settings(max_examples=60)
@given(reports(), st.sampled_from(NAMES), st.booleans())
def test_odd_reports(odd: Report, name: str, is_comparison: bool) -> None:
    for device in devices_of({"sample": odd}) or (None,):
        made = drawn(name, {"one": odd, "two": odd} if is_comparison else odd, device=device)
        assert all(made.datasets.values())  # Vega warns of a scale without a value


@settings(max_examples=40)
@given(altered(), st.sampled_from(NAMES))
def test_altered_reports(data: dict[str, Any], name: str) -> None:
    try:
        odd = Report.from_dict(data)
    except BadSpec:
        return
    for device in devices_of({"sample": odd}) or (None,):
        drawn(name, odd, device=device)
