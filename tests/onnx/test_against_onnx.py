"""Our shapes against those of onnx's own inference, tensor by tensor, over every shared file."""

from __future__ import annotations

from pathlib import Path

from tests.onnx.files import OPEN, REFUSED, Sizes, onnx_files
from tests.onnx.infer import shapes_by_onnx
from weighbridge import load

GIVES_UP = {
    "op_cover/VariedInputCustomOp.onnx": "an operator set that is not imported",
    "op_cover/custom_mul.onnx": "an operator set that is not imported",
    "op_cover/custom_op_string_lower.onnx": "an operator set that is not imported",
    "op_cover/dmmha_cross_attn.onnx": "an operator set that is not imported",
    "op_cover/pyop_2.onnx": "an operator set that is not imported",
    "op_cover/pyop_3.onnx": "an operator set that is not imported",
    "op_cover/test_kernel_info_get_const_input.onnx": "an operator set that is not imported",
    "ort_odd/sparse_initializer_handling.onnx": "a sparse initialiser read as a tensor",
    "ort_odd/tiny_gpt2_beamsearch_fp16.onnx": "an operator set that is not imported",
    "ort_odd/tiny_gpt2_sampling.onnx": "an operator set that is not imported",
}
"""Files that onnx's inference does not get through, and why."""

DIFFERS = {
    ("op_cover/cpu_if.onnx", "softmax_0"): "the file's If states -1 as if it were a size, and onnx repeats it",
}


def test_every_shape_that_both_know_is_the_same(shared: Path) -> None:
    files = {name: path for name, path in onnx_files(shared).items() if name not in REFUSED}
    graphs = {}
    for name, path in files.items():
        sizes = OPEN.get(name, Sizes())
        graphs[name] = load(path, dims=sizes.dims, inputs=sizes.inputs)
    inputs = [{one: graph.tensors[one].shape for one in graph.inputs} for graph in graphs.values()]
    by_onnx = shapes_by_onnx(list(zip(files.values(), inputs, strict=True)))
    compared, silent, differing, only_onnx = 0, set(), {}, set()
    for (name, graph), theirs in zip(graphs.items(), by_onnx, strict=True):
        if theirs is None:
            silent.add(name)
            continue
        for tensor, shape in theirs.items():
            if tensor not in graph.tensors or None in shape:
                continue
            ours = graph.tensors[tensor].shape
            if ours is None:
                only_onnx.add((name, tensor))
                continue
            compared += 1
            if list(ours) != shape:
                differing[name, tensor] = (ours, shape)
    assert differing.keys() == DIFFERS.keys(), differing
    assert not only_onnx
    assert silent == GIVES_UP.keys()
    assert compared > 2_900
