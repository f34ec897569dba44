"""Node data for Google's Model Explorer: what a report says of each node, laid over the model's own graph in that viewer.

The viewer takes files of node data, each of which is a column that it shows and colours the nodes by (layout:
``model_explorer/node_data_builder.py`` of ai-edge-model-explorer 0.1.34)::

    {GRAPH: {"name": column, "results": {NODE: {"value": number}}, "gradient": [{"stop": 0 … 1, "bgColor": colour}]}}

GRAPH is the viewer's id of a graph of the model, NODE its id of a node there, or the name of one of the node's results where
the viewer knows those.  So a metric is a file, and its keys are those of the *file's* nodes: the report's own are of the graph
that is deployed, which says of each where it comes from (``NodeFacts.file_node``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from weighbridge.counts import NodeFacts
from weighbridge.errors import BadSpec
from weighbridge.graph import FileNode
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.peaks import LIVE
from weighbridge.report.record import Report, by_device, told_apart

__all__ = ["GRADIENT", "NodeData", "check_nodes", "may_be_named", "node_data"]

GRADIENT: Final = ("#FFFFB2", "#FECC5C", "#FD8D3C", "#F03B20", "#BD0026")
"""YlOrRd in five classes, a sequential scheme that is told apart with colour-blindness: Brewer and Harrower, ColorBrewer 2.0."""
_KEYS: Final[Mapping[str, Callable[[FileNode], str]]] = {
    # by name in both of the viewer's readers, which count positions differently; the one that is the default numbers operators
    "tflite": lambda node: node.name or str(node.position),
    "onnx": lambda node: node.name,
    "pt2": lambda node: node.name,
}
"""What the viewer knows a node of a file by, by format: "" for nothing."""
_FILES: Final = re.compile(
    r"(?:macs|parameters|output_bytes|moved_bytes|(?:alive_bytes|time_s)\..*)\.json", re.IGNORECASE
)
_UNFIT_FOR_FILES: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_FILE_NAME: Final = 80
_EXACT_IN_THE_VIEWER: Final = 1 << 53
"""Beyond it JavaScript, which the viewer is written in, rounds whole numbers."""

_Value = int | float | None


class NodeData(NamedTuple):
    """JSON texts by the name of their file, and sentences on what is left out of them.

    ``nodes`` is how many nodes of the model's file have a value in at least one.
    """

    files: Mapping[str, str]
    nodes: int
    notes: tuple[str, ...]


class _Metric(NamedTuple):
    """One column: the stem of its file, what the viewer calls it, and a value for each node of the report.

    ``joined`` makes the value of a node of the file of those of its parts; ``adds_up`` says whether the sum over nodes means
    something.
    """

    stem: str
    title: str
    values: Sequence[_Value]
    joined: Callable[[Sequence[int | float]], _Value] = sum
    adds_up: bool = True


def node_data(report: Report, policy: str = LIVE) -> NodeData:
    """The node data of ``report``: MACs, parameters, output bytes, bytes read and written, bytes alive by ``policy``, and the time
    on each device, each over the nodes of the model's file.

    What is unknown, or known from below alone, has no value, which is not the same as 0.  Where several nodes of the report come
    from one of the file, it has the sum, and of bytes alive the most; parameters of several that may be the same have no value.

    Raises ``BadSpec`` for a report of something that the viewer does not open, or that does not say where its nodes come from.
    """
    groups = _groups(report)
    files: dict[str, str] = {}
    notes = list(_notes(report, groups))
    shown: set[tuple[str, str]] = set()
    for metric in _metrics(report, policy):
        results = _results(metric, groups)
        missing = len(groups) - len(results)
        if missing:
            which = "any node" if not results else f"{missing:,} of {len(groups):,} nodes"
            notes.append(f"{metric.title}: not known of {which}, so left out")
        if results:
            files[f"{metric.stem}.json"] = _text(metric, results)
            shown.update(results)
        if any(isinstance(value, int) and value > _EXACT_IN_THE_VIEWER for value in results.values()):
            notes.append(f"{metric.title}: the viewer rounds whole numbers beyond 2^53; the file has them exactly")
    return NodeData(files, len(shown), tuple(notes))


def check_nodes(report: Report) -> None:
    """Raises ``BadSpec`` for a report that no node data can be made of, as ``node_data`` does."""
    _groups(report)


def may_be_named(file: str) -> bool:
    """Whether a file of node data can have this name."""
    return _FILES.fullmatch(file) is not None


def _groups(report: Report) -> dict[tuple[str, str], list[int]]:
    """The positions of the report's nodes by graph and key of the node of the file that they come from."""
    key_of = _KEYS.get(report.network.format)
    if key_of is None:
        hint = "weigh the file that the viewer opens: .tflite, .onnx, or .pt2 as torch.export.save writes it"
        raise BadSpec(
            f"Model Explorer opens files of models, and this report is of the format {report.network.format}",
            where=report.network.name,
            hint=hint,
        )
    groups: dict[tuple[str, str], list[int]] = {}
    for position, node in enumerate(report.nodes):
        key = key_of(node.file_node) if node.file_node is not None else ""
        if node.file_node is not None and key:
            groups.setdefault((node.file_node.graph, key), []).append(position)
    if not groups:
        what = "does not say which nodes of the file its nodes come from" if report.nodes else "has no nodes"
        hint = "it may be of an older version: weigh the file anew" if report.nodes else ""
        raise BadSpec(f"the report {what}", where=report.network.name, hint=hint)
    return groups


def _notes(report: Report, groups: Mapping[tuple[str, str], Sequence[int]]) -> Iterator[str]:
    """What the files as a whole leave out."""
    without = len(report.nodes) - sum(map(len, groups.values()))
    if without:
        yield f"{without:,} of {len(report.nodes):,} nodes have no name in the file that the viewer knows, so they are left out"
    once = "computed before the first inference, as they depend on no input"
    if report.network.graph == "deployed":
        merged = "folded or fused into another, which has it (--as-written keeps them apart)"
        yield f"nodes of the file without a value are {merged}, or {once}"
    else:
        yield f"nodes of the file without a value are {once}"
    for device, on in by_device(report).items():
        if on.nodes is None:
            yield f"no time on {device}: the report has none for its nodes"


def _metrics(report: Report, policy: str) -> Iterator[_Metric]:
    nodes = report.nodes
    yield _Metric("macs", "MACs", [node.macs if node.macs_exact else None for node in nodes])
    yield _Metric("parameters", "parameters", [node.parameters for node in nodes], _joined_parameters)
    yield _Metric("output_bytes", "output bytes (B)", [node.output_bytes for node in nodes])
    yield _Metric("moved_bytes", "bytes read and written (B)", [_moved(node) for node in nodes])
    alive = report.memory.profile.get(policy)
    yield _Metric(
        f"alive_bytes.{_file_name(policy)}",
        f"bytes alive, {policy} (B)",
        [None] * len(nodes) if alive is None else alive,
        max,
        adds_up=False,
    )
    stems = told_apart(_file_name(on.device) for on in report.on)
    for (device, on), stem in zip(by_device(report).items(), stems, strict=True):
        if on.nodes is not None:
            times = [node.time_s if node.exact else None for node in on.nodes]
            yield _Metric(f"time_s.{stem}", f"time on {device} (s)", times)


def _moved(node: NodeFacts) -> int | None:
    if node.read_bytes is None or node.write_bytes is None:
        return None
    return node.read_bytes + node.write_bytes


def _joined_parameters(parts: Sequence[int | float]) -> _Value:
    """Those of the one part that has some; of more, which may hold the same, unknown."""
    some = [part for part in parts if part]
    return some[0] if len(some) == 1 else None if some else 0


def _results(metric: _Metric, groups: Mapping[tuple[str, str], Sequence[int]]) -> dict[tuple[str, str], int | float]:
    """The values that are known, by graph and key."""
    found: dict[tuple[str, str], int | float] = {}
    for place, positions in groups.items():
        parts = [metric.values[position] for position in positions]
        known = [part for part in parts if part is not None and _is_finite(part)]
        value = metric.joined(known) if len(known) == len(parts) else None
        if value is not None and _is_finite(value):
            found[place] = value
    return found


def _is_finite(value: int | float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _text(metric: _Metric, results: Mapping[tuple[str, str], int | float]) -> str:
    graphs: dict[str, dict[str, object]] = {}
    for (graph, key), value in results.items():
        graphs.setdefault(graph, {})[key] = {"value": value}
    stops = [{"stop": place / (len(GRADIENT) - 1), "bgColor": colour} for place, colour in enumerate(GRADIENT)]
    # The viewer adds up the values of what it shows as one layer, and the shares in it; a sum of what lives at one time is none.
    hidden = {} if metric.adds_up else {"hideAggregatedStats": ["sum"], "hideInChildrenStatsTable": True}
    data = {graph: {"name": metric.title, "results": of, "gradient": stops, **hidden} for graph, of in graphs.items()}
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _file_name(name: str) -> str:
    """``name`` as a part of the name of a file on any system."""
    return _UNFIT_FOR_FILES.sub("_", name.lower())[:_LONGEST_FILE_NAME] or "_"
