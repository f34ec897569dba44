"""``ATen`` nodes in ONNX files against PyTorch: the names of arguments, shapes that it makes, counts of our own front end."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper

import weighbridge
from weighbridge.frontends.onnx_table_aten import SCHEMAS
from weighbridge.graph import Graph

DOMAIN = "org.pytorch.aten"


def rand(*shape: int) -> torch.Tensor:
    return torch.rand(shape)


LONGS, IMAGE = torch.tensor([[0, 2, 1], [3, 3, 0]]), (2, 4, 8, 6)
CASES: dict[str, tuple[Any, ...]] = {
    "_adaptive_avg_pool2d": (rand(*IMAGE), [3, 2]),
    "_scaled_dot_product_efficient_attention": (*(rand(2, 3, 5, 8) for _ in range(3)), None, False, 0.0, True, 0.5),
    "argmax": (rand(2, 5), 1, True),
    "avg_pool2d": (rand(*IMAGE), [3, 3], [2, 2], [1, 1], False, True, None),
    "binary_cross_entropy_with_logits": (rand(2, 5), rand(2, 5), None, None, 1),
    "bitwise_or.Tensor": (LONGS, LONGS),
    "diagonal": (rand(3, 4, 5), 1, 0, 2),
    "embedding": (rand(5, 7), LONGS, -1, False, False),
    "embedding_backward": (rand(2, 3, 7), LONGS, 5, -1, False, False),
    "embedding_bag": (rand(5, 7), LONGS.ravel(), torch.tensor([0, 2, 3]), False, 1, False, None, False),
    "grid_sampler": (rand(*IMAGE), rand(2, 3, 3, 2), 0, 0, False),
    "max": (rand(3, 4),),
    "max.dim": (rand(3, 4), 1, False),
    "max_pool2d_with_indices": (rand(*IMAGE), [3, 3], [2, 2], [1, 1], [1, 1], False),
    "min": (rand(3, 4),),
    "min.dim": (rand(3, 4), 0, True),
    "multinomial": (rand(2, 5), 3, False, None),
    "native_group_norm": (rand(*IMAGE), rand(4), rand(4), 2, 4, 48, 2, 1e-5),
    "numpy_T": (rand(3, 4, 5),),
    "tril": (rand(4, 4), 1),
    "triu": (rand(4, 4), -1),
    "unfold": (rand(2, 9), 1, 4, 2),
    "upsample_bicubic2d.vec": (rand(*IMAGE), [4, 5], False, None),
    "upsample_nearest1d.vec": (rand(2, 4, 8), None, [1.5]),
    "upsample_nearest2d.vec": (rand(*IMAGE), None, [2.0, 1.5]),
    "upsample_nearest3d.vec": (rand(2, 4, 3, 4, 5), [6, 6, 6], None),
}
OPTIONAL = {"_scaled_dot_product_efficient_attention": ("scale",), "multinomial": ("generator",)}
"""Arguments that PyTorch takes by name alone."""
FOR_TRAINING = {"embedding_bag", "_scaled_dot_product_efficient_attention"}
"""Their results but the first are for a backward pass; exporters name them all, and nobody reads them."""
WITHOUT_COUNT = {
    "embedding_backward": "PyTorch's own form of it has another name",
    "embedding_bag": "a module keeps results that have no rule",
    "numpy_T": "warns of its end",
    "_scaled_dot_product_efficient_attention": "does not run on a processor",
}


def function(name: str) -> Any:
    operator, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, operator), overload or "default")


def called(name: str, arguments: tuple[Any, ...]) -> Any:
    """What PyTorch makes of the arguments."""
    words = [word.rstrip("#[]") for word in SCHEMAS[name].split()]
    named = dict(zip(words, arguments, strict=True))
    by_name = {word: named.pop(word) for word in OPTIONAL.get(name, ()) if word in named}
    return function(name)(*named.values(), **by_name)


def loaded(name: str, arguments: tuple[Any, ...], results: int) -> Graph:
    """The graph of an ONNX file with this one call: tensors are fed, numbers are stored."""
    operator, _, overload = name.partition(".")
    names, inputs, stored = [], [], []
    for place, argument in enumerate(arguments):
        names.append(f"i{place}" if argument is not None else "")
        if isinstance(argument, torch.Tensor):
            kind = helper.np_dtype_to_tensor_dtype(argument.numpy().dtype)
            inputs.append(helper.make_tensor_value_info(names[-1], kind, list(argument.shape)))
        elif argument is not None:
            stored.append(numpy_helper.from_array(np.array(argument), names[-1]))
    attributes = {"operator": operator, **({"overload_name": overload} if overload else {})}
    outputs = [f"o{place}" for place in range(results)]
    node = helper.make_node("ATen", names, outputs, domain=DOMAIN, **attributes)
    read = outputs[:1] if name in FOR_TRAINING else outputs
    graph = helper.make_graph([node], "one", inputs, [onnx.ValueInfoProto(name=one) for one in read], stored)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return weighbridge.load(path)


@pytest.mark.parametrize("name", SCHEMAS)
def test_arguments_have_the_names_of_the_schema(name: str) -> None:
    operator, _, overload = name.partition(".")
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{operator}")
    (schema,) = [one for one in schemas if one.overload_name == overload]
    words = []
    for argument in schema.arguments:
        kind = str(argument.type)
        words.append(argument.name + ("" if "Tensor" in kind else "[]" if "List" in kind else "#"))
    ours = SCHEMAS[name].split()
    assert ours == words[: len(ours)]


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.filterwarnings("ignore:The use of `x.T` on tensors:UserWarning")
def test_results_have_the_shapes_that_pytorch_makes(name: str) -> None:
    with torch.device("meta"):
        given = (one.to("meta") if isinstance(one, torch.Tensor) else one for one in CASES[name])
        made = called(name, tuple(given))
    results = list(made) if isinstance(made, tuple) else [made]
    found = loaded(name, CASES[name], len(results))
    if name in FOR_TRAINING:
        results = results[:1]
    assert [found.tensors[one].shape for one in found.outputs] == [tuple(one.shape) for one in results]
    facts = weighbridge.weigh(found).facts
    assert facts.exact, facts.uncounted


def test_attention_of_a_node_has_the_products_of_its_two_matrices() -> None:
    """Scores of 5 queries by 5 keys of 8 features, and their products with the values, in 2 x 3 heads."""
    name = "_scaled_dot_product_efficient_attention"
    facts = weighbridge.weigh(loaded(name, CASES[name], 4)).facts
    assert (facts.macs, facts.exact) == (2 * 3 * (5 * 5 * 8 + 5 * 8 * 5), True)


class _Call(torch.nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, *tensors: torch.Tensor) -> Any:
        given = iter(tensors)
        arguments = [next(given) if isinstance(one, torch.Tensor) else one for one in CASES[self.name]]
        return called(self.name, tuple(arguments))


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name not in WITHOUT_COUNT])
def test_counts_are_those_of_the_same_call_in_a_module(name: str) -> None:
    tensors = tuple(one for one in CASES[name] if isinstance(one, torch.Tensor))
    module = weighbridge.weigh(_Call(name), inputs=tensors, as_written=True).facts
    made = _Call(name)(*tensors)
    ours = weighbridge.weigh(
        loaded(name, CASES[name], len(made) if isinstance(made, tuple) else 1), as_written=True
    ).facts
    assert (ours.macs, ours.work) == (module.macs, module.work)
