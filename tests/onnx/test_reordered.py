"""ONNX files with their nodes in other orders: valid, the same otherwise, and computing the same in ONNX Runtime."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnx.branches import branches, peaks
from tests.onnx.files import OPEN, REFUSED, Sizes, onnx_files
from tests.onnx.reordered import executed, is_equal, rewritten, shuffled
from weighbridge import BadModel, best_order
from weighbridge.frontends.file_order import check_order, ordered_by
from weighbridge.frontends.onnx_reordered import onnx_list

DRAWN = frozenset({"ort_odd/dropout_ratio.onnx"})
"""Files whose results are drawn anew in every run, and may be the same twice by chance."""


def without_nodes(path: Path) -> bytes:
    model = onnx.load(path, load_external_data=False)
    del model.graph.node[:]
    return model.SerializeToString(deterministic=True)


def nodes(path: Path) -> list[bytes]:
    model = onnx.load(path, load_external_data=False)
    return [node.SerializeToString(deterministic=True) for node in model.graph.node]


def is_valid(path: Path) -> bool:
    try:
        onnx.checker.check_model(str(path))
    except (onnx.checker.ValidationError, RuntimeError, ValueError):
        return False
    return True


def test_every_shared_file_computes_the_same_in_other_orders(shared: Path, tmp_path: Path) -> None:
    """Weights in other files lie beside the copy; what differs from one run to the next is compared in its bytes alone."""
    counts = {"listed": 0, "moved": 0, "executed": 0}
    for name, path in onnx_files(shared).items():
        if name in REFUSED:
            continue
        listed = onnx_list(path)
        counts["listed"] += 1
        orders = {shuffled(listed, seed) for seed in range(4)} - {tuple(range(len(listed.order)))}
        if not orders:
            continue
        counts["moved"] += 1
        folder = tmp_path / str(counts["moved"])
        folder.mkdir()
        for beside in path.parent.iterdir():
            if beside.is_file() and beside.suffix != ".onnx":
                shutil.copy(beside, folder)
        sizes = OPEN.get(name, Sizes())
        wanted = executed(path, sizes) if path.stat().st_size < 50_000_000 else None
        is_fixed = wanted is not None and name not in DRAWN and is_equal(executed(path, sizes), wanted)
        counts["executed"] += is_fixed
        was_valid = is_valid(path)
        for order in sorted(orders)[:2]:
            new = rewritten(path, order, folder / path.name)
            assert new.stat().st_size == path.stat().st_size, name
            assert nodes(new) == [nodes(path)[place] for place in order], name
            assert without_nodes(new) == without_nodes(path), name
            assert is_valid(new) or not was_valid, name
            if is_fixed:
                assert is_equal(executed(new, sizes), wanted), name
        shutil.rmtree(folder)
    assert counts["listed"] == 147 - len(REFUSED)
    assert counts["moved"] > 40
    assert counts["executed"] > 30


def test_the_runtime_takes_the_nodes_as_they_stand(tmp_path: Path) -> None:
    """Where it is told to; by default it sorts them itself, whatever the file says."""
    path = tmp_path / "wide.onnx"
    onnx.save(branches(), path)
    best_order(path, export=tmp_path / "better.onnx")
    ran = {}
    for file in ("wide", "better"):
        for mode in ("PRIORITY_BASED", "DEFAULT"):
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.execution_order = getattr(onnxruntime.ExecutionOrder, mode)
            options.enable_profiling = True
            options.profile_file_prefix = str(tmp_path / "profile")
            session = onnxruntime.InferenceSession(str(tmp_path / f"{file}.onnx"), options)
            session.run(None, {"x": np.ones((1, 2, 8, 8), np.float32)})
            ran[file, mode] = _kernels(Path(session.end_profiling()))
    listed = {
        file: [node.name for node in onnx.load(tmp_path / f"{file}.onnx").graph.node] for file in ("wide", "better")
    }
    assert ran["wide", "PRIORITY_BASED"] == listed["wide"] != listed["better"] == ran["better", "PRIORITY_BASED"]
    assert ran["wide", "DEFAULT"] == ran["better", "DEFAULT"]


def _kernels(profile: Path) -> list[str]:
    import json

    ending = "_kernel_time"
    return [one["name"].removesuffix(ending) for one in json.loads(profile.read_text()) if one["name"].endswith(ending)]


@pytest.mark.parametrize("count", [2, 8, 24])
def test_the_more_branches_the_more_is_saved(tmp_path: Path, count: int) -> None:
    path = tmp_path / "wide.onnx"
    onnx.save(branches(count), path)
    found = best_order(path, export=tmp_path / "better.onnx")
    assert found.exported is not None
    assert (found.before_bytes, found.exported.peak_bytes) == peaks(count)
    onnx.checker.check_model(str(tmp_path / "better.onnx"), full_check=True)
    wanted = executed(path)
    assert wanted is not None
    assert is_equal(executed(tmp_path / "better.onnx"), wanted), "wide"


def test_random_numbers_keep_their_order(tmp_path: Path) -> None:
    """Two layers of noise of one generator: an order as good would take the second first."""
    shape = [helper.make_node("RandomUniform", [], [f"r{one}"], shape=[size]) for one, size in enumerate((1000, 2000))]
    ends = [helper.make_node("ReduceMax", [f"r{one}"], [f"m{one}"], keepdims=1) for one in (1, 0)]
    both = helper.make_node("Concat", ["m0", "m1", "x"], ["y"], axis=0)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (size,)) for name, size in (("x", 1), ("y", 3)))
    model = helper.make_model(
        helper.make_graph([*shape, *ends, both], "noise", [x], [y]), opset_imports=[helper.make_opsetid("", 17)]
    )
    onnx.save(model, tmp_path / "noise.onnx")
    found = best_order(tmp_path / "noise.onnx", export=tmp_path / "better.onnx")
    order = [node.output[0] for node in onnx.load(tmp_path / "better.onnx").graph.node]
    assert found.exported is not None
    assert found.exported.peak_bytes == found.peak_bytes < found.before_bytes
    assert order.index("r0") < order.index("r1")


def test_a_random_number_within_a_function_keeps_its_place_among_the_others(tmp_path: Path) -> None:
    """What is best is to draw in the function, then behind it, and only then to end the function, which no file can say."""
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    inner = [helper.make_node("RandomUniform", [], ["r"], shape=[1]), helper.make_node("Add", ["r", "z"], ["o"])]
    function = helper.make_function("own", "noisy", ["z"], ["o"], inner, opset[:1])
    nodes = [
        helper.make_node("Expand", ["x", "size"], ["z"]),
        helper.make_node("noisy", ["z"], ["o"], domain="own"),
        helper.make_node("RandomUniform", [], ["b"], shape=[3000]),
        helper.make_node("ReduceMax", ["b"], ["m"], keepdims=1),
        helper.make_node("Concat", ["o", "m"], ["y"], axis=0),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (size,)) for name, size in (("x", 1), ("y", 2001)))
    stored = [helper.make_tensor("size", TensorProto.INT64, (1,), [2000])]
    graph = helper.make_graph(nodes, "noise", [x], [y], stored)
    path, better = tmp_path / "noise.onnx", tmp_path / "better.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, functions=[function]), path)
    found = best_order(path, export=better)
    assert found.peak_bytes < found.before_bytes
    assert found.exported is not None
    assert (found.exported.moved, found.exported.peak_bytes) == (0, found.before_bytes)
    assert better.read_bytes() == path.read_bytes()


def test_a_name_that_a_graph_inside_uses_is_not_there_before_it(tmp_path: Path) -> None:
    """A branch makes a tensor that is called like one which the graph around it makes later: before it, it would hide that one."""
    side = [
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["later"])], "side", [], [helper.make_empty_tensor_value_info("later")]
        )
    ]
    made = [
        helper.make_node("If", ["c"], ["y"], then_branch=side[0], else_branch=side[0]),
        helper.make_node("Neg", ["x"], ["later"]),
    ]
    x, c = (
        helper.make_tensor_value_info("x", TensorProto.FLOAT, (4,)),
        helper.make_tensor_value_info("c", TensorProto.BOOL, ()),
    )
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (4,)) for name in ("y", "later")]
    model = helper.make_model(
        helper.make_graph(made, "hidden", [x, c], results), opset_imports=[helper.make_opsetid("", 17)]
    )
    path = tmp_path / "hidden.onnx"
    onnx.save(model, path)
    onnx.checker.check_model(str(path))
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(str(rewritten(path, (1, 0), tmp_path / "wrong.onnx")))
    listed = onnx_list(path)
    assert ordered_by({0: 1, 1: 0}, listed.before) == (0, 1)


def test_a_file_out_of_order_is_put_in_order(tmp_path: Path) -> None:
    model = branches()
    written = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(written))
    onnx.save(model, tmp_path / "back.onnx")
    listed = onnx_list(tmp_path / "back.onnx")
    order = ordered_by({}, listed.before)
    check_order(order, listed.before)
    onnx.checker.check_model(str(rewritten(tmp_path / "back.onnx", order, tmp_path / "new.onnx")))


def test_other_fields_between_the_nodes_stay_in_their_place(tmp_path: Path) -> None:
    """Protobuf lets a graph have its nodes here and there, and fields that nobody knows."""
    model = branches()
    fields = [b"\x0a" + bytes([len(one)]) + one for one in (node.SerializeToString() for node in model.graph.node)]
    del model.graph.node[:]
    rest = model.graph.SerializeToString()
    unknown = b"\xfa\x3f\x03abc"  # field 1023
    graph = b"".join(one + unknown for one in fields[:5]) + rest + b"".join(fields[5:])
    model.ClearField("graph")
    length = len(graph)
    prefix = (
        bytes([0x3A, length & 127 | 128, length >> 7 & 127 | 128, length >> 14])
        if length >> 14
        else bytes([0x3A, length & 127 | 128, length >> 7])
    )
    path, new = tmp_path / "fields.onnx", tmp_path / "new.onnx"
    path.write_bytes(prefix + graph + model.SerializeToString())
    best_order(path, export=new)
    assert nodes(new) != nodes(path)
    assert sorted(nodes(new)) == sorted(nodes(path))
    assert without_nodes(new) == without_nodes(path)
    assert new.read_bytes().count(unknown) == 5
    onnx.checker.check_model(str(new))


def test_a_graph_in_pieces_is_refused(tmp_path: Path) -> None:
    """Protobuf joins messages that come twice; a node of the one cannot move to the other, whose length would not fit."""
    model = branches()
    path = tmp_path / "pieces.onnx"
    more = onnx.ModelProto()
    more.graph.doc_string = "more"
    path.write_bytes(model.SerializeToString() + more.SerializeToString())
    assert best_order(path).peak_bytes == peaks()[1]
    with pytest.raises(BadModel, match="its graph stands in 2 pieces"):
        best_order(path, export=tmp_path / "better.onnx")
    assert not (tmp_path / "better.onnx").exists()


def test_weights_are_not_read_at_once(tmp_path: Path) -> None:
    """A file of 200 MB is copied in pieces: of what Python asks for, nothing is as large as that."""
    import tracemalloc

    model = branches()
    large = numpy_helper.from_array(np.zeros((50_000_000,), np.float32), "large")
    model.graph.initializer.append(large)
    path = tmp_path / "large.onnx"
    onnx.save(model, path)
    del model, large
    best_order(tmp_path / "large.onnx")
    tracemalloc.start()
    best_order(path, export=tmp_path / "better.onnx")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "better.onnx").stat().st_size == path.stat().st_size > 200_000_000
    assert most < 20_000_000


def test_the_order_of_a_list_keeps_to_times_and_places() -> None:
    """Random graphs: valid, timed ones by their times where these fit, and what waits for none of them where it was."""
    for seed in range(300):
        r = random.Random(seed)
        count = r.randint(1, 12)
        before = [frozenset(r.sample(range(place), min(place, r.choice([0, 1, 1, 2])))) for place in range(count)]
        times: Mapping[int, int] = {place: r.randint(0, 9) for place in range(count) if r.random() < 0.6}
        check_order(ordered_by(times, before), before)
        fits: dict[int, int] = {}
        for time, place in enumerate(ordered_by({place: r.random() for place in range(count)}, before)):  # type: ignore[misc]
            if place in times:
                fits[place] = time
        order = ordered_by(fits, before)
        assert [place for place in order if place in fits] == sorted(fits, key=lambda place: fits[place])
        assert ordered_by({}, before) == tuple(range(count))
        assert ordered_by({place: place for place in range(count)}, before) == tuple(range(count))


@pytest.mark.parametrize(
    ("order", "said"), [((0, 0), "is none of the 2"), ((0,), "is none of the 2"), ((1, 0), "would run before node 0")]
)
def test_what_is_no_order_is_refused(order: tuple[int, ...], said: str) -> None:
    with pytest.raises(BadModel, match=said):
        check_order(order, [frozenset(), frozenset({0})])


def test_a_circle_is_refused() -> None:
    with pytest.raises(BadModel, match="the graph has a cycle"):
        ordered_by({}, [frozenset({1}), frozenset({0})])
