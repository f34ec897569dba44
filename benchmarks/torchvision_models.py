"""torchvision's models as each of its weight sets implies them, without weights and without memory for them.

``rows`` reads the published table; ``built`` makes the module of a row, and the inputs with which its published
multiply-accumulates were counted: an image of random numbers, 512 x 512, sent through the preset of the weight set.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
import torchvision
from torch import nn
from torch.overrides import TorchFunctionMode
from torchvision.ops.misc import FrozenBatchNorm2d

__all__ = ["FAMILIES", "Built", "Detector", "Row", "built", "module_of", "rows"]

Built = tuple[nn.Module, tuple[Any, ...]]
FAMILIES: Final = ("classification", "quantization", "video", "segmentation", "detection", "optical_flow")
NOISE: Final = 512
FRAMES: Final = 16
FROZEN: Final = frozenset(
    {
        "fasterrcnn_resnet50_fpn",
        "fasterrcnn_mobilenet_v3_large_fpn",
        "fasterrcnn_mobilenet_v3_large_320_fpn",
        "fcos_resnet50_fpn",
        "keypointrcnn_resnet50_fpn",
        "maskrcnn_resnet50_fpn",
        "retinanet_resnet50_fpn",
    }
)
"""Detectors whose backbone has constants in the place of batch normalisation as soon as they get weights."""
_SIDES: Final[Mapping[str, int]] = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": 320,
    "ssd300_vgg16": 300,
    "ssdlite320_mobilenet_v3_large": 320,
}
"""What a detector resizes a square image to where it is not 800."""


class Row(NamedTuple):
    """A weight set: its parameters, and its multiply-accumulates in 10^9 with three decimals."""

    builder: str
    weights: str
    parameters: int
    gmacs: float
    crop: tuple[int, int]
    """Height and width of what the preset makes of an image of any size; 0 x 0 where it keeps the size."""

    @property
    def family(self) -> str:
        package = torchvision.models.get_model_builder(self.builder).__module__.split(".")[2:-1]
        return package[0] if package else "classification"

    @property
    def arguments(self) -> dict[str, Any]:
        """What the weight set makes of the builder's arguments."""
        if "googlenet" in self.builder:
            return {"aux_logits": False, "init_weights": False}
        if "inception" in self.builder:
            return {"aux_logits": True, "init_weights": False}
        if self.builder.startswith(("deeplabv3", "fcn_")):
            return {"aux_loss": True}
        if self.builder.startswith("vit_") and "E2E" in self.weights:
            return {"image_size": self.crop[0]}
        return {}

    @property
    def network(self) -> tuple[object, ...]:
        """Equal for rows that are one network at one size, run on one image."""
        return self.builder, *self.arguments.items(), self.crop, self.weights if self.family == "detection" else ""


def rows(table: Path) -> list[Row]:
    """The rows of a CSV file with the columns builder, weights, parameters, gmacs, crop_size."""
    with table.open(encoding="utf-8", newline="") as file:
        return [
            Row(one["builder"], one["weights"], int(one["parameters"]), float(one["gmacs"]), _sides(one["crop_size"]))
            for one in csv.DictReader(file)
        ]


def _sides(text: str) -> tuple[int, int]:
    sides = [int(side) for side in text.strip("[]").split(",") if side]
    return (0, 0) if not sides else (sides[0], sides[-1])


class _ParametersOnMeta(TorchFunctionMode):
    """What modules make for themselves gets no memory; other tensors get values, as RegNet computes its widths with some."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = {**(kwargs or {})}
        if kwargs.get("device", "not said") is None:
            kwargs["device"] = "meta"
        return func(*args, **kwargs)


def module_of(row: Row) -> nn.Module:
    """The module of a row in evaluation mode."""
    builder = torchvision.models.get_model_builder(row.builder)
    arguments: dict[str, Any] = {"weights": None, **row.arguments}
    if row.family in ("segmentation", "detection"):
        arguments["weights_backbone"] = None
    with _ParametersOnMeta():
        model: nn.Module = builder(**arguments)
        if row.builder in FROZEN:
            _freeze(model.backbone)
    return model.eval()


def _freeze(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(module, name, FrozenBatchNorm2d(child.num_features))
        else:
            _freeze(child)


class Detector(nn.Module):
    """The networks of a detector, for a number of boxes that a trained one finds: what lies between multiplies nothing.

    ``crops`` are the boxes that are classified, ``details`` those whose mask or key points are looked for.
    """

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, image: torch.Tensor, crops: torch.Tensor, details: torch.Tensor) -> list[Any]:
        features = list(self.detector.backbone(image).values())
        if not hasattr(self.detector, "rpn"):
            return [self.detector.head(features)]
        heads = self.detector.roi_heads
        results = [self.detector.rpn.head(features)]
        if len(crops):
            results.append(heads.box_predictor(heads.box_head(crops)))
        if len(details):
            kind = "mask" if heads.has_mask() else "keypoint"
            results.append(getattr(heads, f"{kind}_predictor")(getattr(heads, f"{kind}_head")(details)))
        return results


def built(row: Row, boxes: int = 0, details: int = 0) -> Built:
    """The module of a row and its inputs; of a detector its networks, for numbers of boxes."""
    model, image = module_of(row), partial(torch.empty, device="meta")
    if row.family == "detection":
        side = _SIDES.get(row.builder, 800)
        return Detector(model), (image(1, 3, side, side), image(boxes, 256, 7, 7), image(details, 256, 14, 14))
    if row.family == "video":
        return model, (image(1, 3, FRAMES, *row.crop),)
    if row.family == "segmentation":
        return model, (image(1, 3, 520, 520),)
    if row.family == "optical_flow":
        return model, (image(1, 3, NOISE, NOISE),) * 2
    return model, (image(1, 3, *row.crop),)
