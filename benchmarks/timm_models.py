"""The rows of timm's published table, the models that they are of, and why some differ.

A cause says how the model of the published row was another, or what fvcore missed in it.  Where it can be built so, it is: its
figures must then agree, and the page says so.
"""

from __future__ import annotations

import csv
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

import timm
import timm.layers
import torch
from timm.layers import pos_embed_sincos as positions
from timm.layers import weight_init
from timm.models import regnet
from timm.utils.model import reparameterize_model
from torch import nn

__all__ = ["CAUSES", "Cause", "Row", "cause_of", "model_of", "rows"]


class Row(NamedTuple):
    """A row of the published table, as printed: millions, 10^9 multiply-accumulates, millions."""

    model: str
    image_size: int
    parameters: float
    gmacs: float
    activations: float

    @property
    def name(self) -> str:
        return f"{self.model}@{self.image_size}"


class Cause(NamedTuple):
    """Why rows differ; ``build`` makes the model with which the figures agree, where there is one."""

    text: str
    build: Callable[[Row], nn.Module] | None = None


def rows(table: Path) -> list[Row]:
    figures = ("parameters_M", "gmacs", "activations_M")
    with table.open(encoding="utf-8", newline="") as file:
        return [
            Row(one["model"], int(one["image_size"]), *(float(one[key]) for key in figures))
            for one in csv.DictReader(file)
        ]


def model_of(row: Row) -> nn.Module:
    """The row's model without weights, for its image size.

    Attention is not fused, as in the runs that made the table: a differential attention multiplies its values once then,
    and twice where it is fused.
    """
    model = _created(row.model)
    expected = model.pretrained_cfg.get("input_size") or (3, 0, 0)
    if expected[-1] != row.image_size and "img_size" in inspect.signature(type(model).__init__).parameters:
        model = _created(row.model, img_size=row.image_size)
    return model


def _created(name: str, **arguments: Any) -> nn.Module:
    return _built(lambda: timm.create_model(name, pretrained=False, **arguments))


def _built(build: Callable[[], nn.Module]) -> nn.Module:
    """A model on the meta device; filling tensors without values would take half of the time."""
    timm.layers.set_fused_attn(enable=False)
    fills = dict.fromkeys(_INITIALISERS, _left_alone)
    with (
        torch.device("meta"),
        mock.patch.multiple(nn.init, **fills),
        mock.patch.object(weight_init, "_trunc_normal_", _left_alone),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        return build().eval()


_INITIALISERS: Final = (
    *("uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_"),
    *("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"),
)


def _left_alone(tensor: torch.Tensor, *arguments: object, **named: object) -> torch.Tensor:
    return tensor


def _reparameterised(row: Row) -> nn.Module:
    with torch.device("meta"):
        model: nn.Module = reparameterize_model(model_of(row))
    return model


def _of_width(row: Row) -> nn.Module:
    """ResNeXt-101 with 32 groups of as many channels as the name says: ig_resnext101_32x48d has 48."""
    return _created("resnext101_32x32d", base_width=int(row.model.rpartition("x")[2].rstrip("d")))


def _renamed(name: str) -> Callable[[Row], nn.Module]:
    return lambda row: _created(name)


def _of_classy_vision(row: Row) -> nn.Module:
    """The definition that this timm has commented out beside its own."""
    cfg = replace(regnet.model_cfgs["regnety_2560"], wa=124.47, wm=2.04, group_size=848)
    return _built(lambda: regnet.RegNet(cfg))


class _Skipped(nn.Module):
    """Holds a convolution that keeps the shape, and does not do it."""

    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def _without_same_padding(row: Row) -> nn.Module:
    model = model_of(row)
    for path, module in list(model.named_modules()):
        if isinstance(module, nn.Conv2d) and module.padding == "same":
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, _Skipped(module))
    return model


class _WithProducts(nn.Module):
    """A model whose mixed rotary positions make their angles by matrix products too."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> Any:
        original = positions.get_mixed_freqs

        def products(freqs: torch.Tensor, t_x: torch.Tensor, t_y: torch.Tensor, **others: Any) -> torch.Tensor:
            for part, t in zip(freqs, (t_x, t_y), strict=True):
                torch.matmul(t.unsqueeze(-1), part.unsqueeze(-2))
            return original(freqs, t_x, t_y, **others)

        with mock.patch.object(positions, "get_mixed_freqs", products):
            return self.model(x)


def _with_products(row: Row) -> nn.Module:
    return _WithProducts(model_of(row))


_REPARAMETERISED: Final = Cause("the published row is of the model after `reparameterize_model`", _reparameterised)
_GONE: Final = Cause("this timm has no model of this name")

CAUSES: Final[Mapping[str, Cause]] = {
    "ghostnetv3_*": _REPARAMETERISED,
    "shvit_*": _REPARAMETERISED,
    "fastvit_mci3": _REPARAMETERISED,
    "convmixer_*": Cause(
        "fvcore has no rule for a convolution whose padding is the word `same` (`aten::_convolution_mode`): the published "
        "figures lack the depthwise layers",
        _without_same_padding,
    ),
    "*_rope_mixed_*": Cause(
        "timm made the angles of the positions by matrix products then, whose results fvcore counts; now it multiplies "
        "element by element",
        _with_products,
    ),
    "ig_resnext101_32x*": Cause("timm gives this old name to `resnext101_32x8d`", _of_width),
    "gluon_xception65": Cause("this timm has no model of this name; it is `xception65` now", _renamed("xception65")),
    "regnety_2560": Cause("timm has changed the definition of the model since", _of_classy_vision),
    "*_iabn": _GONE,
    "vit_medium_patch16_reg4_256": _GONE,
    "resnetv2_50d_evob": _GONE,
    "semobilevit_s": _GONE,
}
"""Why rows differ, by a pattern of the model's name; the first that fits counts."""


def cause_of(row: Row) -> Cause | None:
    return next((cause for pattern, cause in CAUSES.items() if fnmatchcase(row.model, pattern)), None)
