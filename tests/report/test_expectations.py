"""What a report says of expected times: beside the floor, never in its place, and the same on every page."""

from __future__ import annotations

import pytest

from tests.report.samples import alexnet, on_device, report
from weighbridge import Report, compare, weigh
from weighbridge.estimates import Expected
from weighbridge.report import markdown
from weighbridge.report.figures import label, values_of
from weighbridge.report.terminal import Look, text
from weighbridge.report.view import page
from weighbridge.units import seconds

BASIS = "from its kernels as measured on this device, not a measurement of this network"
OURS = Expected("ours", "int8", "a bench", 0.2, 0.1, 0.4, 3.0, 1.0, 8.0, {"convolution": 0.2})
THEIRS = Expected("theirs", "int8", "a bench", None, None, None, reason="nobody knows")
BARE = Expected("bare", "int8", "a bench", 0.3, None, None, verified=False)


def shown(*expected: Expected, needed: int = 1) -> tuple[str, ...]:
    on = on_device(needed=needed, peak=1)._replace(expected=expected)
    (verdict,) = page(report(alexnet(), on=(on,))).verdicts
    return tuple(line for line in verdict.times if "expected" in line)


def test_each_library_has_a_line_with_its_range_its_energy_and_what_it_rests_on() -> None:
    assert shown(OURS, THEIRS) == (
        f"expected 200.0 ms (100.0 ms to 400.0 ms) with ours, and 3.0000 J (1.0000 J to 8.0000 J): {BASIS}",
        "expected time with theirs unknown: nobody knows",
    )
    assert shown() == ()


def test_doubt_is_told_and_so_is_that_it_does_not_fit() -> None:
    (doubtful,) = shown(BARE)
    assert doubtful.startswith(f"expected ~300.0 ms with bare: {BASIS}; ~ rests on a figure that is not verified")
    (short,) = shown(OURS, needed=10**12)
    assert " with ours even if it fitted, and " in short


def test_a_reason_that_a_saved_report_does_not_have_is_not_made_up() -> None:
    assert shown(THEIRS._replace(reason="")) == ("expected time with theirs unknown: the reason was not kept",)


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
    assert [row.cells[place] for row in some.rows] == ["200.0 ms or ~300.0 ms", "?"]
    assert any(note.startswith("expected: from kernels that others measured") for note in some.notes)


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
    line = f"expected {seconds(one.time_s)} ("
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
