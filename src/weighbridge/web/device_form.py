"""The form of a new device: its fields in the order of a device file, each with what it takes, and the file that they come to."""

from __future__ import annotations

import re
from typing import Final

from weighbridge.devices.device import CONTENTS, KERNEL_LIBRARIES, KINDS, PRECISIONS
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.device_grid import KIND_TITLES
from weighbridge.web.device_draft import Draft, placed, rows_of
from weighbridge.web.pages import rendered

__all__ = ["device_form"]

_LEAST_ROWS: Final = 4
_ROW: Final = re.compile(r"(peaks|memories)\[[0-9]{1,3}\](\.(unit|precision|name|holds))?")
_FIGURE: Final = re.compile(r"(peaks|memories)\[[0-9]{1,3}\]\.[a-z_]+\.(value|source|note|unverified|measured)")


class _Field(NamedTuple):
    """Its key in the file, what it is called, how an example is written, and what it is."""

    key: str
    label: str
    example: str = ""
    meaning: str = ""


_LINES: Final = (
    _Field("name", "name", "my-board", "What addresses and reports call it."),
    _Field("title", "full name", "My board, revision 2"),
    _Field("class", "class", "microcontroller", "What it is."),
    _Field("core", "core", "Arm Cortex-M7, 216 MHz", "What computes."),
)
_MEMORY: Final = (
    _Field("bytes", "size", "256 KiB"),
    _Field("bandwidth_bytes_per_s", "bandwidth", "204.8 GB/s", "without it, moving bytes counts as no time"),
    _Field("reserved_bytes", "reserved", "64 KiB", "what firmware or system keep for themselves"),
    _Field("largest_block_bytes", "largest block", "128 KiB", "the longest piece without a gap, where it is not one"),
)
_AREAS: Final = ("notes", "energy", "measured")


def device_form(draft: Draft, faults: tuple[str, ...] = (), *, is_whole: bool = False, like: str = "") -> str:
    """The page of the form as it was filled, with all ``faults``, each beside its field where there is one.

    ``is_whole`` says that the file was given, not the fields; ``like`` is the device that the form begins as.
    """
    found = placed(faults, (lambda _: False) if is_whole else _is_field)
    beside: dict[str, list[str]] = {}
    for one in found:
        beside.setdefault(one.field, []).append(one.what)
    rows = {group: rows_of(draft.filled, group) for group in ("peaks", "memories")}
    return rendered(
        "device_form.html.jinja",
        filled=draft.filled,
        content=draft.content.decode("utf-8-sig", "replace"),
        faults=found,
        beside=beside,
        like=like,
        is_whole=is_whole,
        used=rows,
        shown={group: max(_LEAST_ROWS, count + 1) for group, count in rows.items()},
        lines=_LINES,
        kinds=[(kind, KIND_TITLES[kind]) for kind in KINDS],
        libraries=[("", "not known"), *((name, name) for name in KERNEL_LIBRARIES)],
        precisions=[("", "choose one"), *((name, name) for name in PRECISIONS)],
        contents=CONTENTS,
        memory=_MEMORY,
        anchor=_anchor,
    )


def _is_field(name: str) -> bool:
    known = name in (*_AREAS, "kind", "kernel_library") or any(name == one.key for one in _LINES)
    return known or any(pattern.fullmatch(name) for pattern in (_ROW, _FIGURE))


def _anchor(name: str) -> str:
    """The name of a field as an element's."""
    return re.sub(r"[^a-z0-9_]+", "-", name).strip("-")
