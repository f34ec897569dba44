"""Recognition on the shared ONNX files: what it finds, and that it changes no count of contractions or of what is learned."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.onnx.files import OPEN, REFUSED, Sizes, onnx_files
from weighbridge.counts import count
from weighbridge.frontends.from_onnx import load_onnx
from weighbridge.graph import Graph
from weighbridge.passes import bit_rules, drop_identities, set_bits
from weighbridge.passes.recognition import recognise_functions

FOUND = {
    "ort_odd/bart_self_attention_megatron_basic_test.onnx": {"attention": 1},
    "ort_odd/bert_toy_optimized.onnx": {"attention": 5, "gelu": 6, "layer_norm": 12},
    "ort_odd/gather_roberta_e2e.onnx": {"attention": 1},
}


def functions(graph: Graph) -> Counter[str]:
    """How often each of the functions that are looked for is there."""
    names = [node.operator for node in graph.nodes]
    return Counter(name for name in names if name in ("attention", "gelu", "layer_norm", "rms_norm"))


def test_files(shared: Path) -> None:
    found: dict[str, dict[str, int]] = {}
    for name, path in onnx_files(shared).items():
        if name in REFUSED:
            continue
        sizes = OPEN.get(name, Sizes())
        held = load_onnx(path, dims=sizes.dims, inputs=sizes.inputs)
        graph = drop_identities(held)
        whole = recognise_functions(graph)
        narrow = recognise_functions(drop_identities(set_bits(held, bit_rules(activations=8))))
        assert functions(narrow) == functions(whole), name
        if whole is not graph:
            was, now = count(held, graph), count(held, whole)
            assert (now.macs, now.parameters, now.exact) == (was.macs, was.parameters, was.exact), name
            found[name] = dict(functions(whole) - functions(graph))
    assert found == FOUND
