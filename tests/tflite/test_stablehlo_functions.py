"""StableHLO's operators that look up, scatter, sort and reduce, some of them by a function that is a subgraph."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite.build import graph, load, model, op, tensor
from tests.tflite.single import operand, result, runs, single
from weighbridge import weigh

FEW = st.integers(1, 3)


def test_a_table_that_is_looked_up_is_an_embedding() -> None:
    options = {
        "offset_dims": [2],
        "collapsed_slice_dims": [0],
        "start_index_map": [0],
        "index_vector_dim": 2,
        "slice_sizes": [1, 16],
    }
    table, indices = tensor("w", (100, 16), data=True), operand("i", (2, 5), "INT32")
    found = single("STABLEHLO_GATHER", [table, indices], options)
    assert (runs(found), result(found)[0]) == (["embedding"], (2, 5, 16))
    assert weigh(found).facts.weights == 1600
    found = single("STABLEHLO_GATHER", [table, operand("i", (2, 5, 1), "INT32")], options)
    assert (runs(found), result(found)[0]) == (["reshape", "embedding"], (2, 5, 16))
    found = single("STABLEHLO_GATHER", [table, indices], {**options, "slice_sizes": [1, 8]})
    assert (runs(found), result(found)[0]) == (["gather_slices"], (2, 5, 8))


def body(name: str, function: str):
    """A function of two values, as a subgraph."""
    values = [tensor(one, (), "FLOAT32") for one in "abr"]
    return graph(values, [op(function, "a b", "r")], "a b", "r", name)


def reduced(function: str, x, initial, options, name: str = "STABLEHLO_REDUCE", *, values: float | None = 0.0):
    main = graph(
        [operand("x", x), tensor("i", (), data=None if values is None else [values]), tensor("y", None)],
        [op(name, "x i", "y", {**options, "body_subgraph_index": 1})],
        "x i" if values is None else "x",
        "y",
    )
    return load(model(main, body("body", function)))


def test_reductions_by_a_function_of_two_values() -> None:
    inf = float("inf")
    cases = [
        ("STABLEHLO_ADD", "reduce_sum", 0.0),
        ("ADD", "reduce_sum", 0.0),
        ("STABLEHLO_MULTIPLY", "reduce_prod", 1.0),
        ("STABLEHLO_MAXIMUM", "reduce_max", -inf),
        ("MINIMUM", "reduce_min", inf),
    ]
    for function, ours, neutral in cases:
        found = reduced(function, (3, 4, 5), None, {"dimensions": [0, 2]}, values=neutral)
        assert (runs(found), result(found)[0]) == ([ours], (4,))
        assert not any("nothing calls" in note for note in found.notes)
        # Another first value is taken in at the end: one more for every result.
        more = reduced(function, (3, 4, 5), None, {"dimensions": [0, 2]}, values=7.0)
        assert sum(weigh(more).facts.work) == sum(weigh(found).facts.work) + 4
        unknown = reduced(function, (3, 4, 5), None, {"dimensions": [0, 2]}, values=None)
        assert runs(unknown) == runs(more)


def test_a_reduction_by_something_else_multiplies_and_accumulates_nothing() -> None:
    found = reduced("STABLEHLO_SUBTRACT", (3, 4, 5), None, {"dimensions": [0, 2]})
    assert result(found)[0] == (4,)
    facts = weigh(found).facts
    assert (facts.macs, facts.exact, facts.work_exact) == (0, True, False)


@settings(max_examples=60)
@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
def test_windows_of_any_shape(data, shape) -> None:
    """Spread out, padded or cropped, and then walked window by window."""
    rank = len(shape)
    kernel, stride, spread, apart = ([data.draw(FEW) for _ in range(rank)] for _ in range(4))
    pads = [(data.draw(st.integers(-1, 2)), data.draw(st.integers(-1, 2))) for _ in range(rank)]
    wanted, adds = [], 1
    for size, k, s, b, d, (low, high) in zip(shape, kernel, stride, spread, apart, pads, strict=True):
        line = max((size - 1) * b + 1 + low + high, 0)
        places = [at for at in range(0, line, s) if at + (k - 1) * d < line]
        if not places or (size - 1) * b + 1 + min(low, 0) + min(high, 0) < 1:
            return
        wanted.append(len(places))
    for _ in itertools.product(*map(range, wanted)):
        adds += math.prod(kernel) - 1
    options = {
        "window_dimensions": kernel,
        "window_strides": stride,
        "base_dilations": spread,
        "window_dilations": apart,
        "padding": [one for pair in pads for one in pair],
    }
    found = reduced("STABLEHLO_ADD", shape, None, options, "STABLEHLO_REDUCE_WINDOW")
    facts = weigh(found).facts
    assert (result(found)[0], facts.work.add + 1) == (tuple(wanted), adds)
    assert facts.exact


def scattered(function: str | None, dtype: str = "FLOAT32"):
    values = [tensor(one, (), dtype) for one in "abr"]
    written = graph(values, [op(function, "a b", "r")], "a b", "r") if function else graph(values, [], "a b", "b")
    options = {
        "update_window_dims": [1],
        "inserted_window_dims": [0],
        "scatter_dims_to_operand_dims": [0],
        "index_vector_dim": 1,
        "update_computation_subgraph_index": 1,
    }
    tensors = [
        operand("x", (9, 4), dtype),
        operand("i", (2, 1), "INT32"),
        operand("u", (2, 4), dtype),
        tensor("y", None, dtype),
    ]
    main = graph(tensors, [op("STABLEHLO_SCATTER", "x i u", "y", options)], "x i u", "y")
    return load(model(main, written))


@pytest.mark.parametrize(
    ("function", "reduction", "count"),
    [
        (None, "none", 0),
        ("STABLEHLO_ADD", "add", 8),
        ("STABLEHLO_MAXIMUM", "max", 8),
        ("STABLEHLO_MULTIPLY", "mul", 8),
        ("STABLEHLO_SUBTRACT", "unknown", None),
    ],
)
def test_what_is_scattered_is_combined_by_a_function(function, reduction, count) -> None:
    found = scattered(function)
    (node,) = found.nodes
    assert (node.operator, node.attributes["reduction"], result(found)[0]) == ("scatter_slices", reduction, (9, 4))
    facts = weigh(found).facts
    assert facts.work_exact == (count is not None)
    assert sum(facts.work) == (count or 0)


def test_slices_at_run_time() -> None:
    x, starts = operand("x", (5, 6)), [operand(name, (), "INT32") for name in ("i", "j")]
    found = single("STABLEHLO_DYNAMIC_SLICE", [x, *starts], {"slice_sizes": [2, 3]})
    assert (runs(found), result(found)[0]) == (["slice_at"], (2, 3))
    assert [name for name, _ in found.nodes[0].operands] == ["x", "starts", "starts"]
    found = single("STABLEHLO_DYNAMIC_UPDATE_SLICE", [x, operand("u", (2, 3)), *starts])
    assert (runs(found), result(found)[0]) == (["slice_update"], (5, 6))


def test_several_tensors_are_sorted_together() -> None:
    x, places = operand("x", (3, 5)), operand("p", (3, 5), "INT32")
    found = single("STABLEHLO_SORT", [x, places], {"dimension": 1, "is_stable": True}, ["FLOAT32", "INT32"])
    assert [result(found, place) for place in (0, 1)] == [((3, 5), "float32"), ((3, 5), "int32")]
    facts = weigh(found).facts
    assert (facts.exact, facts.work_exact, facts.work.compare) == (True, False, 3 * 4)
