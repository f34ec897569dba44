"""Recurrent layers against their execution, gate by gate, as ONNX writes the equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, macs_of, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.table import OPERATORS

SIZES = st.integers(1, 3)
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


@st.composite
def layers(draw):
    return {
        "operator": draw(st.sampled_from(sorted(GATES))),
        "steps": draw(SIZES),
        "batch": draw(SIZES),
        "features": draw(SIZES),
        "hidden": draw(SIZES),
        "directions": draw(st.integers(1, 2)),
        "bias": draw(st.booleans()),
        "peepholes": draw(st.booleans()),
        "clip": draw(st.sampled_from([0.0, 3.0])),
        "batch_first": draw(st.booleans()),
        "states": draw(st.booleans()),
        "projected": 0,
    }


def arrays_of(layer):
    directions, hidden, rows = layer["directions"], layer["hidden"], GATES[layer["operator"]] * layer["hidden"]
    state = layer["projected"] or hidden
    shapes = {
        "x": (layer["steps"], layer["batch"], layer["features"]),
        "w": (directions, rows, layer["features"]),
        "r": (directions, rows, state),
        "b": (directions, 2 * rows),
        "p": (directions, 3 * hidden),
        "initial_h": (directions, layer["batch"], state),
        "initial_c": (directions, layer["batch"], hidden),
        "projection": (directions, state, hidden),
    }
    wanted = {"x", "w", "r"} | ({"b"} if layer["bias"] else set()) | ({"projection"} if layer["projected"] else set())
    if layer["operator"] == "lstm" and layer["peepholes"]:
        wanted.add("p")
    if layer["states"]:
        wanted.add("initial_h")
        if layer["operator"] == "lstm":
            wanted.add("initial_c")
    return {
        name: np.array([math.sin(7 * i + len(name)) for i in range(math.prod(shape))], dtype=object).reshape(shape)
        for name, shape in shapes.items()
        if name in wanted
    }


class Cell:
    """One direction, one sequence of the batch: the products of a step and what is made of them, counted."""

    def __init__(self, layer, arrays, direction, tally):
        self.tally, self.clip, self.hidden = tally, layer["clip"], layer["hidden"]
        self.w, self.r = arrays["w"][direction], arrays["r"][direction]
        self.b = arrays["b"][direction] if "b" in arrays else None
        self.p = arrays["p"][direction] if "p" in arrays else None
        self.projection = arrays["projection"][direction] if "projection" in arrays else None

    def product(self, matrix, row, vector):
        total = 0
        for weight, value in zip(matrix[row], vector, strict=True):
            total = self.tally.mac(total, weight, value)
        return total

    def biased(self, value, row):
        """Both biases of a gate, one after the other."""
        if self.b is None:
            return value
        return self.tally.add(self.tally.add(value, self.b[row]), self.b[len(self.w) + row])

    def gate(self, number, place, x, h):
        row = number * self.hidden + place
        both = self.tally.add(self.product(self.w, row, x), self.product(self.r, row, h))
        return self.biased(both, row)

    def peep(self, value, number, place, c):
        if self.p is None:
            return value
        return self.tally.add(value, self.tally.mul(self.p[number * self.hidden + place], c))

    def squash(self, function, value):
        return function(self.tally.clip(value, self.clip) if self.clip else value)

    def lstm(self, x, h, c):
        t, states, outputs = self.tally, [], []
        for place in range(self.hidden):
            i = self.squash(t.sigmoid, self.peep(self.gate(0, place, x, h), 0, place, c[place]))
            f = self.squash(t.sigmoid, self.peep(self.gate(2, place, x, h), 2, place, c[place]))
            g = self.squash(t.tanh, self.gate(3, place, x, h))
            new = t.add(t.mul(f, c[place]), t.mul(i, g))
            o = self.squash(t.sigmoid, self.peep(self.gate(1, place, x, h), 1, place, new))
            states.append(new)
            outputs.append(t.mul(o, self.squash(t.tanh, new)))
        if self.projection is not None:
            outputs = [self.product(self.projection, row, outputs) for row in range(len(self.projection))]
        return outputs, states

    def gru(self, x, h, c):
        """With linear_before_reset: the reset gate scales the recurrent product."""
        t, outputs = self.tally, []
        for place in range(self.hidden):
            z = self.squash(t.sigmoid, self.gate(0, place, x, h))
            r = self.squash(t.sigmoid, self.gate(1, place, x, h))
            row = 2 * self.hidden + place
            recurrent, given_in = self.product(self.r, row, h), self.product(self.w, row, x)
            if self.b is not None:
                recurrent = t.add(recurrent, self.b[3 * self.hidden + row])
                given_in = t.add(given_in, self.b[row])
            g = self.squash(t.tanh, t.add(given_in, t.mul(r, recurrent)))
            outputs.append(t.add(t.mul(t.sub(1, z), g), t.mul(z, h[place])))
        return outputs, c

    def rnn(self, x, h, c):
        return [self.squash(self.tally.tanh, self.gate(0, place, x, h)) for place in range(self.hidden)], c


def execute(layer, arrays, tally, lengths=None):
    """(every hidden state, the last ones, the last cell states), time first; ``lengths`` are the steps of each sequence."""
    steps, batch, hidden, directions = (layer[name] for name in ("steps", "batch", "hidden", "directions"))
    state = layer["projected"] or hidden
    y = np.zeros((steps, directions, batch, state), dtype=object)
    y_h = np.zeros((directions, batch, state), dtype=object)
    y_c = np.zeros((directions, batch, hidden), dtype=object)
    for direction in range(directions):
        cell = Cell(layer, arrays, direction, tally)
        for sequence in range(batch):
            h = list(arrays["initial_h"][direction, sequence]) if "initial_h" in arrays else [0] * state
            c = list(arrays["initial_c"][direction, sequence]) if "initial_c" in arrays else [0] * hidden
            length = lengths[sequence] if lengths else steps
            for step in reversed(range(length)) if direction else range(length):
                h, c = getattr(cell, layer["operator"])(arrays["x"][step, sequence], h, c)
                y[step, direction, sequence] = h
            y_h[direction, sequence], y_c[direction, sequence] = h, c
    return y, y_h, y_c


def call_of(layer, arrays):
    outputs = ("y", "y_h", "y_c") if layer["operator"] == "lstm" else ("y", "y_h")
    attributes = {"clip": layer["clip"], "batch_first": layer["batch_first"], "outputs": outputs}
    shapes = {name: value.shape for name, value in arrays.items()}
    if layer["batch_first"]:
        for name in {"x", "initial_h", "initial_c"} & set(shapes):
            first, second, last = shapes[name]
            shapes[name] = (second, first, last)
    return call(layer["operator"], attributes, **shapes)


@settings(deadline=None, max_examples=80)
@given(layers())
def test_a_recurrent_layer_counts_what_its_execution_does(layer):
    arrays = arrays_of(layer)
    tally = Tally()
    y, y_h, y_c = execute(layer, arrays, tally)
    found = call_of(layer, arrays)
    if layer["batch_first"]:
        y, y_h, y_c = np.moveaxis(y, 2, 0), np.moveaxis(y_h, 1, 0), np.moveaxis(y_c, 1, 0)
    expected = [y.shape, y_h.shape] + ([y_c.shape] if layer["operator"] == "lstm" else [])
    assert [output.shape for output in found.outputs] == expected
    assert macs_of(layer["operator"], found) == tally.macs
    assert work_of(layer["operator"], found) == tally.work


def joined_call(layer, arrays, **attributes):
    """PyTorch's form: a matrix or two vectors for each direction, directions side by side in y, states as they are."""
    outputs = ("y", "y_h", "y_c") if layer["operator"] == "lstm" else ("y", "y_h")
    shapes = {name: value.shape for name, value in arrays.items()}
    for name in {"w", "r", "projection"} & set(shapes):
        directions, *matrix = shapes[name]
        shapes[name] = [tuple(matrix)] * directions
    if "b" in shapes:
        directions, both = shapes["b"]
        shapes["b"] = [(both // 2,)] * (2 * directions)
    given = {"clip": layer["clip"], "joined": True, "outputs": outputs, **attributes}
    return call(layer["operator"], given, **shapes)


@settings(deadline=None, max_examples=80)
@given(layers(), st.integers(0, 2))
def test_a_joined_layer_counts_what_its_execution_does(layer, projected):
    layer = {**layer, "peepholes": False, "projected": projected if layer["operator"] == "lstm" else 0}
    arrays = arrays_of(layer)
    tally = Tally()
    y, y_h, y_c = execute(layer, arrays, tally)
    shapes = dict(arrays)
    every = np.moveaxis(y, 1, 2).reshape(layer["steps"], layer["batch"], -1)
    if layer["batch_first"]:
        shapes["x"], every = np.moveaxis(arrays["x"], 0, 1), np.moveaxis(every, 0, 1)
    found = joined_call(layer, shapes, batch_first=layer["batch_first"])
    expected = [every.shape, y_h.shape] + ([y_c.shape] if layer["operator"] == "lstm" else [])
    assert [output.shape for output in found.outputs] == expected
    assert macs_of(layer["operator"], found) == tally.macs
    assert work_of(layer["operator"], found) == tally.work


@settings(deadline=None, max_examples=60)
@given(layers(), st.data())
def test_packed_sequences_count_their_real_steps(layer, data):
    """By execution of each sequence for as long as it is."""
    layer = {**layer, "peepholes": False, "states": True, "batch_first": False}
    sizes = st.integers(1, layer["steps"])
    lengths = data.draw(st.lists(sizes, min_size=layer["batch"], max_size=layer["batch"]))
    arrays = arrays_of(layer)
    tally = Tally()
    _, y_h, y_c = execute(layer, arrays, tally, lengths)
    packed = np.zeros((sum(lengths), layer["features"]))
    found = joined_call(layer, {**arrays, "x": packed}, packed=True)
    expected = [(sum(lengths), layer["directions"] * layer["hidden"]), y_h.shape]
    expected += [y_c.shape] if layer["operator"] == "lstm" else []
    assert [output.shape for output in found.outputs] == expected
    assert macs_of(layer["operator"], found) == tally.macs
    assert work_of(layer["operator"], found) == tally.work


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2), st.lists(SIZES, max_size=2), st.booleans()
)
def test_packing_keeps_the_real_steps(lengths, unused, features, batch_first):
    """By execution: step by step, of each sequence that is so long."""
    longest = max(lengths)
    rows = [(step, sequence) for step in range(longest) for sequence, length in enumerate(lengths) if step < length]
    together = [sum(step < length for length in lengths) for step in range(longest)]
    lead = (len(lengths), longest + unused) if batch_first else (longest + unused, len(lengths))
    attributes = {"batch_first": batch_first, "steps": len(rows), "longest": longest, "outputs": ("y", "batch_sizes")}
    found = call("pack_sequences", attributes, x=(*lead, *features), lengths=typed((len(lengths),), "int64"))
    assert [one.shape for one in found.outputs] == [(len(rows), *features), (len(together),)]
    assert OPERATORS["pack_sequences"].traffic(found).write_bytes == 4 * len(rows) * math.prod(features) + 8 * longest
    back = {"batch_first": batch_first, "steps": lead[1] if batch_first else lead[0], "batch": len(lengths)}
    unpacked = call("unpack_sequences", back, x=(len(rows), *features), batch_sizes=typed((longest,), "int64"))
    assert shape_of(unpacked) == (*lead, *features)


@pytest.mark.parametrize("operator", sorted(GATES))
def test_the_oracle_itself_gives_what_onnx_gives(operator):
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    layer = {
        "operator": operator, "steps": 3, "batch": 2, "features": 3, "hidden": 2, "directions": 1, "bias": True,
        "peepholes": operator == "lstm", "clip": 0.0, "batch_first": False, "states": False, "projected": 0,
    }  # fmt: skip
    arrays = arrays_of(layer)
    feeds = {name: value.astype("float32") for name, value in arrays.items()}
    slots = ["x", "w", "r", "b", "", "", "", "p"] if operator == "lstm" else ["x", "w", "r", "b"]
    more = {"linear_before_reset": 1} if operator == "gru" else {}
    node = onnx.helper.make_node(operator.upper(), slots, ["y", "y_h"], hidden_size=2, **more)
    float_type = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info(name, float_type, value.shape) for name, value in feeds.items()],
        [onnx.helper.make_tensor_value_info(name, float_type, None) for name in ("y", "y_h")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)])
    y, y_h = ReferenceEvaluator(model).run(None, feeds)
    ours = execute(layer, arrays, Tally())
    np.testing.assert_allclose(ours[0].astype("float32"), y, rtol=1e-5)
    np.testing.assert_allclose(ours[1].astype("float32"), y_h, rtol=1e-5)


def test_only_the_outputs_asked_for_are_made():
    shapes = {"x": (5, 3, 10), "w": (1, 80, 10), "r": (1, 80, 20)}
    assert shape_of(call("lstm", {"outputs": "y_c"}, **shapes)) == (1, 3, 20)
    assert len(call("lstm", {"outputs": ("y_h", "y")}, **shapes).outputs) == 2


def test_activations_cost_what_their_own_operators_do():
    shapes = {"x": (5, 3, 10), "w": (2, 20, 10), "r": (2, 20, 20)}
    relu = work_of("rnn", call("rnn", {"activations": ("relu", "affine")}, **shapes))
    assert (relu.compare, relu.special, relu.mul) == (5 * 3 * 20, 0, 5 * 3 * 20)


@pytest.mark.parametrize(
    ("attributes", "operands"),
    [
        ({}, {"x": (5, 3, 10), "w": (1, 80, 10), "r": (1, 80, 21)}),
        ({}, {"x": (5, 3, 10), "w": (1, 80, 11), "r": (1, 80, 20)}),
        ({}, {"x": (5, 3, 10), "w": (3, 80, 10), "r": (3, 80, 20)}),
        ({}, {"x": (5, 10), "w": (1, 80, 10), "r": (1, 80, 20)}),
        ({}, {"x": (5, 3, 10), "w": (1, 80, 10), "r": (80, 20)}),
        ({}, {"x": (5, 3, 10), "w": (1, 80, 10), "r": (1, 80, 20), "b": (1, 80)}),
        ({}, {"x": (5, 3, 10), "w": (1, 80, 10), "r": (1, 80, 20), "initial_h": (3, 1, 20)}),
        ({"activations": ("swish", "tanh", "tanh")}, {"x": (5, 3, 10), "w": (1, 80, 10), "r": (1, 80, 20)}),
        ({"activations": ("tanh",)}, {"x": (5, 3, 10), "w": (1, 80, 10), "r": (1, 80, 20)}),
        ({"activations": (1, 2, 3)}, {"x": (5, 3, 10), "w": (1, 80, 10), "r": (1, 80, 20)}),
    ],
)
def test_a_contradiction_is_an_error(attributes, operands):
    with pytest.raises(GraphError):
        call("lstm", attributes, **operands)


ONE = {"x": (5, 3, 10), "w": [(80, 10)], "r": [(80, 20)]}


@pytest.mark.parametrize(
    ("attributes", "operands"),
    [
        ({}, {**ONE, "w": (1, 80, 10)}),
        ({}, {**ONE, "w": [(80, 10)] * 2}),
        ({}, {**ONE, "b": [(80,)]}),
        ({}, {**ONE, "b": (1, 160)}),
        ({}, {**ONE, "r": [(80, 7)]}),
        ({}, {**ONE, "r": [(80, 7)], "projection": [(8, 20)]}),
        ({}, {**ONE, "r": [(80, 7)], "projection": [(7, 19)]}),
        ({"packed": True}, {**ONE, "x": (5, 10)}),
        ({"packed": True}, {**ONE, "initial_h": (1, 3, 20)}),
        ({"packed": True}, {**ONE, "x": (5, 10), "initial_h": (3, 20)}),
        ({"joined": False}, ONE),
    ],
)
def test_a_contradiction_in_a_joined_layer_is_an_error(attributes, operands):
    with pytest.raises(GraphError):
        call("lstm", {"joined": True, **attributes}, **operands)


@pytest.mark.parametrize(
    ("operator", "attributes", "operands"),
    [
        ("pack_sequences", {"steps": 5, "longest": (3, 4)}, {"x": (7, 3, 10), "lengths": (3,)}),
        ("pack_sequences", {"steps": 5, "longest": 3}, {"x": (7,), "lengths": (3,)}),
        ("unpack_sequences", {"steps": -1, "batch": 3}, {"x": (12, 10), "batch_sizes": (7,)}),
        ("unpack_sequences", {"steps": 7, "batch": 3}, {"x": (), "batch_sizes": (7,)}),
    ],
)
def test_sequences_that_cannot_be_packed_are_an_error(operator, attributes, operands):
    with pytest.raises(GraphError):
        call(operator, attributes, **operands)
