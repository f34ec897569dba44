"""``weighbridge.weigh`` and ``load`` with a module: forms of inputs, what the report says, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import nn

import weighbridge
from weighbridge import BadModel, BadSpec, NeedsShape, Report, TensorSpec
from weighbridge.graph_json import graph_from_json, graph_to_json

IDS = TensorSpec((2, 3), "int64")


class Net(nn.Module):
    """Embeds whole numbers; everything behind them is optional."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.fc = nn.Linear(8, 4)

    def forward(
        self, ids: torch.Tensor, scale: Any = None, *, pair: tuple[torch.Tensor, ...] = (), flag: bool = False
    ) -> Any:
        result = self.fc(self.embedding(ids))
        if scale is not None:
            result = result * scale
        for one in pair:
            result = result @ one
        return {"result": result} if flag else result


@pytest.mark.parametrize(
    "given",
    [
        {"inputs": torch.zeros(2, 3, dtype=torch.int64)},
        {"inputs": (torch.zeros(2, 3, dtype=torch.int64),)},
        {"inputs": {"ids": torch.zeros(2, 3, dtype=torch.int64)}},
        {"kwargs": {"ids": torch.zeros(2, 3, dtype=torch.int64, device="meta")}},
        {"inputs": IDS},
        {"inputs": [IDS]},
        {"inputs": {"ids": IDS}},
        {"inputs": {"ids": IDS}, "kwargs": {"flag": True}},
        {"inputs": (IDS, None), "kwargs": {"pair": []}},
    ],
    ids=["tensor", "tuple", "dict", "kwargs", "spec", "list of specs", "dict of specs", "flag", "none"],
)
def test_forms_of_inputs(given: dict[str, Any]) -> None:
    report = weighbridge.weigh(Net(), **given)
    assert report.facts.macs == 2 * 3 * 8 * 4
    assert report.facts.parameters == 10 * 8 + 8 * 4 + 4
    assert [tuple(one) for one in report.network.inputs] == [("ids", (2, 3), "int64")]


def test_plain_shapes_are_float32_tensors() -> None:
    by_shape = weighbridge.weigh(nn.Linear(8, 4), inputs=(5, 8))
    assert by_shape.network.inputs[0].dtype == "float32"
    assert by_shape.facts.macs == 5 * 8 * 4
    for same in ([5, 8], torch.Size((5, 8)), [(5, 8)], ((5, 8),), {"input": [5, 8]}, torch.zeros(5, 8)):
        assert weighbridge.weigh(nn.Linear(8, 4), inputs=same) == by_shape


def test_shapes_inside_structures() -> None:
    graph = weighbridge.load(Net(), inputs=(IDS, (2, 3, 4)), kwargs={"pair": ((4, 4), TensorSpec((4, 5)))})
    assert [graph.tensors[name].shape for name in graph.inputs] == [(2, 3), (2, 3, 4), (4, 4), (4, 5)]
    assert graph.tensors[graph.outputs[0]].shape == (2, 3, 5)


def test_half_precision_and_complex_inputs() -> None:
    class Product(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return a @ b

    for dtype in ("bfloat16", "float16", "complex64"):
        graph = weighbridge.load(Product(), inputs=[TensorSpec((2, 3), dtype), TensorSpec((3, 4), dtype)])
        assert graph.tensors[graph.outputs[0]].dtype.name == dtype


def test_nothing_is_asked_where_forward_takes_nothing() -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.zeros(3, 4))

        def forward(self) -> torch.Tensor:
            return self.w @ self.w.T

    assert weighbridge.load(Constant()).inputs == ()


def test_the_report_says_how_the_graph_was_captured() -> None:
    report = weighbridge.weigh(Net(), inputs=IDS)
    network = json.loads(report.to_json())["network"]
    assert (network["name"], network["source"], network["format"]) == ("Net", "", "torch")
    assert network["capture"].startswith("traced on the meta device")
    assert f"note: {network['capture'][:40]}" in str(report)
    assert Report.from_json(report.to_json()) == report
    assert json.loads(weighbridge.weigh("mlp").to_json())["network"]["capture"] is None


def test_a_run_with_values_is_said_to_be_one() -> None:
    class Branch(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ x if x.sum() > 0 else x

    report = weighbridge.weigh(Branch(), inputs=torch.ones(3, 3))
    assert str(report.network.capture).startswith("ran once with values")
    assert report.facts.macs == 27


def test_training_mode_is_said_where_it_changes_what_is_counted() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Dropout(), nn.BatchNorm2d(8, track_running_stats=False)
    )
    inference, training = (weighbridge.weigh(model.train(mode), inputs=(1, 3, 8, 8)) for mode in (False, True))
    assert not [note for note in inference.notes if "training" in note]
    assert [note.partition(":")[0] for note in training.notes if "training" in note] == [
        "1 batch norm in training mode"
    ]
    assert inference.facts.macs == training.facts.macs
    assert inference.facts.deployed_parameters < training.facts.deployed_parameters


def test_the_size_is_that_of_the_module() -> None:
    assert "parameters as the module holds them" in str(weighbridge.weigh(Net(), inputs=IDS))


def test_a_graph_keeps_its_capture() -> None:
    graph = weighbridge.load(Net(), inputs=IDS)
    assert graph.capture
    assert graph_from_json(graph_to_json(graph)) == graph
    report = weighbridge.weigh(graph)
    assert report.network.capture == graph.capture
    assert report.facts == weighbridge.weigh(Net(), inputs=IDS).facts


def test_devices_widths_and_progress() -> None:
    told: list[str] = []
    report = weighbridge.weigh(nn.Linear(8, 4), inputs=(5, 8), on="toy", precision="int8", progress=told.append)
    assert report.facts.weight_bytes == 32
    assert report.on[0].conditions.batch == 5
    assert told == ["following the forward of Linear", "counting and planning the memory"]


# Errors


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ("Net", "forward takes (ids, scale=, pair=, flag=)", "needs ids", "--input ids=", "inputs=")),
        ({"inputs": {"idz": IDS}}, ("Net", "'idz'", "did you mean ids? forward takes (ids")),
    ],
    ids=str,
)
def test_inputs_that_forward_needs(given: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(NeedsShape) as caught:
        weighbridge.weigh(Net(), **given)
    assert all(word in str(caught.value) for word in words)


def test_forward_that_takes_whatever_it_gets_is_asked_about() -> None:
    class Product(nn.Module):
        def forward(self, *factors: torch.Tensor, **options: Any) -> torch.Tensor:
            return factors[0] @ factors[1]

    with pytest.raises(NeedsShape, match=r"forward takes \(\*factors, \*\*options\); --input 1x3x224x224"):
        weighbridge.weigh(Product())
    assert weighbridge.weigh(Product(), inputs=[(2, 3), (3, 4)]).facts.macs == 24


def test_wrong_shapes_name_the_module_and_what_it_saw() -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.Sequential(nn.ReLU(), nn.Linear(5, 2)))
    with pytest.raises(BadModel) as caught:
        weighbridge.weigh(model, inputs=(3, 8))
    assert all(word in str(caught.value) for word in ("1.1", "3x4 float32", "RuntimeError"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"inputs": "x"}, "is no input of a module"),
        ({"inputs": 5}, "is no input of a module"),
        ({"inputs": ...}, "is no input of a module"),
        ({"inputs": {1: IDS}}, "^inputs: must be a mapping from arguments"),
        ({"kwargs": [IDS]}, "^kwargs: must be a mapping from arguments"),
        ({"inputs": {"ids": IDS}, "kwargs": {"ids": IDS}}, "'ids' is in inputs and in kwargs"),
        ({"inputs": {"ids": ("int64", (2, 3))}}, r"TensorSpec\(\(2, 3\), 'int64'\)"),
        ({"inputs": TensorSpec((2, 3), "float6_e2m3")}, "no tensors of float6_e2m3"),
        ({"inputs": IDS, "batch": 2}, "^batch: the inputs of a module say their sizes"),
        ({"inputs": IDS, "sequence": 2}, "^sequence: "),
        ({"inputs": IDS, "dims": {"n": 2}}, "^dims: "),
    ],
    ids=str,
)
def test_what_is_no_input(given: dict[str, Any], words: str) -> None:
    for call in (weighbridge.load, weighbridge.weigh):
        with pytest.raises(BadSpec, match=words):
            call(Net(), **given)


@pytest.mark.parametrize(
    ("shape", "dtype", "words"),
    [
        (5, "float32", "5 is no shape"),
        ((1, -1), "float32", "is no shape"),
        ((1, 2.0), "float32", "is no shape"),
        ((True,), "float32", "is no shape"),
        ("12", "float32", "is no shape"),
        ((1, 2), "imt64", "did you mean 'int64'"),
        ((1, 2), torch.float32, "did you mean 'float32'"),
        ((1, 2), "string", "no element type 'string'"),
        ((1, 2), "q4_0", "no element type 'q4_0'"),
    ],
    ids=str,
)
def test_what_is_no_spec(shape: Any, dtype: Any, words: str) -> None:
    with pytest.raises(BadSpec, match=words):
        TensorSpec(shape, dtype)


def test_a_spec_is_a_value_of_plain_numbers() -> None:
    import numpy as np

    spec = TensorSpec([np.int64(2), 3])  # type: ignore[arg-type]
    assert spec == TensorSpec((2, 3), "float32")
    assert type(spec.shape[0]) is int


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Net, r"call it to make one: Net\(\)"),
        (Net().forward, "torch.nn.Module"),
        (torch.zeros(3), "not an object of type Tensor"),
        (Net().state_dict(), "the torch.nn.Module that it is loaded into"),
    ],
    ids=["class", "method", "tensor", "state_dict"],
)
def test_what_is_no_module(source: Any, words: str) -> None:
    with pytest.raises(BadSpec, match=words):
        weighbridge.weigh(source, inputs=IDS)


def test_a_numpy_array_and_a_misspelt_name_are_told_apart_from_wrong_shapes() -> None:
    import numpy as np

    linear = torch.nn.Linear(3, 4)
    with pytest.raises(
        BadModel, match=r"if the NumPy array is to be a tensor, give torch.from_numpy\(array\), or its shape$"
    ):
        weighbridge.weigh(linear, inputs=np.zeros((1, 3), np.float32))
    with pytest.raises(NeedsShape, match=r"no argument 'inptu'; did you mean input\? forward takes \(input\)$"):
        weighbridge.weigh(linear, inputs={"inptu": (1, 3)})


@pytest.mark.parametrize("source", ["model.py", "model.py:Net", "folder/model.py:make:width=3"])
def test_a_python_file_is_the_command_line_s_alone(source: str) -> None:
    for call in (weighbridge.load, weighbridge.weigh):
        with pytest.raises(BadSpec, match="import it yourself and pass the module"):
            call(source, inputs=IDS)


def test_a_file_has_no_keyword_arguments() -> None:
    with pytest.raises(BadSpec, match=r"^kwargs: only a PyTorch module"):
        weighbridge.load("mlp", kwargs={"x": (1, 2)})
