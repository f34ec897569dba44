"""A table to fill in: the layers of a network with one column hidden, and each answer checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Final

from weighbridge.api import deployed_of
from weighbridge.calculators.exercise import COLUMNS, Task, tasks, value_of
from weighbridge.calculators.presets import layer_of
from weighbridge.counts import NodeFacts
from weighbridge.counts import count as counted
from weighbridge.graph import Shape
from weighbridge.operators.record import Kind
from weighbridge.operators.table import OPERATORS
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.units import exact
from weighbridge.web.controls import Blank, Choice, Control, Number, State, Switch
from weighbridge.web.figures import count
from weighbridge.web.networks import graph_of
from weighbridge.web.simulator import Answer, Preset, Readout, Simulator

__all__ = ["table"]

_NETWORKS: Final[Mapping[str, str]] = {
    "alexnet": "AlexNet, 2012, in two groups",
    "lenet5": "LeNet-5",
    "mlp": "three linear layers",
    "depthwise_separable": "a depthwise and a pointwise convolution",
}
"""Small ones, no layer of which has the name of another's."""
_LARGEST: Final = 10**15
_RIGHT, _NOT_YET, _EMPTY = "right", "not yet", "empty"
_SHOWN: Final = {"weights": "weights", "parameters": "parameters", "macs": "MACs", "activations": "activations"}


def table() -> Simulator:
    """The simulator; its presets are AlexNet with one column hidden each, and the smaller networks."""
    return Simulator(
        "table",
        "AlexNet's table, to fill in",
        "Can you work out what each layer stores and computes?",
        "A column of the table is hidden: work it out from the shapes, layer by layer. What is right is marked, with how it comes about; "
        "what is not comes with a hint at what was overlooked.",
        tuple(_controls()),
        _answer,
        (
            *(Preset(f"AlexNet: {said}", {"column": column}) for column, said in COLUMNS.items()),
            Preset("LeNet-5: MACs", {"network": "lenet5", "column": "macs"}),
            Preset("three linear layers: parameters", {"network": "mlp", "column": "parameters"}),
            Preset("a separable convolution: MACs", {"network": "depthwise_separable", "column": "macs"}),
            Preset("AlexNet: MACs of a batch of 8", {"column": "macs", "batch": 8}),
        ),
    )


def _controls() -> Iterator[Control]:
    yield Choice("network", "network", "alexnet", _NETWORKS, "A textbook network.")
    yield Choice("column", "column to fill in", "weights", COLUMNS, "The others stand in the table.")
    yield Number("batch", "batch", 1, 1, 65_536, 64, meaning="Inputs at once: it multiplies MACs and activations.")
    yield Switch("shown", "show the answers", False, "Whether the table has the column after all.")
    for network in _NETWORKS:
        for node in _nodes(network, 1):
            yield Blank(node.name, node.name, _LARGEST)


@lru_cache(maxsize=32)
def _nodes(network: str, batch: int) -> tuple[NodeFacts, ...]:
    """The layers that own what they put out: not a flatten, which shows the same values in another shape."""
    graph = graph_of(network, batch)
    every = counted(graph, deployed_of(graph)).nodes
    return tuple(one for one in every if OPERATORS[one.operator].kind is not Kind.VIEW)


@cache
def _names(network: str) -> frozenset[str]:
    return frozenset(one.name for one in _nodes(network, 1))


@lru_cache(maxsize=32)
def _tasks(network: str, batch: int) -> Mapping[str, tuple[Task, ...]]:
    nodes, graph = _nodes(network, batch), graph_of(network, batch)
    written = {node.name: node for node in graph.nodes}
    return tasks(nodes, [layer_of(written[one.name], graph) for one in nodes])


def _answer(state: State) -> Answer:
    network, column, batch = str(state["network"]), str(state["column"]), int(state["batch"])
    asked = _tasks(network, batch)[column]
    verdicts = {one.name: _verdict(one, state[one.name]) for one in asked}
    right = sum(verdict == _RIGHT for verdict in verdicts.values())
    return Answer(
        tuple(_readouts(asked, state, verdicts)),
        (_sentence(len(asked), right),),
        tables=(_grid(state, asked, verdicts),),
        unused=tuple(name for other in _NETWORKS if other != network for name in sorted(_names(other))),
        remarks={one.name: _remark(one, state[one.name], verdicts[one.name]) for one in asked},
        notes=(
            f"what is counted: {COLUMNS[column]}",
            "functions such as ReLU are fused into the layer before; a flatten puts out no values of its own and has no row",
            *(("the input of the network has no row and is in no sum",) if column == "activations" else ()),
        ),
    )


def _verdict(task: Task, answer: object) -> str:
    return _EMPTY if answer == "" else _RIGHT if answer == task.value else _NOT_YET


def _remark(task: Task, answer: float | str, verdict: str) -> str:
    if verdict == _EMPTY:
        return ""
    return f"{_RIGHT}: {task.worked}" if verdict == _RIGHT else f"{_NOT_YET}: {task.hint(int(answer))}"


def _readouts(asked: tuple[Task, ...], state: State, verdicts: Mapping[str, str]) -> Iterator[Readout]:
    group, found = "Your answers", list(verdicts.values())
    right, is_shown = found.count(_RIGHT), bool(state["shown"])
    yield count("right", "right", right, group, f"of {len(asked)}")
    yield count("not_yet", "not yet", found.count(_NOT_YET), group)
    yield count("empty", "empty", found.count(_EMPTY), group)
    if is_shown or right == len(asked):
        total = sum(one.value for one in asked)
        yield count("total", "sum of the column", total, group, COLUMNS[str(state["column"])])


def _sentence(every: int, right: int) -> str:
    return f"all {every} answers are right" if right == every else f"{right} of {every} answers are right"


def _grid(state: State, asked: tuple[Task, ...], verdicts: Mapping[str, str]) -> Grid:
    hidden, network, batch = str(state["column"]), str(state["network"]), int(state["batch"])
    # Of weights and parameters the one would tell the other, and one of them is enough.
    left_out = _STORED if hidden in _STORED else (hidden, "parameters")
    others = [column for column in COLUMNS if column not in left_out]
    titles = ["layer", "goes in", "what it is", "comes out", _SHOWN[hidden], "answer", *map(_SHOWN.__getitem__, others)]
    columns = tuple(Column(title, is_number=place > 3 and title != "answer") for place, title in enumerate(titles))
    rows = []
    for task, node in zip(asked, _nodes(network, batch), strict=True):
        is_open = state["shown"] or verdicts[task.name] == _RIGHT
        own = (exact(task.value) if is_open else "…", verdicts[task.name])
        what = f"{node.operator.replace('_', ' ')} {task.window}".strip()
        known = [exact(value_of(node, column)) for column in others]
        rows.append(GridRow((node.name, _shaped(task.input_shape), what, _shaped(task.output_shape), *own, *known)))
    notes = tuple(f"{one.name}: {one.worked}" for one in asked) if state["shown"] else ()
    return Grid(f"{_NETWORKS[network]}, layer by layer", columns, tuple(rows), notes)


_STORED: Final = ("weights", "parameters")


def _shaped(shape: Shape) -> str:
    return "x".join(map(str, shape))
