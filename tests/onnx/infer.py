"""Shapes by onnx's own inference.  It runs in a process of its own: mutations of real files kill it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weighbridge.graph import Shape

Shapes = dict[str, list[int | None]]


def shapes_by_onnx(models: Sequence[tuple[Path, Mapping[str, Shape | None]]]) -> list[Shapes | None]:
    """The shapes that onnx infers in each model once its inputs have these; None where it gives up."""
    asked = json.dumps([(str(path), inputs) for path, inputs in models])
    done = subprocess.run([sys.executable, __file__], input=asked, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _infer(onnx: Any, path: str, inputs: Mapping[str, list[int] | None]) -> Shapes | None:
    model = onnx.load(path, load_external_data=False)
    for one in model.graph.input:
        shape = inputs.get(one.name)
        if shape is not None and one.type.HasField("tensor_type"):
            one.type.CopyFrom(onnx.helper.make_tensor_type_proto(one.type.tensor_type.elem_type, shape))
    # What the file states would come back as inferred.
    del model.graph.value_info[:]
    for one in model.graph.output:
        if one.type.HasField("tensor_type"):
            one.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except onnx.shape_inference.InferenceError:
        return None
    return {
        one.name: [size.dim_value if size.HasField("dim_value") else None for size in one.type.tensor_type.shape.dim]
        for one in (*inferred.value_info, *inferred.output)
        if one.type.HasField("tensor_type") and one.type.tensor_type.HasField("shape")
    }


def _main() -> None:
    import onnx

    sys.stdout.write(json.dumps([_infer(onnx, path, inputs) for path, inputs in json.load(sys.stdin)]))


if __name__ == "__main__":
    _main()
