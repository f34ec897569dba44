"""torchvision's own operators as ours: boxes, regions of images, deformable convolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.frontends.aten_call import As, AtenCall, Rule, bind
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute

__all__ = ["RULES_VISION"]


def _pair(call: AtenCall, name: str, default: int) -> tuple[int, int]:
    """Two arguments, for the rows and the columns."""
    return call.integer(f"{name}_h", default), call.integer(f"{name}_w", default)


def _deformable(call: AtenCall) -> Sequence[Step]:
    """Without ``use_mask`` the mask is an empty tensor that stands for none."""
    operands = "x=input w=weight offset=offset b=bias"
    if call.get("use_mask", True):
        operands += " mask=mask"
    attributes: dict[str, Attribute] = {
        "stride": _pair(call, "stride", 1),
        "padding": _pair(call, "pad", 0),
        "dilation": _pair(call, "dilation", 1),
        "groups": call.integer("groups", 1),
        "offset_groups": call.integer("offset_groups", 1),
    }
    return (Step("deformable_conv", list(bind(call, operands)), attributes, call.outputs),)


def _size(call: AtenCall) -> dict[str, Attribute]:
    return {"size": (call.integer("pooled_height"), call.integer("pooled_width"))}


def _sampled(call: AtenCall) -> dict[str, Attribute]:
    """A sampling ratio that is not positive says that the size of a region decides."""
    return {**_size(call), "samples": max(call.integer("sampling_ratio", -1), 0)}


def _position_sensitive(call: AtenCall) -> dict[str, Attribute]:
    return {**_sampled(call), "position_sensitive": True}


_REGIONS: Final = "x=input regions=rois"
_SUPPRESSION: Final = As("non_max_suppression", "boxes=dets scores=scores")

RULES_VISION: Final[Mapping[str, Rule]] = {
    "torchvision.nms": _SUPPRESSION,
    "torchvision.qnms": _SUPPRESSION,
    "torchvision.roi_align": As("roi_align", _REGIONS, _sampled),
    "torchvision.qroi_align": As("roi_align", _REGIONS, _sampled),
    "torchvision.roi_pool": As("max_roi_pool", _REGIONS, _size, "y map"),
    "torchvision.ps_roi_align": As("roi_align", _REGIONS, _position_sensitive, "y map"),
    "torchvision.ps_roi_pool": As("position_sensitive_roi_pool", _REGIONS, _size, "y map"),
    "torchvision.deform_conv2d": _deformable,
}
