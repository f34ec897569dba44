"""The reports whose pages the browser opens: those of real use, and those that pages break on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tests.browser.decoder import decoder
from tests.memory.test_order import random_graph
from tests.onnx import build
from tests.report.samples import node, on_device, report
from weighbridge import Report, best_order, in_patches, weigh
from weighbridge.estimates import BatchPoint, Bill, LevelEnergy, NodeTime, Throughput
from weighbridge.memory.training.records import TrainingLayer, TrainingPlan
from weighbridge.published import SCHEME, find
from weighbridge.report import comparison_html, html_file, ordered_html, patched_html
from weighbridge.report.comparison import Comparison, Model, comparison_of
from weighbridge.report.ordered import Ordered
from weighbridge.report.patched import Patched

__all__ = ["DRAWINGS", "HOSTILE", "PAGES", "REAL", "Saved", "ordered", "page", "patched", "saved"]


HOSTILE: Final = (
    *("<script>alert(1)</script>", "</script><script>alert(2)</script>", "<img src=x onerror=alert(3)>", "<!--", "]]>"),
    *('" onmouseover="alert(4)', "' autofocus onfocus='alert(5)", "`${alert(6)}`", "{{ alert(7) }}", "{% raw %}"),
    *("javascript:alert(8)", "</style><style>*{display:none}</style>", "<base href=http://evil.example>", "&lt;b&gt;"),
    *("a\u2028b\u2029c", "\u202egnp.exe", "\u05e9\u05dc\u05d5\u05dd", "two\nlines", "\x1b[31mred", "\x00", "__proto__"),
    *("constructor", "datum.key", "signal:picked", "a'b\\'c", "[x](http://evil.example)", "\ud800", "L" * 10_000),
)
"""Names that are markup, script, a template, a path of an object, an expression of Vega, or change how text runs."""


class Saved(NamedTuple):
    """What a page is made of: reports by their titles, or a comparison that has them."""

    reports: Mapping[str, Report]
    policy: str = "live"
    comparison: Comparison | None = None


def _mobilenet() -> Saved:
    on = ["stm32f746", "esp32-s3", "jetson-nano"]
    return Saved(
        {
            "mobilenet_v2": weigh(
                "mobilenet_v2",
                on=on,
                precision="int8",
                batches=[1, 8, 64],
                fps=30,
                energy="45nm",
                battery="2000mAh@3.7V",
                train="adam",
            )
        }
    )


def _transformer() -> Saved:
    return Saved({"decoder": weigh(decoder(), on=["jetson-agx-orin"], precision="fp16")})


def _nested() -> Saved:
    return Saved({"decoder": weigh(decoder(blocks=3))})


def _uncounted() -> Saved:
    """A file in which two operators of a domain of its own stand between known ones."""
    stored = [build.weight("w1", 8, 3, 3, 3), build.weight("w2", 4, 8, 1, 1)]
    nodes = [
        build.node("Conv", ["x", "w1"], ["a"], "stem/conv", pads=[1, 1, 1, 1]),
        build.node("Shuffle", ["a"], ["b"], "stem/shuffle", domain="example.custom"),
        build.node("Relu", ["b"], ["c"], "body/relu"),
        build.node("Conv", ["c", "w2"], ["d"], "body/conv"),
        build.node("Shuffle", ["d"], ["y"], "body/shuffle", domain="example.custom"),
    ]
    between = [build.value("b", (1, 8, 16, 16))]
    inputs, outputs = [build.value("x", (1, 3, 16, 16))], [build.value("y", None)]
    made = build.graph(nodes, inputs, outputs, stored, value_info=between)
    model = build.model(made, opset_imports=[build.helper.make_opsetid("example.custom", 1)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "custom.onnx")
        path.write_bytes(model.SerializeToString())
        found = weigh(path, on=["toy", "stm32f746"])
    return Saved({"custom.onnx": found})


def _comparison() -> Saved:
    options = {"on": ["toy", "jetson-nano"], "energy": "45nm", "batches": [1, 4], "fps": 30}
    return Saved({name: weigh(name, **options) for name in ("alexnet", "resnet18", "squeezenet")})


def _side_by_side() -> Saved:
    """What is weighed beside what is published, and names of which pages make letters."""
    names = [
        "resnet18",
        "mobilenet_v2",
        f"models/{'long/' * 9}{HOSTILE[0]}",
        "published:segformer_b5",
        "published:efficientvit_l1",
    ]
    reports = [*(weigh(name, on=["toy", "jetson-nano"]) for name in names[:2]), weigh("mlp", on="toy")]
    rows = [find(name.removeprefix(SCHEME)) for name in names[3:]]
    weighed = [Model(name, name, one) for name, one in zip(names[:3], reports, strict=True)]
    published = [Model(name, name, None, row) for name, row in zip(names[3:], rows, strict=True)]
    found = comparison_of([*weighed, *published], tool="weighbridge", fps=Fraction(30))
    return Saved(dict(zip(names[:3], reports, strict=True)), comparison=found)


def _hostile() -> Saved:
    """Every text of a report is a hostile one."""
    nodes = [node(name, scope=f"{name}.inner", origin=name, macs=1000, weights=100) for name in HOSTILE]
    nodes += [node(f"odd {name}", operator="unknown", origin=name, macs=None) for name in HOSTILE]
    times = tuple(NodeTime(item.name, 1.0, 2.0, "memory", 2.0, 3.0, True) for item in nodes)
    points = tuple(BatchPoint(batch, 1.0, batch, None, None, None, "fits") for batch in (1, 2))
    on = tuple(
        on_device()._replace(device=name, nodes=times, throughput=Throughput(points), notes=HOSTILE[:3])
        for name in (HOSTILE[0], HOSTILE[-1])
    )
    level = LevelEnergy(HOSTILE[6], 1.0, 2.0, 3.0, None, None)
    bill = Bill(HOSTILE[0], HOSTILE[1], HOSTILE[2], None, 1.0, 1.0, 2.0, (level,), False, False, HOSTILE)
    made = report(nodes, on=on, notes=HOSTILE, tool=HOSTILE[0], energy=bill)
    made = replace(made, memory=made.memory._replace(training=_training()))
    inputs = (made.network.inputs[0]._replace(name=HOSTILE[2]),)
    network = made.network._replace(name=HOSTILE[1], source=HOSTILE[0], inputs=inputs)
    return Saved({HOSTILE[1]: replace(made, network=network)})


def _training() -> TrainingPlan:
    layers = tuple(TrainingLayer(name, name, name, 1, 2, 3, 4, 6, False) for name in HOSTILE)
    plan = weigh("lenet5", train="adam").memory.training
    assert plan is not None
    return plan._replace(
        rule=HOSTILE[0],
        optimiser=HOSTILE[1],
        peak_node=HOSTILE[2],
        peak_phase=HOSTILE[3],
        asked=HOSTILE,
        layers=layers,
        notes=HOSTILE,
        attention=HOSTILE[4],
    )


def _unknown() -> Saved:
    """Nodes of which nothing is known, no device, and a memory plan without figures."""
    nodes = [
        node(f"op{index}", operator="unknown", macs=None, output=None)._replace(
            parameters=None, weights=None, read_bytes=None, write_bytes=None, loops=()
        )
        for index in range(4)
    ]
    return Saved({"unknown": report(nodes)})


def _empty() -> Saved:
    return Saved({"empty": report([])})


_MADE: Final[Mapping[str, Callable[[], Saved]]] = {
    "mobilenet": _mobilenet,
    "transformer": _transformer,
    "uncounted": _uncounted,
    "comparison": _comparison,
    "side by side": _side_by_side,
    "hostile": _hostile,
    "unknown": _unknown,
    "empty": _empty,
    "nested": _nested,
}
REAL: Final = ("mobilenet", "transformer", "uncounted", "comparison")
DRAWINGS: Final = ("patches", "order", "hostile order")
"""Pages that are of no report."""
PAGES: Final = (*REAL, "side by side", "hostile", "unknown", "empty", *DRAWINGS)


@cache
def saved(name: str) -> Saved:
    """The reports of the page ``name``."""
    return _MADE[name]()


@cache
def patched() -> Patched:
    """The published plan, on a board that has room for it then, and on one whose memory is far beyond."""
    asked = {"last": "block4.project", "grid": "4x4", "policy": "pair_in_place", "with_input": False}
    return in_patches("mobilenet_v2", precision="int8", on=["stm32f746", "jetson-nano"], **asked)


@cache
def ordered(*, is_hostile: bool) -> Ordered:
    """A network in which layers move; hostile names have as many layers as there are names."""
    graph = random_graph(3, len(HOSTILE) if is_hostile else 12)
    names = HOSTILE if is_hostile else [f"block{place // 3}.layer{place}" for place in range(12)]
    nodes = tuple(replace(one, name=name) for one, name in zip(graph.nodes, names, strict=True))
    return best_order(replace(graph, name=names[0], nodes=nodes))


@cache
def page(name: str) -> str:
    """The page ``name`` as HTML."""
    if name == "patches":
        return patched_html.render(patched())
    if name in DRAWINGS:
        return ordered_html.render(ordered(is_hostile=name != "order"))
    made = saved(name)
    if made.comparison is not None:
        return comparison_html.render(made.comparison)
    return html_file.render(made.reports, policy=made.policy, depth=None)
