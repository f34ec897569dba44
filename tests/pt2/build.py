"""Exported programs written by hand, entry for entry as torch.export.save of PyTorch 2.14 writes them; PyTorch is not needed."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["POISON", "argument", "convolutional", "dynamic", "entries", "mixed", "node", "program", "tensor", "written"]

Sizes = Sequence[int | str]
Json = dict[str, Any]

POISON = b"\x80\x02cos\nsystem\nX\x1d\x00\x00\x00touch poisoned_by_weighbridgeq\x00\x85R."
"""A pickle that would make a file in the working directory, were it loaded."""
FLOAT32, INT64, BOOL = 7, 5, 12


def tensor(name: str) -> Json:
    """A tensor as an argument."""
    return {"as_tensor": {"name": name}}


def argument(value: Any) -> Json:
    """A plain value as an argument: text is the name of a tensor."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        return tensor(value)
    if isinstance(value, list):
        if value and isinstance(value[0], str):
            return {"as_tensors": [{"name": one} for one in value]}
        return {"as_ints": value}
    kinds: dict[type, str] = {bool: "as_bool", int: "as_int", float: "as_float"}
    return {kinds[type(value)]: value}


def meta(sizes: Sizes, dtype: int = FLOAT32) -> Json:
    """The description of a tensor; a size that is text is a formula."""
    return {
        "dtype": dtype,
        "sizes": [{"as_int": one} if isinstance(one, int) else {"as_expr": {"expr_str": one}} for one in sizes],
        "requires_grad": False,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": 1} for _ in sizes],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def node(target: str, inputs: Mapping[str, Any], outputs: Sequence[str | None], scope: str = "") -> Json:
    """A call; the sizes of its results are stated in ``program``."""
    stack = "L__self__,,models.Net" + (f";L__self___{scope},{scope},torch.nn.modules.Layer" if scope else "")
    return {
        "target": f"torch.ops.{target}" if target[0] != "_" else target,
        "inputs": [{"name": name, "arg": argument(value), "kind": 1} for name, value in inputs.items()],
        "outputs": [argument(name) for name in outputs],
        "metadata": {"nn_module_stack": stack},
        "is_hop_single_tensor_return": None,
        "name": outputs[0] if outputs else None,
    }


def program(
    nodes: Sequence[Json],
    sizes: Mapping[str, Sizes],
    outputs: Sequence[str],
    *,
    inputs: Sequence[str] = ("x",),
    parameters: Mapping[str, str] | None = None,
    buffers: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    dtypes: Mapping[str, int] | None = None,
    numbers: Mapping[str, str] | None = None,
    ranges: Mapping[str, tuple[int | None, int | None]] | None = None,
    paths: Sequence[str] = (),
) -> Json:
    """A whole program.  ``parameters``, ``buffers`` and ``constants`` map names of tensors in the graph to those in the model."""
    dtypes = dtypes or {}
    stored = [
        {kind: {"arg": {"name": name}, key: path} | ({"persistent": True} if kind == "buffer" else {})}
        for kind, key, names in (
            ("parameter", "parameter_name", parameters),
            ("buffer", "buffer_name", buffers),
            ("tensor_constant", "tensor_constant_name", constants),
        )
        for name, path in (names or {}).items()
    ]
    names = [spec[kind]["arg"]["name"] for spec in stored for kind in spec] + list(inputs)
    graph = {
        "inputs": [tensor(name) for name in names],
        "outputs": [tensor(name) for name in outputs],
        "nodes": list(nodes),
        "tensor_values": {name: meta(shape, dtypes.get(name, FLOAT32)) for name, shape in sizes.items()},
        "sym_int_values": {name: {"as_expr": {"expr_str": text}} for name, text in (numbers or {}).items()},
        "sym_bool_values": {},
        "is_single_tensor_return": False,
        "custom_obj_values": {},
        "sym_float_values": {},
    }
    return {
        "graph_module": {
            "graph": graph,
            "signature": {
                "input_specs": [*stored, *({"user_input": {"arg": tensor(name)}} for name in inputs)],
                "output_specs": [{"user_output": {"arg": tensor(name)}} for name in outputs],
            },
            "module_call_graph": [{"fqn": path, "signature": None} for path in ("", *paths)],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": {
            name: {"min_val": least, "max_val": most} for name, (least, most) in (ranges or {}).items()
        },
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"],
        "torch_version": "2.14.1",
        "guards_code": [],
    }


def entries(made: Json, weights: Mapping[str, str] | None = None, weight_bytes: int = 1024) -> dict[str, bytes]:
    """The files of an archive; all that PyTorch would unpickle is poison.

    ``weights`` say in which file a parameter lies, each of ``weight_bytes``.
    """
    values = made["graph_module"]["graph"]["tensor_values"]
    specs = [spec["parameter"] for spec in made["graph_module"]["signature"]["input_specs"] if "parameter" in spec]
    config = {
        spec["parameter_name"]: {
            "path_name": (weights or {}).get(spec["parameter_name"], f"weight_{place}"),
            "is_param": True,
            "use_pickle": False,
            "tensor_meta": values.get(spec["arg"]["name"]),
        }
        for place, spec in enumerate(specs)
    }
    files = dict.fromkeys(one["path_name"] for one in config.values())
    return {
        **{f"net/data/weights/{file}": POISON.ljust(weight_bytes, b"\0")[:weight_bytes] for file in files},
        "net/data/weights/model_weights_config.json": json.dumps({"config": config}).encode(),
        "net/data/constants/custom_obj_0": POISON,
        "net/data/constants/model_constants_config.json": b'{"config": {}}',
        "net/models/model.json": json.dumps(made).encode(),
        "net/data/sample_inputs/model.pt": POISON,
        "net/archive_format": b"pt2",
        "net/archive_version": b"0",
        "net/.data/version": b"6\n",
        "net/byteorder": b"little",
    }


def written(files: Mapping[str, bytes], packed: int = zipfile.ZIP_STORED) -> bytes:
    """The files as an archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", packed) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def convolutional(batch: int | str = 1) -> Json:
    """A convolution, batch normalisation, and a linear layer, with 8 x 3 x 9 x 64 + 8 x 4 MACs for each of the batch."""
    nodes = [
        node(
            "aten.conv2d.default",
            {"input": "x", "weight": "p_conv_weight", "bias": "p_conv_bias", "stride": [1, 1], "padding": [1, 1]},
            ["conv2d"],
            "conv",
        ),
        node(
            "aten.batch_norm.default",
            {
                "input": "conv2d",
                "weight": "p_bn_weight",
                "bias": "p_bn_bias",
                "running_mean": "b_bn_mean",
                "running_var": "b_bn_var",
                "training": False,
                "momentum": 0.1,
                "eps": 1e-05,
                "cudnn_enabled": True,
            },
            ["batch_norm"],
            "bn",
        ),
        node("aten.mean.dim", {"self": "batch_norm", "dim": [2, 3]}, ["mean"]),
        node("aten.linear.default", {"input": "mean", "weight": "p_fc_weight", "bias": "p_fc_bias"}, ["linear"], "fc"),
    ]
    return program(
        nodes,
        {
            "p_conv_weight": (8, 3, 3, 3),
            "p_conv_bias": (8,),
            "p_bn_weight": (8,),
            "p_bn_bias": (8,),
            "p_fc_weight": (4, 8),
            "p_fc_bias": (4,),
            "b_bn_mean": (8,),
            "b_bn_var": (8,),
            "x": (batch, 3, 8, 8),
            "conv2d": (batch, 8, 8, 8),
            "batch_norm": (batch, 8, 8, 8),
            "mean": (batch, 8),
            "linear": (batch, 4),
        },
        ["linear"],
        parameters={
            "p_conv_weight": "conv.weight",
            "p_conv_bias": "conv.bias",
            "p_bn_weight": "bn.weight",
            "p_bn_bias": "bn.bias",
            "p_fc_weight": "fc.weight",
            "p_fc_bias": "fc.bias",
        },
        buffers={"b_bn_mean": "bn.running_mean", "b_bn_var": "bn.running_var"},
        ranges={"s77": (2, 64)} if isinstance(batch, str) else {},
        paths=("conv", "bn", "fc"),
    )


def dynamic() -> Json:
    """Sizes that are formulas: ``x`` is s77 x s27, joined to itself and reshaped to 2*s77 rows."""
    first, second = ("Symbol('s77', positive=True, integer=True)", "Symbol('s27', positive=True, integer=True)")
    doubled = f"Mul(Integer(2), {first})"
    nodes = [
        node("aten.sym_size.int", {"self": "x", "dim": 0}, []) | {"outputs": [{"as_sym_int": {"as_name": "size"}}]},
        node("_operator.mul", {"a": 2, "b": {"as_sym_int": {"as_name": "size"}}}, [])
        | {"outputs": [{"as_sym_int": {"as_name": "mul"}}]},
        node("aten.cat.default", {"tensors": ["x", "x"]}, ["cat"]),
        node(
            "aten.reshape.default",
            {"self": "cat", "shape": {"as_sym_ints": [{"as_name": "mul"}, {"as_int": -1}]}},
            ["reshape"],
        ),
        node("aten.mul.Tensor", {"self": "reshape", "other": 0.5}, ["mul_1"]),
    ]
    return program(
        nodes,
        {"x": (first, second), "cat": (doubled, second), "reshape": (doubled, second), "mul_1": (doubled, second)},
        ["mul_1"],
        numbers={"size": first, "mul": doubled},
        ranges={"s77": (0, 8), "s27": (8, None)},
    )


def mixed() -> Json:
    """A little of everything: several results, lists, numbers, writing in place, a graph in a node, types, no rule."""
    inner = program(
        [node("aten.relu.default", {"self": "arg"}, ["relu"])],
        {"arg": (2, 4), "relu": (2, 4)},
        ["relu"],
        inputs=("arg",),
    )["graph_module"]["graph"]
    graph = {"as_graph": {"name": "body", "graph": inner}}
    nodes = [
        node("aten.add_.Tensor", {"self": "b_seen", "other": 1}, ["add_"]),
        node("aten.embedding.default", {"weight": "p_table", "indices": "ids"}, ["embedding"], "table"),
        node("aten.max.dim", {"self": "embedding", "dim": 1}, ["value", "index"]),
        node("aten.cat.default", {"tensors": ["x", "embedding"], "dim": 1}, ["cat"]),
        node("aten.slice.Tensor", {"self": "cat", "dim": 1, "start": 0, "end": 4}, ["slice_1"]),
        node("higher_order.wrap_with_set_grad_enabled", {"on": False, "body": graph, "arg": "slice_1"}, ["wrapped"]),
        node("aten.linear.default", {"input": "wrapped", "weight": "p_table"}, ["linear"], "head"),
        node("aten.to.dtype", {"self": "linear", "dtype": {"as_scalar_type": 6}}, ["to"]),
        node("custom.form.default", {"x": "to", "scale": 0.5, "mask": None}, ["form", None]),
    ]
    sizes: dict[str, Sizes] = {
        "p_table": (10, 4),
        "b_seen": (),
        "x": (2, 4),
        "ids": (2,),
        "add_": (),
        "embedding": (2, 4),
        "value": (2,),
        "index": (2,),
        "cat": (2, 8),
        "slice_1": (2, 4),
        "wrapped": (2, 4),
        "linear": (2, 10),
        "to": (2, 10),
        "form": (2, 10),
    }
    return program(
        nodes,
        sizes,
        ["form", "value"],
        inputs=("x", "ids"),
        parameters={"p_table": "table.weight"},
        buffers={"b_seen": "seen"},
        dtypes={"ids": INT64, "index": INT64, "to": 6, "form": 6},
        paths=("table", "head"),
    )
