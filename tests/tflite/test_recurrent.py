"""TensorFlow Lite's recurrent layers: every operand in its place, which the sizes tell, as each is of a size of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.onnx import build as onnx_build
from tests.tflite.build import Op, Tensor, model, one, op, operators, roles, shapes, tensor
from tests.tflite.build import graph as subgraph
from tests.tflite.build import load as loaded
from tests.tflite.test_contractions import agrees
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.graph import UNKNOWN, Graph, Role, Shape

BATCH, STEPS, FEATURES, AUX = 2, 7, 3, 5
GATES = ("input", "forget", "cell", "output")


class Lstm:
    """The operands of one direction by the names that the schema's comments use."""

    def __init__(
        self,
        prefix: str = "",
        *,
        hidden: int = 4,
        features: int = FEATURES,
        coupled: bool = False,
        peepholes: bool = False,
        projected: int = 0,
        projection_bias: bool = False,
        normalised: bool = False,
        aux: int = 0,
    ) -> None:
        state = projected or hidden
        self.state, self.hidden, self.gates = state, hidden, 3 if coupled else 4
        self.features, self.aux, self.projected = features, aux, projected
        self.tensors: list[Tensor] = []

        def stored(name: str, shape: Shape, *, there: bool = True) -> str:
            if not there:
                return "-"
            self.tensors.append(tensor(prefix + name, shape, data=True))
            return prefix + name

        def gates(name: str, shape: Shape, *, there: bool = True) -> list[str]:
            return [stored(f"{name}_{gate}", shape, there=there and (gate != "input" or not coupled)) for gate in GATES]

        self.w = gates("w", (hidden, features))
        self.r = gates("r", (hidden, state))
        cells = gates("p", (hidden,), there=peepholes)
        self.p = [cells[0], cells[1], cells[3]]
        if peepholes:
            self.tensors = [one for one in self.tensors if one.name != f"{prefix}p_cell"]
        self.b = gates("b", (hidden,))
        self.projection = [
            stored("projection", (state, hidden), there=projected > 0),
            stored("projection_b", (state,), there=projection_bias),
        ]
        self.states = [f"{prefix}h", f"{prefix}c"]
        self.tensors += [
            tensor(f"{prefix}h", (BATCH, state), variable=True),
            tensor(f"{prefix}c", (BATCH, hidden), variable=True),
        ]
        self.norm = gates("norm", (hidden,), there=normalised)
        self.aux_w = gates("aux_w", (hidden, aux), there=aux > 0)

    @property
    def inputs(self) -> list[str]:
        return [*self.w, *self.r, *self.p, *self.b, *self.projection]

    def macs(self, rows: int) -> int:
        a_step = self.gates * self.hidden * (self.features + self.state + self.aux)
        return rows * (a_step + self.projected * self.hidden)

    @property
    def parameters(self) -> int:
        return sum(one.elements for one in map(_sized, self.tensors) if not one.variable)


class _sized:  # noqa: N801
    def __init__(self, given: Tensor) -> None:
        self.variable, self.elements = given.variable, 1
        for size in given.shape or ():
            self.elements *= size


@st.composite
def cells(draw: st.DrawFn) -> dict[str, Any]:
    projected = draw(st.sampled_from([0, 6]))
    return {
        "coupled": draw(st.booleans()),
        "peepholes": draw(st.booleans()),
        "projected": projected,
        "projection_bias": bool(projected) and draw(st.booleans()),
        "normalised": draw(st.booleans()),
    }


def single(cell: Lstm, x: Shape, y: Shape, name: str, options: Mapping[str, Any]) -> Graph:
    tensors = [tensor("x", x), *cell.tensors, tensor("y", y)]
    given = {"fused_activation_function": 4, **options}
    return one(tensors, op(name, ["x", *cell.inputs, *cell.states, *cell.norm], "y", given))


@settings(max_examples=40)
@given(cells(), st.sampled_from(["LSTM", "batch first", "time first"]))
def test_an_lstm_has_what_its_file_has(given_: dict[str, Any], form: str) -> None:
    cell = Lstm(**given_)
    lead = {"LSTM": (BATCH,), "batch first": (BATCH, STEPS), "time first": (STEPS, BATCH)}[form]
    name = "LSTM" if form == "LSTM" else "UNIDIRECTIONAL_SEQUENCE_LSTM"
    options = {} if form == "LSTM" else {"time_major": form == "time first"}
    stated = (*lead, cell.state)
    found = single(cell, (*lead, FEATURES), stated, name, options)
    facts = agrees(found, stated).facts
    assert operators(found) == ["stateful_lstm"]
    rows = BATCH if form == "LSTM" else BATCH * STEPS
    assert (facts.macs, facts.parameters) == (cell.macs(rows), cell.parameters)
    assert facts.parameters == facts.weights + facts.biases + facts.other_parameters
    assert set(roles(found).values()) == {Role.PARAMETER}
    states = {one.id: one.shape for one in found.tensors.values() if one.role is Role.STATE}
    assert states == {"h": (BATCH, cell.state), "c": (BATCH, cell.hidden)}
    written = facts.nodes[0].write_bytes
    assert written == 4 * (rows * cell.state + BATCH * (cell.state + cell.hidden))


@settings(max_examples=40)
@given(cells(), cells(), st.booleans(), st.booleans(), st.sampled_from(["", "crossed", "stacked"]))
def test_an_lstm_in_two_directions(
    first: dict[str, Any], second: dict[str, Any], merged: bool, time_major: bool, second_input: str
) -> None:
    aux = AUX if second_input == "crossed" else 0
    read = AUX if second_input == "stacked" else FEATURES
    # This operator has no layer normalisation.
    forward = Lstm(**{**first, "normalised": False}, aux=aux)
    backward = Lstm("backward_", **{**second, "normalised": False}, hidden=8, features=read, aux=aux)
    lead = (STEPS, BATCH) if time_major else (BATCH, STEPS)
    lengths = [forward.state + backward.state] if merged else [forward.state, backward.state]
    tensors = [
        tensor("x", (*lead, FEATURES)),
        tensor("aux", (*lead, AUX)),
        *forward.tensors,
        *backward.tensors,
        *(tensor(f"y{number}", (*lead, length)) for number, length in enumerate(lengths)),
    ]
    inputs = [
        *("x", *forward.inputs, *backward.inputs, *forward.states, *backward.states),
        *("aux" if second_input else "-", *forward.aux_w, *backward.aux_w),
    ]
    given_ = {"fused_activation_function": 4, "merge_outputs": merged, "time_major": time_major}
    call = op("BIDIRECTIONAL_SEQUENCE_LSTM", inputs, [f"y{number}" for number in range(len(lengths))], given_)
    found = one(tensors, call)
    facts = agrees(found, *((*lead, length) for length in lengths)).facts
    rows = BATCH * STEPS
    assert facts.macs == forward.macs(rows) + backward.macs(rows)
    assert facts.parameters == forward.parameters + backward.parameters


@pytest.mark.parametrize(
    ("cell_clip", "proj_clip", "compared"), [(0.0, 0.0, 0), (3.0, 0.0, 2 * 14 * 4), (3.0, 1.0, 2 * 14 * 10)]
)
def test_clipped_values_are_compared(cell_clip: float, proj_clip: float, compared: int) -> None:
    options = {"cell_clip": cell_clip, "proj_clip": proj_clip}
    cell = Lstm(projected=6)
    found = single(cell, (BATCH, STEPS, FEATURES), (BATCH, STEPS, 6), "UNIDIRECTIONAL_SEQUENCE_LSTM", options)
    assert weigh(found).facts.work.compare == compared


def test_a_diagonal_recurrence_multiplies_element_by_element() -> None:
    cell = Lstm()
    cell.tensors = [one._replace(shape=(4,)) if one.name.startswith("r_") else one for one in cell.tensors]
    options = {"diagonal_recurrent_tensors": True}
    found = single(cell, (BATCH, STEPS, FEATURES), (BATCH, STEPS, 4), "UNIDIRECTIONAL_SEQUENCE_LSTM", options)
    facts = agrees(found, (BATCH, STEPS, 4)).facts
    assert facts.macs == BATCH * STEPS * 16 * FEATURES
    plain = single(Lstm(), (BATCH, STEPS, FEATURES), (BATCH, STEPS, 4), "UNIDIRECTIONAL_SEQUENCE_LSTM", {})
    assert facts.work.mul - weigh(plain).facts.work.mul == BATCH * STEPS * 16


@pytest.mark.parametrize(
    ("x", "w", "h", "c", "where"),
    [
        ("FLOAT32", "FLOAT32", "FLOAT32", "FLOAT32", "by_operands"),
        ("FLOAT32", "INT8", "FLOAT32", "FLOAT32", "dynamic"),
        ("INT8", "INT8", "INT8", "INT16", "in_tensors"),
        ("INT16", "INT8", "INT16", "INT16", "in_tensors"),
    ],
)
def test_every_form_of_quantisation(x: str, w: str, h: str, c: str, where: str) -> None:
    kinds = {"w": w, "r": w, "b": "FLOAT32" if where != "in_tensors" else "INT32", "h": h, "c": c}
    cell = Lstm()
    cell.tensors = [one._replace(type=kinds[one.name[0]], scales=1) for one in cell.tensors]
    stated = (BATCH, STEPS, 4)
    tensors = [tensor("x", (BATCH, STEPS, FEATURES), x), *cell.tensors, tensor("y", stated, x)]
    call = op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        ["x", *cell.inputs, *cell.states, *["-"] * 4],
        "y",
        {"fused_activation_function": 4},
    )
    found = one(tensors, call)
    facts = agrees(found, stated).facts
    assert found.nodes[0].attributes["quantisation"] == where
    assert found.tensors[found.outputs[0]].dtype.name == x.lower()
    assert facts.macs == cell.macs(BATCH * STEPS)
    assert facts.parameter_bytes == 16 * 7 * (1 if w == "INT8" else 4) + 16 * 4


def test_intermediates_are_no_operands() -> None:
    """Quantised layers name tensors that exist only to hold scales."""
    cell = Lstm()
    tensors = [
        tensor("x", (BATCH, STEPS, FEATURES)),
        *cell.tensors,
        tensor("y", (BATCH, STEPS, 4)),
        *(tensor(f"i{number}", (0,), scales=1) for number in range(5)),
    ]
    call = Op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        ["x", *cell.inputs, *cell.states],
        ["y"],
        {"fused_activation_function": 4},
        intermediates=[f"i{number}" for number in range(5)],
    )
    assert agrees(one(tensors, call), (BATCH, STEPS, 4)).facts.macs == cell.macs(14)


def test_the_basic_kernel_is_a_product_and_a_cell() -> None:
    """All gates in one matrix; what was joined and the gates themselves are results."""
    tensors = [
        tensor("x", (2, 3), "UINT8", scales=1),
        tensor("h", (2, 4), "UINT8", scales=1),
        tensor("w", (16, 7), "UINT8", data=True, scales=1),
        tensor("b", (16,), "INT32", data=True),
        tensor("c", (2, 4), "INT16", scales=1),
        tensor("y", (2, 4), "UINT8", scales=1),
        tensor("state", (2, 4), "INT16", scales=1),
        tensor("joined", (2, 7), "UINT8", scales=1),
        tensor("gates", (2, 16), "INT16", scales=1),
    ]
    given_ = {"kernel_type": 1, "fused_activation_function": 4}
    found = one(tensors, op("LSTM", "x h w b c", "y state joined gates", given_))
    facts = agrees(found, (2, 4), (2, 4), (2, 7), (2, 16)).facts
    assert operators(found) == ["concat", "linear", "lstm_cell"]
    assert (facts.macs, facts.parameters) == (2 * 16 * 7, 16 * 8)
    assert [found.tensors[name].dtype.name for name in found.outputs] == ["uint8", "int16", "uint8", "int16"]


def rnn(name: str, x: Shape, outputs: Sequence[Shape], tensors: Sequence[Tensor], names: str, **options: Any) -> Graph:
    made = [tensor(f"y{number}", shape) for number, shape in enumerate(outputs)]
    results = [one.name for one in made]
    given_ = {"fused_activation_function": 4, **options}
    return one([tensor("x", x), *tensors, *made], op(name, names, results, given_))


def direction(prefix: str, hidden: int, features: int) -> list[Tensor]:
    return [
        tensor(f"{prefix}w", (hidden, features), data=True),
        tensor(f"{prefix}r", (hidden, hidden), data=True),
        tensor(f"{prefix}b", (hidden,), data=True),
        tensor(f"{prefix}h", (BATCH, hidden), variable=True),
    ]


@pytest.mark.parametrize(
    ("name", "lead", "options"),
    [
        ("RNN", (BATCH,), {}),
        ("UNIDIRECTIONAL_SEQUENCE_RNN", (BATCH, STEPS), {"time_major": False}),
        ("UNIDIRECTIONAL_SEQUENCE_RNN", (STEPS, BATCH), {"time_major": True}),
    ],
)
def test_a_simple_recurrent_layer(name: str, lead: Shape, options: dict[str, bool]) -> None:
    found = rnn(name, (*lead, FEATURES), [(*lead, 4)], direction("", 4, FEATURES), "x w r b h", **options)
    facts = agrees(found, (*lead, 4)).facts
    rows = BATCH * (1 if name == "RNN" else STEPS)
    assert (facts.macs, facts.parameters) == (rows * 4 * (FEATURES + 4), 4 * (FEATURES + 4 + 1))
    assert facts.work.special == rows * 4


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("second_input", ["", "crossed", "stacked"])
def test_a_simple_recurrent_layer_in_two_directions(merged: bool, second_input: str) -> None:
    read = AUX if second_input == "stacked" else FEATURES
    tensors = [tensor("aux", (BATCH, STEPS, AUX)), *direction("f", 4, FEATURES), *direction("g", 6, read)]
    names = "x fw fr fb fh gw gr gb gh " + ("aux" if second_input else "-")
    if second_input == "crossed":
        tensors += [tensor("fa", (4, AUX), data=True), tensor("ga", (6, AUX), data=True)]
    names += " fa ga" if second_input == "crossed" else " - -"
    lengths = [10] if merged else [4, 6]
    stated = [(BATCH, STEPS, length) for length in lengths]
    found = rnn("BIDIRECTIONAL_SEQUENCE_RNN", (BATCH, STEPS, FEATURES), stated, tensors, names, merge_outputs=merged)
    crossed = AUX if second_input == "crossed" else 0
    expected = BATCH * STEPS * (4 * (FEATURES + 4 + crossed) + 6 * (read + 6 + crossed))
    assert agrees(found, *stated).facts.macs == expected


@pytest.mark.parametrize(("function", "compared", "special"), [(0, 0, 0), (1, 1, 0), (3, 2, 0), (4, 0, 1)])
def test_the_function_is_applied_at_every_step(function: int, compared: int, special: int) -> None:
    tensors, name = direction("", 4, FEATURES), "UNIDIRECTIONAL_SEQUENCE_RNN"
    x = (BATCH, STEPS, FEATURES)
    found = rnn(name, x, [(BATCH, STEPS, 4)], tensors, "x w r b h", fused_activation_function=function)
    work, values = weigh(found).facts.work, BATCH * STEPS * 4
    assert operators(found) == ["stateful_rnn"]
    assert (work.compare, work.special) == (compared * values, special * values)


def test_a_function_that_no_step_has_is_refused() -> None:
    with pytest.raises(BadModel, match="activation function 5"):
        rnn("RNN", (2, 3), [(2, 4)], direction("", 4, 3), "x w r b h", fused_activation_function=5)


def onnx_layer(node: str, gates: int) -> Graph:
    made = onnx_build.graph(
        [onnx_build.node(node, ["x", "w", "r"], ["y"], hidden_size=4)],
        [onnx_build.value("x", (STEPS, BATCH, FEATURES))],
        [onnx_build.value("y", None)],
        [onnx_build.weight("w", 1, 4 * gates, FEATURES), onnx_build.weight("r", 1, 4 * gates, 4)],
    )
    return onnx_build.load(onnx_build.model(made))


def test_the_same_layers_from_onnx_cost_the_same() -> None:
    """But for the biases, of which ONNX has two a gate."""
    cell = Lstm()
    lstm = single(
        cell, (STEPS, BATCH, FEATURES), (STEPS, BATCH, 4), "UNIDIRECTIONAL_SEQUENCE_LSTM", {"time_major": True}
    )
    simple = rnn(
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        (STEPS, BATCH, FEATURES),
        [(STEPS, BATCH, 4)],
        direction("", 4, FEATURES),
        "x w r b h",
        time_major=True,
    )
    for ours, theirs, gates in ((lstm, onnx_layer("LSTM", 4), 4), (simple, onnx_layer("RNN", 1), 1)):
        facts, wanted = weigh(ours).facts, weigh(theirs).facts
        biases = STEPS * BATCH * gates * 4
        assert (facts.macs, facts.weights) == (wanted.macs, wanted.weights)
        assert facts.work == wanted.work._replace(add=wanted.work.add + biases)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
def test_filters_over_features_and_time(rank: int, bias: bool) -> None:
    tensors = [
        tensor("x", (2, 5)),
        tensor("features", (6, 5), data=True),
        tensor("time", (6, 7), data=True),
        tensor("b", (6 // rank,), data=True),
        tensor("state", (2, 42), variable=True),
        tensor("y", (2, 6 // rank)),
    ]
    given_ = {"rank": rank, "fused_activation_function": 1}
    found = one(tensors, op("SVDF", f"x features time {'b' if bias else '-'} state", "y", given_))
    facts = agrees(found, (2, 6 // rank)).facts
    assert [(node.operator, [each.operator for each in node.fused]) for node in found.nodes] == [("svdf", ["relu"])]
    assert (facts.macs, facts.weights, facts.biases) == (2 * 6 * (5 + 7), 6 * 12, 6 // rank if bias else 0)


def test_an_lstm_without_a_state_stays_unknown() -> None:
    cell = Lstm()
    tensors = [tensor("x", (BATCH, FEATURES)), *cell.tensors, tensor("y", (BATCH, 4))]
    given_ = {"fused_activation_function": 4}
    calls = [op("LSTM", ["x", *cell.inputs], "y", given_)]
    found = loaded(model(subgraph(tensors, calls, "x", "y")))
    assert operators(found) == [UNKNOWN]
    assert shapes(found) == [(BATCH, 4)]
    assert not weigh(found).facts.exact
