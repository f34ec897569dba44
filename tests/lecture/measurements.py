"""Measurements of others: carried in docs/measurements.md with their source; rates and frames missed come from `batching`."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

from tests.lecture.entries import check, rounds_to
from weighbridge.calculators import Design, batching


@cache
def carried() -> dict[str, tuple[str, ...]]:
    """The rows of the page's tables, by their first cell."""
    page = Path(__file__).resolve().parents[2] / "docs" / "measurements.md"
    rows = [
        line.strip("|").split("|") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")
    ]
    return {cells[0].strip(): tuple(cell.strip() for cell in cells[1:]) for cells in rows}


def figures(row: str) -> list[Decimal]:
    """The numbers of a carried row, in order."""
    return [
        Decimal(text.replace(",", "")) for cell in carried()[row] for text in re.findall(r"\d[\d,]*(?:\.\d+)?", cell)
    ]


@check("latency", "segformer_b5_ms", "segformer_b5_gmacs", "efficientvit_l1_ms", "efficientvit_l1_gmacs")
def _(value, key):
    row = "SegFormer-B5" if key.startswith("segformer") else "EfficientViT-L1"
    assert Decimal(str(value)) in figures(row)


@check("latency", "latency_ratio", "macs_ratio")
def _(value, key):
    gmacs, milliseconds, _ = (a / b for a, b in zip(figures("SegFormer-B5"), figures("EfficientViT-L1"), strict=True))
    ratio = milliseconds if key == "latency_ratio" else gmacs
    assert rounds_to(Fraction(ratio), value)
    assert value in figures("ratio of the two")


@check("latency", "frame_ms", "frames_missed")
def _(value, key):
    rows = {"segformer_b5": "SegFormer-B5", "efficientvit_l1": "EfficientViT-L1"}
    found = batching([Design(1, Fraction(figures(row)[1]) / 1000, name) for name, row in rows.items()], fps=30)
    if key == "frame_ms":
        assert rounds_to(1000 * found.deadline_s, value)
        return
    assert {design.name: design.frames_missed for design in found.designs} == {name: value[name] for name in rows}


@check("latency", "conditions_of_these")
def _(value):
    page = (Path(__file__).resolve().parents[2] / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert value in page


@check("latency", "same_model_two_boards_ms")
def _(value):
    for name, row in (("efficientvit_b1", "EfficientViT-B1"), ("segformer_b1", "SegFormer-B1")):
        fast, slow, times = figures(row)
        assert [fast, slow] == value[name]
        assert rounds_to(Fraction(slow) / Fraction(fast), times)


@check("throughput", "design_1", "design_2", "server_1", "server_32")
def _(value, key):
    (design,) = batching([Design(value["batch"], Fraction(value["latency_ms"]) / 1000)]).designs
    assert design.throughput_per_s == value["throughput_per_s"]
    assert figures(f"`{key}`") == [value["batch"], value["latency_ms"], value["throughput_per_s"]]


@check("throughput", "tsm_8f", "tsm_8f_gflops", "i3d")
def _(value, key):
    milliseconds, reciprocal, batched, gflops = figures("TSM, 8 frames")
    if key == "tsm_8f":
        assert [milliseconds, reciprocal, batched] == list(value.values())
        (design,) = batching([Design(1, Fraction(milliseconds) / 1000)]).designs
        assert rounds_to(design.throughput_per_s, reciprocal)
    elif key == "tsm_8f_gflops":
        assert gflops == value
    else:
        assert figures("I3D") == [value["throughput_per_s"], value["gflops"]]
