"""A picture stands alone: it says what it shows, of what, and what it leaves out."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.report.samples import alexnet, on_device, report
from weighbridge.report.charts.drawn import chart
from weighbridge.report.pictures import picture


def test_notes_and_reasons_stand_above_the_drawing_in_lines_that_have_room() -> None:
    one = chart("inversion", {"a": report(alexnet())}, "live")
    note = "drawn are the two layers that are left " * 10
    noted = one._replace(notes=(note,), reasons=("b: <nothing> of it is known",), device="dev\u202eice")
    texts = list(lines(picture(noted, "svg", ["a"])))
    assert texts[0] == "Parameters and MACs by layer"
    assert texts[1] == r"a on dev\u202eice"
    assert " ".join(texts[2:-1]) == note.strip()
    assert texts[-1] == "b: <nothing> of it is known"
    assert max(map(len, texts)) <= 120


def lines(svg: bytes) -> Iterator[str]:
    """The lines of the title, which Vega writes last."""
    texts = [one for one in ET.fromstring(svg).iter() if one.tag.endswith("text")]
    for text in texts[-2:]:
        yield from (one.text or "" for one in ([*text] or [text]))


def test_several_have_their_titles_at_their_panels() -> None:
    two = {"a": report(alexnet()), "b": report(alexnet())}
    assert list(lines(picture(chart("inversion", two, "live"), "svg", list(two)))) == [
        "Parameters and MACs by layer",
        "",
    ]


def titles(spec: Any) -> Iterator[str]:
    title = spec.get("title", {})
    parts = [title] if isinstance(title, str) else title.values()
    for part in parts:
        yield from [part] if isinstance(part, str) else part if isinstance(part, list) else ()
    for part in (*spec.get("vconcat", ()), *spec.get("layer", ())):
        yield from titles(part)


def test_no_title_is_longer_than_anybody_sees() -> None:
    """Vega cuts a line to the width of its panel, but measures all of it again and again to find where."""
    plain = report(alexnet(), on=(on_device(),))
    huge = {**plain.memory.peak_bytes, "live": 10**3800}
    odd = replace(plain, memory=plain.memory._replace(peak_bytes=huge))
    spec = chart("memory", {"x" * 10_000: odd, "b": odd}, "live").spec
    assert spec is not None
    assert 10 < max(map(len, titles(spec))) <= 200
