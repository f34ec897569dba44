"""PyTorch's recurrent layers and lookups: shapes against PyTorch's, MACs against the products that it takes them apart into."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.torch.aten_calls import decomposed_macs, graph_of, weighed
from tests.torch.modules import Calls
from weighbridge.counts import count
from weighbridge.frontends.aten_table_embedding import RULES_EMBEDDING
from weighbridge.frontends.aten_table_recurrent import RULES_RECURRENT
from weighbridge.frontends.from_torch import load_torch

A = torch.ops.aten
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
CELLS = {"lstm": nn.LSTMCell, "gru": nn.GRUCell, "rnn": nn.RNNCell}


def facts_of(module, *inputs):
    graph = load_torch(module, inputs)
    facts = count(graph, graph)
    assert facts.exact, facts.uncounted
    return facts


def r(*shape):
    return torch.ones(shape)


@st.composite
def layers(draw):
    size = st.integers(1, 3)
    operator = draw(st.sampled_from(sorted(GATES)))
    hidden = draw(st.integers(2, 4))
    projected = draw(st.integers(1, hidden - 1)) if operator == "lstm" and draw(st.booleans()) else 0
    return {
        "operator": operator,
        "input_size": draw(size),
        "hidden_size": hidden,
        "num_layers": draw(size),
        "bias": draw(st.booleans()),
        "batch_first": draw(st.booleans()),
        "bidirectional": draw(st.booleans()),
        "proj_size": projected,
        "steps": draw(size),
        "batch": draw(size),
    }


def parameters_of(layer):
    """In the order of PyTorch: layers from below, directions, in each w, r, the biases, the projection."""
    parameters = []
    hidden, state = layer["hidden_size"], layer["proj_size"] or layer["hidden_size"]
    directions, rows = 1 + layer["bidirectional"], GATES[layer["operator"]] * hidden
    for number in range(layer["num_layers"]):
        features = layer["input_size"] if number == 0 else directions * state
        for _ in range(directions):
            parameters += [r(rows, features), r(rows, state)]
            parameters += [r(rows), r(rows)] if layer["bias"] else []
            parameters += [r(state, hidden)] if layer["proj_size"] else []
    return [nn.Parameter(one) for one in parameters]


def states_of(layer):
    cells = layer["num_layers"] * (1 + layer["bidirectional"])
    h = r(cells, layer["batch"], layer["proj_size"] or layer["hidden_size"])
    return [h, r(cells, layer["batch"], layer["hidden_size"])] if layer["operator"] == "lstm" else h


def arguments_of(layer):
    lead = (layer["batch"], layer["steps"]) if layer["batch_first"] else (layer["steps"], layer["batch"])
    head = (r(*lead, layer["input_size"]), states_of(layer), parameters_of(layer))
    return (*head, layer["bias"], layer["num_layers"], 0.0, False, layer["bidirectional"], layer["batch_first"])


@settings(deadline=None, max_examples=80)
@given(layers())
def test_a_recurrent_layer_is_what_pytorch_takes_it_apart_into(layer):
    operator = getattr(A, layer["operator"]).input
    args = arguments_of(layer)
    facts = weighed(operator, *args)
    assert facts.macs == decomposed_macs(operator, *args)
    assert facts.parameters == sum(one.numel() for one in args[2])
    assert facts.biases == sum(one.numel() for one in args[2] if one.ndim == 1)
    assert facts.other_parameters == 0


@settings(deadline=None, max_examples=60)
@given(layers(), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_packed_sequences_count_the_steps_that_are_real(layer, lengths):
    lengths = sorted(lengths, reverse=True)
    layer = {**layer, "batch": len(lengths)}
    sizes = torch.tensor([sum(length > step for length in lengths) for step in range(lengths[0])])
    head = (r(sum(lengths), layer["input_size"]), sizes, states_of(layer), parameters_of(layer))
    args = (*head, layer["bias"], layer["num_layers"], 0.0, False, layer["bidirectional"])
    operator = getattr(A, layer["operator"]).data
    assert weighed(operator, *args).macs == decomposed_macs(operator, *args)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(GATES)), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_a_cell_is_one_step(name, batch, features, hidden, bias):
    operator = getattr(A, f"{name}_cell").default
    rows = GATES[name] * hidden
    h = r(batch, hidden)
    parameters = [r(rows, features), r(rows, hidden), *([r(rows), r(rows)] if bias else [])]
    args = (r(batch, features), [h, h] if name == "lstm" else h, *map(nn.Parameter, parameters))
    facts = weighed(operator, *args)
    assert facts.macs == decomposed_macs(operator, *args) == batch * rows * (features + hidden)
    assert facts.biases == (2 * rows if bias else 0)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_a_quantised_layer_is_the_layer_on_small_weights(name):
    """Its parameters as they come out of the objects that hold them: matrices of 8 bits, biases in floating point."""
    layer = {
        "operator": name, "input_size": 5, "hidden_size": 6, "num_layers": 2, "bias": True, "batch_first": False,
        "bidirectional": True, "proj_size": 0, "steps": 4, "batch": 3,
    }  # fmt: skip
    args = arguments_of(layer)
    expected = decomposed_macs(getattr(A, name).input, *args)
    names = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
    given = dict(zip(names, args, strict=True))
    made = getattr(A, name).input(*args)
    given["params"] = [
        nn.Parameter(one.to(torch.int8), requires_grad=False) if one.ndim == 2 else one for one in args[2]
    ]
    facts = weighed(f"aten.quantized_{name}", made=made, **given)
    assert facts.macs == expected
    assert facts.weight_bytes == sum(one.numel() for one in args[2] if one.ndim == 2)


@pytest.mark.parametrize("name", sorted(GATES))
def test_a_quantised_cell_is_one_step(name):
    rows, h = GATES[name] * 6, r(3, 6)
    weights = {"w_ih": nn.Parameter(r(rows, 5)), "w_hh": nn.Parameter(r(rows, 6))}
    names = ("bias_ih", "bias_hh") if name == "lstm" else ("b_ih", "b_hh")
    biases = {bias: nn.Parameter(r(rows)) for bias in names}
    state = [h, h] if name == "lstm" else h
    operator = f"quantized.quantized_{name}_cell_dynamic"
    facts = weighed(operator, made=state, input=r(3, 5), hx=state, **weights, **biases)
    assert (facts.macs, facts.biases) == (3 * rows * 11, 2 * rows)


def test_parameters_that_stay_packed_are_unknown():
    (node,) = graph_of("aten.quantized_lstm", input=r(4, 3, 5), hx=[r(1, 3, 6)] * 2, params=[], made=r(4, 3, 6)).nodes
    assert node.operator == "unknown" and "packed" in node.reason


@pytest.mark.parametrize("mode", range(4))
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_of_one_kernel(mode, bias):
    rows = (1, 1, 4, 3)[mode] * 6
    weights = [r(rows, 5), r(rows, 6), r(rows), r(rows)]
    h = r(1, 3, 6)
    args = (r(4, 3, 5), *weights, h, h, False, [], mode, 6, 1, bias, False, False, False)
    made = (r(4, 3, 6), h, h if mode == 2 else None, None)
    assert weighed(A.mkldnn_rnn_layer.default, *args, made=made).macs == 12 * rows * 11


def test_a_layer_of_an_unknown_kind_stays_unknown():
    args = (
        r(4, 3, 5),
        r(6, 5),
        r(6, 6),
        r(6),
        r(6),
        r(1, 3, 6),
        r(1, 3, 6),
        False,
        [],
        7,
        6,
        1,
        True,
        False,
        False,
        False,
    )
    (node,) = graph_of(A.mkldnn_rnn_layer.default, *args, made=(r(4, 3, 6), None, None, None)).nodes
    assert node.operator == "unknown"


@settings(deadline=None, max_examples=30)
@given(layers(), st.booleans())
def test_a_module_has_its_parameters_and_the_products_of_its_parts(layer, unbatched):
    options = {name: layer[name] for name in ("num_layers", "bias", "batch_first", "bidirectional")}
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}.get(layer["operator"], nn.RNN)
    if kind is nn.RNN:
        options["nonlinearity"] = layer["operator"].removeprefix("rnn_")
    if kind is nn.LSTM:
        options["proj_size"] = layer["proj_size"]
    module = kind(layer["input_size"], layer["hidden_size"], **options)
    x = r(*(() if unbatched else (layer["batch"],)), layer["steps"], layer["input_size"])
    facts = facts_of(module, x)
    assert facts.macs == decomposed_macs(module, x)
    assert facts.parameters == sum(one.numel() for one in module.parameters())
    assert facts.weights == sum(one.numel() for one in module.parameters() if one.ndim > 1)


@pytest.mark.parametrize(("name", "unbatched"), list(itertools.product(CELLS, [True, False])))
def test_a_module_of_one_step(name, unbatched):
    module = CELLS[name](5, 6)
    x = r(5) if unbatched else r(3, 5)
    facts = facts_of(module, x)
    assert facts.macs == decomposed_macs(module, x)
    assert facts.parameters == sum(one.numel() for one in module.parameters())


@pytest.mark.parametrize("batch_first", [True, False])
def test_sequences_packed_and_unpacked_by_the_module(batch_first):
    def run(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, [7, 3, 2], batch_first=batch_first)
        return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=batch_first)[0]

    facts = facts_of(Calls(run, lstm=nn.LSTM(10, 20, bidirectional=True)), r(3, 7, 10) if batch_first else r(7, 3, 10))
    assert facts.macs == 2 * 12 * 80 * 30
    names = [node.operator for node in facts.nodes]
    assert names.count("pack_sequences") == names.count("unpack_sequences") == 1


PACKED = r(12, 10), torch.tensor([3, 3, 2, 1, 1, 1, 1])
TABLE, BAGS = nn.Parameter(r(50, 8)), torch.tensor([0, 2, 3])

# Keys that the tests above do not call themselves: (operator, arguments, what it makes)
FORMS = {
    "aten._pack_padded_sequence": (A._pack_padded_sequence.default, (r(3, 7, 10), torch.tensor([7, 3, 2]), True), None),
    "aten._pack_padded_sequence time": (A._pack_padded_sequence.default, (r(7, 3, 4, 5), torch.tensor([6, 3, 2]), False), None),
    "aten._pad_packed_sequence": (A._pad_packed_sequence.default, (*PACKED, True, 0.0, -1), None),
    "aten._pad_packed_sequence longer": (A._pad_packed_sequence.default, (*PACKED, False, 0.0, 9), None),
    "aten.embedding": (A.embedding.default, (TABLE, torch.zeros(2, 3, dtype=torch.long)), None),
    "aten.embedding_bag": (A.embedding_bag.default, (TABLE, torch.arange(6), BAGS), (r(3, 8), None, None, None)),
    "aten.embedding_bag last": (
        A.embedding_bag.padding_idx,
        (TABLE, torch.arange(6), torch.tensor([0, 2, 6]), False, 1, False, None, True, 4), (r(2, 8), None, None, None),
    ),
    "aten._embedding_bag": (A._embedding_bag.default, (TABLE, torch.arange(6), BAGS, False, 2), (r(3, 8), None, None, None)),
    "aten._embedding_bag_forward_only": (
        A._embedding_bag_forward_only.default, (TABLE, torch.arange(6), BAGS, False, 0, False, r(6)), (r(3, 8), None, None, None),
    ),
    "aten.embedding_renorm": (A.embedding_renorm_.default, (TABLE, torch.arange(6), 1.0, 2.0), TABLE.detach()),
}  # fmt: skip
TESTED = {
    *(f"aten.{name}{form}" for name in GATES for form in ("", "_cell")),
    *(f"quantized.quantized_{name}_cell_dynamic" for name in GATES),
    *("aten.quantized_lstm", "aten.quantized_gru", "aten.mkldnn_rnn_layer"),
}


def test_every_rule_has_a_form():
    assert {name.split()[0] for name in FORMS} | TESTED == {*RULES_RECURRENT, *RULES_EMBEDDING}


@pytest.mark.parametrize("name", FORMS)
def test_shapes_are_those_that_pytorch_makes(name):
    operator, args, made = FORMS[name]
    facts = weighed(operator, *args, made=made)
    assert facts.macs == 0
    assert facts.weights == facts.parameters


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("offsets", [True, False])
def test_bags_by_the_module(mode, offsets):
    """By execution: every row that is looked up joins its bag."""
    module = nn.EmbeddingBag(50, 8, mode=mode)
    inputs = (torch.arange(6), BAGS) if offsets else (torch.arange(6).reshape(3, 2),)
    facts = facts_of(module, *inputs)
    assert (facts.macs, facts.weights) == (0, 400)
    (bag,) = [node for node in facts.nodes if node.operator == "embedding_bag"]
    assert bag.output == (3, 8)
    assert (bag.work.add, bag.work.compare, bag.work.div) == {
        "sum": (48, 0, 0), "mean": (48, 0, 24), "max": (0, 48, 0),
    }[mode]  # fmt: skip


def test_a_bounded_table_is_a_weight_and_its_work_depends_on_values():
    facts = facts_of(nn.Embedding(50, 8, max_norm=1.0), torch.arange(6))
    assert (facts.weights, facts.macs, facts.work_exact) == (400, 0, False)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_same_layer_through_onnx(name, layers, tmp_path):
    """MACs, work, weights and biases; the exporter writes zeros for initial states, which look like learned values."""
    pytest.importorskip("onnx")
    from weighbridge.frontends.from_onnx import load_onnx

    kind = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[name]
    module = kind(10, 20, layers, bidirectional=True).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (r(5, 3, 10),), str(tmp_path / "one.onnx"), dynamo=False)
    graph = load_onnx(tmp_path / "one.onnx")
    theirs, ours = count(graph, graph), facts_of(module, r(5, 3, 10))
    for one in ("macs", "work", "weights", "biases"):
        assert getattr(ours, one) == getattr(theirs, one), one
