"""TensorFlow Lite's pools, normalisations, images of other sizes and lookups: shapes, and the same layers from ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.onnx import build as onnx_build
from tests.operators.execution import call as asked
from tests.operators.execution import work_of
from tests.tflite.build import Tensor, graph, load, model, one, op, operators, roles, shapes, tensor
from tests.tflite.test_contractions import SAME, VALID, agrees, walked
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends.tflite_table_layers import LAYER_RULES
from weighbridge.graph import UNKNOWN, Graph, Role, Shape

SIZES = st.integers(1, 3)
TWO = st.tuples(SIZES, SIZES)


def only(graph: Graph) -> str:
    (name,) = operators(graph)
    return name


@settings(max_examples=60)
@given(
    st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"]),
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    TWO,
    TWO,
    st.booleans(),
)
def test_pools(name: str, sizes: Shape, taps: Shape, stride: Shape, same: bool) -> None:
    output = walked(sizes, taps, stride, (1, 1), same)
    assume(all(output))
    stated = (2, *output, 3)
    windows = {"filter_height": taps[0], "filter_width": taps[1], "stride_h": stride[0], "stride_w": stride[1]}
    tensors = [tensor("x", (2, *sizes, 3)), tensor("y", stated)]
    found = one(tensors, op(name, "x", "y", {"padding": SAME if same else VALID, **windows}))
    facts = agrees(found, stated).facts
    results, values = math.prod(stated), math.prod(stated) * math.prod(taps)
    work = facts.work
    if operators(found) and facts.nodes:  # a pool of single values is nothing that runs
        expected = {
            "AVERAGE_POOL_2D": (values - results, 0, results, 0, 0),
            "MAX_POOL_2D": (0, 0, 0, values - results, 0),
            "L2_POOL_2D": (values - results, values, results, 0, results),
        }
        assert (work.add, work.mul, work.div, work.compare, work.special) == expected[name]
    assert (facts.macs, facts.parameters) == (0, 0)


@pytest.mark.parametrize(
    ("function", "name"),
    [(1, "relu"), (2, "clip"), (3, "clip"), (4, "tanh"), (5, "sign_bit")],
)
def test_a_layer_applies_its_function_to_its_result(function: int, name: str) -> None:
    tensors = [tensor("x", (1, 4, 4, 2)), tensor("y", (1, 4, 4, 2))]
    given = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1, "fused_activation_function": function}
    found = one(tensors, op("MAX_POOL_2D", "x", "y", given))
    assert [(node.operator, [each.operator for each in node.fused]) for node in found.nodes] == [("max_pool", [name])]
    assert list(found.tensors) == ["x", "y"]


def test_a_function_that_nobody_knows_is_refused() -> None:
    tensors = [tensor("x", (1, 4, 4, 2)), tensor("y", (1, 4, 4, 2))]
    with pytest.raises(BadModel, match="activation function 6"):
        one(tensors, op("L2_NORMALIZATION", "x", "y", {"fused_activation_function": 6}))


def theirs(node: str, x: Shape, **attributes: Any) -> Graph:
    made = onnx_build.graph(
        [onnx_build.node(node, ["x"], ["y"], **attributes)],
        [onnx_build.value("x", x)],
        [onnx_build.value("y", None)],
    )
    return onnx_build.load(onnx_build.model(made))


@pytest.mark.parametrize(
    ("name", "options", "wanted"),
    [
        ("SOFTMAX", {"beta": 1.0}, theirs("Softmax", (2, 5, 4, 3))),
        ("LOG_SOFTMAX", {}, theirs("LogSoftmax", (2, 5, 4, 3))),
        ("L2_NORMALIZATION", {}, theirs("LpNormalization", (2, 5, 4, 3), p=2)),
        ("LOCAL_RESPONSE_NORMALIZATION", {"radius": 2, "bias": 1.0}, theirs("LRN", (2, 3, 5, 4), size=5)),
    ],
    ids=["softmax", "log softmax", "L2", "local response"],
)
def test_the_same_normalisation_from_onnx_costs_the_same(name: str, options: dict[str, Any], wanted: Graph) -> None:
    shape = (2, 5, 4, 3)
    found = one([tensor("x", shape), tensor("y", shape)], op(name, "x", "y", options))
    assert agrees(found, shape).facts.work == weigh(wanted).facts.work
    assert only(found) == only(wanted)


def test_a_softmax_of_another_temperature_multiplies_first() -> None:
    tensors = [tensor("x", (2, 5), "INT8", scales=1), tensor("y", (2, 5), "INT8", scales=1)]
    plain, warm = (one(tensors, op("SOFTMAX", "x", "y", {"beta": beta})) for beta in (1.0, 0.5))
    assert weigh(warm).facts.work.mul - weigh(plain).facts.work.mul == 10


@pytest.mark.parametrize("beta", [math.nan, math.inf])
def test_a_factor_that_is_no_number_stays_unknown(beta: float) -> None:
    found = one([tensor("x", (2, 5)), tensor("y", (2, 5))], op("SOFTMAX", "x", "y", {"beta": beta}))
    assert (only(found), found.nodes[0].reason) == (UNKNOWN, f"beta is {beta}")


@pytest.mark.parametrize(
    ("name", "mode", "taps"), [("RESIZE_BILINEAR", "linear", 4), ("RESIZE_NEAREST_NEIGHBOR", "nearest", 0)]
)
@pytest.mark.parametrize("known", [True, False])
def test_images_of_other_sizes(name: str, mode: str, taps: int, known: bool) -> None:
    sizes = tensor("sizes", (2,), "INT32", data=(6, 9) if known else None)
    found = one([tensor("x", (2, 3, 4, 5)), sizes, tensor("y", (2, 6, 9, 5))], op(name, "x sizes", "y"))
    work = agrees(found, (2, 6, 9, 5)).facts.work
    assert (work.mul, work.add) == (taps * 540, max(taps - 1, 0) * 540)
    assert found.nodes[0].attributes["mode"] == mode


@pytest.mark.parametrize(
    ("name", "node", "x", "y"),
    [
        ("DEPTH_TO_SPACE", "DepthToSpace", (1, 2, 3, 8), (1, 4, 6, 2)),
        ("SPACE_TO_DEPTH", "SpaceToDepth", (1, 4, 6, 2), (1, 2, 3, 8)),
    ],
)
def test_blocks_become_channels_and_back(name: str, node: str, x: Shape, y: Shape) -> None:
    found = one([tensor("x", x), tensor("y", y)], op(name, "x", "y", {"block_size": 2}))
    agrees(found, y)
    assert only(found) == only(theirs(node, (x[0], x[3], *x[1:3]), blocksize=2))


def test_rows_of_a_table() -> None:
    tensors = [tensor("ids", (3,), "INT32"), tensor("table", (100, 4, 8), data=True), tensor("y", (3, 4, 8))]
    found = one(tensors, op("EMBEDDING_LOOKUP", "ids table", "y"))
    facts = agrees(found, (3, 4, 8)).facts
    assert (facts.macs, facts.parameters, facts.weights) == (0, 3200, 3200)
    assert facts.nodes[0].read_bytes == 3 * 32 * 4 + 3 * 4


def test_rows_of_whole_numbers_are_dequantised_behind_the_lookup() -> None:
    tensors = [
        tensor("ids", (3,), "INT32"),
        tensor("table", (100, 8), "INT8", data=True, scales=100),
        tensor("y", (3, 8)),
    ]
    found = one(tensors, op("EMBEDDING_LOOKUP", "ids table", "y"))
    assert agrees(found, (3, 8)).facts.work.mul == 24
    assert operators(found) == ["embedding", "dequantize"]
    assert roles(found) == {"table": Role.PARAMETER}


@pytest.mark.parametrize(("combiner", "mode"), [(0, "sum"), (1, "mean"), (2, "root")])
@pytest.mark.parametrize("known", [True, False])
def test_bags_of_a_sparse_tensor(combiner: int, mode: str, known: bool) -> None:
    tensors = [
        tensor("ids", (7,), "INT32"),
        tensor("places", (7, 2), "INT32"),
        tensor("shape", (2,), "INT32", data=(4, 5) if known else None),
        tensor("weights", (7,)),
        tensor("table", (10, 8), data=True),
        tensor("y", (4, 8)),
    ]
    operator = op("EMBEDDING_LOOKUP_SPARSE", "ids places shape weights table", "y", {"combiner": combiner})
    facts = agrees(one(tensors, operator), (4, 8)).facts
    operands = {"w": (10, 8), "ids": (7,), "places": (7, 2), "sample_weights": (7,)}
    expected = asked("sparse_embedding_bag", {"mode": mode, "shape": (4, 5)}, **operands)
    assert facts.work == work_of("sparse_embedding_bag", expected)
    assert facts.weights == 80


def test_a_combiner_that_nobody_knows_stays_unknown() -> None:
    tensors = [tensor("x", (1,), "INT32"), tensor("y", (1, 1))]
    operator = op("EMBEDDING_LOOKUP_SPARSE", "x x x x x", "y", {"combiner": 3})
    assert one(tensors, operator).nodes[0].reason == "the combiner 3 is not known"


def test_rows_by_keys() -> None:
    tensors = [
        tensor("ids", (3,), "INT32"),
        tensor("keys", (100,), "INT32", data=True),
        tensor("table", (100, 8), data=True),
        tensor("y", (3, 8)),
        tensor("hits", (3,), "UINT8"),
    ]
    found = one(tensors, op("HASHTABLE_LOOKUP", "ids keys table", "y hits"))
    facts = agrees(found, (3, 8), (3,)).facts
    assert (facts.parameters, facts.constant_bytes, facts.exact, facts.work_exact) == (800, 400, True, True)


@pytest.mark.parametrize(("kind", "results"), [(1, 2), (2, 6)])
def test_projections_by_hashes(kind: int, results: int) -> None:
    tensors = [
        tensor("hashes", (2, 3), data=True),
        tensor("x", (5, 4), "INT32"),
        tensor("weights", (5,), data=True),
        tensor("y", (results,), "INT32"),
    ]
    facts = agrees(one(tensors, op("LSH_PROJECTION", "hashes x weights", "y", {"type": kind})), (results,)).facts
    assert (facts.work.add, facts.work.mul, facts.work.compare) == (30, 30, 6)


def test_runs_of_words_are_no_arithmetic() -> None:
    tensors = [tensor("x", (1,), "STRING"), tensor("y", (3,), "STRING")]
    found = one(tensors, op("SKIP_GRAM", "x", "y", {"ngram_size": 2, "max_skip_size": 1}))
    assert agrees(found, (3,)).facts.exact


def test_what_no_runtime_has_is_named() -> None:
    found = one([tensor("x", (1,)), tensor("y", (3,))], op("CONCAT_EMBEDDINGS", "x", "y"))
    assert found.nodes[0].reason == "no runtime of TensorFlow Lite has CONCAT_EMBEDDINGS"
    assert not weigh(found).facts.exact


NONSENSE: Sequence[Sequence[Tensor]] = (
    [],
    [tensor("x", ())],
    [tensor("x", (0, 3))],
    [tensor("x", (1, 2, 3, 4)), tensor("w", (), data=True)],
    [tensor("x", (1, 2, 3, 4), "STRING"), tensor("w", (3, 3), "BOOL", data=True), tensor("b", (1,), "INT64")],
)


@pytest.mark.parametrize("name", sorted(LAYER_RULES))
@pytest.mark.parametrize("operands", range(len(NONSENSE)))
@pytest.mark.parametrize("outputs", [0, 1])
def test_nonsense_is_unknown_or_refused(name: str, operands: int, outputs: int) -> None:
    """Too few operands, none, of strange shapes and types, no result: an answer or an error of ours."""
    tensors = [*NONSENSE[operands], tensor("y", (1, 4))]
    names = [one.name for one in NONSENSE[operands]]
    inputs = [one.name for one in NONSENSE[operands] if one.data is None]
    made = model(graph(tensors, [op(name, names, ["y"][:outputs])], inputs, ["y"][:outputs] or inputs))
    try:
        weigh(load(made))
    except BadModel:
        return
    assert len(shapes(load(made))) == len(["y"][:outputs] or inputs)
