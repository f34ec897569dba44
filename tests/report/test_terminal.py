"""The page in a terminal: readable at every width, with and without Unicode."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

import weighbridge
from tests.report.samples import alexnet, node, on_device, report
from weighbridge import Report
from weighbridge.report.spans import bar, clip, level, pad
from weighbridge.report.terminal import Look, render, text
from weighbridge.report.view import page


def sample() -> Report:
    nodes = [*alexnet(), node("odd", operator="unknown", origin="my.Op", macs=None)]
    return report(nodes, on=(on_device(), on_device(needed=1000, peak=1000)), notes=("something to know",))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_page(snapshot: SnapshotAssertion, width: int) -> None:
    assert text(page(sample()), Look(width)) == snapshot


def test_a_page_in_ascii(snapshot: SnapshotAssertion) -> None:
    shown = text(page(sample()), Look(80, unicode=False))
    assert shown.isascii()
    assert shown == snapshot


def test_a_real_network(snapshot: SnapshotAssertion) -> None:
    assert text(page(weighbridge.weigh("alexnet", on=["stm32f746", "toy"])), Look(80)) == snapshot


LONG = "a.module.with.a.very.long.path.that.goes.on.and.on"


@pytest.mark.parametrize("width", [60, 66, 72, 76, 80, 100, 120, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal(width: int, unicode: bool) -> None:
    nodes = [
        *alexnet(),
        node("x" * 300, scope=LONG, operator="unknown", origin="y" * 300, macs=None),
        node("\u6f22\u5b57" * 40, weights=10**15, macs=10**18),
        node("wide", output=(1,) * 60, macs=10**30),
    ]
    shown = text(page(report(nodes, on=(on_device(),), notes=("z" * 500,))), Look(width, unicode))
    assert max(cell_len(line) for line in shown.splitlines()) <= width


def test_the_peak_is_marked_at_sixty_columns() -> None:
    lines = text(page(sample()), Look(60)).splitlines()
    assert [line.split()[0] for line in lines if line.endswith("◀ peak")] == ["features", "conv1"]


def test_the_lines_are_what_the_text_is_made_of() -> None:
    shown = page(sample())
    lines = ["".join(span.text for span in line).rstrip() for line in render(shown, Look(80, colour=True))]
    assert "\n".join(lines) + "\n" == text(shown, Look(80))


@pytest.mark.parametrize(
    ("share", "unicode", "drawn"),
    [
        (0.0, True, "        "),
        (1.0, True, "████████"),
        (0.5, True, "████    "),
        (1 / 64, True, "▏       "),
        (1e-9, True, "▏       "),
        (1.2, True, "███████▶"),
        (1.2, False, "#######>"),
        (0.5, False, "####    "),
        (None, True, "        "),
    ],
)
def test_bars(share: float | None, unicode: bool, drawn: str) -> None:
    assert bar(share, 8, unicode) == drawn


def test_levels_rise() -> None:
    assert [level(share / 8, True) for share in range(9)] == list("▁▂▃▄▅▆▇██")
    assert level(None, True) == "?"


@pytest.mark.parametrize("width", range(1, 30))
def test_clipped_text_fits_and_keeps_both_ends(width: int) -> None:
    for name in ("layer1.0.conv1", "\u6f22\u5b57" * 6, "plain", "a\u0301" * 12):
        cut = clip(name, width)
        assert cell_len(cut) <= width
        assert cell_len(pad(cut, width)) == width
        if width >= cell_len(name):
            assert cut == name


@pytest.mark.parametrize("old", ["conv1", "MobilenetV1/Conv2d_1_depthwise/Relu6", "\u5c42" * 20])
@pytest.mark.parametrize("new", ["c", "model/activation_1/Relu", "\u6a21" * 20])
def test_of_what_was_and_what_is_each_side_is_cut_by_itself(old: str, new: str) -> None:
    whole = f"{old} -> {new}"
    for width in range(len(whole) + 50):
        cut = clip(whole, width)
        assert cell_len(cut) <= width
        if cell_len(whole) <= width:
            assert cut == whole
        elif width >= 14:
            was, _, now = cut.partition(" -> ")
            assert (was[0], now[-1]) == (old[0], new[-1])
            assert all(side == of or "…" in side for side, of in ((was, old), (now, new)))
