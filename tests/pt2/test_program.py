"""What a program in an archive becomes, against expectations written by hand; PyTorch is not needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pt2.build import POISON, convolutional, dynamic, entries, node, program, written
from weighbridge.errors import BadSpec, NeedsShape
from weighbridge.frontends.aten_archive import load_pt2, read_pt2
from weighbridge.frontends.aten_call import AtenCall, Program, Ref
from weighbridge.graph import UNKNOWN, Role


def saved(made: dict[str, Any], folder: Path, weights: dict[str, str] | None = None, weight_bytes: int = 1024) -> Path:
    path = folder / "net.pt2"
    path.write_bytes(written(entries(made, weights, weight_bytes)))
    return path


def call(found: Program, name: str) -> AtenCall:
    (one,) = [one for one in found.calls if one.name == name]
    return one


def test_calls_have_the_names_of_the_modules_that_make_them(tmp_path: Path) -> None:
    found = read_pt2(saved(convolutional(), tmp_path))
    assert [(one.name, one.op, one.overload, one.scope) for one in found.calls] == [
        ("conv", "aten.conv2d", "default", "conv"),
        ("bn", "aten.batch_norm", "default", "bn"),
        ("mean", "aten.mean", "dim", ""),
        ("fc", "aten.linear", "default", "fc"),
    ]
    first = found.calls[0]
    assert first.arguments["weight"] == Ref("conv.weight")
    assert first.arguments["padding"] == (1, 1)
    assert first.type("weight").shape == (8, 3, 3, 3)
    assert [one.shape for one in first.made] == [(1, 8, 8, 8)]
    assert (found.name, found.inputs, found.outputs) == ("net", ("x",), ("fc",))
    assert "PyTorch 2.14.1, format 8.20" in found.capture


def test_the_signature_says_what_a_tensor_is_for(tmp_path: Path) -> None:
    made = program(
        [node("aten.add.Tensor", {"self": "c_scale", "other": "x"}, ["add"])],
        {"p_w": (2,), "b_seen": (), "c_scale": (2,), "x": (2,), "y": (2,), "add": (2,)},
        ["add"],
        inputs=("x", "y"),
        parameters={"p_w": "w"},
        buffers={"b_seen": "seen"},
        constants={"c_scale": "scale"},
        dtypes={"b_seen": 5, "x": 6},
    )
    found = {one.id: (one.role, one.type.dtype.name) for one in read_pt2(saved(made, tmp_path)).tensors}
    assert found == {
        "w": (Role.PARAMETER, "float32"),
        "seen": (Role.BUFFER, "int64"),
        "scale": (Role.CONSTANT, "float32"),
        "x": (Role.INPUT, "float16"),
        "y": (Role.INPUT, "float32"),
    }


def test_the_graph_has_the_work_of_its_layers(tmp_path: Path) -> None:
    from weighbridge.counts import count

    graph = load_pt2(saved(convolutional(), tmp_path))
    facts = count(graph, graph)
    assert facts.macs == 8 * 3 * 9 * 64 + 8 * 4
    assert facts.parameters == 8 * 27 + 8 + 8 + 8 + 8 * 4 + 4


def test_a_size_that_is_open_is_asked_for(tmp_path: Path) -> None:
    path = saved(convolutional("Symbol('s77', positive=True, integer=True)"), tmp_path)
    with pytest.raises(NeedsShape) as caught:
        load_pt2(path)
    assert str(caught.value) == (
        "net.pt2: dimension 0 (s77) of the input 'x' (s77 x 3 x 8 x 8) is open; give it: --batch 4"
    )
    for given in ({"batch": 5}, {"dims": {"s77": 5}}, {"inputs": {"x": (5, 3, 8, 8)}}):
        found = read_pt2(path, **given)  # type: ignore[arg-type]
        assert [one.made[0].shape for one in found.calls] == [(5, 8, 8, 8), (5, 8, 8, 8), (5, 8), (5, 4)]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"batch": 65}, r"s77 = 65 is outside the range .* \(2 to 64\)"),
        ({"batch": 4, "dims": {"s3": 1}}, "no input has a dimension called 's3'; its named dimensions are s77"),
        ({"inputs": {"x": (4, 3, 9, 8)}}, r"exported for fixed sizes \(x: s77 x 3 x 8 x 8\); export it with"),
        ({"inputs": {"y": (4,)}}, "the model has no input 'y'; its inputs are x"),
        ({"inputs": {"x": (4, 3)}}, "2 dimensions for the input 'x'"),
        ({"batch": 0}, "a size of 0 for batch"),
    ],
)
def test_sizes_that_do_not_fit_the_program_are_refused(given: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = saved(convolutional("Symbol('s77', positive=True, integer=True)"), tmp_path)
    with pytest.raises(BadSpec, match=rf"^net\.pt2: .*{says}"):
        load_pt2(path, **given)


def test_a_batch_of_one_is_let_through_as_pytorch_does(tmp_path: Path) -> None:
    path = saved(convolutional("s77"), tmp_path)
    assert read_pt2(path, batch=1).calls[0].made[0].shape == (1, 8, 8, 8)


def test_a_fixed_batch_can_be_named_but_not_replaced(tmp_path: Path) -> None:
    path = saved(convolutional(4), tmp_path)
    assert read_pt2(path, batch=4).calls[0].made[0].shape == (4, 8, 8, 8)
    with pytest.raises(BadSpec, match="the program was exported for fixed sizes"):
        read_pt2(path, batch=1)


def test_sizes_and_numbers_follow_from_formulas(tmp_path: Path) -> None:
    found = read_pt2(saved(dynamic(), tmp_path), dims={"s77": 4, "s27": 16})
    assert [one.op for one in found.calls] == ["aten.cat", "aten.reshape", "aten.mul"]
    assert found.calls[1].arguments["shape"] == (8, -1)
    assert found.calls[2].made[0].shape == (8, 16)
    assert found.calls[2].arguments["other"] == Ref("constant.0.5")


def test_a_dimension_that_is_a_formula_tells_its_symbol(tmp_path: Path) -> None:
    doubled = "Mul(Integer(2), Symbol('s0', positive=True, integer=True))"
    made = program(
        [node("aten.relu.default", {"self": "x"}, ["relu"])],
        {"x": (f"Add({doubled}, Integer(1))",), "relu": (doubled,)},
        ["relu"],
    )
    path = saved(made, tmp_path)
    with pytest.raises(NeedsShape, match=r"--dim s0=128$|--batch 4$"):
        read_pt2(path)
    assert read_pt2(path, inputs={"x": (9,)}).calls[0].made[0].shape == (8,)
    assert read_pt2(path, dims={"s0": 4}).calls[0].made[0].shape == (8,)
    with pytest.raises(NeedsShape, match=r"give it: --dim s0=128"):
        read_pt2(path, inputs={"x": (8,)})
    with pytest.raises(BadSpec, match="which is 9 and not 11"):
        read_pt2(path, inputs={"x": (11,)}, dims={"s0": 4})


def test_a_size_that_depends_on_data_is_asked_for_and_noted(tmp_path: Path) -> None:
    made = program(
        [node("aten.nonzero.default", {"self": "x"}, ["nonzero"])],
        {"x": (8,), "nonzero": ("Symbol('u0', integer=True)", 1)},
        ["nonzero"],
        dtypes={"nonzero": 5},
    )
    path = saved(made, tmp_path)
    with pytest.raises(NeedsShape, match="the size u0 of the tensor 'nonzero' depends on the data; give it: --dim u0"):
        read_pt2(path)
    found = read_pt2(path, dims={"u0": 5})
    assert found.calls[0].made[0].shape == (5, 1)
    assert found.notes == ("the size u0 depends on the data; it is 5 as given",)


def test_what_is_written_in_place_is_read_from_then_on(tmp_path: Path) -> None:
    made = program(
        [
            node("aten.add_.Tensor", {"self": "b_seen", "other": 1}, ["add_"]),
            node("aten.mul.Tensor", {"self": "b_seen", "other": "x"}, ["mul"]),
        ],
        {"b_seen": (1,), "x": (1,), "add_": (1,), "mul": (1,)},
        ["mul"],
        buffers={"b_seen": "seen"},
    )
    found = read_pt2(saved(made, tmp_path))
    assert [(one.op, one.arguments["self"]) for one in found.calls] == [
        ("aten.add", Ref("seen")),
        ("aten.mul", Ref("add")),
    ]


def test_a_written_buffer_is_no_output(tmp_path: Path) -> None:
    made = program(
        [node("aten.add.Tensor", {"self": "b_seen", "other": "x"}, ["add"])],
        {"b_seen": (1,), "x": (1,), "add": (1,)},
        ["add"],
        buffers={"b_seen": "seen"},
    )
    signature = made["graph_module"]["signature"]
    signature["output_specs"].insert(0, {"buffer_mutation": {"arg": {"name": "add"}, "buffer_name": "seen"}})
    signature["output_specs"][1] = {"user_output": {"arg": {"as_none": True}}}
    assert read_pt2(saved(made, tmp_path)).outputs == ()


def _three_layers() -> dict[str, Any]:
    return program(
        [
            node("aten.linear.default", {"input": "x", "weight": "p_a"}, ["linear"], "a"),
            node("aten.linear.default", {"input": "linear", "weight": "p_b"}, ["linear_1"], "b"),
            node("aten.linear.default", {"input": "linear_1", "weight": "p_c"}, ["linear_2"], "c"),
        ],
        {"p_a": (4, 4), "p_b": (4, 4), "p_c": (4, 4), "x": (1, 4), **{f"linear{n}": (1, 4) for n in ("", "_1", "_2")}},
        ["linear_2"],
        parameters={"p_a": "a.weight", "p_b": "b.weight", "p_c": "c.weight"},
        paths=("a", "b", "c"),
    )


def test_parameters_in_one_file_are_one_tensor(tmp_path: Path) -> None:
    files = {"a.weight": "weight_0", "b.weight": "weight_0", "c.weight": "weight_1"}
    found = read_pt2(saved(_three_layers(), tmp_path, files))
    assert [one.id for one in found.tensors if one.role is Role.PARAMETER] == ["a.weight", "c.weight"]
    assert [one.arguments["weight"] for one in found.calls] == [Ref("a.weight"), Ref("a.weight"), Ref("c.weight")]
    assert found.notes == ()


def test_parameters_without_values_lie_in_one_empty_file_and_are_not_tied(tmp_path: Path) -> None:
    """So torch.export.save writes a model on the meta device."""
    files = dict.fromkeys(("a.weight", "b.weight", "c.weight"), "weight_0")
    found = read_pt2(saved(_three_layers(), tmp_path, files, weight_bytes=0))
    assert [one.id for one in found.tensors if one.role is Role.PARAMETER] == ["a.weight", "b.weight", "c.weight"]
    assert "does not say which parameters are one storage" in found.notes[0]


def test_results_of_all_kinds(tmp_path: Path) -> None:
    made = program(
        [
            node("aten.split.Tensor", {"self": "x", "split_size": 1}, [{"as_tensors": [{"name": "a"}, {"name": "b"}]}]),  # type: ignore[list-item]
            node("aten.max.dim", {"self": "b", "dim": 0}, ["value", "index"]),
            node("aten._scaled_dot_product_attention.default", {"query": "value"}, ["y", None]),
        ],
        {"x": (2, 3), "a": (1, 3), "b": (1, 3), "value": (3,), "index": (3,), "y": (3,)},
        ["y"],
    )
    found = read_pt2(saved(made, tmp_path))
    assert [one.outputs for one in found.calls] == [
        ("split", "split:1"),
        ("max", ""),
        ("scaled_dot_product_attention", ""),
    ]


def test_arguments_of_all_kinds(tmp_path: Path) -> None:
    given = {
        "indices": {"as_optional_tensors": [{"as_none": True}, {"as_tensor": {"name": "x"}}]},
        "dtype": {"as_scalar_type": 13},
        "device": {"as_device": {"type": "cpu", "index": None}},
        "memory_format": {"as_memory_format": 1},
        "eps": {"as_float": "Infinity"},
        "mode": {"as_string": "bilinear"},
        "lists": {"as_int_lists": [[1, 2], [3]]},
        "members": {"as_string_to_argument": {"a": {"as_int": 1}, "b": {"as_tensor": {"name": "x"}}}},
        "other": True,
        "alpha": 2,
    }
    made = program([node("demo.all.form", given, ["y"])], {"x": (1,), "y": (1,)}, ["y"])
    one = read_pt2(saved(made, tmp_path)).calls[0]
    assert (one.op, one.overload) == ("demo.all", "form")
    assert one.arguments == {
        "indices": (None, Ref("x")),
        "dtype": "bfloat16",
        "eps": float("inf"),
        "mode": "bilinear",
        "lists": ((1, 2), (3,)),
        "members": (1, Ref("x")),
        "other": Ref("constant.True"),
        "alpha": 2,
    }


def test_graphs_that_only_set_a_mode_stand_in_their_place_and_branches_are_not_counted(tmp_path: Path) -> None:
    inner = program(
        [node("aten.relu.default", {"self": "arg"}, ["relu"])], {"arg": (2,), "relu": (2,)}, ["relu"], inputs=("arg",)
    )["graph_module"]["graph"]
    graph = {"as_graph": {"name": "body", "graph": inner}}
    wrapped = node("higher_order.wrap_with_set_grad_enabled", {"enabled": False, "body": graph, "arg": "x"}, ["out"])
    branch = node("higher_order.cond", {"p": "x", "t": graph, "f": graph, "args": ["out"]}, ["picked"])
    for one in (wrapped, branch):
        for given in one["inputs"]:
            given["name"] = ""
    made = program([wrapped, branch], {"x": (2,), "out": (2,), "picked": (2,)}, ["picked"])
    path = saved(made, tmp_path)
    assert [(one.op, one.name) for one in read_pt2(path).calls] == [
        ("aten.relu", "relu"),
        ("higher_order.cond", "cond"),
    ]
    (unknown,) = [one for one in load_pt2(path).nodes if one.operator == UNKNOWN]
    assert "higher_order.cond" in unknown.reason
    assert set(unknown.inputs) == {"x", "relu"}


def test_a_call_without_results_is_kept_where_it_may_do_work(tmp_path: Path) -> None:
    made = program(
        [
            node("aten._assert_tensor_metadata.default", {"a": "x"}, []),
            node("custom.fill_from.default", {"target": "x"}, []),
        ],
        {"x": (2,)},
        ["x"],
    )
    path = saved(made, tmp_path)
    assert [one.op for one in read_pt2(path).calls] == ["custom.fill_from"]
    assert [one.operator for one in load_pt2(path).nodes] == [UNKNOWN]


def test_repeated_calls_and_names_that_collide(tmp_path: Path) -> None:
    made = program(
        [node("aten.relu.default", {"self": "x"}, ["r1"]), node("aten.relu.default", {"self": "r1"}, ["r2"])],
        {"x": (2,), "r1": (2,), "r2": (2,), "p": (1,)},
        ["r2"],
        parameters={"p": "relu"},
    )
    found = read_pt2(saved(made, tmp_path))
    assert [one.id for one in found.tensors] == ["relu", "x"]
    assert [one.name for one in found.calls] == ["relu#2", "relu#3"]


def test_a_second_call_of_a_module_has_its_path(tmp_path: Path) -> None:
    made = program(
        [node("aten.relu.default", {"self": "x"}, ["r"], "block.act@1")],
        {"x": (2,), "r": (2,)},
        ["r"],
        paths=("block", "block.act"),
    )
    assert read_pt2(saved(made, tmp_path)).calls[0].scope == "block.act"


def test_several_programs_in_an_archive_are_noted(tmp_path: Path) -> None:
    files = entries(convolutional())
    files["net/models/decoder.json"] = files["net/models/model.json"]
    path = tmp_path / "net.pt2"
    path.write_bytes(written(files))
    assert read_pt2(path).notes == ("the archive holds 2 programs; this is 'model', not decoder",)


def test_the_layout_of_pytorch_2_7_is_read(tmp_path: Path) -> None:
    files = {
        "version": b"8.2",
        "serialized_exported_program.json": json.dumps(convolutional()).encode(),
        "serialized_state_dict.pt": POISON,
        "serialized_constants.pt": POISON,
        "serialized_example_inputs.pt": POISON,
    }
    path = tmp_path / "net.pt2"
    path.write_bytes(written(files))
    assert len(read_pt2(path).calls) == 4


def test_nothing_is_unpickled_and_pytorch_is_not_imported(tmp_path: Path) -> None:
    saved(convolutional(), tmp_path)
    script = (
        "import sys\n"
        "sys.modules['pickle'] = None\n"
        "import weighbridge\n"
        "report = weighbridge.weigh('net.pt2')\n"
        "assert report.facts.macs == 8 * 3 * 9 * 64 + 8 * 4, report.facts\n"
        "assert not {'torch', 'numpy', 'onnx'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["net.pt2"]


def test_the_poison_works(tmp_path: Path) -> None:
    """Loading what stands in the place of the weights would make a file; so its absence says something."""
    script = f"import pickle; pickle.loads({POISON!r})"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert [one.name for one in tmp_path.iterdir()] == ["poisoned_by_weighbridge"]
