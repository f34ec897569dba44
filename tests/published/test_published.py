"""Published networks are carried as they were published, each with its source and conditions; a file with faults tells all of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import weighbridge
from weighbridge.errors import BadSpec
from weighbridge.published import find, names
from weighbridge.published.read import read_published

FAULTY = """
source = "somebody"
colour = "red"
[[networks]]
name = "Not A Name"
title = ""
macs = "12"
latency_s = 0
speed = 3
[[networks]]
name = "a"
title = "A"
latency_s = 0.1
[[networks]]
name = "a"
title = "A again"
quality = 80.1
throughput_per_s = nan
conditions = { hardware = "a board", batch = 1.5, weather = "fine" }
notes = "a sentence"
"""


def faults(folder: Path, text: str) -> list[str]:
    path = folder / "rows.toml"
    path.write_text(text)
    with pytest.raises(BadSpec) as caught:
        read_published(path)
    return str(caught.value).splitlines()


def test_every_row_says_where_it_is_from_and_what_a_time_was_taken_under() -> None:
    for name in names():
        row = find(name)
        assert row.name == name
        assert row.source
        assert row.title
        if row.latency_s is not None or row.throughput_per_s is not None:
            assert row.conditions is not None
            assert row.conditions.hardware
            assert row.conditions.batch is not None
        assert any(one is not None for one in (row.macs, row.flops, row.latency_s, row.throughput_per_s))


def test_figures_are_exactly_what_is_written_and_unknown_ones_are_none() -> None:
    slow, fast = find("segformer_b5"), find("efficientvit_l1")
    assert (slow.macs, slow.latency_s, slow.quality) == (1460 * 10**9, Fraction("0.638"), Fraction("82.4"))
    assert (fast.macs, fast.latency_s, fast.quality) == (282 * 10**9, Fraction("0.0459"), Fraction("82.7"))
    assert slow.conditions == fast.conditions
    assert (slow.flops, slow.throughput_per_s) == (None, None)
    assert (find("tsm_8f").macs, find("i3d").latency_s, find("i3d").quality) == (None, None, None)


@pytest.mark.parametrize("written", ["segformer_b5", "SegFormer-B5", " segformer b5 "])
def test_names_are_found_however_they_are_spelled(written: str) -> None:
    assert find(written).title == "SegFormer-B5"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        BadSpec, match=r"there is no published network .segformer_b6.; did you mean published:segformer_b"
    ):
        find("segformer_b6")
    with pytest.raises(BadSpec, match="there are efficientvit_b1_nano, "):
        find("")


def test_a_count_that_is_called_flops_and_is_macs() -> None:
    """The note on TSM says that its 33 G are the MACs of a ResNet-50 for 8 images."""
    macs = weighbridge.weigh("resnet50").facts.macs
    assert "ResNet-50" in find("tsm_8f").notes[0]
    assert find("tsm_8f").flops == round(Fraction(8 * macs, 10**9)) * 10**9


def test_the_page_of_measurements_has_the_figures_and_names_all_rows() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in names())
    lines = {
        "segformer_b5": "| SegFormer-B5 | {macs} | {latency} |",
        "efficientvit_l1": "| EfficientViT-L1 | {macs} | {latency} |",
        "efficientvit_b1_orin": "| EfficientViT-B1 | {latency} |",
        "segformer_b1_orin": "| SegFormer-B1 | {latency} |",
        "tsm_8f": "| TSM, 8 frames | {latency} |",
    }
    for name, line in lines.items():
        row = find(name)
        macs = f"{int((row.macs or 0) / 10**9):,}"
        assert line.format(macs=macs, latency=f"{float((row.latency_s or 0) * 1000):g}") in page, name


def test_all_faults_of_a_file_at_once(tmp_path: Path) -> None:
    found = faults(tmp_path, FAULTY)
    for part in (
        "has 11 faults",
        "$.colour: is no key here; those are source, input, networks",
        "$.networks[0].name: must be lower-case letters",
        "$.networks[0].title: must be one line of printable text",
        "$.networks[0].macs: must be a number above 0",
        "$.networks[0].latency_s: must be a number above 0",
        "$.networks[0]: has no key 'speed'; the keys here are name, title",
        "$.networks[2].throughput_per_s: must be a number above 0",
        "$.networks[2].conditions.batch: must be a whole number above 0, not 1.5",
        "$.networks[2].conditions: has no key 'weather'; the keys here are hardware, runtime, precision, batch",
        "$.networks[2].notes: must be a list of sentences",
        "$.networks (a): a time has conditions, and a batch among them",
    ):
        assert any(part in line for line in found), part


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "$.networks: must be a list of tables"),
        ("networks = [3]", "$.networks[0]: must be a table, not 3"),
        ('[[networks]]\nname = "a"\ntitle = "A"', "$.networks[0].source: is missing"),
        ('source = "s"\n' + '[[networks]]\nname = "a"\ntitle = "A"\n' * 2, "$.networks: two have one name"),
        ('source = "s"\n[[networks]]\nname = "a"\ntitle = "A"\nquality = 3', "quality and quality_metric go together"),
        ("[[networks", "this is not TOML"),
    ],
)
def test_single_faults(tmp_path: Path, text: str, fault: str) -> None:
    assert fault in "\n".join(faults(tmp_path, text))
