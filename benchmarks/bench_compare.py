"""How long it takes to compare two networks of 1,000 to 10,000 nodes that are loaded: weighing both, matching layers, the page.

The second network is the first with a block fewer, with every layer widened, with every name another, or with both: each takes another
way through the matching of layers.  Processor time, as neighbours do not count.

    python benchmarks/bench_compare.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.browser.decoder import decoder
from weighbridge import Graph, Report, weigh
from weighbridge.comparing import compare
from weighbridge.counts import NodeFacts

MAX_SECONDS_1000 = 1.0
MAX_GROWTH = 2.6
"""Twice the nodes may take this many times as long."""
_BLOCKS = {1_004: 91, 5_008: 455, 10_013: 910}

Change = Callable[[int, NodeFacts], NodeFacts]


def renamed(place: int, node: NodeFacts) -> NodeFacts:
    return node._replace(name=f"/model/{node.operator}_{place}")


def widened(place: int, node: NodeFacts) -> NodeFacts:
    wider = None if node.output is None else (*node.output[:-1], 2 * node.output[-1])
    return node._replace(output=wider, macs=4 * (node.macs or 0), weights=4 * (node.weights or 0))


def both(place: int, node: NodeFacts) -> NodeFacts:
    return renamed(place, widened(place, node))


def changed(report: Report, change: Change) -> Report:
    nodes = tuple(change(place, node) for place, node in enumerate(report.nodes))
    return replace(report, facts=report.facts._replace(nodes=nodes))


def seconds(first: Report | Graph | str, second: Report | Graph | str, repeats: int) -> float:
    """The least of several comparisons with the page in text; graphs are weighed first."""
    runs = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        str(compare([first, second]))
        runs.append(time.process_time() - start)
    return min(runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each kind (default 5)")
    repeats = parser.parse_args().repeats
    gc.disable()  # as the command does
    seconds("lenet5", "lenet5", 1)  # imports are of loading
    took: dict[tuple[str, int], float] = {}
    for nodes, blocks in _BLOCKS.items():
        graph, shorter = decoder(blocks), decoder(blocks - 1)
        report = weigh(graph)
        sides: dict[str, tuple[Report | Graph, Report | Graph]] = {
            "weighed and compared": (graph, shorter),
            "a block fewer": (report, weigh(shorter)),
            "widened": (report, changed(report, widened)),
            "renamed": (report, changed(report, renamed)),
            "renamed and widened": (report, changed(report, both)),
        }
        for name, (first, second) in sides.items():
            took[name, nodes] = seconds(first, second, repeats)
            print(f"{name:<22}{nodes:>8,} nodes {took[name, nodes]:8.3f} s of the processor", flush=True)
    kinds = dict.fromkeys(name for name, _ in took)
    checks = [(f"{name}, 1,004 nodes: seconds", took[name, 1_004], MAX_SECONDS_1000) for name in kinds]
    checks += [
        (f"{name}, 10,013 nodes: times as long as half of it", took[name, 10_013] / took[name, 5_008], MAX_GROWTH)
        for name in kinds
    ]
    for what, value, limit in checks:
        print(f"{'ok  ' if value <= limit else 'MISS'} {what}: {value:.3g} (at most {limit:g})")
    return 0 if all(value <= limit for _, value, limit in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
