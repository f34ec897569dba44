"""The regions of boards from a network to the page: what lies where, what is missing, and what is only estimated."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import weighbridge
from weighbridge import Graph, Report
from weighbridge.arena import Arena, ArenaBuffer, PersistentBytes
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.report import html, markdown
from weighbridge.report.page import Page
from weighbridge.report.terminal import Look, text
from weighbridge.report.view import page

HEAD = 'name = "board"\ntitle = "A board"\nclass = "microcontroller"\ncore = "core"\nkind = "mcu"\nkernel_library = "cmsis-nn"\n'
PEAK = '[[peaks]]\nunit = "core"\nprecision = "int8"\nops_per_s = { value = 1e9, source = "made up" }\n'


def board(folder: Path, *memories: str, head: str = HEAD) -> str:
    """The path of a device file; a memory is ``name: holds, size, key=figure …``."""
    lines = [head]
    for one in memories:
        name, _, rest = one.partition(": ")
        holds, size, *more = rest.split(", ")
        figures = {"bytes": size, **dict(part.split("=") for part in more)}
        lines += ["[[memories]]", f'name = "{name}"', f"holds = {holds.split()}"]
        lines += [f'{key} = {{ value = {value}, source = "made up for a test" }}' for key, value in figures.items()]
    path = folder / "board.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def padded(values: int) -> Graph:
    """A network whose peak is this many bytes: values of 8 bits, and as many of them padded."""
    builder = Builder("net")
    x = builder.input("x", (1, values // 2), DTYPES["int8"])
    (y,) = builder.add("pad", [("x", x)], {"pads": (0, 0, 0, values % 2)}, name="pad")
    return builder.graph([y])


def planned(values: int, kernel_bytes: int | None = 900) -> Graph:
    """The same as a file of a runtime, whose arena has 4,096 B of scratch more in the scope of its node."""
    arena = Arena(
        (
            ArenaBuffer("x", values // 2, 0, 1),
            ArenaBuffer("y", values // 2, 1, 1, "pad"),
            ArenaBuffer("scratch", 4096, 1, 1, "pad", is_scratch=True),
        ),
        ("", "pad"),
        (PersistentBytes("cmsis-nn", 4, 124, kernel_bytes, "made up for a test"),),
    )
    return replace(padded(values), arena=arena)


def shown(report: Report, all_rows: bool = False) -> tuple[str, ...]:
    """The page in each format that has one, on a single line each, without escapes."""
    found: Page = page(report, all_rows=all_rows)
    texts = (text(found, Look(120)), markdown.render(found), html.render(found))
    return tuple(" ".join(one.replace("\\", "").replace("&#x27;", "'").split()) for one in texts)


@pytest.mark.parametrize("name", ["stm32h747", "stm32-h747i-disco"])
def test_the_published_board_overflows_one_region_and_no_sum_helps(shared: Path, name: str) -> None:
    """465.36 KiB of activations and 44.05 KiB of runtime, 217,564 B of buffers reserved: published.toml, region_fit."""
    with (shared / "facts" / "published.toml").open("rb") as file:
        published = tomllib.load(file)["region_fit"]["what"]
    assert "overflow the 512 KiB AXI region by 214,912 B once 217,564 B of buffers are reserved" in published
    activations, runtime, buffers = 476_529, 45_107, 217_564
    for network, reserve in ((activations, buffers + runtime), (activations + runtime, buffers)):
        (on,) = weighbridge.weigh(padded(network), on=name, reserve={"axi sram": reserve}).on
        (region,) = (one for one in on.fit.regions if "activations" in one.holds)
        if name == "stm32h747":
            assert (on.fit.verdict, region.name, region.short_bytes) == ("does not fit", "AXI SRAM", 214_912)
            assert region.reserved_bytes == reserve
            assert region.peak_node == "pad"
        else:
            assert (on.fit.verdict, region.name) == ("fits", "SDRAM")
            assert "are placed in SDRAM: AXI SRAM is 214,912 B too small for them" in " ".join(on.notes)


def test_every_format_says_what_lies_where(tmp_path: Path) -> None:
    path = board(
        tmp_path,
        "flash: weights code, 1000, reserved_bytes=200",
        "SRAM: activations, 500, largest_block_bytes=300, bandwidth_bytes_per_s=4000",
        "PSRAM: activations, 900, bandwidth_bytes_per_s=100",
        head=HEAD + PEAK,
    )
    report = weighbridge.weigh(padded(500), on=path, reserve={"psram": "0.1kB"})
    for whole in shown(report):
        assert "activations: 500 B of 800 B, 100 B reserved" in whole
        assert "deployed model: 0 B of 800 B, 200 B reserved" in whole
        assert "code not counted" not in whole
        assert "moved once, through PSRAM at 100 B/s" in whole
        assert "the activations are placed in PSRAM: SRAM is 200 B too small for them" in whole
    short = weighbridge.weigh(padded(1000), on=path, reserve={"psram": "0.1kB", "flash": "0.8kB"})
    for whole in shown(short):
        assert "does not fit: short by 200 B of PSRAM (the peak is at pad)" in whole
    inside = weighbridge.weigh(padded(301), on=path, reserve=["psram=900"])
    for whole in shown(inside):
        assert "activations: 301 B of 300 B, its largest block" in whole
        assert "short by 1 B of SRAM" in whole


def test_every_format_names_the_arena_and_the_estimate_beside_it(tmp_path: Path) -> None:
    """16 kB twice and 4,096 B of scratch: 36,096 B planned; 1,024 B of runtime are estimated beside them."""
    needed = 32_000 + 4_096
    cases = {
        needed - 1: ("does not fit", "short by 1 B of SRAM (the peak is at pad)"),
        needed: (
            "unknown",
            f"has room for the {needed:,} B that are certain, and is 1,024 B too small with the 1,024 B that the runtime",
        ),
        needed + 1023: ("unknown", "and is 1 B too small with"),
        needed + 1024: ("fits", "code not counted"),
    }
    for size, (verdict, words) in cases.items():
        path = board(tmp_path, "flash: weights, 1000", f"SRAM: activations, {size}")
        report = weighbridge.weigh(planned(32_000), on=path)
        assert report.memory.peak_bytes["arena_tflm"] == needed
        assert report.on[0].fit.verdict == verdict
        for whole in shown(report):
            assert words in whole
            assert f"activations (arena_tflm): {needed:,} B of {size:,} B" in whole
            assert "beside it the runtime's own data, estimated at 1,024 B" in whole


def test_a_runtime_of_unknown_size_is_said_to_be_one(tmp_path: Path) -> None:
    path = board(tmp_path, "flash: weights, 1000", "SRAM: activations, 1e9", "DTCM: persistent, 1000")
    report = weighbridge.weigh(planned(32_000, kernel_bytes=None), on=path)
    assert [one.holds for one in report.on[0].fit.regions] == [("weights",), ("activations",), ("persistent",)]
    for whole in shown(report):
        assert "the runtime's own data: unknown of 1,000 B" in whole
        assert "DTCM: how much the runtime keeps for itself is not known (cmsis-nn kernels" in whole
    report = weighbridge.weigh(planned(32_000), on=path)
    assert report.on[0].fit.verdict == "unknown"
    for whole in shown(report):
        assert "the runtime's own data: estimated at 1,024 B of 1,000 B" in whole
        assert "DTCM is 24 B too small for the 1,024 B that the runtime's own data are estimated at" in whole


def test_a_saved_report_is_the_report(tmp_path: Path) -> None:
    path = board(tmp_path, "flash: weights, 1000", "SRAM: activations, 40000")
    report = weighbridge.weigh(planned(32_000), on=path)
    assert Report.from_json(report.to_json()) == report
    region = report.to_dict()["on"][0]["fit"]["regions"][1]  # type: ignore[index]
    assert {key: region[key] for key in ("name", "needed_bytes", "available_bytes", "short_bytes")} == {
        "name": "SRAM",
        "needed_bytes": 36_096,
        "available_bytes": 40_000,
        "short_bytes": 0,
    }
    assert (region["policy"], region["estimated_bytes"]) == ("arena_tflm", 1_024)
    data = report.to_dict()
    added = ("policy", "estimated_bytes", "largest_block_bytes", "bandwidth_bytes_per_s", "contents", "uncounted")
    for key in added:
        del data["on"][0]["fit"]["regions"][1][key]  # type: ignore[index]
    older = Report.from_dict(data).on[0].fit.regions[1]
    assert (older.needed_bytes, older.policy, older.contents) == (36_096, None, ())
    assert "activations: 36,096 B of 40,000 B" in shown(Report.from_dict(data))[0]


def test_devices_without_the_region_are_named() -> None:
    report = weighbridge.weigh("lenet5", precision="int8", on=["stm32f746", "nrf52840", "a100"], reserve={"sram": 1})
    assert [on.fit.regions[-1].reserved_bytes for on in report.on] == [1, 0, 0]
    assert "nothing is reserved in sram on nrf52840, a100: there is no such region" in report.notes
    everywhere = weighbridge.weigh("lenet5", precision="int8", on="stm32f746", reserve={"sram": 1})
    assert not any("reserved" in note for note in everywhere.notes)


def test_the_reservation_is_taken_at_every_batch() -> None:
    report = weighbridge.weigh(
        "lenet5", precision="int8", on="rp2040", batches=[1, 8], reserve={"sram": 270_336 - 20_000}
    )
    points = report.on[0].throughput
    assert points is not None
    assert [point.verdict for point in points.by_batch] == ["fits", "does not fit"]
