"""Peak memory in a terminal: a table of the policies as wide as there is room for, and below it what they assume."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from weighbridge.report.page import Peak, Peaks
from weighbridge.report.spans import Line, Style, cells, pad, wrap

__all__ = ["peak_lines"]

_GAP = 2
_NARROW = 72
_LABELS = (26, 36)
_NODES = (16, 28)
"""The widths that the policies of a row, and the name of a node, are given at least and at most where they are longer."""
_LEAST = 8
"""What either of them has beside a figure of any length."""
_FIGURES = (("bytes", "binary", "values"), ("bytes", "binary"), ("bytes",))
"""The columns of figures, from the most to the fewest: the first that leave room for names are taken."""
_NEXT, _JOINT = re.compile(r"(?<=, )"), re.compile(r"(?<=[./;])")
"""Where a list of policies and the name of a node are broken."""
_TITLE, _NODE_TITLE = "peak memory", "set at"
_HEAD = "alive while a node runs, and assumed"


def peak_lines(peaks: Peaks, width: int) -> Iterator[Line]:
    """A row for every figure; then what has none, what each policy calls alive, and what all of them leave out."""
    yield from _table(peaks.rows, width)
    for sentence in peaks.left_out:
        yield from wrap(sentence, width, Style.QUIET, hanging=2)
    yield Line.of((_HEAD, Style.QUIET))
    topic = max(cells(topic) for topic, _ in peaks.assumptions)
    for name, sentence in peaks.assumptions:
        if width < _NARROW:
            yield from wrap(f"{name}: {sentence}", width, Style.QUIET, indent=2, hanging=2)
            continue
        first, *others = wrap(sentence, width - topic - 2 * _GAP, Style.QUIET)
        yield Line((*Line.of((f"  {pad(name, topic)}  ", Style.QUIET)), *first))
        yield from (Line((*Line.of((" " * (topic + 2 * _GAP), Style.PLAIN)), *other)) for other in others)


def _table(rows: Sequence[Peak], width: int) -> Iterator[Line]:
    figures, label, node = _widths(rows, width)
    head = [(pad(_TITLE, label), Style.STRONG), *((f"  {pad(name, -size)}", Style.QUIET) for name, size in figures)]
    yield Line.of(*head, (f"  {_NODE_TITLE}", Style.QUIET))
    for row in rows:
        style = Style.WARNING if row.bytes == "unknown" else Style.FIGURE
        numbers = [pad(getattr(row, name), -size) for name, size in figures]
        names, nodes = _broken(row.policies, label, _NEXT), _broken(row.node, node, _JOINT)
        for index, (name, place) in enumerate(zip_longest(names, nodes)):
            shown = numbers if index == 0 else [" " * len(number) for number in numbers]
            yield Line.of(
                (pad(name or "", label), Style.STRONG),
                *((f"  {number}", style if column == 0 else Style.PLAIN) for column, number in enumerate(shown)),
                (f"  {place or ''}", Style.PLAIN),
            )


def _widths(rows: Sequence[Peak], width: int) -> tuple[list[tuple[str, int]], int, int]:
    """The columns of figures with their widths, and the widths of the policies' column and the nodes'."""
    labels = [_TITLE, *(row.policies for row in rows)]
    widest, nodes = max(map(cells, labels)), max((cells(row.node) for row in rows), default=0)
    longest = max(cells(name.rstrip()) for label in labels for name in _NEXT.split(label))
    narrowest = max(longest, min(widest, _LABELS[0]))
    for names in _FIGURES:
        figures = [(name, max(map(len, (name, *(getattr(row, name) for row in rows))))) for name in names]
        left = width - sum(size + _GAP for _, size in figures) - _GAP
        if left >= narrowest + min(nodes, _NODES[0]):
            break
    label = max(narrowest, min(widest, _LABELS[1], left - min(nodes, _NODES[1])))
    label = min(label, max(_LEAST, left - _LEAST))
    return figures, label, max(_LEAST, left - label)


def _broken(text: str, width: int, joint: re.Pattern[str]) -> list[str]:
    """``text`` in lines, broken at joints only, unless a part alone is too wide."""
    lines = [""]
    for part in joint.split(text):
        if lines[-1] and cells((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return [span.text for line in lines for (span,) in wrap(line, width, Style.PLAIN)]
