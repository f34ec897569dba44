"""Writes networks that a search or a generator wired, as network files: ``docs/examples/wired_*.toml``.

Cells follow the genotypes as github.com/quark0/darts has them (cnn/genotypes.py), and the networks of cells its cnn/model.py without the
auxiliary head: every cell reads the two before it.  Of the two convolutions of a reduced skip the second one sees its input a pixel
aside there, which changes no size and is left out.  The random network is a stage of a graph by Watts and Strogatz, as in RandWire.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
_OF_DARTS = "github.com/quark0/darts, cnn/genotypes.py"


class Genotype(NamedTuple):
    """What each pair of ``normal`` and ``reduce`` adds up: an operation and the state that it reads, of which the first two are what
    the cell reads; the result is the concatenation of the states ``concat``.
    """

    name: str
    title: str
    source: str
    normal: Sequence[tuple[str, int]]
    normal_concat: Sequence[int]
    reduce: Sequence[tuple[str, int]]
    reduce_concat: Sequence[int]


DARTS_V2 = Genotype(
    "wired_darts_v2",
    "DARTS, second order",
    f"H. Liu, K. Simonyan, Y. Yang: DARTS: Differentiable Architecture Search, ICLR 2019; {_OF_DARTS}, DARTS_V2",
    [
        *(("sep_conv_3x3", 0), ("sep_conv_3x3", 1)),
        *(("sep_conv_3x3", 0), ("sep_conv_3x3", 1)),
        *(("sep_conv_3x3", 1), ("skip_connect", 0)),
        *(("skip_connect", 0), ("dil_conv_3x3", 2)),
    ],
    [2, 3, 4, 5],
    [
        *(("max_pool_3x3", 0), ("max_pool_3x3", 1)),
        *(("skip_connect", 2), ("max_pool_3x3", 1)),
        *(("max_pool_3x3", 0), ("skip_connect", 2)),
        *(("skip_connect", 2), ("max_pool_3x3", 1)),
    ],
    [2, 3, 4, 5],
)
NASNET_A = Genotype(
    "wired_nasnet_a",
    "NASNet-A",
    f"B. Zoph, V. Vasudevan, J. Shlens, Q. V. Le: Learning Transferable Architectures, CVPR 2018; {_OF_DARTS}, NASNet",
    [
        *(("sep_conv_5x5", 1), ("sep_conv_3x3", 0)),
        *(("sep_conv_5x5", 0), ("sep_conv_3x3", 0)),
        *(("avg_pool_3x3", 1), ("skip_connect", 0)),
        *(("avg_pool_3x3", 0), ("avg_pool_3x3", 0)),
        *(("sep_conv_3x3", 1), ("skip_connect", 1)),
    ],
    [2, 3, 4, 5, 6],
    [
        *(("sep_conv_5x5", 1), ("sep_conv_7x7", 0)),
        *(("max_pool_3x3", 1), ("sep_conv_7x7", 0)),
        *(("avg_pool_3x3", 1), ("sep_conv_5x5", 0)),
        *(("skip_connect", 3), ("avg_pool_3x3", 2)),
        *(("sep_conv_3x3", 2), ("max_pool_3x3", 1)),
    ],
    [4, 5, 6],
)
GENOTYPES = (DARTS_V2, NASNET_A)

_HEAD = """\
# Written by scripts/wired_networks.py.
name = "{name}"
title = "{title}"
source = "{source}"
"""
_SEPARABLE = """
[blocks.sep_conv]
parameters = ["kernel", "stride", "out"]
layers = [
  { name = "relu1", op = "relu" },
  { name = "depthwise1", op = "conv", out = "in_channels", kernel = "kernel", stride = "stride", padding = "kernel // 2", \
groups = "in_channels", bias = false },
  { name = "pointwise1", op = "conv", out = "out", kernel = 1, bias = false },
  { name = "norm1", op = "batch_norm" },
  { name = "relu2", op = "relu" },
  { name = "depthwise2", op = "conv", out = "out", kernel = "kernel", padding = "kernel // 2", groups = "out", bias = false },
  { name = "pointwise2", op = "conv", out = "out", kernel = 1, bias = false },
  { name = "norm2", op = "batch_norm" },
]
"""
_DILATED = """
[blocks.dil_conv]
parameters = ["kernel", "stride", "out"]
layers = [
  { name = "relu", op = "relu" },
  { name = "depthwise", op = "conv", out = "in_channels", kernel = "kernel", stride = "stride", padding = "kernel - 1", \
dilation = 2, groups = "in_channels", bias = false },
  { name = "pointwise", op = "conv", out = "out", kernel = 1, bias = false },
  { name = "norm", op = "batch_norm" },
]
"""
_COMMON = """
[blocks.squeeze]
parameters = ["out"]
layers = [
  { name = "relu", op = "relu" },
  { name = "conv", op = "conv", out = "out", kernel = 1, bias = false },
  { name = "norm", op = "batch_norm" },
]

[blocks.halve]
parameters = ["out"]
layers = [
  { name = "relu", op = "relu" },
  { name = "even", op = "conv", out = "out // 2", kernel = 1, stride = 2, bias = false },
  { name = "odd", op = "conv", from = "relu", out = "out // 2", kernel = 1, stride = 2, bias = false },
  { name = "concat", op = "concat", from = ["even", "odd"], axis = 1 },
  { name = "norm", op = "batch_norm" },
]
"""


def network_of(genotype: Genotype, channels: int = 16, cells: int = 8) -> str:
    """The text of a network file: a stem, ``cells`` cells of which those after a third and two thirds reduce, and a classifier.

    The authors take 36 channels and 20 cells of CIFAR-10.
    """
    reduced = {cells // 3, 2 * cells // 3}
    lines = [
        '  { name = "stem", op = "conv", out = "3 * channels", kernel = 3, padding = 1, bias = false },',
        '  { name = "stem_norm", op = "batch_norm" },',
    ]
    ends, width = ["stem_norm", "stem_norm"], 1
    for cell in range(cells):
        width *= 2 if cell in reduced else 1
        kind = f"{'reduce' if cell in reduced else 'normal'}{'_after' if cell - 1 in reduced else ''}"
        read = ", ".join(f'"{one}"' for one in ends)
        lines.append(f'  {{ name = "cell{cell}", block = "{kind}", from = [{read}], out = "{width} * channels" }},')
        ends = [ends[1], f"cell{cell}"]
    lines += [
        '  { name = "pool", op = "global_average_pool" },',
        '  { name = "flatten", op = "flatten" },',
        '  { name = "classifier", op = "linear", out = 10 },',
    ]
    head = _HEAD.format(name=genotype.name, title=genotype.title, source=genotype.source)
    about = (
        "parameters.batch = 1\n"
        f'parameters.channels = {{ default = {channels}, minimum = 4, maximum = 256, description = "of the first cells" }}\n'
        'inputs = [{ name = "image", shape = ["batch", 3, 32, 32] }]\n'
    )
    kinds = {"normal": (False, False), "reduce": (True, False), "normal_after": (False, True)}
    blocks = "".join(_cell(name, genotype, *how) for name, how in kinds.items())
    used = {one for one, _ in (*genotype.normal, *genotype.reduce)}
    dilated = _DILATED if any(one.startswith("dil_conv") for one in used) else ""
    return f"{head}{about}\nlayers = [\n" + "\n".join(lines) + f"\n]\n{_SEPARABLE}{dilated}{_COMMON}{blocks}"


def _cell(name: str, genotype: Genotype, is_reduced: bool, is_after: bool) -> str:
    """A block of two inputs; behind a cell that reduces, the first of them is twice as high and wide as the second."""
    steps = genotype.reduce if is_reduced else genotype.normal
    first = "halve" if is_after else "squeeze"
    lines = [
        f'  {{ name = "s0", block = "{first}", from = "before", out = "out" }},',
        '  { name = "s1", block = "squeeze", from = "last", out = "out" },',
    ]
    states = ["s0", "s1"]
    for place in range(0, len(steps), 2):
        parts = []
        for side, (operation, state) in zip("ab", steps[place : place + 2], strict=True):
            stride = 2 if is_reduced and state < 2 else 1
            line = _operation(f"op{place // 2}{side}", operation, states[state], stride)
            parts.append(f"op{place // 2}{side}" if line else states[state])
            lines += [line] if line else []
        named = f"s{place // 2 + 2}"
        lines.append(f'  {{ name = "{named}", op = "add", from = ["{parts[0]}", "{parts[1]}"] }},')
        states.append(named)
    concat = genotype.reduce_concat if is_reduced else genotype.normal_concat
    read = ", ".join(f'"{states[one]}"' for one in concat)
    lines.append(f'  {{ name = "concat", op = "concat", from = [{read}], axis = 1 }},')
    body = "\n".join(lines)
    return f'\n[blocks.{name}]\ninputs = ["before", "last"]\nparameters = ["out"]\nlayers = [\n{body}\n]\n'


def _operation(name: str, operation: str, state: str, stride: int) -> str:
    """A line for an operation on a state; "" for a skip that is the state itself."""
    kind, _, size = operation.rpartition("_")
    read = f'name = "{name}", from = "{state}"'
    if operation == "skip_connect":
        return f'  {{ {read}, block = "halve", out = "out" }},' if stride == 2 else ""
    kernel = int(size[0])
    if kind in ("max_pool", "avg_pool"):
        op = "max_pool" if kind == "max_pool" else "average_pool"
        return f'  {{ {read}, op = "{op}", kernel = {kernel}, stride = {stride}, padding = {kernel // 2} }},'
    return f'  {{ {read}, block = "{kind}", kernel = {kernel}, stride = {stride}, out = "out" }},'


def watts_strogatz(nodes: int, neighbours: int, probability: float, seed: int) -> list[tuple[int, int]]:
    """Edges from the lower to the higher node of a ring in which each is joined to its ``neighbours`` next ones, and each edge is
    rewired to another node with a ``probability``.
    """
    r = random.Random(seed)
    edges = {(node, (node + by) % nodes) for by in range(1, neighbours // 2 + 1) for node in range(nodes)}
    joined = {node: {b if a == node else a for a, b in edges if node in (a, b)} for node in range(nodes)}
    for by in range(1, neighbours // 2 + 1):
        for node in range(nodes):
            old = (node + by) % nodes
            free = [one for one in range(nodes) if one != node and one not in joined[node]]
            if r.random() >= probability or not free or old not in joined[node]:
                continue
            new = r.choice(free)
            joined[node].remove(old)
            joined[old].remove(node)
            joined[node].add(new)
            joined[new].add(node)
    return sorted((node, other) for node in joined for other in joined[node] if node < other)


def random_network(
    nodes: int = 32, neighbours: int = 4, probability: float = 0.75, seed: int = 1, channels: int = 32
) -> str:
    """The text of a network file of one stage: nodes add up what they read, and are a ReLU and a separable convolution.

    Nodes without one before them read the stem, at a stride of 2; the stage puts out the sum of those that nobody reads.  The weights
    that the authors give to the terms of a sum are left out.
    """
    edges = watts_strogatz(nodes, neighbours, probability, seed)
    lines = [
        '  { name = "stem", op = "conv", out = "channels // 2", kernel = 3, stride = 2, padding = 1, bias = false },',
        '  { name = "stem_norm", op = "batch_norm" },',
        *(line for node in range(nodes) for line in _wired(node, [a for a, b in edges if b == node])),
    ]
    ends = [node for node in range(nodes) if all(a != node for a, _ in edges)]
    read = ", ".join(f'"node{one}"' for one in ends)
    lines += [
        f'  {{ name = "end", op = "sum", from = [{read}] }},',
        '  { name = "pool", op = "global_average_pool" },',
        '  { name = "flatten", op = "flatten" },',
        '  { name = "classifier", op = "linear", out = 10 },',
    ]
    source = "S. Xie, A. Kirillov, R. Girshick, K. He: Exploring Randomly Wired Neural Networks for Image Recognition, ICCV 2019"
    title = f"a randomly wired stage, WS({nodes}, {neighbours}, {probability}), seed {seed}"
    head = _HEAD.format(name="wired_random", title=title, source=source)
    about = (
        "parameters.batch = 1\n"
        f'parameters.channels = {{ default = {channels}, minimum = 4, maximum = 256, description = "of the stage" }}\n'
        'inputs = [{ name = "image", shape = ["batch", 3, 64, 64] }]\n'
    )
    return f"{head}{about}\nlayers = [\n" + "\n".join(lines) + f"\n]\n{_NODE}"


_NODE = """
[blocks.node]
defaults = { stride = 1, out = 0 }
layers = [
  { name = "relu", op = "relu" },
  { name = "depthwise", op = "conv", out = "in_channels", kernel = 3, stride = "stride", padding = 1, \
groups = "in_channels", bias = false },
  { name = "pointwise", op = "conv", out = "out if out > 0 else in_channels", kernel = 1, bias = false },
  { name = "norm", op = "batch_norm" },
]
"""


def _wired(node: int, before: Sequence[int]) -> Iterator[str]:
    if not before:
        yield f'  {{ name = "node{node}", block = "node", from = "stem_norm", stride = 2, out = "channels" }},'
        return
    read = [f"node{one}" for one in before]
    if len(read) > 1:
        yield f'  {{ name = "sum{node}", op = "sum", from = [{", ".join(f"{chr(34)}{one}{chr(34)}" for one in read)}] }},'
    yield f'  {{ name = "node{node}", block = "node", from = "{read[0] if len(read) == 1 else f"sum{node}"}" }},'


def texts() -> dict[str, str]:
    """The text of every file by its name."""
    return {
        **{f"{one.name}.toml": network_of(one) for one in GENOTYPES},
        "wired_random.toml": random_network(),
    }


def main(arguments: Sequence[str]) -> None:
    for name, text in texts().items():
        if "--write" in arguments:
            (EXAMPLES / name).write_text(text)
        else:
            sys.stdout.write(f"# {name}\n{text}")


if __name__ == "__main__":
    main(sys.argv[1:])
