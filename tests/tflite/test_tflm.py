"""The arena of TensorFlow Lite Micro, and the models that it takes, compared with its interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytest.importorskip(
    "tflite_micro", reason="the interpreter of TensorFlow Lite Micro is built for Linux on x86-64 and no other machine"
)

from tests.tflite.interpreter import load
from tests.tflite.tflm_cases import KERNELS
from tests.tflite.tflm_custom import CUSTOM
from tests.tflite.tflm_graphs import GRAPHS
from tests.tflite.tflm_models import Graph, Tensor, model
from tests.tflite.tflm_planned import taken

TYPES = ("FLOAT32", "FLOAT16", "INT32", "UINT8", "INT64", "BOOL", "INT16", "INT8", "INT4")


def differences(models: Mapping[str, bytes], folder: Path) -> list[str]:
    """What is said of a model otherwise than by the interpreter: its plan, what is kept for it, or that it is refused."""
    paths = []
    for number, made in enumerate(models.values()):
        paths.append(folder / f"{number}.tflite")
        paths[-1].write_bytes(made)
    found = []
    for name, path, loaded in zip(models, paths, load(paths), strict=True):
        ours = taken(path)
        if (ours.head, ours.tail) != (loaded.head, loaded.tail):
            found.append(f"{name}: {ours} instead of {loaded.head}, {loaded.tail}: {loaded.said[:300]}")
    return found


def test_every_kernel_takes_what_we_say(tmp_path: Path) -> None:
    graphs = {**KERNELS, **CUSTOM}
    assert differences({name: model(graph) for name, graph in graphs.items()}, tmp_path) == []


def test_subgraphs_variables_plans_and_odd_tensors_take_what_we_say(tmp_path: Path) -> None:
    assert differences(GRAPHS, tmp_path) == []


def changed_types() -> Iterator[tuple[str, Graph]]:
    """Every graph with the type of one tensor changed, with and without scales."""
    for name, graph in KERNELS.items():
        for place, tensor in enumerate(graph.tensors[:6]):
            for kind in TYPES:
                for scales in (0, tensor.scales or 1):
                    data = tensor.data if isinstance(tensor.data, bool) else bytes(2 * len(tensor.data))
                    other = tensor._replace(type=kind, scales=scales, data=data)
                    if (kind, scales) != (tensor.type, tensor.scales):
                        yield f"{name}, tensor {place} {kind} {scales}", with_tensor(graph, place, other)


def with_tensor(graph: Graph, place: int, tensor: Tensor) -> Graph:
    return graph._replace(tensors=[*graph.tensors[:place], tensor, *graph.tensors[place + 1 :]])


def changed_shapes() -> Iterator[tuple[str, Graph]]:
    """Every graph with one tensor of another shape or stored instead of computed, or with other operands."""
    for name, graph in {**KERNELS, **CUSTOM}.items():
        operator = graph.operators[0]
        for place, tensor in enumerate(graph.tensors[:8]):
            if tensor.data:
                yield f"{name}, tensor {place} computed", with_tensor(graph, place, tensor._replace(data=False))
            elif place in operator.inputs and not tensor.variable:
                yield f"{name}, tensor {place} stored", with_tensor(graph, place, tensor._replace(data=True))
            if isinstance(tensor.data, bool):
                shape = tuple(tensor.shape)
                for other in ((*shape[:-1], (shape or (0,))[-1] + 1), (1, *shape), shape[1:]):
                    yield f"{name}, tensor {place} {other}", with_tensor(graph, place, tensor._replace(shape=other))
        fewer, more = operator.inputs[:-1], [*operator.inputs, operator.inputs[0]]
        none = [
            [*operator.inputs[:place], -1, *operator.inputs[place + 1 :]] for place in range(len(operator.inputs[:3]))
        ]
        for inputs in (fewer, more, *none):
            yield f"{name}, inputs {inputs}", graph._replace(operators=[operator._replace(inputs=inputs)])


BY_VALUE = ("SOFTMAX int16, tensor 0 INT8", "EMBEDDING_LOOKUP")
"""What is refused for the values of scales, which we do not read, or for a shape that it has overwritten by then."""


def test_changed_types_are_refused_by_both_or_by_none(tmp_path: Path) -> None:
    """Every 31st change; all of them take minutes."""
    some = list(changed_types())[::31]
    models = {name: model(graph) for name, graph in some if not name.startswith(BY_VALUE)}
    assert differences(models, tmp_path) == []


def test_changed_shapes_and_operands_are_refused_by_both_or_by_none(tmp_path: Path) -> None:
    """Every eleventh change."""
    some = list(changed_shapes())[::11]
    models = {name: model(graph) for name, graph in some if not name.startswith(BY_VALUE)}
    assert differences(models, tmp_path) == []
