"""Resizes on numpy arrays, from the definitions: places mapped to positions, taps by their distance, elements at the border repeated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from weighbridge.graph import Node

__all__ = ["resize"]

Array = np.ndarray


def resize(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = operands["x"][0]
    axes, lies = node.attributes["axes"], node.attributes["part_of"]
    axes = tuple(range(x.ndim)) if axes == "all" else axes
    for place, axis in enumerate(axes):
        scale = node.attributes["scales"][place] if node.attributes["scales"] != "none" else None
        if lies:
            old, new, there, first, size = lies[5 * place : 5 * place + 5]
        else:
            old = x.shape[axis]
            new = int(np.floor(old * scale)) if scale is not None else node.attributes["sizes"][place]
            there, first, size = 0, 0, new
        ratio = 1 / scale if scale is not None else old / new
        if old == new and ratio == 1:
            continue
        taps = [_taps(node, old, new, ratio, first + one) for one in range(size)]
        rows = [
            sum(weight * x.take(min(max(tap, 0), old - 1) - there, axis) for tap, weight in one if weight)
            for one in taps
        ]
        x = np.stack(rows, axis)
    return x


def _taps(node: Node, old: int, new: int, ratio: float, place: int) -> list[tuple[int, float]]:
    """(element of x, weight) for a place of the result."""
    at = {
        "half_pixel": (place + 0.5) * ratio - 0.5,
        "pytorch_half_pixel": (place + 0.5) * ratio - 0.5 if new > 1 else 0.0,
        "asymmetric": place * ratio,
        "tf_half_pixel_for_nn": (place + 0.5) * ratio,
        "align_corners": place * (old - 1) / (new - 1) if new > 1 else 0.0,
    }[node.attributes["coordinates"]]
    if abs(at - round(2 * at) / 2) < 1e-9:
        at = round(2 * at) / 2  # what is a whole number or a half but for the rounding of numbers is one
    low = int(np.floor(at))
    t = at - low
    if node.attributes["mode"] == "nearest":
        rounding = {
            "floor": np.floor(at),
            "ceil": np.ceil(at),
            "round_prefer_floor": np.ceil(at - 0.5),
            "round_prefer_ceil": np.floor(at + 0.5),
        }
        return [(int(rounding[node.attributes["rounding"]]), 1.0)]
    if node.attributes["mode"] == "linear":
        return [(low, 1 - t), (low + 1, t)]
    return [(low + one, _cubic(abs(one - t))) for one in (-1, 0, 1, 2)]


def _cubic(distance: float, a: float = -0.75) -> float:
    if distance <= 1:
        return (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    return a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a if distance < 2 else 0.0
