"""What a report says of expected times: beside the floor, never in its place, and the same on every page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.estimates.machines import FUSED, machine
from tests.report.charts.drawings import drawn
from tests.report.samples import alexnet, on_device, report
from weighbridge import Report, compare, weigh, what_if
from weighbridge.devices.device import Device
from weighbridge.estimates import Expected
from weighbridge.report import markdown
from weighbridge.report.expectations import missed_lines
from weighbridge.report.figures import label, values_of
from weighbridge.report.terminal import Look, text
from weighbridge.report.triangle import triangle
from weighbridge.report.view import page
from weighbridge.report.what_if_page import grids
from weighbridge.units import rough_seconds

BASIS = "estimated from a bench, not a measurement of this network"
FLOOR_S = 0.05
WIDE = "mobilenet_v1:width=0.75,resolution=96"
"""Its weights lie in external flash, until they have 4 bits."""
OURS = Expected("ours", "int8", "a bench", 0.2, 0.1, 0.4, 3.0, 1.0, 8.0, {"convolution": 0.2})
THEIRS = Expected("theirs", "int8", "a bench", None, None, None, reason="nobody knows")
BARE = Expected("bare", "int8", "a bench", 0.3, None, None, verified=False)


def shown(*expected: Expected, needed: int = 1) -> tuple[str, ...]:
    on = on_device(needed=needed, peak=1)
    on = on._replace(expected=expected, latency=on.latency._replace(floor_s=FLOOR_S))
    (verdict,) = page(report(alexnet(), on=(on,))).verdicts
    return tuple(line for line in verdict.times if "expected" in line)


def test_each_library_has_a_line_with_its_range_its_energy_and_what_it_rests_on() -> None:
    assert shown(OURS, THEIRS) == (
        f"expected 200 ms (100 ms to 400 ms) with ours, and 3.0 J (1.0 J to 8.0 J): {BASIS}",
        "expected time with theirs unknown: nobody knows",
    )
    assert shown() == ()


def test_doubt_is_told_and_so_is_that_it_does_not_fit() -> None:
    (doubtful,) = shown(BARE)
    assert doubtful.startswith(
        f"expected ~300 ms (range unknown) with bare: {BASIS}; ~ rests on a figure that is not verified"
    )
    (short,) = shown(OURS, needed=10**12)
    assert " with ours even if it fitted, and " in short


def test_a_reason_that_a_saved_report_does_not_have_is_not_made_up() -> None:
    assert shown(THEIRS._replace(reason="")) == ("expected time with theirs unknown: the reason was not kept",)


def test_libraries_without_a_time_for_one_reason_have_a_line_together() -> None:
    assert shown(THEIRS, THEIRS._replace(kernels="others"), THEIRS._replace(kernels="last", reason="no")) == (
        "expected time with theirs or others unknown: nobody knows",
        "expected time with last unknown: no",
    )


def test_what_is_outside_of_the_measured_networks_or_below_the_floor_is_told() -> None:
    (far,) = shown(OURS._replace(beyond="beyond it"))
    assert far.endswith(f"{BASIS}; beyond it")
    (below,) = shown(OURS._replace(time_s=FLOOR_S / 2))
    assert below.endswith("; below the floor, which nothing is: a number of the device's file is another than said")


def test_the_triangle_has_expected_figures_of_their_own() -> None:
    on = on_device(needed=1, peak=1)._replace(expected=(OURS, THEIRS, BARE))
    _, faster, greener = triangle([report(alexnet(), on=(on,))], "live")
    times = {row.label: row.figures[0] for row in faster.rows if "expected" in row.label}
    assert {name: figure and figure.value.full for name, figure in times.items()} == {
        "expected time, stm32f746, ours": "200 ms (100 ms to 400 ms)",
        "expected time, stm32f746, bare": "~300 ms (range unknown)",
    }
    assert all(figure and not figure.is_exact and "not a measurement" in figure.convention for figure in times.values())
    assert [row.label for row in greener.rows] == ["expected energy, stm32f746, ours"]
    assert "no energies were asked for" not in greener.note


def test_the_chart_of_floors_says_what_is_expected_and_draws_none_of_it() -> None:
    real = weigh("mobilenet_v1:width=0.25,resolution=96", precision="int8", on="stm32l4r5")
    made = drawn("latency", real, device="stm32l4r5")
    assert [note for note in made.notes if note.startswith("the bars are floors; what is expected has none")]
    assert len([note for note in made.notes if note.startswith("expected ")]) == 2
    floats = drawn("latency", weigh("lenet5", on="stm32l4r5", precision="int8", batch=2), device="stm32l4r5")
    assert not [note for note in floats.notes if note.startswith("the bars are floors")]
    assert [note for note in floats.notes if note.startswith("expected time with X-CUBE-AI 9.0 or HALE")]


def test_a_deadline_has_lines_of_what_is_expected() -> None:
    (on,) = weigh("mobilenet_v1:width=0.25,resolution=96", precision="int8", on="stm32l4r5", fps=10).on
    assert next(missed_lines(on)) == "expected to miss 1 frame (0 to 1) with X-CUBE-AI 9.0"


def test_a_range_that_nobody_knows_is_not_made_up() -> None:
    alone = replace(FUSED, least=None, most=None, networks=0)
    found = weigh("lenet5", on=machine(alone), fps=1000)
    assert list(missed_lines(found.on[0])) == ["expected to miss 1 frame (range unknown) with onnxruntime 1.32.0"]
    said = " ".join(str(found).split())
    assert "(range unknown) with onnxruntime 1.32.0: estimated from single operators, CPUExecutionProvider" in said
    assert "nobody knows how far off it is" in said
    assert values_of(found)["expected_most_s.onnxruntime 1.32.0", "machine"].value is None


@pytest.mark.parametrize(
    ("device", "basis"),
    [
        (machine(FUSED), "a bound from measured peaks, not a measurement of this network"),
        (machine(FUSED, measured=False), "a bound from the data sheet, not a measurement"),
        (
            replace(machine(FUSED), memories=machine(measured=False).memories),
            "a bound from the data sheet and measured peaks, not a measurement of this network",
        ),
    ],
)
def test_a_floor_says_whether_its_figures_were_measured(device: Device, basis: str) -> None:
    found = weigh("lenet5", on=device)
    (verdict,) = page(found).verdicts
    assert verdict.conditions == f"My machine, float32, batch 1, no runtime: {basis}"
    for shown in (markdown.render(page(found)), found.to_html()):
        assert "not a measurement of this network" in shown
        assert "onnxruntime 1.32.0" in shown
    saved = Report.from_json(found.to_json())
    assert saved.on[0].expected == found.on[0].expected
    assert saved.on[0].latency.figures == found.on[0].latency.figures


def test_models_at_a_rate_have_a_row_for_the_floor_and_one_a_library() -> None:
    found = compare(["mobilenet_v1:width=0.25,resolution=96", "lenet5"], precision="int8", on="stm32l4r5", fps=10)
    assert found.deadline is not None
    rows = [(one.model, one.kind, one.kernels, one.exact) for one in found.deadline.by][:3]
    assert [row[1:] for row in rows] == [
        ("floor", "", True),
        ("expected", "X-CUBE-AI 9.0", False),
        ("expected", "HALE 1.0.175", False),
    ]
    said = str(found)
    assert "floor 32.27 ms" in said
    assert "expected 100 ms" in said
    assert "times the time expected on stm32l4r5 with HALE 1.0.175" in " ".join(said.split())


def test_a_change_is_told_in_expected_time_and_a_step_that_has_none_is_unknown() -> None:
    found = what_if("lenet5", ["low-rank:f6=10", "prune=0.5"], precision="int8", on="stm32l4r5")
    assert "expected time, X-CUBE-AI 9.0 on stm32l4r5 0.31 times" in " ".join(str(found).split())
    assert found.metric("expected_s.X-CUBE-AI 9.0", "stm32l4r5").ratio == pytest.approx(0.31, abs=0.005)
    moved = what_if(WIDE, ["low-rank:fc=10", "bits=4"], precision="int8", on="stm32-f746g-disco", steps=True)
    (grid,) = (one for one in grids(moved) if one.title.startswith("on "))
    assert [len(row.cells) for row in grid.rows] == [len(grid.columns)] * len(grid.rows)
    (row,) = (row for row in grid.rows if row.cells[0] == "expected time, HALE 1.0.175")
    assert row.cells[1:] == ("?", "?", "330 ms", "?", "?")


def test_the_floor_is_what_it_was() -> None:
    on = on_device(needed=1, peak=1)
    (with_it,) = page(report(alexnet(), on=(on._replace(expected=(OURS,)),))).verdicts
    (without,) = page(report(alexnet(), on=(on,))).verdicts
    assert [line for line in with_it.times if not line.startswith("expected")] == list(without.times)
    assert with_it.conditions == without.conditions


def test_devices_side_by_side_have_a_column_where_one_has_a_time() -> None:
    on = on_device(needed=1, peak=1)
    none = page(report(alexnet(), on=(on, on))).devices
    assert none is not None
    assert "expected" not in [column.title for column in none.columns]
    some = page(report(alexnet(), on=(on._replace(expected=(OURS, THEIRS, BARE)), on))).devices
    assert some is not None
    place = [column.title for column in some.columns].index("expected")
    assert [row.cells[place] for row in some.rows] == ["200 ms or ~300 ms", "?"]
    assert any(note.startswith("expected: from what was measured on the device") for note in some.notes)


@pytest.fixture(scope="module")
def real() -> Report:
    return weigh("mobilenet_v1:width=0.25,resolution=96", precision="int8", on="stm32l4r5")


def test_it_is_in_the_json_and_read_back(real: Report) -> None:
    (on,) = real.on
    assert [one.kernels for one in on.expected] == ["X-CUBE-AI 9.0", "HALE 1.0.175"]
    assert Report.from_json(real.to_json()) == real
    plain = real.to_dict()
    del plain["on"][0]["expected"]  # type: ignore[index]
    assert Report.from_dict(plain).on[0].expected == ()


def test_every_page_says_it(real: Report) -> None:
    one = real.on[0].expected[0]
    assert one.time_s is not None
    line = f"expected {rough_seconds(one.time_s)} ("
    for said in (text(page(real), Look(200)), markdown.render(page(real)), real.to_html()):
        assert line in said


def test_models_and_changes_are_compared_by_it_too(real: Report) -> None:
    figures = values_of(real)
    value = figures["expected_s.X-CUBE-AI 9.0", "stm32l4r5"]
    assert (value.unit, value.value, value.exact) == ("s", real.on[0].expected[0].time_s, True)
    assert figures["expected_energy_j.X-CUBE-AI 9.0", "stm32l4r5"].unit == "J"
    assert ("expected_energy_j.HALE 1.0.175", "stm32l4r5") not in figures
    assert label("expected_s.HALE 1.0.175") == "expected time, HALE 1.0.175"
    both = compare(["mobilenet_v1:width=0.25,resolution=96", "lenet5"], precision="int8", on="stm32l4r5")
    (metric,) = (metric for metric in both.metrics if metric.name == "expected_s.HALE 1.0.175")
    assert all(isinstance(one, float) for one in metric.values)


def test_floats_have_none_and_the_comparison_no_row() -> None:
    assert not [name for name, _ in values_of(weigh("lenet5", on="stm32l4r5")) if name.startswith("expected")]
