"""Random ONNX networks in the order that was found: valid, with the peak that was promised, and computing the same."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnx.reordered import executed, is_equal, rewritten, shuffled
from weighbridge import best_order
from weighbridge.frontends.onnx_reordered import onnx_list


def random_model(seed: int) -> onnx.ModelProto:
    """Branches at random, with names used twice or not at all, absent operands, constants, subgraphs that take from outside, functions."""
    r = random.Random(seed)
    opset, own = helper.make_opsetid("", 17), helper.make_opsetid("own", 1)
    there, made = {"x": 1}, []
    stored = []
    for place in range(r.randint(6, 20)):
        one = r.choice(list(there))
        out, name = f"t{place}", r.choice(["", "", f"n{place}"]) if seed % 3 else "same"
        kind = r.choice(["Clip", "Relu", "Concat", "Slice", "Slice", "If", "Twice", "Wide", "Wide", "Wide"])
        if kind == "Clip":
            stored.append(numpy_helper.from_array(np.float32(3), f"most{place}"))
            made.append(helper.make_node("Clip", [one, "", f"most{place}"], [out], name=name))
            there[out] = there[one]
        elif kind == "Concat" and there[one] < 400:
            other = r.choice(list(there))
            made.append(helper.make_node("Concat", [one, other, one], [out], name=name, axis=0))
            there[out] = 2 * there[one] + there[other]
        elif kind == "Slice" and there[one] > 1:
            values = numpy_helper.from_array(np.array([1], np.int64))
            made.append(helper.make_node("Constant", [], [f"one{place}"], value=values))
            made.append(helper.make_node("Slice", [one, f"zero{place}", f"one{place}"], [out], name=name))
            stored.append(numpy_helper.from_array(np.array([0], np.int64), f"zero{place}"))
            there[out] = 1
        elif kind == "If":
            other = r.choice([two for two, size in there.items() if size == there[one]])
            sides = [
                helper.make_graph(
                    [helper.make_node(op, [side], ["r"])], op, [], [helper.make_empty_tensor_value_info("r")]
                )
                for op, side in (("Relu", one), ("Neg", other))
            ]
            made.append(helper.make_node("If", ["c"], [out], name=name, then_branch=sides[0], else_branch=sides[1]))
            there[out] = there[one]
        elif kind == "Twice":
            made.append(helper.make_node("Twice", [one], [out], name=name, domain="own"))
            there[out] = there[one]
        elif kind == "Wide" and there[one] == 1:
            stored.append(numpy_helper.from_array(np.array([r.randint(50, 300)], np.int64), f"size{place}"))
            made.append(helper.make_node("Expand", [one, f"size{place}"], [out], name=name))
            there[out] = int(numpy_helper.to_array(stored[-1])[0])
        else:
            made.append(helper.make_node("Relu", [one], [out], name=name))
            there[out] = there[one]
    read = {name for node in made for name in node.input} | {"x"}
    ends = [one for one in there if one not in read] or list(there)[-1:]
    made += [helper.make_node("ReduceMax", [one], [f"most_{one}"], keepdims=1) for one in ends]
    made.append(helper.make_node("Concat", [f"most_{one}" for one in ends], ["y"], axis=0))
    twice = helper.make_function("own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [opset])
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, (1,)),
        helper.make_tensor_value_info("c", TensorProto.BOOL, ()),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, (len(ends),))
    graph = helper.make_graph(made, "random", inputs, [output], stored)
    return helper.make_model(graph, functions=[twice], opset_imports=[opset, own], ir_version=8)


@pytest.mark.parametrize("tens", range(10))
def test_random_networks_have_in_the_file_what_was_found(tmp_path: Path, tens: int) -> None:
    path, better = tmp_path / "random.onnx", tmp_path / "better.onnx"
    moved = 0
    for seed in range(10 * tens, 10 * tens + 10):
        onnx.save(random_model(seed), path)
        onnx.checker.check_model(str(path))
        found = best_order(path, export=better)
        assert found.exported is not None
        assert found.exported.peak_bytes == found.peak_bytes, seed
        moved += found.exported.moved > 0
        onnx.checker.check_model(str(better))
        for other in (None, shuffled(onnx_list(path), seed)):
            if other is not None:
                rewritten(path, other, better)
                onnx.checker.check_model(str(better))
            wanted = executed(path)
            if seed % 3:  # nodes of one name are valid, and not taken by ONNX Runtime
                assert wanted is not None, seed
                assert is_equal(executed(better), wanted), str(seed)
    assert moved
