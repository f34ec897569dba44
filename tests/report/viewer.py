"""What Model Explorer shows of a file: its graphs with their nodes, and which node a key of node data lands on.

Where the viewer itself is installed (ai-edge-model-explorer, and model-explorer-onnx), its own readers are asked.  Else the file is
read here with the packages ``tflite`` and ``onnx``, which know nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx
import tflite

Shown = Mapping[str, Mapping[str, tuple[str, list[str]]]]
"""By graph and id of a node: its label in lower case without underscores, and the names of its results that the viewer knows."""

IS_INSTALLED = find_spec("model_explorer") is not None and find_spec("model_explorer_onnx") is not None


def opened(path: Path) -> Shown:
    if path.suffix == ".onnx":
        return _by_viewer(path) if IS_INSTALLED else _onnx(path)
    return _by_viewer(path) if IS_INSTALLED else _tflite(path)


def landed(key: str, nodes: Mapping[str, tuple[str, list[str]]]) -> str:
    """The id of the node that a key stands for: a result of that name, of the last node that has it, goes before an id."""
    found = [one for one, (_, results) in nodes.items() if key in results]
    node = found[-1] if found else key
    assert node in nodes, key
    return node


def _plain(label: str) -> str:
    return label.lower().replace("_", "")


def _by_viewer(path: Path) -> Shown:
    from dataclasses import asdict, is_dataclass
    from importlib import import_module

    settings = {"const_element_count_limit": 0}
    if path.suffix == ".onnx":
        graphs: list[Any] = (
            import_module("model_explorer_onnx.main").ONNXAdapter().convert(str(path), settings)["graphs"]
        )
    else:
        module = import_module("model_explorer.builtin_tflite_flatbuffer_adapter")
        collections = module.BuiltinTfliteFlatbufferAdapter().convert(str(path), settings)["graphCollections"]
        graphs = [graph for collection in collections for graph in collection.graphs]
    plain = [asdict(graph) if is_dataclass(graph) and not isinstance(graph, type) else graph for graph in graphs]
    return {
        graph["id"]: {
            node["id"]: (
                _plain(node["label"]),
                [
                    one.get("value", "")
                    for result in node.get("outputsMetadata", [])
                    for one in result["attrs"]
                    if one["key"] == "tensor_name"
                ],
            )
            for node in graph["nodes"]
        }
        for graph in plain
    }


def _tflite(path: Path) -> Shown:
    model = tflite.Model.GetRootAs(path.read_bytes(), 0)
    codes = [model.OperatorCodes(index) for index in range(model.OperatorCodesLength())]
    shown = {}
    for number in range(model.SubgraphsLength()):
        graph = model.Subgraphs(number)
        names = [(graph.Tensors(index).Name() or b"").decode() for index in range(graph.TensorsLength())]
        nodes = {}
        made = set()
        for index in range(graph.OperatorsLength()):
            operator = graph.Operators(index)
            code = codes[operator.OpcodeIndex()]
            label = tflite.opcode2name(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()))
            results = [operator.Outputs(place) for place in range(operator.OutputsLength())]
            made.update(results)
            nodes[str(index)] = _plain(label), [names[one] for one in results]
        rest = (index for index in range(len(names)) if index not in made)
        nodes |= {f"constant {index}": ("pseudoconst", [names[index]]) for index in rest}
        shown[(graph.Name() or b"").decode() or (f"subgraph_{number}" if number else "main")] = nodes
    return shown


def _onnx(path: Path) -> Shown:
    """The nodes that have names, and as many more as there are without, as the viewer numbers them where no graph is nested."""
    graph = onnx.load(path, load_external_data=False).graph
    unnamed = iter(["node", *(f"node_{number}" for number in range(1, len(graph.node)))])
    return {graph.name or "<main>": {node.name or next(unnamed): (_plain(node.op_type), []) for node in graph.node}}
