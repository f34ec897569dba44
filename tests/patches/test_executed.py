"""The resizes of the executor, which patches are held against, are those of ONNX."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from tests.onnx import build
from tests.patches.executed import run
from weighbridge.graph import Graph

MODES = [("nearest", rounding) for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")]


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize(("mode", "rounding"), [*MODES, ("linear", "floor"), ("cubic", "floor")])
@pytest.mark.parametrize("size", [(10, 15), (4, 7), (5, 2)])
def test_resizes(mode: str, rounding: str, coordinates: str, size: tuple[int, int]) -> None:
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    node = build.node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    shape = [1, 1, *size]
    made = build.model(
        build.graph([node], [build.value("x", [1, 1, 5, 5])], [build.value("y", shape)], [build.tensor("sizes", shape)])
    )
    x = np.random.default_rng(0).standard_normal((1, 1, 5, 5)).astype("float32")
    (expected,) = ReferenceEvaluator(made).run(None, {"x": x})
    graph: Graph = build.load(made)
    np.testing.assert_allclose(run(graph, {"x": x, "sizes": np.array(shape)})["y"], expected, atol=1e-5)
