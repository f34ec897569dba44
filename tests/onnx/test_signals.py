"""ONNX operators on signals, text and states: types against executions, and calls that contradict themselves."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.onnx.build import graph, load, model, node, operators, tensor, value
from tests.onnx.execute import Single, execute, model_of, types_of
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.graph import Role


def _stored(call: Single, opset: int) -> onnx.ModelProto:
    """The call's model with all operands but the first stored in it."""
    made = model_of(call, opset)
    for index, array in enumerate(call.arrays[1:], 1):
        (one,) = [one for one in made.graph.input if one.name == f"i{index}"]
        made.graph.input.remove(one)
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, f"i{index}"))
    return made


def _dft(random: Random, opset: int) -> Single:
    rank = random.randint(1, 3)
    inverse, one_sided = random.randint(0, 1), random.randint(0, 1)
    parts = 2 if one_sided and inverse else 1 if one_sided else random.randint(1, 2)
    shape = [random.randint(1, 3), *(random.randint(2, 6) for _ in range(rank - 1)), random.randint(2, 6), parts]
    axis = random.randrange(len(shape) - 1) - random.choice((0, len(shape)))
    arrays = [np.zeros(shape, "float32"), np.array(random.randint(2, 7))]
    attributes = {"inverse": inverse, "onesided": one_sided}
    if opset < 20:
        return Single("DFT", arrays, {**attributes, "axis": axis}, 1, "", opset)
    return Single("DFT", [*arrays, np.array(axis)], attributes, 1, "", opset)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("opset", [17, 20])
def test_fourier_transforms(seed: int, opset: int) -> None:
    call = _dft(Random(seed), opset)
    found = load(_stored(call, opset))
    results = ReferenceEvaluator(model_of(call, opset)).run(None, {f"i{i}": one for i, one in enumerate(call.arrays)})
    assert [(found.tensors[one].shape, found.tensors[one].dtype) for one in found.outputs] == types_of(results)
    facts = weigh(found).facts
    assert (facts.macs, facts.exact, facts.work_exact) == (0, True, True)


def test_a_transform_of_unknown_length_has_no_shape_and_no_macs() -> None:
    call = Single("DFT", [np.zeros((1, 8, 2), "float32"), np.array(4), np.array(1)], {}, 1, "", 20)
    found = load(model_of(call, 20))
    assert found.tensors[found.outputs[0]].shape is None
    assert weigh(found).facts.exact
    whole = load(_stored(call._replace(arrays=call.arrays[:1]), 20))
    assert whole.tensors[whole.outputs[0]].shape == (1, 8, 2)
    mirrored = load(_stored(call._replace(arrays=call.arrays[:1], attributes={"inverse": 1, "onesided": 1}), 20))
    assert mirrored.tensors[mirrored.outputs[0]].shape == (1, 14, 1)


@pytest.mark.parametrize(
    ("parts", "arrays", "attributes", "says"),
    [
        (1, [np.array(4), np.array(2)], {}, "transforms axis 2 of 3 dimensions"),
        (1, [np.array(4), np.array(-4)], {}, "transforms axis -4 of 3 dimensions"),
        (2, [], {"onesided": 1}, "a one-sided forward transform is of real numbers"),
        (1, [], {"onesided": 1, "inverse": 1}, "a one-sided inverse transform is of complex numbers"),
        (3, [], {}, "parts of a number"),
        (1, [np.array(-1)], {}, "transforms of"),
        (1, [np.array(1 << 60)], {}, "has a dimension of"),
    ],
)
def test_transforms_that_contradict_themselves(
    parts: int, arrays: list[np.ndarray], attributes: dict[str, Any], says: str
) -> None:
    call = Single("DFT", [np.zeros((2, 8, parts), "float32"), *arrays], attributes, 1, "", 20)
    with pytest.raises(BadModel, match=says):
        load(_stored(call, 20))


POOL = {"max_gram_length": 2, "min_gram_length": 1, "max_skip_count": 1, "ngram_counts": [0, 2]}


@pytest.mark.parametrize("shape", [(5,), (3, 5)])
@pytest.mark.parametrize(
    ("mode", "pool", "x"),
    [("TF", {"pool_int64s": [1, 2, 1, 2]}, "int64"), ("TFIDF", {"pool_strings": ["1", "2", "1", "2"]}, "object")],
)
def test_counts_of_n_grams(shape: tuple[int, ...], mode: str, pool: dict[str, Any], x: str) -> None:
    values = np.ones(shape, "int64")
    array = values if x == "int64" else values.astype(str).astype(object)
    attributes = {**POOL, **pool, "mode": mode, "ngram_indexes": [0, 4, 2], "weights": [1.0, 2.0, 3.0]}
    call = Single("TfIdfVectorizer", [array], attributes, 1, "", 9)
    found = load(model_of(call, 17))
    assert [(found.tensors[one].shape, found.tensors[one].dtype) for one in found.outputs] == types_of(execute(call))
    facts = weigh(found).facts
    assert (facts.macs, facts.parameters, facts.exact, facts.work_exact) == (0, 0, True, False)
    roles = {name: found.tensors[tensor].role for name, tensor in found.nodes[0].operands if name != "x"}
    assert roles == {"pool": Role.CONSTANT, "positions": Role.CONSTANT, "weights": Role.BUFFER}


@pytest.mark.parametrize("indexes", [{}, {"ngram_indexes": [-1, 2]}, {"ngram_indexes": [1 << 60]}])
def test_n_grams_without_a_place_are_refused(indexes: dict[str, Any]) -> None:
    call = Single("TfIdfVectorizer", [np.ones(5, "int64")], {**POOL, "pool_int64s": [1], **indexes}, 1, "", 9)
    with pytest.raises(BadModel, match=r"n-grams for|has a dimension of"):
        load(model_of(call, 17))


@pytest.mark.parametrize("state", [False, True])
@pytest.mark.parametrize("activation", ["none", "silu"])
def test_a_causal_convolution_pads_or_joins_what_came_before(state: bool, activation: str) -> None:
    inputs = [value("x", [2, 3, 5]), value("w", [3, 1, 4]), *([value("past", [2, 3, 3])] if state else [])]
    names = ["x", "w", "", "past"] if state else ["x", "w"]
    nodes = [node("CausalConvWithState", names, ["y", "present"], activation=activation)]
    found = load(model(graph(nodes, inputs, [value("y", None), value("present", None)]), opset=27))
    made = ["conv", "silu"] if activation == "silu" else ["conv"]
    assert operators(found) == ["concat" if state else "pad", *made, "slice"]
    assert [found.tensors[one].shape for one in found.outputs] == [(2, 3, 5), (2, 3, 3)]
    macs = sum(1 for _ in np.ndindex(2, 3, 5, 4))
    assert (weigh(found).facts.macs, weigh(found).facts.exact) == (macs, True)


@pytest.mark.parametrize(
    ("op", "attributes", "says"),
    [
        ("CausalConvWithState", {"activation": "relu"}, "its activation is 'relu', none of none, silu, swish"),
        ("LinearAttention", {"update_rule": "x", "q_num_heads": 1, "kv_num_heads": 1}, "its update_rule is 'x'"),
        ("LinearAttention", {"q_num_heads": 0, "kv_num_heads": 1}, "0 heads of queries"),
    ],
)
def test_states_of_attributes_that_nobody_knows(op: str, attributes: dict[str, Any], says: str) -> None:
    inputs = [value(name, [2, 3, 4]) for name in ("a", "b", "c")]
    made = graph([node(op, ["a", "b", "c"], ["y"], **attributes)], inputs, [value("y", None)])
    with pytest.raises(BadModel, match=says):
        load(model(made, opset=27))


def test_mel_filters_of_stored_numbers_cost_no_inference_anything() -> None:
    names = ["bands", "size", "rate", "low", "high"]
    stored = [tensor(name, number) for name, number in zip(names[:3], (4, 16, 8000), strict=True)]
    stored += [tensor(name, number, "float32") for name, number in zip(names[3:], (0, 4000), strict=True)]
    nodes = [node("MelWeightMatrix", names, ["mel"]), node("MatMul", ["x", "mel"], ["y"])]
    found = load(model(graph(nodes, [value("x", [2, 9])], [value("y", None)], stored)))
    facts = weigh(found).facts
    assert (facts.macs, sum(facts.work) - facts.macs, facts.exact) == (2 * 9 * 4, 0, True)


def test_an_image_has_the_size_that_its_file_says() -> None:
    nodes = [node("ImageDecoder", ["x"], ["y"])]
    made = graph(
        nodes, [value("x", [100], onnx.TensorProto.UINT8)], [value("y", ["h", "w", 3], onnx.TensorProto.UINT8)]
    )
    found = load(model(made, opset=20))
    assert (found.tensors["y"].shape, found.tensors["y"].dtype.name) == (None, "uint8")
    facts = weigh(found).facts
    assert (facts.macs, facts.exact, facts.work_exact) == (0, True, False)
