"""The form of a comparison as it was filled in, and what stands above the page of one."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.around import Around
from weighbridge.web.compare_asked import COMPARED, MOST_MODELS, Asked, Row
from weighbridge.web.device_groups import device_groups
from weighbridge.web.fields import in_words
from weighbridge.web.pages import around, rendered
from weighbridge.web.references import models_offered
from weighbridge.web.shelf import Shelf

__all__ = ["above_comparison", "compare_form"]

_FIRST: Final = ("precision", "fps", "batch", "weight_bits", "activation_bits")
_LEAST_ROWS: Final = 3
_MORE_ROWS: Final = 3
_BY_NAME: Final = {field.name: field for field in COMPARED}
_MORE: Final = tuple(field for field in COMPARED if field.name not in _FIRST)


class _Example(NamedTuple):
    """A comparison that many have made, and the address that makes it."""

    title: str
    pairs: tuple[tuple[str, str], ...]

    @property
    def address(self) -> str:
        return f"/compared?{urlencode(self.pairs, safe=':,=')}"


_EXAMPLES: Final = (
    _Example(
        "SegFormer-B5 and EfficientViT-L1 on one street, 30 frames a second",
        (("model", "published:segformer_b5"), ("model", "published:efficientvit_l1"), ("fps", "30")),
    ),
    _Example(
        "ResNet-18 and ResNet-34 on a Jetson Nano at float16",
        (("model", "resnet18"), ("model", "resnet34"), ("on", "jetson-nano"), ("precision", "float16")),
    ),
    _Example(
        "MobileNetV2 at two widths on an STM32F746, int8",
        (("model", "mobilenet_v2"), ("model", "mobilenet_v2:width=0.75"), ("on", "stm32f746"), ("precision", "int8")),
    ),
)


def compare_form(found: Asked, shelf: Shelf, *, more: bool = False) -> str:
    """The form; ``more`` asks for a few more rows than it has."""
    offered = models_offered(shelf, reports=True, published=True)
    rows = [*found.rows]
    wanted = max(_LEAST_ROWS, len(rows) + (_MORE_ROWS if more else 0))
    rows += [Row("", "")] * (min(MOST_MODELS, wanted) - len(rows))
    return rendered(
        "compare.html.jinja",
        rows=rows,
        offered=offered,
        known={value for group in offered for value, _ in group.items},
        devices=device_groups(shelf),
        values=found.values,
        faults=found.faults,
        first=[_BY_NAME[name] for name in _FIRST],
        more=_MORE,
        is_open=any(field.name in found.values or field.name in found.faults for field in _MORE),
        examples=_EXAMPLES,
        can_grow=len(rows) < MOST_MODELS,
    )


def above_comparison(found: Asked) -> Around:
    """What stands around the page of a comparison: what was asked for, and a way to change it."""
    return around(
        "compared.html.jinja",
        form=f"/compare?{found.query}",
        fields=("on", *_BY_NAME),
        titles=[row.title for row in found.rows],
        said=tuple(in_words(found.values, COMPARED)),
        query=found.query,
    )
