"""Quantised PyTorch operators: run by PyTorch's own kernels, captured, and counted."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

from tests.torch.examples_conversions import CONVERSIONS
from tests.torch.examples_quantised import LAYERS, OTHERS
from tests.torch.table_examples import by_hand, captured
from weighbridge.counts import count
from weighbridge.frontends.aten_table_quantised import RULES_QUANTISED
from weighbridge.frontends.from_torch import load_torch
from weighbridge.graph import UNKNOWN, Graph
from weighbridge.operators.record import Work
from weighbridge.passes import deploy

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.ao import quantization
    from torch.ao.nn import quantized as modules

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")

X = torch.randn(4, 16)
EXAMPLES = [*LAYERS, *OTHERS, *CONVERSIONS]
_LINEAR = {"X": [(4, 16)], "weight": [(32, 16)], "bias": [(32,)]}
_CONV = {"qx": [(2, 8, 6, 6)], "qaccum": [(2, 4, 3, 3)], "weight": [(4, 8, 3, 3)], "stride": (2, 2), "padding": (1, 1)}
# Kernels that not every machine has: arguments, result, and what they become.
ELSEWHERE = {
    "quantized.linear_leaky_relu": ({**_LINEAR, "negative_slope": 0.2}, (4, 32), "linear leaky_relu"),
    "quantized.linear_tanh": (_LINEAR, (4, 32), "linear tanh"),
    "quantized.linear_with_input_q_dq_qweight_dq_output_fp32": (_LINEAR, (4, 32), "linear"),
    "quantized.linear_with_input_q_dq_qweight_dq_relu_output_fp32": (_LINEAR, (4, 32), "linear relu"),
    "quantized.conv2d_add": (_CONV, (2, 4, 3, 3), "conv add"),
    "quantized.conv2d_add_relu": (_CONV, (2, 4, 3, 3), "conv add relu"),
}


def test_every_line_has_an_example():
    assert {key for key, _ in EXAMPLES} | set(ELSEWHERE) == set(RULES_QUANTISED)


@pytest.mark.parametrize(("key", "one"), EXAMPLES, ids=[f"{key}-{place}" for place, (key, _) in enumerate(EXAMPLES)])
def test_what_pytorch_does_is_what_the_table_says(key, one):
    captured(one, key)


@pytest.mark.parametrize("key", ELSEWHERE)
def test_kernels_of_other_machines(key):
    arguments, result, operators = ELSEWHERE[key]
    nodes = by_hand(key, arguments, result).nodes
    assert [node.operator for node in nodes] == operators.split()
    if operators.endswith("leaky_relu"):
        assert nodes[-1].attributes["alpha"] == 0.2


def facts(graph: Graph):
    return count(graph, deploy(graph))


def test_a_dynamic_linear_layer():
    model = quantization.quantize_dynamic(nn.Sequential(nn.Linear(16, 32)), {nn.Linear}, dtype=torch.qint8)
    found = facts(load_torch(model, (X,)))
    assert (found.macs, found.parameters, found.weights, found.biases) == (4 * 16 * 32, 544, 512, 32)
    assert found.parameter_bytes == 512 + 4 * 32
    assert found.exact
    # 64 values: range and quantisation 2 add, 1 div, 4 compare, zero point 1 add; 128 results: scale 1 mul, bias 1 add.
    assert found.work == Work(4 * 16 * 32, add=3 * 64 + 3 + 128, mul=128, div=64 + 2, compare=4 * 64 + 4)


class Net(nn.Module):
    """Every step of a quantised network: convolution with batch norm and ReLU folded, sum, pool, linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.start, self.end = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv, self.norm, self.relu = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.sum = modules.FloatFunctional()
        self.linear = nn.Linear(8 * 4 * 4, 5)

    def forward(self, x):
        x = self.relu(self.norm(self.conv(self.start(x))))
        x = nn.functional.adaptive_avg_pool2d(self.sum.add(x, x), 4)
        return self.end(self.linear(torch.flatten(x, 1)))


@pytest.mark.parametrize("engine", ["qnnpack", "x86"])
def test_a_statically_quantised_network_has_the_macs_of_the_float_one(engine):
    if engine not in torch.backends.quantized.supported_engines:
        pytest.skip(f"this machine has no {engine}")
    before, x = torch.backends.quantized.engine, torch.randn(2, 3, 9, 9)
    torch.backends.quantized.engine = engine
    try:
        model = Net().eval()
        plain = facts(load_torch(model, (x,)))
        model.qconfig = quantization.get_default_qconfig(engine)
        quantization.fuse_modules(model, [["conv", "norm", "relu"]], inplace=True)
        quantization.prepare(model, inplace=True)(x)
        quantization.convert(model, inplace=True)
        graph = load_torch(model, (x,))
    finally:
        torch.backends.quantized.engine = before
    found = facts(graph)
    assert not [node for node in graph.nodes if node.operator == UNKNOWN]
    assert found.macs == plain.macs == 2 * 25 * 8 * 27 + 2 * 128 * 5
    assert found.parameters == plain.deployed_parameters
    assert found.exact
    (conv,) = [node for node in deploy(graph).nodes if node.operator == "conv"]
    assert [node.operator for node in conv.fused] == ["relu"]
    assert graph.tensors[dict(conv.operands)["w"]].dtype.name == "int8"
    assert deploy(graph).tensors[conv.outputs[0]].dtype.name == "uint8"


@pytest.mark.parametrize(
    "name", ["Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig", "Float8WeightOnlyConfig"]
)
def test_weights_of_torchao_count_as_they_are_stored(name):
    """A weight is a tensor that wraps its values, scales and zero points."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torchao = pytest.importorskip("torchao.quantization")
        model = nn.Sequential(nn.Linear(64, 32))
        torchao.quantize_(model, getattr(torchao, name)())
        graph = load_torch(model, (torch.randn(4, 64),))
    found = facts(graph)
    assert not [node for node in graph.nodes if node.operator == UNKNOWN]
    assert (found.macs, found.weights, found.parameters) == (4 * 64 * 32, 64 * 32, 64 * 32 + 32)
    assert found.weight_bytes == 64 * 32
    assert not any("not used" in note for note in graph.notes)
