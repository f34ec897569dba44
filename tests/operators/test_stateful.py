"""Recurrent layers that keep their states, executed gate by gate as TensorFlow Lite writes the equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, dynamic, loops_of, macs_of, typed, values, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.table import OPERATORS

SIZES = st.integers(1, 3)
PREFIXES = ("", "backward_")


@st.composite
def layers(draw):
    directions = draw(st.integers(1, 2))
    return {
        "operator": draw(st.sampled_from(["stateful_lstm", "stateful_rnn"])),
        "steps": draw(st.integers(0, 3)),  # 0: a single step without an axis of its own
        "batch": draw(SIZES),
        "features": draw(SIZES),
        "hidden": draw(SIZES),
        "directions": directions,
        "bias": draw(st.booleans()),
        "peepholes": draw(st.booleans()),
        "normalised": draw(st.booleans()),
        "coupled": draw(st.booleans()),
        "diagonal": draw(st.booleans()),
        "projected": draw(st.integers(0, 2)),
        "projection_bias": draw(st.booleans()),
        "aux": draw(st.sampled_from(["", "crossed", "stacked"])) if directions == 2 else "",
        "clip": draw(st.sampled_from([0.0, 3.0])),
        "projection_clip": draw(st.sampled_from([0.0, 3.0])),
        "activation": draw(st.sampled_from(["tanh", "relu", ""])),
        "batch_first": draw(st.booleans()),
        "merged": draw(st.booleans()),
        "quantisation": draw(st.sampled_from(["by_operands", "in_tensors", "dynamic"])),
    }


def arrays_of(layer):
    """The operands of a layer by name, lists where there are several; x and aux have (steps, batch, features)."""
    lstm = layer["operator"] == "stateful_lstm"
    gates = (3 if layer["coupled"] else 4) if lstm else 1
    hidden, features = layer["hidden"], layer["features"]
    state = layer["projected"] if lstm and layer["projected"] else hidden
    diagonal = layer["diagonal"] and state == hidden
    lead = (max(layer["steps"], 1), layer["batch"])
    given = {"x": values((*lead, features))}
    if layer["aux"]:
        given["aux"] = values((*lead, features + 1), 1.0)
    for prefix in PREFIXES[: layer["directions"]]:
        read = features + 1 if prefix and layer["aux"] == "stacked" else features
        shapes = {
            "w": [(hidden, read)] * gates,
            "r": [(hidden,) if diagonal else (hidden, state)] * gates,
            "h": [(layer["batch"], state)],
        }
        if layer["bias"]:
            shapes["b"] = [(hidden,)] * gates
        if layer["aux"] == "crossed":
            shapes["aux_w"] = [(hidden, features + 1)] * gates
        if lstm:
            shapes["c"] = [(layer["batch"], hidden)]
            if layer["peepholes"]:
                shapes["p"] = [(hidden,)] * (gates - 1)
            if layer["normalised"]:
                shapes["norm"] = [(hidden,)] * gates
            if layer["projected"]:
                shapes["projection"] = [(state, hidden)]
                if layer["projection_bias"]:
                    shapes["projection_b"] = [(state,)]
        for name, several in shapes.items():
            given[prefix + name] = [values(shape, number + len(name)) for number, shape in enumerate(several)]
    return given


class Direction:
    """One direction and one sequence; what it does is counted as it is done."""

    def __init__(self, layer, arrays, prefix, tally):
        self.layer, self.t, self.prefix = layer, tally, prefix
        self.quantisation = layer["quantisation"]
        self.parts = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        self.gates = len(self.parts["w"])

    def scaled(self, value):
        """A product's result: scaled back, and where the tensors have scales kept in range."""
        if self.quantisation == "by_operands":
            return value
        value = self.t.mul(value, 1.0)
        return self.t.clip(value, 1e9) if self.quantisation == "in_tensors" else value

    def multiplied(self, matrix, row, vector):
        total = 0
        for weight, value in zip(matrix[row], vector, strict=True):
            total = self.t.mac(total, weight, value)
        return self.scaled(total)

    def quantised(self, vectors):
        """Values that go in: their zero point, or their own range; ``vectors`` are quantised together."""
        count = sum(map(len, vectors))
        if self.quantisation == "in_tensors":
            for _ in range(count):
                self.t.add(0, 0)
        elif self.quantisation == "dynamic":
            dynamic(self.t, count)

    def summed(self, number, place, x, aux, h):
        t = self.t
        total, r = self.multiplied(self.parts["w"][number], place, x), self.parts["r"][number]
        total = t.add(total, t.mul(r[place], h[place]) if r.ndim == 1 else self.multiplied(r, place, h))
        if "aux_w" in self.parts:
            total = t.add(total, self.multiplied(self.parts["aux_w"][number], place, aux))
        return total

    def function(self, value):
        name = self.layer["activation"]
        if name == "relu":
            return self.t.maximum(value, 0)
        return self.t.tanh(value) if name else value

    def gate(self, number, function, x, aux, h, c=None, peephole=None):
        """All values of a gate: sums, peephole, normalisation, bias, function."""
        t, hidden = self.t, self.layer["hidden"]
        gate = [self.summed(number, place, x, aux, h) for place in range(hidden)]
        if peephole is not None and "p" in self.parts:
            vector = self.parts["p"][peephole]
            gate = [t.add(value, t.mul(vector[place], c[place])) for place, value in enumerate(gate)]
        if "norm" in self.parts:
            gate = normalised(t, gate, self.parts["norm"][number])
        if "b" in self.parts:
            gate = [t.add(value, self.parts["b"][number][place]) for place, value in enumerate(gate)]
        return [function(value) for value in gate]

    def rnn(self, x, aux, h, c):
        return self.gate(0, self.function, x, aux, h), c

    def lstm(self, x, aux, h, c):
        t, coupled, clip = self.t, self.gates == 3, self.layer["clip"]
        first = 0 if coupled else 1
        forget = self.gate(first, t.sigmoid, x, aux, h, c, 0 if coupled else 1)
        into = [t.sub(1, value) for value in forget] if coupled else self.gate(0, t.sigmoid, x, aux, h, c, 0)
        new = self.gate(first + 1, self.function, x, aux, h)
        c = [t.add(t.mul(f, old), t.mul(i, g)) for f, old, i, g in zip(forget, c, into, new, strict=True)]
        if clip:
            c = [t.clip(value, clip) for value in c]
        out = self.gate(first + 2, t.sigmoid, x, aux, h, c, self.gates - 2)
        made = [t.mul(o, self.function(value)) for o, value in zip(out, c, strict=True)]
        if "projection" in self.parts:
            made = self.projected(made)
        return made, c

    def projected(self, made):
        t, (matrix,) = self.t, self.parts["projection"]
        result = [self.multiplied(matrix, row, made) for row in range(len(matrix))]
        if "projection_b" in self.parts:
            result = [t.add(value, self.parts["projection_b"][0][row]) for row, value in enumerate(result)]
        if self.layer["projection_clip"]:
            result = [t.clip(value, self.layer["projection_clip"]) for value in result]
        return result


def normalised(t, gate, scales):
    """Layer normalisation with a scale: mean, centring, squares, their mean, the inverse root, twice multiplied."""
    count, total, squares, centred = len(gate), 0, 0, []
    for value in gate:
        total = t.add(total, value)
    mean = t.div(total, count)
    for value in gate:
        centred.append(t.sub(value, mean))
        squares = t.add(squares, t.mul(centred[-1], centred[-1]))
    inverse = t.div(1, t.special(math.sqrt, t.add(t.div(squares, count), 1e-8)))
    return [t.mul(t.mul(value, inverse), scale) for value, scale in zip(centred, scales, strict=True)]


def execute(layer, arrays, tally):
    """All states of each direction, (steps, batch, state)."""
    steps, batch = max(layer["steps"], 1), layer["batch"]
    made = []
    for prefix in PREFIXES[: layer["directions"]]:
        one = Direction(layer, arrays, prefix, tally)
        aux = arrays.get("aux")
        read = aux if prefix and layer["aux"] == "stacked" else arrays["x"]
        crossed = aux if layer["aux"] == "crossed" else None
        for array in (read,) if crossed is None else (read, crossed):
            one.quantised(array.reshape(-1, array.shape[-1]))
        step_of = one.lstm if layer["operator"] == "stateful_lstm" else one.rnn
        between = [layer["hidden"] * [0]] * batch if "projection" in one.parts else []
        h = [list(row) for row in one.parts["h"][0]]
        c = [list(row) for row in one.parts["c"][0]] if "c" in one.parts else [None] * batch
        y = np.zeros((steps, batch, len(h[0])), dtype=object)
        for step in reversed(range(steps)) if prefix else range(steps):
            one.quantised(h)
            if between:
                one.quantised(between)
            for sequence in range(batch):
                other = crossed[step, sequence] if crossed is not None else None
                h[sequence], c[sequence] = step_of(read[step, sequence], other, h[sequence], c[sequence])
                y[step, sequence] = h[sequence]
            if layer["quantisation"] == "in_tensors":
                for row in [*h, *between]:
                    for value in row:
                        tally.clip(tally.add(tally.mul(value, 1), 0), 1e9)
        made.append(y)
    return made


def call_of(layer, arrays):
    """The call of a layer; x as the layer has it."""
    shapes = {}
    for name, array in arrays.items():
        if isinstance(array, list):
            several = [one.shape for one in array]
            shapes[name] = several
        else:
            shapes[name] = placed(layer, array).shape
    names = {"activation", "batch_first", "merged", "quantisation"}
    if layer["operator"] == "stateful_lstm":
        names |= {"clip", "projection_clip"}
    return call(layer["operator"], {name: layer[name] for name in names}, **shapes)


def placed(layer, array):
    """(steps, batch, features) as the layer wants it."""
    if not layer["steps"]:
        return array[0]
    return np.moveaxis(array, 0, 1) if layer["batch_first"] else array


@settings(deadline=None, max_examples=150)
@given(layers())
def test_a_layer_counts_what_its_execution_does(layer):
    arrays, tally = arrays_of(layer), Tally()
    made = execute(layer, arrays, tally)
    found = call_of(layer, arrays)
    expected = [np.concatenate(made, axis=-1)] if layer["merged"] else made
    assert [one.shape for one in found.outputs] == [placed(layer, one).shape for one in expected]
    assert macs_of(layer["operator"], found) == tally.macs
    assert work_of(layer["operator"], found) == tally.work


@settings(deadline=None, max_examples=60)
@given(layers())
def test_a_layer_reads_its_operands_and_writes_its_states_too(layer):
    arrays = arrays_of(layer)
    found = call_of(layer, arrays)
    elements = {
        name: sum(one.size for one in array) if isinstance(array, list) else array.size
        for name, array in arrays.items()
    }
    states = sum(count for name, count in elements.items() if name.removeprefix("backward_") in ("h", "c"))
    traffic = OPERATORS[layer["operator"]].traffic(found)
    assert traffic.read_bytes == 4 * sum(elements.values())
    assert traffic.write_bytes == 4 * (states + sum(one.elements for one in found.outputs))


def test_the_oracle_itself_gives_what_onnx_gives():
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    layer = {
        "operator": "stateful_lstm", "steps": 3, "batch": 2, "features": 3, "hidden": 2, "directions": 1, "bias": True,
        "peepholes": True, "normalised": False, "coupled": False, "diagonal": False, "projected": 0, "aux": "",
        "clip": 0.0, "projection_clip": 0.0, "activation": "tanh", "quantisation": "by_operands",
    }  # fmt: skip
    arrays = arrays_of(layer)
    order = [0, 3, 1, 2]  # theirs is input, output, forget, cell
    stacked = {
        "x": arrays["x"],
        "w": np.concatenate([arrays["w"][gate] for gate in order])[None],
        "r": np.concatenate([arrays["r"][gate] for gate in order])[None],
        "b": np.concatenate([*(arrays["b"][gate] for gate in order), np.zeros(8)])[None],
        "initial_h": arrays["h"][0][None],
        "initial_c": arrays["c"][0][None],
        "p": np.concatenate([arrays["p"][gate] for gate in (0, 2, 1)])[None],
    }
    feeds = {name: value.astype("float32") for name, value in stacked.items()}
    slots = ["x", "w", "r", "b", "", "initial_h", "initial_c", "p"]
    node = onnx.helper.make_node("LSTM", slots, ["y"], hidden_size=2)
    kind = onnx.TensorProto.FLOAT
    inputs = [onnx.helper.make_tensor_value_info(name, kind, value.shape) for name, value in feeds.items()]
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.helper.make_tensor_value_info("y", kind, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)])
    (y,) = ReferenceEvaluator(model).run(None, feeds)
    (ours,) = execute(layer, arrays, Tally())
    np.testing.assert_allclose(ours.astype("float32"), y[:, 0], rtol=1e-5)


def test_the_products_have_names():
    gates = {"w": [(5, 3)] * 4, "r": [(5, 2)] * 4, "projection": (2, 5), "h": (1, 2), "c": (1, 5)}
    both = {**gates, **{f"backward_{name}": shape for name, shape in gates.items()}}
    found = loops_of("stateful_lstm", call("stateful_lstm", {}, x=(7, 1, 3), **both))
    names = ("input", "recurrent", "projection")
    assert [one.label for one in found] == [*names, *(f"backward_{name}" for name in names)]


@pytest.mark.parametrize(
    ("attributes", "types", "multiplied"),
    [
        ({}, {}, {"float32"}),
        ({"quantisation": "dynamic"}, {"w": "int8", "r": "int8"}, {"int8"}),
        ({"quantisation": "in_tensors"}, dict.fromkeys("xwrh", "int8"), {"int8"}),
    ],
)
def test_what_is_only_added_is_not_multiplied(attributes, types, multiplied):
    def one(name, *shape):
        return typed(shape, types.get(name, "float32"))

    found = call(
        "stateful_lstm", attributes, x=one("x", 1, 3), w=[one("w", 5, 3)] * 4, r=[one("r", 5, 5)] * 4,
        b=[typed((5,), "int32")] * 4, h=one("h", 1, 5), c=typed((1, 5), "int16"),
    )  # fmt: skip
    assert {dtype.name for dtype in OPERATORS["stateful_lstm"].multiplied(found)} == multiplied


GOOD = {"x": (7, 2, 3), "w": [(5, 3)] * 4, "r": [(5, 5)] * 4, "h": (2, 5), "c": (2, 5)}


@pytest.mark.parametrize(
    ("attributes", "operands"),
    [
        ({}, {**GOOD, "x": (7, 2, 4)}),
        ({}, {**GOOD, "x": (7, 2, 3, 1)}),
        ({}, {**GOOD, "w": [(5, 3)] * 2, "r": [(5, 5)] * 2}),
        ({}, {**GOOD, "w": [(5, 3)] * 3 + [(4, 3)]}),
        ({}, {**GOOD, "r": [(5, 5)] * 3}),
        ({}, {**GOOD, "r": [(5, 4)] * 4}),
        ({}, {**GOOD, "b": [(5,)] * 3}),
        ({}, {**GOOD, "b": [(4,)] * 4}),
        ({}, {**GOOD, "p": [(5,)] * 2}),
        ({}, {**GOOD, "norm": [(5,)] * 3}),
        ({}, {**GOOD, "projection": (2, 4)}),
        ({}, {**GOOD, "projection": ()}),
        ({}, {**GOOD, "h": (3, 5)}),
        ({}, {**GOOD, "h": []}),
        ({}, {**GOOD, "c": (2, 4)}),
        ({}, {**GOOD, "aux": (7, 2, 4), "aux_w": [(5, 3)] * 4}),
        ({}, {**GOOD, "aux": (6, 2, 4), "aux_w": [(5, 4)] * 4}),
        ({}, {**GOOD, "backward_w": [(5, 3)] * 4}),
        ({"batch_first": True}, GOOD),
        ({"activation": "swish"}, GOOD),
        ({"quantisation": "somehow"}, GOOD),
    ],
)
def test_a_contradiction_is_an_error(attributes, operands):
    assert call("stateful_lstm", {}, **GOOD)
    with pytest.raises(GraphError):
        call("stateful_lstm", attributes, **operands)
